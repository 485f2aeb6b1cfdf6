"""hipcc: a .hip source becomes one host object with device code inside; any clang, either set of HIP headers."""

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fp8lab import hipcc, launcher, toolchain
from fp8lab.gfx942 import CodeObject, hip

SOURCE = """
#include <hip/hip_runtime.h>
#include <stdio.h>
#include <chrono>
#include "three.h"
extern "C" __global__ void scale(int* x, int n) {
    int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
    if (i < n) x[i] *= THREE;
}
extern "C" __attribute__((visibility("default"))) int run(int* x, int n) {
    int* device;
    hipDeviceProp_t about;
    (void)hipGetLastError();    // of another test in this process
    if (hipGetDeviceProperties(&about, 0) || about.warpSize != 64 || about.multiProcessorCount != 304) return -1;
    if (hipMalloc(reinterpret_cast<void**>(&device), n * sizeof *x)) return -2;
    if (hipMemcpy(device, x, n * sizeof *x, hipMemcpyHostToDevice)) return -3;
    scale<<<dim3((n + 63) / 64), dim3(64)>>>(device, n);
    if (hipError_t error = hipGetLastError()) return error;
    if (hipMemcpy(x, device, n * sizeof *x, hipMemcpyDeviceToHost)) return -4;
    return hipFree(device);
}
"""


def triton_headers():
    """The HIP 7 headers in a Triton wheel, None if there is none here."""
    folders = [Path(folder) for folder in [os.environ.get("FP8LAB_TRITON")] if folder]
    spec = importlib.util.find_spec("triton")
    if spec and spec.origin:
        folders.append(Path(spec.origin).parent.parent)
    places = (folder / "triton/backends/amd/include" for folder in folders)
    return next((place for place in places if (place / "hip/hip_runtime.h").exists()), None)


# What HIP's own header includes of clang for std::complex on the device. ziglang leaves these files out, and Debian's
# want its own order of folders; empty ones do where nothing uses std::complex.
WRAPPERS = ("__clang_cuda_math_forward_declares.h", "__clang_cuda_complex_builtins.h",
            *(f"include/cuda_wrappers/{name}" for name in ("algorithm", "complex", "new")))


def clangs():
    found = [toolchain._probe(*candidate) for candidate in toolchain._candidates(None, "/opt/rocm")]
    return {clang.name: clang for clang in found if isinstance(clang, toolchain.Clang)}


CLANGS = clangs()


@pytest.fixture
def source(tmp_path):
    (tmp_path / "three.h").write_text("#define THREE 3\n")
    (tmp_path / "scale.hip").write_text(SOURCE)
    return tmp_path / "scale.hip"


def run(source, *flags, **options):
    """Compile, link to the emulator, and let the kernel multiply 0 … 99 by 3."""
    made = source.with_suffix(".o")
    hipcc.compile_object(source, made, ["gfx942"], ["-O2", "-std=c++17", *flags], **options)
    folder, library = hip.build().parent, source.with_suffix(".so")
    subprocess.run(["c++", "-shared", made, "-o", library, f"-L{folder}", "-lamdhip64", f"-Wl,-rpath,{folder}"],
                   check=True)
    numbers = (ctypes.c_int * 100)(*range(100))
    assert ctypes.CDLL(str(library)).run(numbers, 100) == 0
    return list(numbers)


@pytest.mark.parametrize("clang", CLANGS)
def test_host_and_device_code_of_one_file_run(source, clang):
    assert run(source, clang=CLANGS[clang]) == [3 * i for i in range(100)]


def test_it_compiles_with_hips_own_headers_too(source):
    headers = triton_headers()
    if not headers:
        pytest.skip("needs the HIP 7 headers of Triton's wheel (1 GB): pip install --no-deps --target DIR "
                    "triton==3.9.0, then FP8LAB_TRITON=DIR")
    for name in WRAPPERS:
        (source.parent / "wrappers" / name).parent.mkdir(parents=True, exist_ok=True)
        (source.parent / "wrappers" / name).touch()
    flag = f"-I{source.parent / 'wrappers'}"
    clang = CLANGS.get("ziglang")   # the one that pip installs, if it is here
    assert run(source, flag, clang=clang, hip_include=headers) == [3 * i for i in range(100)]

    sources = source.parent / "gemm"    # the launcher, with one row of its table, as each takes seconds
    shutil.copytree(launcher.GEMM, sources)
    (sources / "gemm_configs.h").write_text(launcher.table(["gemm_64x64_kk"]))
    hipcc.compile_object(sources / "gemm_launcher.hip", sources / "launcher.o", ["gfx942"],
                         [*launcher.FLAGS, flag], clang=clang, hip_include=headers)
    assert b"gemm_64x64_kk" in (sources / "launcher.o").read_bytes()


def test_what_was_read_is_listed_for_ninja(source):
    depfile = source.with_suffix(".d")
    hipcc.compile_object(source, source.with_suffix(".o"), ["gfx942"], depfile=depfile)
    assert str(source) in depfile.read_text() and "three.h" in depfile.read_text()


def test_an_error_is_clangs_own_message(source):
    source.write_text(SOURCE.replace("x[i] *= THREE;", "x[i] *= THREE"))
    with pytest.raises(toolchain.CompileError, match=r"scale\.hip:8:\d+: error: expected ';'"):
        hipcc.compile_object(source, source.with_suffix(".o"), ["gfx942"])


def test_a_bundle_holds_the_code_objects_as_they_were(source):
    made = toolchain.compile('extern "C" __attribute__((global)) void nothing() {}')
    bundle = hipcc.offload_bundle({"gfx90a": b"other", "gfx942": made.path.read_bytes()})
    assert list(CodeObject(bundle, "bundle").kernels) == ["nothing"]
    assert bundle.count(b"hipv4-amdgcn-amd-amdhsa--") == 2 and bundle.index(b"other") % 4096 == 0


def test_what_the_headers_declare_the_library_offers():
    headers = "".join(path.read_text() for path in sorted((hipcc.HIP_INCLUDE / "hip").glob("*.h")))
    declared = set(re.findall(r"^(?:hipError_t|const char\*) (\w+)\(", headers, re.MULTILINE))
    offered = subprocess.check_output(["nm", "-D", "--defined-only", hip.build()], text=True).split()
    assert declared and declared <= set(offered)


def test_the_headers_name_errors_by_the_librarys_numbers():
    numbers = r"\b(hip(?:Success|Error\w+)) = (\d+)"
    ours = dict(re.findall(numbers, (hipcc.HIP_INCLUDE / "hip/hip_runtime_api.h").read_text()))
    library = dict(re.findall(numbers, (Path(hip.__file__).parent / "hip.h").read_text()))
    assert ours.items() >= library.items()
