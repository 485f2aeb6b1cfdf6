// What the device code is written in: types, buffer descriptors, a division. Compiler builtins only, no HIP header.
#pragma once

#define GEMM_DEVICE __attribute__((device, always_inline)) inline
#define GEMM_UNROLL _Pragma("unroll")

namespace gemm {

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long i64;
typedef unsigned long u64;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x3 __attribute__((ext_vector_type(3)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef i64 i64x2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef __amdgpu_buffer_rsrc_t Buffer;

constexpr int block_k = 128;  // elements of K that share a scale; also the depth of one step of the main loop

GEMM_DEVICE int min(int a, int b) {
    return a < b ? a : b;
}

// A raw buffer of so many bytes. A load outside returns 0 and a store outside is dropped, without traffic: this is how
// edges of the matrix and the end of K are handled. The last word selects 32-bit data, as every raw buffer on gfx942.
GEMM_DEVICE Buffer buffer(const void* base, u32 bytes) {
    return __builtin_amdgcn_make_buffer_rsrc(const_cast<void*>(base), 0, bytes, 0x00020000);
}

constexpr u32 outside = 0x80000000u;  // an offset beyond every buffer here

GEMM_DEVICE float load_f32(Buffer from, u32 offset) {
    return __builtin_bit_cast(float, __builtin_amdgcn_raw_buffer_load_b32(from, offset, 0, 0));
}

// a / b, the same in all lanes, for 0 <= a < 2^22 and b > 0; the compiler's own expansion is longer.
GEMM_DEVICE int divide(int a, int b) {
    int quotient = int(float(a) * __builtin_amdgcn_rcpf(float(b))), rest = a - quotient * b;  // or one off
    quotient += rest >= b;
    quotient -= rest < 0;
    return __builtin_amdgcn_readfirstlane(quotient);
}

template <int n>
struct Int {
    static constexpr int value = n;
};

template <class T, T... values>
struct Sequence {
    template <class F>
    static GEMM_DEVICE void each(F& f) {
        (f(Int<values>()), ...);
    }
};

// f(Int<0>()), f(Int<1>()) … f(Int<n - 1>()): a loop that is unrolled whatever its size, with a constant as its index.
template <int n, class F>
GEMM_DEVICE void static_for(F&& f) {
    __make_integer_seq<Sequence, int, n>::each(f);
}

// Nothing moves across: the code around stays in the order in which it is written.
GEMM_DEVICE void schedule_fence() {
    __builtin_amdgcn_sched_barrier(0);
}

// No instruction: the value is computed before this point and counts as new after it. A loaded value has arrived here.
// A sum of it and a constant is computed beside its use, where the constant fits the instruction's offset field, and
// not kept in a register of its own for the whole loop.
template <class T>
GEMM_DEVICE void settle(T& value) {
    asm volatile("" : "+v"(value));
}

}  // namespace gemm
