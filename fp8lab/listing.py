"""What a compiler's listing says about a kernel's main loop: its instructions, and LLVM's estimate of its length.

    loop = main_loop(made.assembly, "gemm_128x128_kk")
    loop.count("v_mfma"), loop.mfma_passes, loop.passes() / loop.mfma_passes

A pass is 4 clocks. llvm-mca models one wave in order: no LDS bandwidth, no bank conflict, no memory, no other wave.
Good for issue slots and for comparing two builds; it ranks kernels only beside the emulator's counts.
"""

import re
import shutil
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Loop:
    """The instructions of a loop in order, as text without comments."""

    instructions: tuple[str, ...]

    def count(self, *prefixes):
        """How many instructions have a mnemonic that begins with one of the prefixes."""
        return sum(line.startswith(prefixes) for line in self.instructions)

    @property
    def mfma_passes(self):
        """Passes that the matrix pipe needs: 8 for a 32×32 FP8, f16 or bf16 MFMA, 4 for a 16×16 one. Source: LLVM's
        scheduling model of gfx942, which reproduces AMD's peak of 2615 TFLOP/s."""
        return 8 * sum("32x32" in x for x in self._mfma) + 4 * sum("16x16" in x for x in self._mfma)

    @property
    def _mfma(self):
        return [line for line in self.instructions if line.startswith("v_mfma")]

    @property
    def vmcnt(self):
        """How many vector loads each wait of the loop leaves in flight."""
        return [int(n) for line in self.instructions for n in re.findall(r"vmcnt\((\d+)\)", line)]

    def passes(self, mca=None):
        """Passes an iteration takes once the loop runs, by llvm-mca; s_barrier left out. None without llvm-mca."""
        mca = mca or find_mca()
        if mca is None:
            return None
        body = "\n".join(x for x in self.instructions if not x.startswith(("s_barrier", "s_cbranch", "s_branch")))
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


def main_loop(assembly, kernel):
    """Return the Loop of a kernel that holds most MFMAs. Raises ValueError if there is no such kernel or loop."""
    body = re.search(rf"^{re.escape(kernel)}:.*?\n(.*?)^\.Lfunc_end", assembly, re.S | re.M)
    if not body:
        raise ValueError(f"the listing has no kernel {kernel}")
    lines = [line.split(";")[0].rstrip() for line in body[1].splitlines()]
    labels = {m[1]: at for at, line in enumerate(lines) if (m := re.match(r"(\.LBB\w+):", line))}
    spans = [
        (labels[m[1]], at)
        for at, line in enumerate(lines)
        if (m := re.match(r"\s+s_c?branch\w*\s+(\.LBB\w+)", line)) and labels.get(m[1], at + 1) <= at
    ]
    loops = [Loop(tuple(x.strip() for x in lines[a : b + 1] if re.match(r"\s+[a-z]", x))) for a, b in spans]
    loops = [loop for loop in loops if loop.mfma_passes]
    if not loops:
        raise ValueError(f"{kernel} has no loop with an MFMA")
    return max(loops, key=lambda loop: (loop.mfma_passes, -len(loop.instructions)))
