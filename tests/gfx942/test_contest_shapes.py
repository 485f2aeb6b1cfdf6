"""The 29 shapes of the contest (gpu-mode's amd-fp8-mm) with a kernel that is made for reading, on the emulator.

All but the two largest are computed whole. Those two, 304e9 of all 657e9 multiply-adds, run some of their workgroups:
those of the corners of C, where ragged edges are, and one drawn at random. Every workgroup runs the same program over
all of K, so that what a sample leaves out is which tile it is, not what happens in it.
"""

import ml_dtypes
import numpy as np
import pytest
from contest_oracle import SAMPLED, TIMED_WHOLE, scaled
from gfx942_kernels import compile_hip, needs_clang
from gfx942_sources import HEAD

from fp8lab import reference
from fp8lab.gfx942 import Device
from fp8lab.hardware import CONTEST_TEST_SHAPES

pytestmark = needs_clang
TILE = 128

# C[m, n] = Σ_kb a_scale[kb, m] · b_scale[kb, n / 128] · Σ_{k in kb} a[m, k] · b[n, k], operands contiguous along k. A
# workgroup of 4 waves has 128x128 of C, a wave 64x64 as 2x2 tiles of 32x32; one block of K at a time goes through LDS.
KERNEL = HEAD + """
extern "C" __global__ LANES(256) void gemm(const u8* a, const u8* b, const float* a_scale, const float* b_scale,
                                           __bf16* c, int m, int n, int k) {
    enum { pitch = 136 };  // 128 bytes of k, and 8 that spread the rows over the banks
    __shared__ __attribute__((aligned(16))) u8 a_lds[128 * pitch], b_lds[128 * pitch];
    int lane = TID & 63, wave = TID >> 6, m0 = (int)__builtin_amdgcn_workgroup_id_y() * 128, n0 = WG * 128;
    const u8* a_wave = a_lds + (wave / 2 * 64 + lane % 32) * pitch + lane / 32 * 8;
    const u8* b_wave = b_lds + (wave % 2 * 64 + lane % 32) * pitch + lane / 32 * 8;
    f32x16 acc[2][2] = {};
    for (int kb = 0; kb < k / 128; kb++) {
        barrier();
        for (int i = 0; i < 4; i++) {  // 8 lanes bring a row of 128 bytes; rows outside C are 0
            int row = TID / 8 + 32 * i, at = TID % 8 * 16;
            u32x4 av = {}, bv = {};
            if (m0 + row < m) av = *(const u32x4*)(a + (i64)(m0 + row) * k + kb * 128 + at);
            if (n0 + row < n) bv = *(const u32x4*)(b + (i64)(n0 + row) * k + kb * 128 + at);
            for (int half = 0; half < 2; half++) {
                *(u64*)(a_lds + row * pitch + at + 8 * half) = (u64)av[2 * half] | (u64)av[2 * half + 1] << 32;
                *(u64*)(b_lds + row * pitch + at + 8 * half) = (u64)bv[2 * half] | (u64)bv[2 * half + 1] << 32;
            }
        }
        barrier();
        f32x16 dot[2][2] = {};
        for (int kk = 0; kk < 128; kk += 16)
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++)
                    dot[i][j] = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(*(i64*)(a_wave + 32 * i * pitch + kk),
                        *(i64*)(b_wave + 32 * j * pitch + kk), dot[i][j], 0, 0, 0);
        float scale = b_scale[kb * ((n + 127) / 128) + WG];
        for (int i = 0; i < 2; i++)
            for (int v = 0; v < 16; v++) {
                int row = m0 + wave / 2 * 64 + 32 * i + 8 * (v / 4) + 4 * (lane / 32) + v % 4;
                float both = row < m ? a_scale[(i64)kb * m + row] * scale : 0;
                for (int j = 0; j < 2; j++) acc[i][j][v] += both * dot[i][j][v];
            }
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            for (int v = 0; v < 16; v++) {
                int row = m0 + wave / 2 * 64 + 32 * i + 8 * (v / 4) + 4 * (lane / 32) + v % 4;
                int column = n0 + wave % 2 * 64 + 32 * j + lane % 32;
                if (row < m && column < n) c[(i64)row * n + column] = (__bf16)acc[i][j][v];
            }
}
"""


