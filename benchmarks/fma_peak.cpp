// The shortest time in which this CPU can do so many float32 multiplications and additions: FMAs on registers only, no
// memory, enough of them in flight to hide their latency. What any float32 GEMM can be compared with. The registers
// start at zero: what a thread finds in them may be subnormal, and each FMA on that takes over a hundred cycles.
#include <cstdint>

extern "C" {

// Runs `flops` floating-point operations (a little more) on one thread.
void fma_avx512(int64_t flops) {
    int64_t left = flops / (24 * 16 * 2) + 1;
    __asm__ volatile(
        ".irp r,16,17,18,19,20,21,22,23,30,31\n"
        "vpxord %%zmm\\r, %%zmm\\r, %%zmm\\r\n"
        ".endr\n"
        "vzeroall\n"
        "1:\n"
        ".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23\n"
        "vfmadd231ps %%zmm30, %%zmm31, %%zmm\\r\n"
        ".endr\n"
        "dec %0\n"
        "jnz 1b\n"
        : "+r"(left)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
          "xmm12", "xmm13", "xmm14", "xmm15", "cc");
}

void fma_avx2(int64_t flops) {
    int64_t left = flops / (12 * 8 * 2) + 1;
    __asm__ volatile(
        "vzeroall\n"
        "1:\n"
        ".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n"
        "vfmadd231ps %%ymm14, %%ymm15, %%ymm\\r\n"
        ".endr\n"
        "dec %0\n"
        "jnz 1b\n"
        : "+r"(left)::"xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
          "cc");
}
}
