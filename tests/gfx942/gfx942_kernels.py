"""What the emulator's tests share: a few instructions in, exact bits out.

run_lanes(body, inputs, outputs) assembles a kernel round the instructions given: v10, v11 … hold each lane's inputs,
and what v60, v61 … hold afterwards is returned. Needs clang-22 and ld.lld-22, the same as other kernels of these tests.
"""

import functools
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from fp8lab import toolchain
from fp8lab.gfx942 import CodeObject, Device

CLANG, LLD = shutil.which("clang-22"), shutil.which("ld.lld-22")
needs_clang = pytest.mark.skipif(
    not (CLANG and LLD), reason="needs clang-22 and lld-22 (apt-get install clang-22 lld-22)"
)
HIP = (*toolchain.DEVICE_ONLY, "--offload-arch=gfx942", "--no-gpu-bundle-output")
_FOLDER = tempfile.TemporaryDirectory(prefix="gfx942-tests-")
BUILT = Path(_FOLDER.name)


def compile_hip(source, *flags, name=None):
    """The code object clang makes of a HIP source; compiled once a session for the same text and flags."""
    key = name or hashlib.sha256(repr((source, flags)).encode()).hexdigest()[:16]
    made = BUILT / f"{key}.co"
    if not made.exists():
        (BUILT / f"{key}.hip").write_text(source)
        subprocess.run(
            [CLANG, *HIP, *(flags or ("-O3",)), BUILT / f"{key}.hip", "-o", made], check=True, capture_output=True
        )
    return CodeObject.load(made)


KERNEL = """
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl kernel
.p2align 8
.type kernel,@function
kernel:
{body}
  s_endpgm
.Lend:
.size kernel, .Lend-kernel
.rodata
.p2align 6
.amdhsa_kernel kernel
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
  .amdhsa_system_sgpr_workgroup_id_x 1
  .amdhsa_next_free_vgpr 512
  .amdhsa_next_free_sgpr 100
  .amdhsa_accum_offset 256
  .amdhsa_group_segment_fixed_size {lds}
  .amdhsa_private_segment_fixed_size {scratch}
  {directives}
.end_amdhsa_kernel
.amdgpu_metadata
---
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx942
amdhsa.kernels:
  - .name: kernel
    .symbol: kernel.kd
    .kernarg_segment_size: 16
    .kernarg_segment_align: 8
    .group_segment_fixed_size: {lds}
    .private_segment_fixed_size: {scratch}
    .wavefront_size: 64
    .sgpr_count: 100
    .vgpr_count: 512
    .max_flat_workgroup_size: 1024
    .args:
      - {{.name: source, .offset: 0, .size: 8, .value_kind: global_buffer, .address_space: global}}
      - {{.name: target, .offset: 8, .size: 8, .value_kind: global_buffer, .address_space: global}}
...
.end_amdgpu_metadata
"""


@functools.lru_cache(maxsize=2000)
def assemble(body, lds=0, scratch=0, directives=""):
    """A code object with one kernel(source, target): s[0:1] is its argument block, s2 the workgroup, v0 the lane."""
    text = KERNEL.format(body=body, lds=lds, scratch=scratch, directives=directives)
    key = hashlib.sha256(text.encode()).hexdigest()[:16]
    source, made = BUILT / f"{key}.s", BUILT / f"{key}.co"
    source.write_text(text)
    target = ("-target", "amdgcn-amd-amdhsa", "-mcpu=gfx942")
    done = subprocess.run(
        [CLANG, *target, "-fuse-ld=lld-22", "-nogpulib", source, "-o", made], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return CodeObject.load(made)


def lanes_kernel(body, inputs, outputs):
    """The text round body: v10 … from source, v60 … to target, dword by dword, 64 lanes of a workgroup side by side."""
    lines = [
        "s_load_dwordx4 s[4:7], s[0:1], 0x0",
        "v_lshlrev_b32_e32 v1, 2, v0",
        f"s_mul_i32 s8, s2, {256 * inputs}",
        f"s_mul_i32 s9, s2, {256 * outputs}",
        "s_waitcnt lgkmcnt(0)",
        "s_add_u32 s4, s4, s8",
        "s_addc_u32 s5, s5, 0",
        "s_add_u32 s6, s6, s9",
        "s_addc_u32 s7, s7, 0",
        "v_mov_b32_e32 v2, v1",
    ]
    for i in range(inputs):
        lines += [f"global_load_dword v{10 + i}, v2, s[4:5]", "v_add_u32_e32 v2, 0x100, v2"]
    lines += [
        "s_waitcnt vmcnt(0)",
        *[f"v_mov_b32_e32 v{60 + i}, 0x5a5a5a5a" for i in range(outputs)],
        "s_nop 4",
        body,
        "s_nop 15",
        "s_nop 15",
        "s_waitcnt vmcnt(0) lgkmcnt(0)",
        "v_mov_b32_e32 v2, v1",
    ]
    for i in range(outputs):
        lines += [f"global_store_dword v2, v{60 + i}, s[6:7]", "v_add_u32_e32 v2, 0x100, v2"]
    return "\n".join("  " + line for line in lines)


def run_lanes(body, inputs, outputs=1, checks="none", **options):
    """Run body for 64 lanes. inputs is (n, 64) uint32, or (workgroups, n, 64); the result has outputs in place of n."""
    inputs = np.ascontiguousarray(inputs, np.uint32)
    workgroups, n = (inputs.shape[0], inputs.shape[1]) if inputs.ndim == 3 else (1, inputs.shape[0])
    kernel = assemble(lanes_kernel(body, n, outputs), **options).kernels["kernel"]
    target = np.zeros((workgroups, outputs, 64), np.uint32)
    run = Device(checks=checks).launch(kernel, workgroups, 64, [inputs, target])
    return (target if inputs.ndim == 3 else target[0]), run


def arity(f):
    return f.__code__.co_argcount if hasattr(f, "__code__") else None
