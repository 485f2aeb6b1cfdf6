"""A MI300X to launch kernels on: arguments in, a Run out.

    device = Device()
    run = device.launch(kernel, grid=(8, 12, 1), block=(256, 1, 1), args=[a, b, c, 1024])
    run.seconds, run.counts["v_mfma_f32_32x32x16_fp8_fp8"], run.findings

Arrays are used in place (numpy, or torch on the CPU): what the kernel stores is in them afterwards. The kernel sees
them at addresses of their own, aligned to 4 KiB as hipMalloc gives them, with unmapped space between.
"""

import ctypes
import os
import struct
import time
from dataclasses import dataclass, field

import numpy as np

from fp8lab.gfx942.core import build
from fp8lab.gfx942.findings import FATAL, FINDING, KernelFault, parse_checks, read_findings
from fp8lab.gfx942.program import LaunchError, load_program, scratch_bytes
from fp8lab.gfx942.records import RECORD
from fp8lab.gfx942.trace import STEP, TRAFFIC, Counts, global_traffic, lds_traffic

COMPUTE_UNITS, WAVES_PER_CU, LDS_PER_CU = 304, 32, 65536
FIRST_ADDRESS, PAGE, GAP = 0x10_0000_0000, 4096, 1 << 20
HIDDEN = {
    "hidden_block_count_x": ("grid", 0),
    "hidden_block_count_y": ("grid", 1),
    "hidden_block_count_z": ("grid", 2),
    "hidden_group_size_x": ("block", 0),
    "hidden_group_size_y": ("block", 1),
    "hidden_group_size_z": ("block", 2),
}


@dataclass(frozen=True)
class Run:
    """What a launch did.

    seconds   wall time of the emulation; says nothing about a GPU's
    counts    Counts: how often each instruction ran, summed over waves
    findings  [Finding], empty when checks="none"
    lds       [LdsTraffic] by instruction: accesses, cycles, conflicts; empty without a trace
    memory    [GlobalTraffic] by instruction: sectors, lines, bytes; empty without a trace
    """

    seconds: float
    counts: dict
    findings: list
    lds: list = field(repr=False)
    memory: list = field(repr=False)


