"""One .hip file -> one object file with host code and, inside it, device code for each GPU: what ROCm's hipcc makes.

No ROCm is needed: a clang with the amdgcn target (toolchain.py) compiles both halves, against the HIP declarations in
fp8lab/gfx942/hip/include and the C++ library of this machine's C++ compiler.

    python -m fp8lab.hipcc --arch gfx942 -o gemm_launcher.hip.o -MF gemm_launcher.hip.d -- gemm_launcher.hip -O3

Device code is cached as toolchain.compile() does, so a second object from the same source takes a second.
"""

import argparse
import functools
import os
import platform
import shlex
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from fp8lab import toolchain

HIP_INCLUDE = Path(__file__).parent / "gfx942" / "hip" / "include"
HOST_ONLY = ("-x", "hip", "--offload-host-only", "-nogpuinc", "-nogpulib", "-fuse-cuid=none", "-fPIC",
             "-fvisibility=hidden", "-Wall")
PAGE = 4096


def compile_object(source, output, archs, flags=(), hip_include=HIP_INCLUDE, cxx=("c++",), depfile=None, clang=None):
    """Write the object file for a .hip source.

    archs        GPUs: ["gfx942"]
    flags        for both halves, as hip-flags of build.toml are
    hip_include  the folder that holds hip/hip_runtime.h
    cxx          the command of the C++ compiler whose headers the host half uses; the one that links the object
    depfile      path for the list of files read, in make's form

    Returns the compiler's warnings. Raises toolchain.CompileError with its errors, ClangNotFound if there is none.
    """
    clang = clang or toolchain.find_clang()
    code_objects = {arch: device_code(source, arch, flags, hip_include, cxx, clang).path for arch in archs}
    with tempfile.TemporaryDirectory(prefix="fp8lab-") as folder:
        bundle = Path(folder, "bundle")
        bundle.write_bytes(offload_bundle({arch: path.read_bytes() for arch, path in code_objects.items()}))
        options = [*HOST_ONLY, *(f"--offload-arch={arch}" for arch in archs), *_both(flags, hip_include, cxx, clang)]
        if depfile:
            options += ["-MMD", "-MF", str(depfile), "-MT", str(output)]
        done = clang.run(*options, "-Xclang", "-fcuda-include-gpubinary", "-Xclang", str(bundle),
                         "-c", str(source), "-o", str(output))
    if done.returncode:
        raise toolchain.CompileError(done.stderr.strip())
    return done.stderr


def device_code(source, arch, flags=(), hip_include=HIP_INCLUDE, cxx=("c++",), clang=None):
    """Return the toolchain.Compiled that the object of compile_object() holds for one GPU: compiled once for both."""
    clang = clang or toolchain.find_clang()
    return toolchain.compile(Path(source), arch, _both(flags, hip_include, cxx, clang), clang)


def _both(flags, hip_include, cxx, clang):
    """The flags of both halves. HIP's own headers want to know the platform; ours do not mind."""
    return (*flags, "-D__HIP_PLATFORM_AMD__=1", *system_includes(clang, tuple(cxx)), "-isystem", str(hip_include))


def offload_bundle(code_objects):
    """Return the bytes of a clang offload bundle: an empty host entry, then {arch: code object}, each at a page.

    Source: clang's documentation, "Clang Offload Bundler".
    """
    entries = {f"host-{platform.machine()}-unknown-linux-gnu-": b""}
    entries |= {f"hipv4-amdgcn-amd-amdhsa--{arch}": code for arch, code in code_objects.items()}
    head = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(entries))
    at = _paged(len(head) + sum(24 + len(name) for name in entries))
    body = b""
    for name, code in entries.items():
        head += struct.pack("<QQQ", at + len(body), len(code), len(name)) + name.encode()
        body += code.ljust(_paged(len(code)), b"\0")
    return head.ljust(at, b"\0") + body


def _paged(size):
    return -(-size // PAGE) * PAGE


@functools.cache
def system_includes(clang, cxx):
    """Return clang's flags for the C and C++ headers of another compiler, with clang's own in place of that one's.

    clang's driver looks for a libstdc++ itself, but not ziglang's, and not always the one that `cxx` links to.
    """
    asked = subprocess.run([*cxx, "-x", "c++", "-E", "-v", "/dev/null"], capture_output=True, text=True,
                           env=os.environ | {"LC_ALL": "C"})
    _, _, after = asked.stderr.partition("#include <...> search starts here:\n")
    folders = [line.strip() for line in after.partition("End of search list.")[0].splitlines()]
    if not folders:
        raise toolchain.CompileError(f"{' '.join(cxx)} does not say where its headers are:\n{asked.stderr.strip()}")
    theirs = [folder for folder in folders if Path(folder, "stddef.h").exists() and Path(folder, "stdarg.h").exists()]
    flags = ["-nostdinc"]
    for folder in folders:
        flags += ["-isystem", str(_own_headers(clang)) if folder in theirs else folder]
    return tuple(flags)


def _own_headers(clang):
    if clang.command[-1] == "clang":  # ziglang's does not know where they lie
        return Path(clang.command[0]).parent / "lib" / "include"
    return Path(clang.run("-print-resource-dir").stdout.strip()) / "include"


def main():
    parser = argparse.ArgumentParser(prog="python -m fp8lab.hipcc", description=__doc__.split("\n")[0])
    parser.add_argument("-o", dest="output", type=Path, required=True)
    parser.add_argument("-MF", dest="depfile", type=Path)
    parser.add_argument("--arch", action="append", required=True, help="a GPU, for example gfx942; may be repeated")
    parser.add_argument("--cxx", default="c++", help="the C++ compiler whose headers the host half uses")
    parser.add_argument("source", type=Path, help="after --, as the flags behind it are clang's")
    parser.add_argument("flags", nargs="*")
    args = parser.parse_args()
    try:
        said = compile_object(args.source, args.output, args.arch, args.flags, cxx=tuple(shlex.split(args.cxx)),
                              depfile=args.depfile)
    except (toolchain.CompileError, toolchain.ClangNotFound) as error:
        print(error, file=sys.stderr)
        return 1
    print(said, end="", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
