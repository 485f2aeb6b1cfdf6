"""The compiler of the laptop: found where it should be, right about what it made, plain about what went wrong."""

import re
import shutil
from pathlib import Path

import pytest

from fp8lab import toolchain
from fp8lab.gfx942.codeobject import Resources

SCALE = """
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(1, 256)))
void scale(float* x, float by) { x[__builtin_amdgcn_workitem_id_x()] *= by; }
"""

# 40 KiB of LDS, so one workgroup of 4 waves a CU; 120 live floats and a limit of 64 registers, so spills
GREEDY = """
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(256, 256)))
void lds_heavy(int* out) {
    static __attribute__((shared)) int lds[10240];
    int lane = __builtin_amdgcn_workitem_id_x();
    lds[lane] = out[lane];
    __builtin_amdgcn_s_barrier();
    out[lane] = lds[out[lane] & 10239];
}
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(256, 256), amdgpu_num_vgpr(64)))
void spilling(float* x) {
    float kept[120];
    _Pragma("unroll") for (int i = 0; i < 120; i++) kept[i] = x[i * 256 + __builtin_amdgcn_workitem_id_x()];
    __builtin_amdgcn_s_barrier();
    _Pragma("unroll") for (int i = 0; i < 120; i++) x[(119 - i) * 256 + __builtin_amdgcn_workitem_id_x()] = kept[i];
}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FP8LAB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def no_compilers(monkeypatch):
    monkeypatch.setattr(toolchain, "_candidates", lambda wish, rocm: iter(()))


def clang_named(name):
    for found, command in toolchain._candidates(None, "/nowhere"):
        if found.startswith(name):
            return toolchain._probe(found, command)
    pytest.skip(f"{name} is not on this machine")


def instructions(assembly):
    """The listing without comments and without the line that names the compiler's build."""
    lines = (re.sub(r"\s*;.*", "", line) for line in assembly.splitlines())
    return [line for line in lines if line.strip() and ".ident" not in line]


def test_ziglang_and_debians_clang_22_give_the_same_assembly():
    ours = [toolchain.compile(GREEDY, clang=clang_named(name)) for name in ("ziglang", "clang-22")]
    assert instructions(ours[0].assembly) == instructions(ours[1].assembly)
    assert ours[0].path != ours[1].path
    assert len(instructions(ours[0].assembly)) > 250


def test_the_code_object_is_an_elf_for_amdgpu():
    made = toolchain.compile(SCALE)
    image = made.path.read_bytes()
    assert image[:4] == b"\x7fELF"
    assert int.from_bytes(image[18:20], "little") == 224  # EM_AMDGPU
    assert b"scale" in image
    assert list(made.code_object.kernels) == ["scale"]


def test_resources_say_what_the_source_asks_for():
    kernels = toolchain.compile(GREEDY).resources
    assert kernels["lds_heavy"].lds_bytes == 40960
    assert kernels["lds_heavy"].waves_per_simd == 1  # one workgroup of 4 waves fits a CU of 4 SIMDs
    assert kernels["lds_heavy"].vgpr_spills == kernels["lds_heavy"].scratch_bytes == 0
    assert kernels["spilling"].vgpr_spills > 50
    assert kernels["spilling"].scratch_bytes >= 4 * 50
    assert kernels["spilling"].workgroup_size == 256


@pytest.mark.parametrize(
    ("vgpr", "lds_bytes", "workgroup_size", "waves"),
    [(64, 0, 256, 8), (65, 0, 256, 7), (128, 0, 256, 4), (129, 0, 256, 3), (256, 0, 512, 2), (257, 0, 64, 1),
     (32, 32768, 256, 2), (32, 49152, 512, 2), (32, 16384, 512, 8), (24, 65536, 1024, 4)],
)  # fmt: skip
def test_waves_per_simd_follows_registers_and_lds(vgpr, lds_bytes, workgroup_size, waves):
    kernel = Resources(vgpr, 0, 32, lds_bytes, 0, 0, workgroup_size, 0, 0)
    assert kernel.waves_per_simd == waves


