"""`fp8lab gfx942 …`: look into a code object and run its kernels, from the command line.

    fp8lab gfx942 list k.co                     kernels, arguments, resources
    fp8lab gfx942 disassemble k.co gemm         the machine code, in LLVM's spelling
    fp8lab gfx942 report k.co                   registers, main loop, and what a launch asks of LDS and memory
    fp8lab gfx942 run --grid 8,12 --block 256 k.co gemm a.npy b.npy out:c.npy 1024

HIP source (gemm.hip) in the place of a code object is compiled first, at -O3. report takes the options and arguments of
run, after --kernel NAME, for the figures that need a launch.

An argument of the kernel is a .npy file (read), out:NAME.npy (read, and written back after the run), or
zeros:DTYPE:SHAPE:NAME.npy (made, and written), null, or a number: 1 for an int, 1.0 for a float, as a code object does
not know which kind a parameter is. FP8 and bfloat16 are uint8 and uint16 here. Options come first.
"""

import argparse
import math
import os
import sys
from pathlib import Path

import numpy as np

from fp8lab.gfx942 import CodeObject, CodeObjectError, DecodeError, Device, KernelFault
from fp8lab.gfx942.core.build import CoreBuildError
from fp8lab.gfx942.device import STEP_LIMIT
from fp8lab.gfx942.findings import dropped_text


def configure(parser):
    actions = parser.add_subparsers(dest="action", required=True)
    for name, what in (
        ("list", "kernels, their arguments and resources"),
        ("disassemble", "the machine code of a kernel"),
        ("report", "registers, the main loop, and with a launch: LDS clocks, bank conflicts, bytes, CUs with work"),
        ("run", "run a kernel with .npy files and numbers"),
    ):
        action = actions.add_parser(name, help=what, description=what)
        action.add_argument("code_object", help="a .co or .hsaco file, a clang offload bundle, or .hip source")
        if name == "report":
            action.add_argument("--kernel", help="one of them; all if not given")
        elif name != "list":
            action.add_argument("kernel", help="its name; fp8lab gfx942 list shows them")
        if name in ("report", "run"):
            action.add_argument("args", nargs="*", help="x.npy, out:x.npy, zeros:float32:64x64:x.npy, null, number")
            action.add_argument("--grid", type=_sizes, default=(1,), help="workgroups: x or x,y or x,y,z")
            action.add_argument("--block", type=_sizes, default=(64,), help="lanes of a workgroup, likewise")
            action.add_argument("--lds", type=int, default=0, help="dynamic LDS, bytes")
        if name == "run":
            action.add_argument("--checks", default="all", help="all, none, or names separated by commas")
            action.add_argument("--threads", type=int, help="host threads; default: one a CPU")
            action.add_argument(
                "--step-limit", type=int, default=STEP_LIMIT, help="instructions a wave may run; 0: without end"
            )
            action.add_argument("--counts", action="store_true", help="how often each instruction ran")
            action.add_argument("--trace", action="store_true", help="bank conflicts and memory sectors by instruction")


def run(args):
    try:
        code_object = _load(args.code_object)
        if args.action == "list":
            return _list(code_object, args.code_object)
        if args.action == "report" and args.kernel is None:
            return _report(list(code_object.kernels.values()), args)
        if args.kernel not in code_object.kernels:
            names = ", ".join(code_object.kernels) or "none"
            return _fail(f"{args.code_object} has no kernel {args.kernel}; it has {names}")
        kernel = code_object.kernels[args.kernel]
        if args.action == "disassemble":
            for instruction in kernel.instructions:
                print(f"{instruction.address:8x}  {instruction}")
            return 0
        return _report([kernel], args) if args.action == "report" else _run(kernel, args)
    except BrokenPipeError:  # the reader of our output has seen enough, as in … | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError, DecodeError, KernelFault, CoreBuildError) as error:
        return _fail(str(error))


def _load(path):
    if Path(path).suffix != ".hip":
        return CodeObject.load(path)
    from fp8lab import toolchain

    try:
        return toolchain.compile(Path(path)).code_object
    except (toolchain.CompileError, toolchain.ClangNotFound) as error:
        raise CodeObjectError(str(error)) from None


def _fail(message):
    print(f"fp8lab gfx942: {message}", file=sys.stderr)
    return 1


def _sizes(text):
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}, needs whole numbers: 8 or 8,12 or 8,12,1") from None


