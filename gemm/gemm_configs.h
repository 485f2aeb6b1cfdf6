// Every kernel there is: its name, tile, layouts of a and b. The rule that picks one: gemm_launcher.hip.
//
//   k     K-contiguous      m, n  M- or N-contiguous      odd   the same, beginning at any byte
//   any   any strides; slow
//
// 256 × 256 leaves no register for a transposition: with a, b or both row-contiguous clang 22 spills 5, 20 or 43 VGPRs.
// The 64 × 64 tile is for results that give too few CUs a larger one: with K in 4 parts at most, no tile above 7600
// elements has work for 9 of 10 CUs on 1024 × 512.
#pragma once
#include "gemm_kernel.h"
#include "wave_tile.h"
#include "wave_tile_mn.h"

namespace gemm {

typedef Tile<256, 256, 2, 4> Tile256x256;
typedef Tile<256, 128, 4, 2> Tile256x128;
typedef Tile<128, 256, 2, 4> Tile128x256;
typedef Tile<128, 128, 2, 2> Tile128x128;
typedef Tile<64, 64, 2, 1> Tile64x64;

template <class Tile, class ALayout, class BLayout>
GEMM_DEVICE void compute(const Arguments& arg) {
    typedef RowContiguous<true> Rows;
    if constexpr (__is_same(Tile, WaveTile) && __is_same(ALayout, Rows) && __is_same(BLayout, Rows))
        gemm_wave_tile_mn(arg);
    else if constexpr (__is_same(Tile, WaveTile))
        gemm_wave_tile<ALayout, BLayout>(arg);
    else
        gemm_tile<Tile, ALayout, BLayout>(arg);
}

}  // namespace gemm

#define GEMM_CONFIGS(X)                                                             \
    X(gemm_256x256_kk, Tile256x256, KContiguous, KContiguous)                       \
    X(gemm_256x128_kk, Tile256x128, KContiguous, KContiguous)                       \
    X(gemm_128x256_kk, Tile128x256, KContiguous, KContiguous)                       \
    X(gemm_128x128_kk, Tile128x128, KContiguous, KContiguous)                       \
    X(gemm_64x64_kk, WaveTile, KContiguous, KContiguous)                            \
    X(gemm_256x128_mn, Tile256x128, RowContiguous<true>, RowContiguous<true>)       \
    X(gemm_128x128_mn, Tile128x128, RowContiguous<true>, RowContiguous<true>)       \
    X(gemm_64x64_mn, WaveTile, RowContiguous<true>, RowContiguous<true>)            \
    X(gemm_256x128_mk, Tile256x128, RowContiguous<true>, KContiguous)               \
    X(gemm_128x128_mk, Tile128x128, RowContiguous<true>, KContiguous)               \
    X(gemm_64x64_mk, WaveTile, RowContiguous<true>, KContiguous)                    \
    X(gemm_256x128_kn, Tile256x128, KContiguous, RowContiguous<true>)               \
    X(gemm_128x128_kn, Tile128x128, KContiguous, RowContiguous<true>)               \
    X(gemm_64x64_kn, WaveTile, KContiguous, RowContiguous<true>)                    \
    X(gemm_256x128_odd_mn, Tile256x128, RowContiguous<false>, RowContiguous<false>) \
    X(gemm_128x128_odd_mn, Tile128x128, RowContiguous<false>, RowContiguous<false>) \
    X(gemm_128x128_odd_mk, Tile128x128, RowContiguous<false>, KContiguous)          \
    X(gemm_128x128_odd_kn, Tile128x128, KContiguous, RowContiguous<false>)          \
    X(gemm_64x64_any, Tile64x64, AnyStrides, AnyStrides)

// The host needs the kernels' names only; without this it would instantiate every template too.
#ifdef __HIP_DEVICE_COMPILE__
#define GEMM_BODY(...) __VA_ARGS__
#else
#define GEMM_BODY(...)
#endif

// Two waves a SIMD: the registers and LDS of every tile above are chosen for that.
#define GEMM_KERNEL(name, tile, a_layout, b_layout)                                                                   \
    extern "C" __attribute__((global))                                                                                \
    __attribute__((amdgpu_flat_work_group_size(gemm::tile::lanes, gemm::tile::lanes)))                                \
    __attribute__((amdgpu_waves_per_eu(2, 2))) void                                                                   \
    name(const gemm::u8* a, const gemm::u8* b, const float* a_scale, const float* b_scale, gemm::u16* out, int m,     \
         int n, int k, int a_row_stride, int a_k_stride, int b_row_stride, int b_k_stride, int out_stride, int parts, \
         gemm::f32x4* partial, gemm::u64* arrived, gemm::u64 call) {                                                  \
        GEMM_BODY(gemm::compute<gemm::tile, gemm::a_layout, gemm::b_layout>({{a, m, k, a_row_stride, a_k_stride},     \
                                                                             {b, n, k, b_row_stride, b_k_stride},     \
                                                                             a_scale,                                 \
                                                                             b_scale,                                 \
                                                                             out,                                     \
                                                                             out_stride,                              \
                                                                             parts,                                   \
                                                                             {partial, arrived, call}});)             \
    }
