"""The main loop of a kernel's machine code: its instructions, and LLVM's estimate of its length.

    loop = main_loop(CodeObject.load("k.co").kernels["gemm"])
    loop.count("v_mfma"), loop.mfma_passes, loop.passes() / loop.mfma_passes

A pass is 4 clocks. llvm-mca models one wave in order: no LDS bandwidth, no bank conflict, no memory, no other wave.
Good for issue slots and for comparing two builds; it ranks kernels only beside the emulator's counts.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property

from fp8lab.gfx942.instruction import wait_counts
from fp8lab.gfx942.trace import class_of

ENDS = ("s_branch", "s_endpgm", "s_setpc_b64")  # what follows is not reached from here


class NoLoop(ValueError):
    """No loop of the kernel has a matrix instruction, which is what the figures are about."""


@dataclass(frozen=True)
class Loop:
    """The Instructions of a loop, by address."""

    instructions: tuple

    def count(self, *prefixes):
        """How many instructions have a mnemonic that begins with one of the prefixes."""
        return sum(i.name.startswith(prefixes) for i in self.instructions)

    @cached_property
    def mix(self):
        """{unit of the CU: how many instructions keep it busy}: salu, valu, mfma, lds, vmem, smem, control."""
        kinds = [class_of(i) for i in self.instructions]
        return {kind: kinds.count(kind) for kind in sorted(set(kinds))}

    @cached_property
    def passes_of(self):
        """{address of an MFMA: passes that it keeps the matrix pipe busy}, for example 8 for a 32×32 FP8 one."""
        return {i.address: i.op.more["passes"] for i in self.instructions if i.op.family == "matrix"}

    @property
    def mfma_passes(self):
        """Passes that the matrix pipe needs for one iteration of one wave."""
        return sum(self.passes_of.values())

    @property
    def vmcnt(self):
        """How many vector memory instructions each wait of the loop leaves in flight."""
        return [n["vmcnt"] for n in self._waits() if "vmcnt" in n]

    @property
    def scalar_waits(self):
        """Waits for lgkmcnt(0) while a scalar load is on its way: these come out of order, so LDS reads wait along."""
        waits, on_its_way = 0, False
        for i in self.instructions * 2:  # the second time round as a loop that runs finds it
            if i is self.instructions[0]:
                waits = 0
            if class_of(i) == "smem":
                on_its_way = True
            elif on_its_way and i.name == "s_waitcnt" and wait_counts(i.src[0].value).get("lgkmcnt") == 0:
                waits, on_its_way = waits + 1, False
        return waits

    def _waits(self):
        return [wait_counts(i.src[0].value) for i in self.instructions if i.name == "s_waitcnt"]

    def passes(self, mca=None):
        """Passes an iteration takes once the loop runs, by llvm-mca; s_barrier left out. None without llvm-mca."""
        mca = mca or find_mca()
        if mca is None:
            return None
        body = "\n".join(str(i) for i in self.instructions if i.target is None and i.name != "s_barrier")
        command = [mca, "-mtriple=amdgcn-amd-amdhsa", "-mcpu=gfx942", "-instruction-info=0", "-resource-pressure=0"]
        cycles = []
        for iterations in (10, 20):
            done = subprocess.run([*command, f"-iterations={iterations}"], input=body + "\n", text=True,
                                  capture_output=True, check=True)  # fmt: skip
            cycles.append(int(re.search(r"Total Cycles:\s+(\d+)", done.stdout)[1]))
        return (cycles[1] - cycles[0]) / 10


def find_mca():
    """Path of the newest llvm-mca on PATH, or None; Debian's llvm-22 has one."""
    names = ["llvm-mca-22", "llvm-mca-21", "llvm-mca-20", "llvm-mca-19", "llvm-mca"]
    return next(filter(None, map(shutil.which, names)), None)


def main_loop(kernel):
    """Return the innermost Loop of a Kernel that holds most MFMA passes.

    Raises NoLoop if no loop has an MFMA, DecodeError for code that the emulator does not have.
    """
    instructions = kernel.instructions
    loops = [Loop(tuple(instructions[n] for n in sorted(body))) for body in _loops(instructions)]
    loops = [loop for loop in loops if loop.mfma_passes]
    if not loops:
        raise NoLoop(f"{kernel.name} has no loop with a matrix instruction: no main loop to count")
    return max(loops, key=lambda loop: (loop.mfma_passes, -len(loop.instructions)))


def _loops(instructions):
    """Yield the natural loops as sets of indices: from each jump to a place that every way to the jump passes."""
    at = {i.address: n for n, i in enumerate(instructions)}
    jumps = [(n, at[i.target]) for n, i in enumerate(instructions) if i.target in at]
    before = {n: [] for n in range(len(instructions))}
    for n, i in enumerate(instructions[:-1]):
        if not i.name.startswith(ENDS):
            before[n + 1].append(n)
    for source, header in jumps:
        before[header].append(source)
    for header in sorted({header for _, header in jumps}):
        back = [n for n in before[header] if 0 not in _leading_to(n, header, before) or header == 0]
        if back:
            yield {header}.union(*(_leading_to(n, header, before) for n in back))


def _leading_to(last, header, before):
    """The instructions from which `last` can be reached without passing header."""
    found, todo = set(), [last]
    while todo:
        n = todo.pop()
        if n != header and n not in found:
            found.add(n)
            todo += before[n]
    return found
