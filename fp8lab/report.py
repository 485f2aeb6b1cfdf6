"""What can be told about a kernel without its GPU: resources, main loop, and the traffic of a launch on the emulator.

    made = report(CodeObject.load("k.co").kernels["gemm"])
    print(made)
    print(traffic(made.loop, run, workgroups=96))    # run: a Run with a trace

Static and emulated figures; none is a time. docs/figures.md says what each means, and what it does not say.
"""

from dataclasses import dataclass, replace

from fp8lab.gfx942.codeobject import Resources
from fp8lab.gfx942.device import COMPUTE_UNITS
from fp8lab.gfx942.isa import BY_NAME
from fp8lab.listing import Loop, NoLoop, find_mca, main_loop


@dataclass(frozen=True)
class Report:
    """What the code object alone says of a kernel.

    resources  Resources, with the dynamic LDS of a launch added
    loop       its main Loop, or None if no loop has a matrix instruction
    passes     llvm-mca's passes for an iteration of one wave, None without llvm-mca
    """

    name: str
    resources: Resources
    loop: Loop | None
    passes: float | None

    @property
    def spills(self):
        """Registers that the compiler had no room for."""
        return self.resources.vgpr_spills + self.resources.sgpr_spills

    @property
    def passes_per_mfma_pass(self):
        """1.00: one wave alone would keep the matrix pipe busy. None without llvm-mca."""
        return self.passes and self.passes / self.loop.mfma_passes

    def __str__(self):
        r, loop = self.resources, self.loop
        lines = [
            self.name,
            f"  registers    {r.vgpr} VGPR, {r.agpr} of them AGPR; {r.sgpr} SGPR; "
            f"{r.vgpr_spills} VGPR and {r.sgpr_spills} SGPR spilled, {r.scratch_bytes} bytes of scratch a lane",
            f"  workgroup    {r.workgroup_size} lanes, {r.lds_bytes} bytes of LDS; {r.waves_per_simd} waves a SIMD",
        ]
        if loop is None:
            return "\n".join([*lines, "  main loop    none: no loop has a matrix instruction"])
        mix = ", ".join(f"{count} {kind}" for kind, count in sorted(loop.mix.items(), key=lambda item: -item[1]))
        length = "llvm-mca is not on PATH (Debian: llvm-22)"
        if self.passes:
            length = f"{self.passes:.0f} of one wave by llvm-mca, {self.passes_per_mfma_pass:.2f} for each"
        return "\n".join([
            *lines,
            f"  main loop    {len(loop.instructions)} instructions: {mix}",
            f"               {loop.count('v_accvgpr')} AGPR copies, {loop.count('v_pk_fma')} v_pk_fma, "
            f"{loop.vmcnt.count(0)} waits for vmcnt(0), {loop.scalar_waits} lgkmcnt(0) for scalar loads",
            f"  passes       {loop.mfma_passes} of the matrix pipe an iteration; {length}",
        ])  # fmt: skip


@dataclass(frozen=True)
class Traffic:
    """What the workgroups that ran asked of a CU, in clocks and bytes summed over them.

    loop_mfma_clocks  matrix pipes in the main loop: 4 SIMDs, 4 clocks a pass
    loop_lds_clocks   LDS pipe in the main loop, bank conflicts included
    conflicts         clocks of bank conflicts, of every LDS access of the kernel
    mfma_clocks       matrix pipes in the whole kernel
    loaded_bytes      asked of global memory by the whole kernel; stored_bytes likewise
    sector_bytes      what the sectors of 32 bytes hold that these touch
    workgroups        of the whole launch, of which some may have run only
    """

    loop_mfma_clocks: int
    loop_lds_clocks: int
    conflicts: int
    mfma_clocks: int
    loaded_bytes: int
    stored_bytes: int
    sector_bytes: int
    workgroups: int

    @property
    def lds_per_mfma(self):
        """Above 1, the LDS and not the matrix pipe is what the loop waits for."""
        return self.loop_lds_clocks / self.loop_mfma_clocks

    @property
    def bytes_per_mfma_clock(self):
        """What a CU's share of L2 has to deliver, for the matrix pipe to be busy."""
        return self.loaded_bytes / self.mfma_clocks

    @property
    def busy_cus(self):
        """CUs that get at least one workgroup, 0…1."""
        return min(1, self.workgroups / COMPUTE_UNITS)

    def __str__(self):
        return "\n".join([
            f"  launch       {self.busy_cus:.1%} of {COMPUTE_UNITS} CUs have work; workgroups: {self.workgroups}",
            f"  LDS pipe     {self.lds_per_mfma:.2f} clocks for each clock of MFMA in the main loop; "
            f"{self.conflicts} clocks of bank conflicts in all",
            f"  memory       {self.bytes_per_mfma_clock:.1f} bytes loaded for each clock of MFMA; "
            f"{self.loaded_bytes} loaded and {self.stored_bytes} stored, in sectors that hold {self.sector_bytes}",
        ])  # fmt: skip


def report(kernel, dynamic_lds=0):
    """Return the Report of a Kernel, launched with so many bytes of LDS beside its own.

    Raises DecodeError for code that the emulator does not have.
    """
    try:
        loop = main_loop(kernel)
    except NoLoop:
        loop = None
    resources = replace(kernel.resources, lds_bytes=kernel.resources.lds_bytes + dynamic_lds)
    return Report(kernel.name, resources, loop, loop and find_mca() and loop.passes())


def traffic(loop, run, workgroups):
    """Return the Traffic of a Run with a trace, whose kernel has this main Loop.

    workgroups  how many the launch has; the run may have been of some of them
    Raises ValueError if the run never came to the loop, or has no trace.
    """
    inside = {i.address for i in loop.instructions}
    in_loop = sum(n * run.counts.by_address.get(address, 0) for address, n in loop.passes_of.items())
    if not (in_loop and (run.lds or run.memory)):
        raise ValueError("the launch ran no MFMA of the main loop, or without trace=True: no figures of its traffic")
    in_all = sum(n * BY_NAME[name].more["passes"] for name, n in run.counts.items() if BY_NAME[name].family == "matrix")
    loaded = sum(x.bytes for x in run.memory if "_load_" in x.instruction)
    return Traffic(
        loop_mfma_clocks=in_loop,  # of 4 clocks, on 4 SIMDs
        loop_lds_clocks=sum(x.cycles for x in run.lds if x.address in inside),
        conflicts=sum(x.conflicts for x in run.lds),
        mfma_clocks=in_all,
        loaded_bytes=loaded,
        stored_bytes=sum(x.bytes for x in run.memory) - loaded,
        sector_bytes=sum(32 * x.sectors for x in run.memory),
        workgroups=workgroups,
    )
