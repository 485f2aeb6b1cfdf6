"""Findings: what was wrong while a kernel ran, though a GPU might not have told.

Each says what, in which kernel, at which instruction, and in which workgroup, wave and lane it was seen first; count
is how often. Severity follows from what a GPU does: it stops (fault), or goes on with wrong or lucky values.
"""

from dataclasses import dataclass

import numpy as np

from fp8lab.gfx942.operands import register_name

CHECKS = {"lds": 1, "waits": 2, "uninitialised": 4, "hazards": 8, "barriers": 16, "bounds": 32, "alignment": 64}
FINDING = np.dtype(
    [
        ("kind", "<u4"),
        ("instruction", "<u4"),
        ("workgroup", "<u4", 3),
        ("wave", "<u4"),
        ("lane", "<u4"),
        ("other", "<u4"),
        ("size", "<u4"),
        ("count", "<u4"),
        ("address", "<u8"),
    ]
)
KINDS = (
    "global-out-of-bounds",
    "lds-out-of-bounds",
    "scratch-out-of-bounds",
    "misaligned",
    "lds-race",
    "lds-same-value",
    "missing-wait",
    "uninitialised-register",
    "uninitialised-lds",
    "missing-wait-states",
    "barrier-divergence",
    "trap",
    "lds-write-not-waited",
    "hang",
    "bad-jump",
    "unsupported",
)
NEAR = 1 << 20  # bytes: an address further from every buffer is not called after one; buffers lie so far apart
LIMIT = 256  # findings that a launch keeps, beside the waves of a hang
FATAL = ("trap", "hang", "bad-jump", "unsupported")
OTHER_WROTE = 1 << 10  # core/lds_checks.h
INTENT = ("read", "write", "atomic")


class KernelFault(RuntimeError):
    """The kernel could not go on: out of bounds with checks off, a trap, a hang, an instruction that cannot run.

    findings  what led to it; the message is their text
    dropped   how many findings there was no room for
    """

    def __init__(self, findings, dropped=0):
        self.findings, self.dropped = findings, dropped
        waiting = [f for f in findings if f.kind == "hang"]
        lines = [str(f) for f in findings if f.kind != "hang"]
        lines += [_hang(waiting)] if waiting else []
        super().__init__("\n".join(lines + ([dropped_text(dropped)] if dropped else [])))


@dataclass(frozen=True)
class Finding:
    """One kind of trouble at one instruction.

    kind         one of KINDS
    message      a sentence: what happened and what would put it right
    kernel       its name; instruction its text; pc its address in the code object
    workgroup    (x, y, z); wave within it, lane within that: where it was seen first
    address      the device, LDS or scratch address in bytes, or the register's number; 0 where it is about neither
    count        how many times it happened

    A hang is one Finding for each wave that had not ended; pc and instruction say where it waits or what it runs next.
    """

    kind: str
    message: str
    kernel: str
    instruction: str
    pc: int
    workgroup: tuple
    wave: int
    lane: int
    address: int
    count: int

    def __str__(self):
        times = f", {self.count} times" if self.count > 1 else ""
        return (
            f"{self.kind}: {self.message}; kernel {self.kernel}, workgroup {self.workgroup}, wave {self.wave}, lane "
            f"{self.lane}, at {self.pc:#x}: {self.instruction}{times}"
        )


def parse_checks(checks):
    """The bits for "all", "none", or some of CHECKS by name. Raises ValueError for a name that is no check."""
    if checks == "all":
        return sum(CHECKS.values())
    if checks == "none":
        return 0
    names = checks if isinstance(checks, list | tuple | set) else [checks]
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        raise ValueError(
            f"checks has {', '.join(map(repr, unknown))}, needs 'all', 'none' or some of {', '.join(CHECKS)}"
        )
    return sum(CHECKS[name] for name in names)


def read_findings(raw, kernel, instructions, buffers):
    """Turn the core's records into Findings; buffers as Memory.named() has them."""
    found = []
    for r in raw:
        at = int(r["instruction"])
        instruction = instructions[at] if at < len(instructions) else None
        kind = KINDS[r["kind"]]
        message = _message(kind, r, buffers)
        found.append(
            Finding(
                kind,
                message,
                kernel,
                str(instruction),
                instruction.address if instruction else 0,
                tuple(int(x) for x in r["workgroup"]),
                int(r["wave"]),
                int(r["lane"]),
                0 if kind in ("hang", "trap", "barrier-divergence", "unsupported") else int(r["address"]),
                int(r["count"]),
            )
        )
    return found


def dropped_text(dropped):
    return f"and {dropped} more, at other instructions than the first {LIMIT}: a launch keeps no more"


