// One source, two targets: each case is a function of up to three operands, compiled for the host and for gfx942.
//
//     CASE2(name, result type, type of a, type of b, expression of a and b)
//
// Operands and results travel in 64-bit slots, value in the low bits. On the host a case becomes host_NAME, a loop over
// all operands, and types_NAME. For gfx942 it becomes vector_NAME, a kernel with an operand a lane, and unless
// VECTOR_ONLY is defined scalar_NAME, with an operand a wave, where the compiler knows that all lanes agree and uses s_
// instructions. No expression has undefined behaviour, none may be contracted (-ffp-contract=off for both).
#pragma once
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
typedef _Float16 f16;
typedef u16 bf16;
typedef u16 u16x2 __attribute__((vector_size(4)));
typedef i16 i16x2 __attribute__((vector_size(4)));
typedef f16 f16x2 __attribute__((vector_size(4)));
typedef u8 u8x4 __attribute__((vector_size(4)));
typedef u32 u32x2 __attribute__((vector_size(8)));
typedef f32 f32x2 __attribute__((vector_size(8)));

#ifdef __AMDGCN__
#define FUNCTION static __attribute__((device, always_inline))  // at -O0, too
#define CALLED static __attribute__((device, noinline))
#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(64, 64))) void
#define LANE __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
#ifdef VECTOR_ONLY
#define SCALAR(...)
#else
#define SCALAR(...) __VA_ARGS__
#endif
#define COMPILE(name, R, A, B, C)                                                             \
    KERNEL vector_##name(const u64* x, u64* out, u32 n) {                                     \
        u32 i = GROUP * 64 + LANE;                                                            \
        out[i] = SLOT(R, name(VALUE(A, x[i]), VALUE(B, x[n + i]), VALUE(C, x[2 * n + i])));   \
    }                                                                                         \
    SCALAR(KERNEL scalar_##name(const u64* x, u64* out, u32 n) {                              \
        u32 i = GROUP;                                                                        \
        u64 slot = SLOT(R, name(VALUE(A, x[i]), VALUE(B, x[n + i]), VALUE(C, x[2 * n + i]))); \
        if (LANE == 0) out[i] = slot;                                                         \
    })
#else
#define FUNCTION static
#define CALLED static
#define ONE_BY_ONE __asm__ volatile("" ::: "memory")  // clang 22's vectoriser crashes on frexp
#define EXPORT __attribute__((visibility("default")))
#define COMPILE(name, R, A, B, C)                                                               \
    EXPORT const char* types_##name = #R " " #A " " #B " " #C;                                  \
    EXPORT void host_##name(const u64* x, u64* out, u32 n) {                                    \
        for (u32 i = 0; i < n; i++) {                                                           \
            out[i] = SLOT(R, name(VALUE(A, x[i]), VALUE(B, x[n + i]), VALUE(C, x[2 * n + i]))); \
            ONE_BY_ONE;                                                                         \
        }                                                                                       \
    }
#endif
#define VALUE(T, slot)                               \
    ({                                               \
        u64 in = slot;                               \
        T value;                                     \
        __builtin_memcpy(&value, &in, sizeof value); \
        value;                                       \
    })
#define SLOT(T, result)                                \
    ({                                                 \
        T value = result;                              \
        u64 made = 0;                                  \
        __builtin_memcpy(&made, &value, sizeof value); \
        made;                                          \
    })
#define CASE3(name, R, A, B, C, ...) \
    FUNCTION R name(A a, B b, C c) { \
        return __VA_ARGS__;          \
    }                                \
    COMPILE(name, R, A, B, C)
#define CASE2(name, R, A, B, ...) CASE3(name, R, A, B, u32, __VA_ARGS__)
#define CASE1(name, R, A, ...) CASE3(name, R, A, u32, u32, __VA_ARGS__)