def compiled():
    return compile_hip(KERNEL, name="contest").kernels["gemm"]


class Problem:
    """Normal data rounded to codes and normal scales, as the contest draws them; a (m, k), b (n, k)."""

    def __init__(self, m, n, k):
        rng = np.random.default_rng([m, n, k])
        self.m, self.n, self.k = m, n, k
        normal = rng.standard_normal((2, 1_000_003)).astype(ml_dtypes.float8_e4m3fnuz).view(np.uint8)
        self.a, self.b = np.resize(normal[0], (m, k)), np.resize(normal[1], (n, k))  # a prime: no row like another
        self.a_scale = rng.standard_normal((k // 128, m), np.float32)
        self.b_scale = rng.standard_normal((k // 128, -(-n // 128)), np.float32)
        self.c = np.full((m, n), 0x7FC1, np.uint16)  # a NaN that no kernel writes

    @property
    def grid(self):
        return -(-self.n // TILE), -(-self.m // TILE)

    def run(self, checks, workgroups=None):
        args = [self.a, self.b, self.a_scale, self.b_scale, self.c, self.m, self.n, self.k]
        return Device(checks=checks).launch(compiled(), self.grid, 256, args, workgroups=workgroups)

    def assert_right(self, workgroups):
        """Workgroups' tiles are within 1 bfloat16 ulp of float64; where terms cancel, of a thousandth of its size.

        A float32 sum is good to about 2^-24 of its largest terms, and a bfloat16 ulp is at least 2^-8 of the result.
        """
        width = self.grid[0]
        b = scaled(self.b, np.repeat(self.b_scale, 128, axis=1)[:, : self.n])
        for y in sorted({w // width for w in workgroups}):
            rows = slice(y * TILE, (y + 1) * TILE)
            band = scaled(self.a[rows], self.a_scale[:, rows]) @ b.T
            for workgroup in (w for w in workgroups if w // width == y):
                columns = slice(workgroup % width * TILE, (workgroup % width + 1) * TILE)
                want, got = band[:, columns], (self.c[rows, columns].astype(np.uint32) << 16).view(np.float32)
                size = np.maximum(np.abs(want), np.sqrt(np.mean(want**2)) / 1000)
                ulp = 2.0 ** (np.floor(np.log2(size)) - 7)
                assert (np.abs(got - want) <= ulp).all(), f"workgroup {workgroup}\n{reference.compare(got, want)}"


@pytest.mark.parametrize("m, n, k", [*CONTEST_TEST_SHAPES, *TIMED_WHOLE])
def test_a_shape_is_right(m, n, k):
    problem = Problem(m, n, k)
    run = problem.run("all" if m * n * k < 1e9 else "none")
    assert run.findings == []
    problem.assert_right(range(problem.grid[0] * problem.grid[1]))


@pytest.mark.parametrize("m, n, k", SAMPLED)
def test_one_of_the_largest_shapes_is_right_in_a_sample_of_its_workgroups(m, n, k):
    problem = Problem(m, n, k)
    x, y = problem.grid
    sample = {0, x - 1, x * (y - 1), x * y - 1} | set(np.random.default_rng([m, n]).integers(0, x * y, 1).tolist())
    run = problem.run("none", workgroups=sorted(sample))
    assert run.counts["s_endpgm"] == 4 * len(sample)
    problem.assert_right(sorted(sample))
    assert (problem.c == 0x7FC1).sum() == m * n - sum(
        min(TILE, m - w // x * TILE) * min(TILE, n - w % x * TILE) for w in sample
    )
