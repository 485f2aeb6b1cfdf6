"""A MI300X to launch kernels on: arguments in, a Run out.

    device = Device()
    run = device.launch(kernel, grid=(8, 12, 1), block=(256, 1, 1), args=[a, b, c, 1024])
    run.seconds, run.counts["v_mfma_f32_32x32x16_fp8_fp8"], run.findings

Arrays are used in place (numpy, or torch on the CPU): what the kernel stores is in them afterwards. The kernel sees
them at addresses of their own, aligned to 4 KiB as hipMalloc gives them, with unmapped space between.
"""

import ctypes
import math
import os
import struct
import time
from dataclasses import dataclass, field

import numpy as np

from fp8lab.gfx942.arguments import Memory, pack, whole
from fp8lab.gfx942.codeobject import Kernel
from fp8lab.gfx942.core import build
from fp8lab.gfx942.findings import FATAL, FINDING, LIMIT, KernelFault, parse_checks, read_findings
from fp8lab.gfx942.program import LaunchError, load_program, scratch_bytes
from fp8lab.gfx942.records import RECORD
from fp8lab.gfx942.trace import STEP, TRAFFIC, Counts, global_traffic, lds_traffic

COMPUTE_UNITS, WAVES_PER_CU, LDS_PER_CU = 304, 32, 65536
STEP_LIMIT = 200_000_000  # of one wave: about a minute of emulation
STREAM_LIMIT = 1 << 25  # steps that stream() keeps, 512 MiB
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
    findings  [Finding], empty when checks="none"; the first 256 kinds of trouble at different instructions
    lds       [LdsTraffic] by instruction: accesses, cycles, conflicts; empty without a trace
    memory    [GlobalTraffic] by instruction: sectors, lines, bytes; empty without a trace
    findings_dropped  how often trouble came at yet other instructions than those in findings
    """

    seconds: float
    counts: dict
    findings: list
    lds: list = field(repr=False)
    memory: list = field(repr=False)
    findings_dropped: int = 0


class Device:
    """A MI300X.

    threads     host threads that run workgroups; None: one a CPU
    checks      "all", "none", or some of findings.CHECKS by name. With "none" the checks cost nothing, and an access
                out of bounds stops the launch with KernelFault, as a GPU's memory fault would
    mfma        "exact": bit for bit; "fast": FP8 sums rounded once, not as the hardware's
    hang_after  wave instructions without any progress in the whole launch after which it counts as hung, and a fortieth
                of it more for each wave on the device; progress is a change of memory that other waves see, a matrix
                instruction, the end of a wave, or 20,000 instructions of one without memory, sleep or barrier
    step_limit  instructions that one wave may run, more or less, before it counts as hung too; None: without end
    """

    def __init__(self, threads=None, checks="all", mfma="exact", hang_after=20_000_000, step_limit=STEP_LIMIT):
        if mfma not in ("exact", "fast"):
            raise ValueError(f"mfma is {mfma!r}, needs 'exact' or 'fast'")
        self.threads = (os.cpu_count() or 1) if threads is None else whole(threads, "threads", 1, ", or None")
        self.checks, self._check_bits, self.mfma = checks, parse_checks(checks), mfma
        self.hang_after = whole(hang_after, "hang_after", 1)
        self.step_limit = 0 if step_limit is None else whole(step_limit, "step_limit", 1, ", or None")

    def launch(self, kernel, grid, block, args, dynamic_lds=0, shuffle_seed=None, trace=None, workgroups=None):
        """Run kernel over grid workgroups of block lanes each, and return the Run.

        kernel       a Kernel of a CodeObject
        grid, block  (x, y, z) or fewer numbers; grid counts workgroups, block counts lanes
        args         as the kernel's visible arguments: numpy arrays or torch CPU tensors for pointers (any strides; the
                     kernel may touch the bytes from the first to the last element), numbers for values, None for null.
                     A code object knows how many bytes a value has, not of which kind: give 1.0 for a float, 1 for an
                     int, a numpy scalar for other kinds, bytes for a struct
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
            chosen = np.random.default_rng(whole(shuffle_seed, "shuffle_seed", 0, ", or None")).permutation(chosen)
        if workgroups is not None or shuffle_seed is not None:
            prepared.choose(chosen)
        seconds = prepared.run()
        findings, dropped = prepared.findings(), launch.findings_dropped
        if launch.failed:
            raise KernelFault(
                [f for f in findings if f.kind in FATAL or f.kind.endswith("out-of-bounds")] or findings, dropped
            )
        instructions, traffic = prepared.program.instructions, prepared.traffic
        counts = Counts(instructions, prepared.counts)
        lds, memory = lds_traffic(instructions, traffic), global_traffic(instructions, traffic)
        return Run(seconds, counts, findings, lds, memory, dropped)

    def stream(self, kernel, grid, block, args, workgroups=(0,), dynamic_lds=0):
        """Return what each wave of some workgroups executes: {(workgroup, wave): STEP array}, in program order.

        workgroups  numbers of workgroups, x + grid.x * (y + grid.y * z). The others do not run
        A step is an index into kernel.instructions with the LDS cycles, sectors and lines that it cost: the input of a
        timing model. Matrix instructions are skipped, so the arrays in args hold no results afterwards.

        Raises as launch() does; LaunchError also for a workgroup that the grid does not have. KernelFault also when the
        workgroups run more than STREAM_LIMIT steps together: choose fewer.
        """
        prepared = self._prepare(kernel, grid, block, args, dynamic_lds)
        prepared.choose(_existing(workgroups, prepared.launch.workgroups))
        stream = _Stream(limit=STREAM_LIMIT)
        prepared.launch.stream = ctypes.addressof(stream)
        prepared.launch.trace, prepared.launch.threads, prepared.launch.checks = True, 1, 0
        prepared.run()
        try:
            if prepared.launch.failed:
                raise KernelFault(prepared.findings(), prepared.launch.findings_dropped)
            size = stream.count * STEP.itemsize
            steps = np.frombuffer(ctypes.string_at(stream.steps, size) if size else b"", STEP)
        finally:
            _core().core_free(ctypes.c_void_p(stream.steps))
        x, y, z = prepared.launch.block
        waves = [(w, wave) for w in workgroups for wave in range(-(-x * y * z // 64))]
        return {(w, wave): steps[(steps["workgroup"] == w) & (steps["wave"] == wave)] for w, wave in waves}

    def _prepare(self, kernel, grid, block, args, dynamic_lds):
        """Check a launch and lay out its memory."""
        if not isinstance(kernel, Kernel):
            given = type(kernel).__name__
            raise LaunchError(f"kernel is a {given}, needs a Kernel: CodeObject.load(path).kernels[name]")
        grid, block = _three(grid, "grid"), _three(block, "block")
        threads = block[0] * block[1] * block[2]
        resources = kernel.resources
        if threads > resources.workgroup_size:
            raise LaunchError(
                f"block is {block}, {threads} lanes; {kernel.name} was compiled for at most {resources.workgroup_size} "
                "(amdgpu_flat_work_group_size or __launch_bounds__)"
            )
        lds = kernel.descriptor.lds_bytes + whole(dynamic_lds, "dynamic_lds", 0)
        if lds > LDS_PER_CU:
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
            finding_limit=LIMIT,
            finding_room=LIMIT + _resident(threads, lds) * -(-threads // 64),
            code_index=program.code_index.ctypes.data,
            code_words=len(program.code_index),
        )
        return _Prepared(launch, kernel, program, memory)

    def _arguments(self, kernel, grid, block, args, lds, memory):
        """Lay out the kernarg segment and the dispatch packet; return their device addresses."""
        visible = [a for a in kernel.arguments if not a.is_hidden]
        if not isinstance(args, list | tuple):
            raise LaunchError(f"args is a {type(args).__name__}, needs a list with a value for each argument")
        if len(args) != len(visible):
            names = ", ".join(f"{a.name}: {a.kind} {a.size} bytes" for a in visible)
            raise LaunchError(f"{kernel.name} takes {len(visible)} arguments ({names}), got {len(args)}")
        size = max([kernel.descriptor.kernarg_bytes, *(a.offset + a.size for a in kernel.arguments)])
        segment = np.zeros(-(-size // 64) * 64 + 64, np.uint8)  # the compiler may read a whole cache line past the end
        for argument, given in zip(visible, args, strict=True):
            packed = pack(kernel, argument, given, memory)
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
        self.ranges, self.raw_findings, self.order = memory.ranges(), np.zeros(launch.finding_room, FINDING), None
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
        core, launch = _core(), ctypes.byref(self.launch)
        if self.launch.workgroups:
            try:
                core.core_start(launch)
                while not core.core_wait(launch, 100):
                    pass  # here Python sees Ctrl-C
            except BaseException:
                self.launch.stop = 1
                raise
            finally:
                core.core_end(launch)
        return time.perf_counter() - start

    def findings(self):
        raw = self.raw_findings[: self.launch.finding_count]
        return read_findings(raw, self.kernel.name, self.program.instructions, self.memory.named())


def _existing(workgroups, count):
    try:
        chosen = [whole(w, "workgroups", 0) for w in workgroups]
    except TypeError:
        raise LaunchError(f"workgroups is {workgroups!r}, needs a list of whole numbers, or None") from None
    if bad := [w for w in chosen if w >= count]:
        has = f"workgroups 0 to {count - 1}" if count else "no workgroup"
        raise LaunchError(f"the grid has {has}, not {bad[0]}")
    return np.asarray(chosen, np.uint32)


def _three(size, name):
    least = 0 if name == "grid" else 1
    numbers = (size,) if np.isscalar(size) else size
    try:
        three = tuple(whole(n, name, least) for n in numbers)
    except (TypeError, LaunchError):
        three = ()
    if not 1 <= len(three) <= 3:
        raise LaunchError(f"{name} is {size!r}, needs one to three whole numbers, {least} or more")
    three += (1,) * (3 - len(three))
    if math.prod(three) >= 1 << 32 or (name == "block" and math.prod(three) > 1024):
        raise LaunchError(
            f"{name} is {three}: too large" + ("; a workgroup has at most 1024 lanes" if name == "block" else "")
        )
    return three


def _resident(threads, lds):
    """How many workgroups the device holds at once: what spin-waits between workgroups may count on."""
    waves = -(-threads // 64)
    per_cu = min(WAVES_PER_CU // waves, LDS_PER_CU // lds if lds else WAVES_PER_CU)
    return COMPUTE_UNITS * max(1, per_cu)


# --- the core's side --------------------------------------------------------------------------------------------------


class _Stream(ctypes.Structure):
    """struct Stream of core/state.h."""

    _fields_ = [("steps", ctypes.c_void_p), *((n, ctypes.c_uint64) for n in ("count", "room", "limit"))]


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
                "finding_room",
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
        + [(n, ctypes.c_uint32) for n in ("finding_count", "findings_dropped", "started", "finished", "failed", "hung")]
        + [
            *((n, ctypes.c_uint64) for n in ("progress", "idle", "idle_since")),
            ("idle_groups", ctypes.c_uint32),
            ("stop", ctypes.c_uint32),
            ("running", ctypes.c_void_p),
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