def _list(code_object, path):
    if not code_object.kernels:
        return _fail(f"{path} has no kernel: a kernel is a __global__ function")
    for kernel in code_object.kernels.values():
        r = kernel.resources
        visible = ", ".join(f"{a.name}: {a.kind} {a.size}" for a in kernel.arguments if not a.is_hidden)
        print(f"{kernel.name}({visible})")
        print(
            f"    {r.vgpr} VGPR ({r.agpr} AGPR), {r.sgpr} SGPR, {r.lds_bytes} bytes LDS, {r.scratch_bytes} of scratch, "
            f"spills {r.vgpr_spills} VGPR {r.sgpr_spills} SGPR, up to {r.workgroup_size} lanes a workgroup"
        )
    return 0


def _report(kernels, args):
    from fp8lab.report import report, traffic

    reports = [report(kernel, args.lds) for kernel in kernels]
    if not any(made.loop for made in reports):
        return _fail(
            f"{args.code_object}: no loop of {', '.join(k.name for k in kernels) or 'no kernel'} has a matrix "
            f"instruction, so there is nothing to report; fp8lab gfx942 list {args.code_object} shows the resources"
        )
    if args.args and len(kernels) > 1:
        names = " or ".join(kernel.name for kernel in kernels)
        return _fail(f"these arguments are for one kernel, {args.code_object} has {len(kernels)}: --kernel {names}")
    launched = ""
    if args.args:
        values = [_argument(text)[0] for text in args.args]
        device = Device(checks="none")
        done = device.launch(kernels[0], args.grid, args.block, values, dynamic_lds=args.lds, trace=True)
        launched = f"\n{traffic(reports[0].loop, done, math.prod(args.grid))}"
    print("\n".join(map(str, reports)) + launched)
    return 0


def _run(kernel, args):
    values, outputs = [], []
    for text in args.args:
        value, name = _argument(text)
        values.append(value)
        if name:
            outputs.append((name, value))
    checks = args.checks if args.checks in ("all", "none") else args.checks.split(",")
    device = Device(threads=args.threads, checks=checks, step_limit=args.step_limit or None)
    done = device.launch(kernel, args.grid, args.block, values, dynamic_lds=args.lds, trace=args.trace or None)
    for name, value in outputs:
        np.save(name, value)
    ran, found = done.counts.total, len(done.findings)
    print(f"{kernel.name}: {ran} wave instructions in {done.seconds:.3f} s, {found} findings")
    for finding in done.findings:
        print(f"  {finding}")
    if done.findings_dropped:
        print(f"  {dropped_text(done.findings_dropped)}")
    if args.counts:
        for name, count in sorted(done.counts.items(), key=lambda item: -item[1]):
            print(f"{count:12d}  {name}")
    if args.trace:
        for access in done.lds:
            print(f"LDS     {access.cycles:10d} clocks, {access.ideal_cycles} without conflicts: {access.instruction}")
        for access in done.memory:
            print(f"memory  {access.sectors:10d} sectors, {access.ideal_sectors} at least: {access.instruction}")
    return 2 if done.findings else 0


def _argument(text):
    """(value, file to write it to or None) of one argument on the command line."""
    if text == "null":
        return None, None
    kind, _, rest = text.partition(":")
    if kind == "zeros":
        try:
            dtype, shape, name = rest.split(":", 2)
            return np.zeros([int(n) for n in shape.split("x")], dtype), _writable(name)
        except (ValueError, TypeError, MemoryError) as error:
            raise ValueError(
                f"{text}: {error}; needs zeros:DTYPE:SHAPE:FILE, as zeros:float32:64x64:c.npy "
                "(FP8 is uint8, bfloat16 uint16)"
            ) from None
    if kind == "out":
        return _read(rest), _writable(rest)
    if text.endswith(".npy"):
        return _read(text), None
    try:
        is_real = any(c in text for c in ".eE") and not text.startswith("0x")
        return (float(text) if is_real else int(text, 0)), None
    except ValueError:
        raise ValueError(f"{text}: neither a .npy file nor a number nor null") from None


def _read(name):
    try:
        return np.load(name)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{name}: not an array of numbers as np.save writes it ({error})") from None


def _writable(name):
    """name, if a result can be written there: said before the run, not after it."""
    folder = Path(name).parent
    if not name.endswith(".npy"):
        raise ValueError(f"the file is called {name!r}, needs a name that ends in .npy")
    if not os.access(folder, os.W_OK) or not os.access(name if os.path.exists(name) else folder, os.W_OK):
        raise ValueError(f"{name} cannot be written")
    return name