class Device:
    """A MI300X.

    threads     host threads that run workgroups; None: one a CPU
    checks      "all", "none", or some of findings.CHECKS by name. With "none" the checks cost nothing, and an access
                out of bounds stops the launch with KernelFault, as a GPU's memory fault would
    mfma        "exact": bit for bit; "fast": FP8 sums rounded once, not as the hardware's
    hang_after  wave instructions without any progress in the whole launch after which it counts as hung
    step_limit  instructions that one wave may run, more or less, before it counts as hung too; None: without end
    """

    def __init__(self, threads=None, checks="all", mfma="exact", hang_after=20_000_000, step_limit=None):
        if mfma not in ("exact", "fast"):
            raise ValueError(f"mfma is {mfma!r}, needs 'exact' or 'fast'")
        self.threads = threads or os.cpu_count() or 1
        self.checks, self._check_bits, self.mfma = checks, parse_checks(checks), mfma
        self.hang_after, self.step_limit = hang_after, step_limit or 0

    def launch(self, kernel, grid, block, args, dynamic_lds=0, shuffle_seed=None, trace=None, workgroups=None):
        """Run kernel over grid workgroups of block lanes each, and return the Run.

        kernel       a Kernel of a CodeObject
        grid, block  (x, y, z) or fewer numbers; grid counts workgroups, block counts lanes
        args         as the kernel's visible arguments: numpy arrays or torch CPU tensors for pointers (any strides; the
                     kernel may touch the bytes from the first to the last element), numbers for values, None for null
        dynamic_lds  bytes of LDS beside the kernel's static ones
        shuffle_seed run the workgroups in this random order; None: in order
        trace        count bank conflicts and sectors; None: yes, unless checks="none"
        workgroups   run only these of the grid, as in stream(): a sample of a launch that would take minutes

        Raises LaunchError before anything runs, KernelFault if the kernel cannot go on, DecodeError for code that the
        emulator does not have.
        """
        prepared = self._prepare(kernel, grid, block, args, dynamic_lds)
        launch = prepared.launch
        launch.trace = bool(self._check_bits) if trace is None else bool(trace)
        chosen = range(launch.workgroups) if workgroups is None else _existing(workgroups, launch.workgroups)
        if shuffle_seed is not None:
            chosen = np.random.default_rng(shuffle_seed).permutation(chosen)
        if workgroups is not None or shuffle_seed is not None:
            prepared.choose(chosen)
        seconds = prepared.run()
        findings = prepared.findings()
        if launch.failed:
            raise KernelFault([f for f in findings if f.kind in FATAL or f.kind.endswith("out-of-bounds")] or findings)
        instructions, traffic = prepared.program.instructions, prepared.traffic
        counts = Counts(instructions, prepared.counts)
        return Run(seconds, counts, findings, lds_traffic(instructions, traffic), global_traffic(instructions, traffic))

    def stream(self, kernel, grid, block, args, workgroups=(0,), dynamic_lds=0):
        """Return what each wave of some workgroups executes: {(workgroup, wave): STEP array}, in program order.

        workgroups  numbers of workgroups, x + grid.x * (y + grid.y * z). The others do not run
        A step is an index into kernel.instructions with the LDS cycles, sectors and lines that it cost: the input of a
        timing model. Matrix instructions are skipped, so the arrays in args hold no results afterwards.

        Raises as launch() does; LaunchError also for a workgroup that the grid does not have.
        """
        prepared = self._prepare(kernel, grid, block, args, dynamic_lds)
        prepared.choose(_existing(workgroups, prepared.launch.workgroups))
        stream = _Stream()
        prepared.launch.stream = ctypes.addressof(stream)
        prepared.launch.trace, prepared.launch.threads, prepared.launch.checks = True, 1, 0
        prepared.run()
        try:
            if prepared.launch.failed:
                raise KernelFault(prepared.findings())
            size = stream.count * STEP.itemsize
            steps = np.frombuffer(ctypes.string_at(stream.steps, size) if size else b"", STEP)
        finally:
            _core().core_free(ctypes.c_void_p(stream.steps))
        x, y, z = prepared.launch.block
        waves = [(w, wave) for w in workgroups for wave in range(-(-x * y * z // 64))]
        return {(w, wave): steps[(steps["workgroup"] == w) & (steps["wave"] == wave)] for w, wave in waves}

    def _prepare(self, kernel, grid, block, args, dynamic_lds):
        """Check a launch and lay out its memory."""
        grid, block = _three(grid, "grid"), _three(block, "block")
        threads = block[0] * block[1] * block[2]
        resources = kernel.resources
        if threads > resources.workgroup_size:
            raise LaunchError(
                f"block is {block}, {threads} lanes; {kernel.name} was compiled for at most {resources.workgroup_size} "
                "(amdgpu_flat_work_group_size or __launch_bounds__)"
            )
        lds = kernel.descriptor.lds_bytes + int(dynamic_lds)
        if dynamic_lds < 0 or lds > LDS_PER_CU:
            raise LaunchError(f"{kernel.name} needs {lds} bytes of LDS a workgroup, a compute unit has {LDS_PER_CU}")
        program = load_program(kernel)
        _prepare_program(program)
        memory = Memory()
        memory.add("the code object", program.image, writable=True, address=program.code_base)
        kernarg, packet = self._arguments(kernel, grid, block, args, lds, memory)
        launch = _Launch(
            program=program.records.ctypes.data,
            instructions=len(program.records),
            entry=program.entry,
            lds_bytes=lds,
            scratch_bytes=scratch_bytes(kernel),
            block=block,
            grid=grid,
            rsrc1=kernel.descriptor.rsrc1,
            rsrc2=kernel.descriptor.rsrc2,
            properties=kernel.descriptor.properties,
            preload_words=kernel.descriptor.preload_words,
            preload_offset=kernel.descriptor.preload_offset,
            kernarg=kernarg,
            dispatch_packet=packet,
            code_base=program.code_base,
            checks=self._check_bits,
            fast_mfma=self.mfma == "fast",
            threads=self.threads,
            max_resident=_resident(threads, lds),
            hang_after=self.hang_after,
            step_limit=self.step_limit,
            workgroups=grid[0] * grid[1] * grid[2],
            finding_limit=256,
            code_index=program.code_index.ctypes.data,
            code_words=len(program.code_index),
        )
        return _Prepared(launch, kernel, program, memory)

    def _arguments(self, kernel, grid, block, args, lds, memory):
        """Lay out the kernarg segment and the dispatch packet; return their device addresses."""
        visible = [a for a in kernel.arguments if not a.is_hidden]
        if len(args) != len(visible):
            names = ", ".join(f"{a.name}: {a.kind} {a.size} bytes" for a in visible)
            raise LaunchError(f"{kernel.name} takes {len(visible)} arguments ({names}), got {len(args)}")
        size = max([kernel.descriptor.kernarg_bytes, *(a.offset + a.size for a in kernel.arguments)])
        segment = np.zeros(-(-size // 64) * 64 + 64, np.uint8)  # the compiler may read a whole cache line past the end
        for argument, given in zip(visible, args, strict=True):
            packed = _pack(kernel, argument, given, memory)
            segment[argument.offset : argument.offset + argument.size] = np.frombuffer(packed, np.uint8)
        sizes = {"grid": grid, "block": block}
        for argument in kernel.arguments:
            value = None
            if argument.kind in HIDDEN:
                what, axis = HIDDEN[argument.kind]
                value = sizes[what][axis]
            elif argument.kind == "hidden_grid_dims":
                value = 3 if grid[2] * block[2] > 1 else 2 if grid[1] * block[1] > 1 else 1
            elif argument.kind == "hidden_dynamic_lds_size":
                value = lds - kernel.descriptor.lds_bytes
            if value is not None:
                packed = value.to_bytes(8, "little")[: argument.size]
                segment[argument.offset : argument.offset + argument.size] = np.frombuffer(packed, np.uint8)
        packet = np.frombuffer(
            struct.pack(
                "<HHHHHHIIIII",
                0,
                3,
                *block,
                0,
                *(g * b for g, b in zip(grid, block, strict=True)),
                kernel.descriptor.scratch_bytes,
                lds,
            ).ljust(128, b"\0"),
            np.uint8,
        ).copy()
        return memory.add("the kernel arguments", segment, writable=False), memory.add(
            "the dispatch packet", packet, writable=False
        )


class _Prepared:
    """A launch ready to run, and the arrays that the core reads and fills."""

    def __init__(self, launch, kernel, program, memory):
        self.launch, self.kernel, self.program, self.memory = launch, kernel, program, memory
        self.counts = np.zeros(len(program.records), np.uint64)
        self.traffic = np.zeros(len(program.records), TRAFFIC)
        self.ranges, self.raw_findings, self.order = memory.ranges(), np.zeros(launch.finding_limit, FINDING), None
        launch.ranges, launch.range_count = self.ranges.ctypes.data, len(self.ranges)
        launch.counts, launch.traffic = self.counts.ctypes.data, self.traffic.ctypes.data
        launch.findings = self.raw_findings.ctypes.data

    def choose(self, workgroups):
        """Run these workgroups, in this order."""
        self.order = np.ascontiguousarray(workgroups, np.uint32)
        self.launch.order, self.launch.workgroups = self.order.ctypes.data, len(self.order)

    def run(self):
        """Run; return the seconds."""
        start = time.perf_counter()
        if self.launch.workgroups:
            _core().core_launch(ctypes.byref(self.launch))
        return time.perf_counter() - start

    def findings(self):
        raw = self.raw_findings[: self.launch.finding_count]
        return read_findings(raw, self.kernel.name, self.program.instructions, self.memory.named())


def _existing(workgroups, count):
    bad = [w for w in workgroups if not 0 <= w < count]
    if bad:
        raise LaunchError(f"the grid has workgroups 0 to {count - 1}, not {bad[0]}")
    return np.asarray(workgroups)


def _three(size, name):
    size = (size,) if isinstance(size, int | np.integer) else tuple(size)
    if not 1 <= len(size) <= 3 or any(int(n) != n or n < (0 if name == "grid" else 1) for n in size):
        raise LaunchError(
            f"{name} is {size}, needs one to three whole numbers, {'0' if name == 'grid' else '1'} or more"
        )
    size = tuple(int(n) for n in size) + (1,) * (3 - len(size))
    if size[0] * size[1] * size[2] >= 1 << 32 or (name == "block" and size[0] * size[1] * size[2] > 1024):
        raise LaunchError(
            f"{name} is {size}: too large" + ("; a workgroup has at most 1024 lanes" if name == "block" else "")
        )
    return size


def _resident(threads, lds):
    """How many workgroups the device holds at once: what spin-waits between workgroups may count on."""
    waves = -(-threads // 64)
    per_cu = min(WAVES_PER_CU // waves, LDS_PER_CU // lds if lds else WAVES_PER_CU)
    return COMPUTE_UNITS * max(1, per_cu)


def _pack(kernel, argument, given, memory):
    """The bytes of one argument; arrays become device memory."""
    if argument.kind == "global_buffer":
        if given is None:
            return bytes(8)
        array = _as_array(given)
        if array is None:
            raise LaunchError(
                f"{kernel.name}: argument {argument.name} is a pointer, got {type(given).__name__}; needs a "
                "numpy array, a torch tensor on the CPU, or None"
            )
        return struct.pack("<Q", memory.add(argument.name, array, writable=array.flags.writeable))
    if argument.kind != "by_value":
        raise LaunchError(
            f"{kernel.name}: argument {argument.name} is a {argument.kind}, which the emulator cannot fill"
        )
    if isinstance(given, bytes) and len(given) == argument.size:
        return given
    if isinstance(given, np.generic) and given.dtype.itemsize == argument.size:
        return given.tobytes()
    if isinstance(given, bool | int | np.integer) and argument.size in (1, 2, 4, 8):
        low, high = -(1 << 8 * argument.size - 1), 1 << 8 * argument.size
        if not low <= given < high:
            raise LaunchError(f"{kernel.name}: argument {argument.name} is {given}, does not fit {argument.size} bytes")
        return (int(given) & high - 1).to_bytes(argument.size, "little")
    if isinstance(given, float) and argument.size in (4, 8):
        return struct.pack("<f" if argument.size == 4 else "<d", given)
    raise LaunchError(
        f"{kernel.name}: argument {argument.name} takes {argument.size} bytes by value, got {type(given).__name__}; "
        "needs a number, a numpy scalar of that size, or bytes"
    )


def _as_array(given):
    """A numpy view of given's memory, or None. A torch tensor is viewed as bytes of its storage: zero copy."""
    if isinstance(given, np.ndarray):
        return given
    if type(given).__module__.startswith("torch") and hasattr(given, "untyped_storage"):
        if given.device.type != "cpu":
            raise LaunchError(f"a tensor is on {given.device}, needs the CPU: tensor.cpu()")
        given = given.detach()
        size, element = given.numel(), given.element_size()
        span = (sum((n - 1) * s for n, s in zip(given.shape, given.stride(), strict=True)) + 1) * element if size else 0
        raw = (ctypes.c_uint8 * span).from_address(given.data_ptr()) if span else b""
        array = np.frombuffer(raw, np.uint8)
        return array
    return None


class Memory:
    """The launch's device memory: host arrays at device addresses of their own."""

    def __init__(self):
        self._next, self._ranges, self._keep = FIRST_ADDRESS, [], []

    def add(self, name, array, writable, address=None):
        """Map an array and return its device address."""
        low, high = _byte_bounds(array)
        if address is None:
            address = self._next
            self._next += -(-(high - low) // PAGE) * PAGE + GAP
        self._ranges.append((name, address, high - low, low, writable))
        self._keep.append(array)
        return address + (array.ctypes.data - low)

    def ranges(self):
        """The RANGE records that the core searches, by address."""
        records = np.zeros(len(self._ranges), RANGE)
        for record, (_, address, size, host, writable) in zip(
            records, sorted(self._ranges, key=lambda r: r[1]), strict=True
        ):
            record["lo"], record["hi"], record["delta"], record["writable"] = (
                address,
                address + size,
                host - address,
                writable,
            )
        return records

    def named(self):
        return [(name, address, size) for name, address, size, _, _ in self._ranges]


RANGE = np.dtype([("lo", "<u8"), ("hi", "<u8"), ("delta", "<i8"), ("id", "<u4"), ("writable", "<u4")])


def _byte_bounds(array):
    """First and one past the last byte that an array's elements take."""
    low = high = array.ctypes.data
    if array.size == 0:
        return low, low
    for n, stride in zip(array.shape, array.strides, strict=True):
        low, high = low + min(0, (n - 1) * stride), high + max(0, (n - 1) * stride)
    return low, high + array.itemsize


# --- the core's side --------------------------------------------------------------------------------------------------


class _Stream(ctypes.Structure):
    """struct Stream of core/state.h."""

    _fields_ = [("steps", ctypes.c_void_p), ("count", ctypes.c_uint64), ("room", ctypes.c_uint64)]


class _Launch(ctypes.Structure):
    """struct Launch of core/state.h."""

    _fields_ = (
        [("program", ctypes.c_void_p)]
        + [(n, ctypes.c_uint32) for n in ("instructions", "entry", "lds_bytes", "scratch_bytes")]
        + [("block", ctypes.c_uint32 * 3), ("grid", ctypes.c_uint32 * 3)]
        + [
            (n, ctypes.c_uint32)
            for n in (
                "rsrc1",
                "rsrc2",
                "properties",
                "preload_words",
                "preload_offset",
            )
        ]
        + [(n, ctypes.c_uint64) for n in ("kernarg", "dispatch_packet", "code_base")]
        + [("ranges", ctypes.c_void_p)]
        + [
            (n, ctypes.c_uint32)
            for n in (
                "range_count",
                "checks",
                "trace",
                "fast_mfma",
                "threads",
                "max_resident",
                "finding_limit",
            )
        ]
        + [
            ("hang_after", ctypes.c_uint64),
            ("step_limit", ctypes.c_uint64),
            ("order", ctypes.c_void_p),
            ("workgroups", ctypes.c_uint32),
            ("counts", ctypes.c_void_p),
            ("traffic", ctypes.c_void_p),
            ("findings", ctypes.c_void_p),
        ]
        + [(n, ctypes.c_uint32) for n in ("finding_count", "findings_dropped", "started", "finished", "failed")]
        + [
            ("progress", ctypes.c_uint64),
            ("lock", ctypes.c_void_p),
            ("parked", ctypes.c_void_p * 2),
            ("resident", ctypes.c_uint32),
            ("code_index", ctypes.c_void_p),
            ("code_words", ctypes.c_uint32),
            ("stream", ctypes.c_void_p),
        ]
    )


def _prepare_program(program):
    """Let the core fill in the handlers and spread the constants, once a program."""
    if not program.prepared:
        pointer = ctypes.c_void_p
        _core().core_prepare(
            program.records.ctypes.data_as(pointer), len(program.records), program.splats.ctypes.data_as(pointer)
        )
        program.prepared = True


def _core():
    """The compiled core; its structures must have the sizes that this file and records.py think."""
    core = build.load()
    if not getattr(core, "checked", False):
        sizes = [core.core_sizes(i) for i in range(4)]
        here = [RECORD.itemsize, ctypes.sizeof(_Launch), FINDING.itemsize, TRAFFIC.itemsize]
        if sizes != here:
            raise build.CoreBuildError(
                f"the core's structures are {sizes} bytes, Python's {here}: state.h and device.py differ"
            )
        core.checked = True
    return core