def _hang(waiting):
    """All waves that a hang left, those at one place in one line: which waves of which workgroups."""
    places = {}
    for f in waiting:
        places.setdefault((f.pc, f.instruction, f.message.rpartition(", and this wave ")[2]), {}).setdefault(
            f.workgroup, []
        ).append(f.wave)
    why = waiting[0].message.rpartition(", and ")[0]
    left = "1 wave is left" if len(waiting) == 1 else f"{len(waiting)} waves are left"
    lines = [f"hang: {why}; kernel {waiting[0].kernel}, {left}:"]
    for (pc, instruction, what), groups in sorted(places.items()):
        alike = {}
        for group in sorted(groups, key=lambda g: g[::-1]):
            alike.setdefault(_runs(sorted(groups[group])), []).append(group)
        for waves, of in alike.items():
            where = ", ".join(map(str, of))
            lines.append(f"    workgroup {where}, wave {waves} {what} at {pc:#x}: {instruction}")
    return "\n".join(lines)


def _runs(numbers):
    """[0, 2, 3, 4] as "0, 2-4"."""
    runs = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def _message(kind, r, buffers):
    address, size, other = int(r["address"]), int(r["size"]), int(r["other"])
    intent = INTENT[other >> 8 & 3] if kind.startswith("lds-r") or kind == "lds-same-value" else INTENT[min(other, 2)]
    if kind == "global-out-of-bounds":
        return f"{intent} of {size} bytes at {address:#x}, {_nearest(address, size, buffers)}"
    if kind == "lds-out-of-bounds":
        return f"{intent} of {size} bytes at LDS address {address}, past the end of the workgroup's LDS"
    if kind == "scratch-out-of-bounds":
        return f"{intent} of {size} bytes at scratch offset {address}, past the lane's private memory"
    if kind == "misaligned":
        space = ("an atomic in global memory", "LDS", "a scalar load, which drops the low two bits")[min(other, 2)]
        return f"{size} bytes at {address:#x} are not aligned, in {space}"
    if kind == "lds-race":
        return f"{intent} of LDS byte {address} while wave {other & 255} uses it in the same barrier interval" + (
            "" if other & 255 != 254 else " (several waves read it)"
        )
    if kind == "lds-same-value":
        wave = "several waves" if other & 255 == 254 else f"wave {other & 255}"
        if other & OTHER_WROTE:
            return f"LDS byte {address} is written by {wave} too in the same barrier interval, with the same value"
        return (
            f"LDS byte {address} is read by {wave} in the same barrier interval; this write leaves its value as it was"
        )
    if kind == "missing-wait":
        if other == 2:
            return f"LDS byte {address} is used before the load to LDS that fills it was waited for: s_waitcnt vmcnt"
        counter = "lgkmcnt" if other else "vmcnt"
        register = register_name(address, 1)
        return f"{register} is used while a load into it may be under way: s_waitcnt {counter} is missing or too weak"
    if kind == "lds-write-not-waited":
        writer = other & 255
        return f"LDS byte {address} is read after a barrier that wave {writer} passed with its write not waited for"
    if kind == "uninitialised-register":
        return f"{register_name(address, 1)} is read but was never written"
    if kind == "uninitialised-lds":
        return f"LDS byte {address} is read but was never written"
    if kind == "missing-wait-states":
        name = "MODE" if address == 0xFFFF else register_name(address, 1)
        return f"{name} is used {size} wait states too early, insert s_nop {size - 1}"
    if kind == "barrier-divergence":
        return (
            "waves of one workgroup meet at different s_barriers (ping-pong schedules do so on purpose)"
            if size
            else "a wave ended while others wait at s_barrier"
        )
    if kind == "hang":
        where = "waits at s_barrier" if address else "still runs"
        why = (
            "memory has not changed and no wave has ended for hang_after instructions",
            "the step limit is reached (Device(step_limit=...))",
            "the stream has more steps than stream() keeps; choose fewer workgroups",
        )[size - 1]
        return f"{why}, and this wave {where}"
    if kind == "trap":
        return f"s_trap {address}: the kernel gave up (an assertion or __builtin_trap)"
    if kind == "bad-jump":
        return f"jump to {address:#x}, where there is no code"
    return (
        "a buffer descriptor with swizzle or lane addressing",
        "bytes that are no instruction the emulator has",
        "s_setreg of a register other than MODE",
        "a dynamic register index past the last register",
    )[min(other, 3)]


def _nearest(address, size, buffers):
    """Where an address lies in terms of the launch's arguments."""
    from_null = address - (address >> 63 << 64)  # an index below a null pointer wraps round
    if abs(from_null) < NEAR:
        return "a null pointer" + (f" {from_null:+d} bytes" if from_null else "")
    name, first, length, writable = min(
        buffers, key=lambda b: min(abs(address - b[1]), abs(address - b[1] - b[2])), default=("", 0, 0, True)
    )
    past = address - first - length
    if not -length - NEAR <= past < NEAR:
        return "where the launch has no buffer"
    if past >= 0:
        return f"{past} bytes past the end of {name} ({length} bytes)"
    if address < first:
        return f"{first - address} bytes before {name}"
    if address + size <= first + length and not writable:
        return f"in {name}, which is read-only"
    return f"reaching past the end of {name} ({length} bytes)"
