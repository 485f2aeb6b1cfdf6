// Any CPU: vectors of four floats in the compiler's own notation (SSE2 on x86-64, NEON on aarch64), FP8 by table.
#include "quantize.h"
#include "tile.h"

namespace gemm_cpu {
namespace {

struct DecodeTable {
    float value[256];
    DecodeTable() {
        for (int code = 0; code < 256; ++code) {
            const int exponent = (code >> 3) & 15, mantissa = code & 7;
            float x = exponent ? static_cast<float>(8 + mantissa) : static_cast<float>(mantissa);
            for (int e = exponent ? exponent : 1; e < 11; ++e) x *= 0.5f;  // x * 2^(exponent - 8 - 3)
            for (int e = 11; e < exponent; ++e) x *= 2.0f;
            value[code] = code == 0x80 ? __builtin_nanf("") : code & 0x80 ? -x : x;
        }
    }
};
const DecodeTable table;

struct Portable {
    typedef float Vec __attribute__((vector_size(16)));
    static constexpr int lanes = 4, k_step = 1, tile_m = 4, transpose_k = 16;

    static void transpose(const uint8_t* src, int64_t stride_i, int valid, uint8_t* dst, int dst_pitch) {
        transpose_16x16(src, stride_i, valid, dst, dst_pitch);
    }
    static Vec load(const float* p) {
        Vec x;
        std::memcpy(&x, p, sizeof x);
        return x;
    }
    static void store(float* p, Vec x) { std::memcpy(p, &x, sizeof x); }
    static Vec broadcast(float x) { return Vec{x, x, x, x}; }
    static Vec add(Vec x, Vec y) { return x + y; }
    static Vec mul(Vec x, Vec y) { return x * y; }
    static Vec step(Vec sum, Vec a, Vec b) { return sum + a * b; }
    static Vec packed(const uint8_t* codes, int64_t) {
        return Vec{table.value[codes[0]], table.value[codes[1]], table.value[codes[2]], table.value[codes[3]]};
    }
};

bool is_supported() {
    return true;
}

}  // namespace

const Isa isa_portable = {
    "portable",          is_supported,   Portable::tile_m, Gemm<Portable>::tile_n, Gemm<Portable>::workspace_bytes,
    Gemm<Portable>::run, quantize_blocks};

}  // namespace gemm_cpu
