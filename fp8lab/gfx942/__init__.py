"""A MI300X on a laptop: runs unmodified gfx942 machine code, bit for bit, and tells of mistakes a GPU would hide.

    from fp8lab.gfx942 import CodeObject, Device
    kernel = CodeObject.load("gemm.co").kernels["gemm"]
    run = Device().launch(kernel, grid=(8, 12, 1), block=(256, 1, 1), args=[a, b, c, 1024])

Where to read on: isa/ is the instruction set as a table; core/ the interpreter that is generated from it; codeobject.py
and decode.py what is read from the file; findings.py and trace.py what is told about a run.
"""

from fp8lab.gfx942.codeobject import CodeObject, CodeObjectError, Kernel
from fp8lab.gfx942.decode import DecodeError
from fp8lab.gfx942.device import Device, Run
from fp8lab.gfx942.findings import Finding, KernelFault
from fp8lab.gfx942.program import LaunchError

__all__ = [
    "CodeObject",
    "CodeObjectError",
    "DecodeError",
    "Device",
    "Finding",
    "Kernel",
    "KernelFault",
    "LaunchError",
    "Run",
]