def test_the_second_compile_of_the_same_text_comes_from_the_cache():
    first = toolchain.compile(SCALE)
    stamp = first.path.stat().st_mtime_ns
    assert toolchain.compile(SCALE) == first
    assert first.path.stat().st_mtime_ns == stamp
    assert toolchain.compile(SCALE, flags=("-O1",)).path != first.path
    assert toolchain.compile(SCALE, arch="gfx950").path != first.path


def test_a_changed_header_is_a_changed_source(tmp_path):
    source, header = tmp_path / "k.hip", tmp_path / "size.h"
    source.write_text('#include "size.h"\n' + SCALE.replace("*= by", "*= by + SIZE"))
    header.write_text("#define SIZE 1.0f\n")
    before = toolchain.compile(source)
    header.write_text("#define SIZE 3.0f\n")
    after = toolchain.compile(source)
    assert instructions(before.assembly) != instructions(after.assembly)


def test_a_compile_error_is_the_compilers_message_with_the_source_line(cache):
    with pytest.raises(toolchain.CompileError) as caught:
        toolchain.compile("int fine;\nint x = y;\n")
    assert str(caught.value).startswith("kernel.hip:2:9: error: use of undeclared identifier 'y'")
    assert "int x = y;" in str(caught.value)
    assert not list(cache.rglob("kernel.*"))


def test_a_missing_header_is_a_compile_error_too():
    with pytest.raises(toolchain.CompileError, match=r"'nowhere\.h' file not found"):
        toolchain.compile('#include "nowhere.h"\n')


def test_without_a_compiler_the_error_says_what_to_install(no_compilers):
    with pytest.raises(toolchain.ClangNotFound) as caught:
        toolchain.compile(SCALE)
    for way_out in ("pip install 'ziglang==", "apt-get install clang-22 lld-22", "FP8LAB_CLANG"):
        assert way_out in str(caught.value)


def test_a_compiler_asked_for_by_name_is_used_or_complained_about(monkeypatch, tmp_path):
    zig = clang_named("ziglang")
    monkeypatch.setenv("FP8LAB_CLANG", zig.command[0])
    assert toolchain.find_clang().command == zig.command

    monkeypatch.setenv("FP8LAB_CLANG", str(tmp_path / "clang"))
    with pytest.raises(toolchain.ClangNotFound, match=r"FP8LAB_CLANG: .*does not run: No such file"):
        toolchain.find_clang()

    monkeypatch.setenv("FP8LAB_CLANG", shutil.which("true"))
    with pytest.raises(toolchain.ClangNotFound, match="does not name a clang"):
        toolchain.find_clang()


@pytest.mark.parametrize(
    ("banner", "targets", "reason"),
    [("clang version 16.0.6", "amdgcn", "clang 16 is too old for gfx942, needs 19"),
     ("clang version 22.1.8", "x86-64", "it has no amdgcn target"),
     ("clang version 22.1.8", "amdgcn", "no ld.lld beside it; on Debian: apt-get install lld-22")],
)  # fmt: skip
def test_a_compiler_that_cannot_do_it_is_refused_with_the_reason(monkeypatch, tmp_path, banner, targets, reason):
    fake = tmp_path / "clang"
    answers = f'--version) echo "{banner}";; --print-targets) echo {targets};; *) echo no;;'
    fake.write_text(f"#!/bin/sh\ncase $1 in {answers} esac\n")
    fake.chmod(0o755)
    monkeypatch.setenv("FP8LAB_CLANG", str(fake))
    with pytest.raises(toolchain.ClangNotFound, match=re.escape(reason)):
        toolchain.find_clang()


def test_a_path_is_compiled_where_it_stands(tmp_path):
    source = Path(tmp_path, "broken.hip")
    source.write_text("void f() { return 1 }\n")
    with pytest.raises(toolchain.CompileError, match=r"broken\.hip:1:20: error"):
        toolchain.compile(source)
