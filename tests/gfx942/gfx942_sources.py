"""HIP kernels that the tests compile: each uses a corner of the ISA that compilers reach for. Written for these tests."""

# ruff: noqa: E501  (an instruction sequence or a kernel's line is kept whole)

HEAD = """
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define LANES(n) __attribute__((amdgpu_flat_work_group_size(n, n)))
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long u64; typedef long i64;
typedef _Float16 half2 __attribute__((ext_vector_type(2)));
typedef float f32x4 __attribute__((ext_vector_type(4)));
typedef float f32x16 __attribute__((ext_vector_type(16)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
#define TID ((int)__builtin_amdgcn_workitem_id_x())
#define WG ((int)__builtin_amdgcn_workgroup_id_x())
static __device__ void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
"""

CORPUS = {
    name: HEAD + body
    for name, body in {
        "vadd": """
extern "C" __global__ LANES(256) void vadd(const float* a, const float* b, float* c, int n) {
    int i = WG * 256 + TID;
    if (i < n) c[i] = a[i] + b[i];
}""",
        "lds": """
extern "C" __global__ LANES(256) void reverse(const float* a, float* c) {
    __shared__ float s[256];
    s[TID] = a[WG * 256 + TID];
    barrier();
    c[WG * 256 + TID] = s[255 - TID] * 2;
}
extern "C" __global__ LANES(256) void histogram(const u8* a, u32* bins, int n) {
    __shared__ u32 s[256];
    s[TID] = 0;
    barrier();
    for (int i = TID; i < n; i += 256) __atomic_fetch_add(&s[a[i]], 1, __ATOMIC_RELAXED);
    barrier();
    __atomic_fetch_add(&bins[TID], s[TID], __ATOMIC_RELAXED);
}""",
        "integers": """
extern "C" __global__ LANES(64) void integers(const int* a, const int* b, i64* out) {
    int x = a[TID], y = b[TID];
    i64 X = (i64)x << 20 | (u32)y, Y = y;
    i64 r[] = {x / (y | 1), (u32)x / ((u32)y | 1), x % (y | 1), X / (Y | 1), (i64)((u64)X / ((u64)Y | 1)), X * Y, X >> (y & 63), X << (y & 63),
               (i64)((u64)X >> (y & 63)), X < Y ? X : Y, __builtin_popcountll(X), __builtin_clzll(X | 1), __builtin_ctzll(X | 1),
               (i64)__builtin_bitreverse32(x), (i64)__builtin_bswap64(X), (i64)(short)x * (signed char)y, (i64)(((unsigned __int128)X * (u64)Y) >> 64)};
    for (int i = 0; i < 17; i++) out[i * 64 + TID] = r[i];
}""",
        "floats": """
extern "C" __global__ LANES(64) void floats(const float* a, const float* b, float* out, double* wide, _Float16* narrow) {
    float x = a[TID], y = b[TID];
    double X = x, Y = y;
    _Float16 h = x, g = y;
    float r[] = {x + y, x * y, x / y, __builtin_fmaf(x, y, x), __builtin_sqrtf(__builtin_fabsf(x)), __builtin_floorf(x), __builtin_truncf(y),
                 __builtin_rintf(x), __builtin_fminf(x, y), __builtin_fmaxf(x, -y), (float)(int)x, (float)(u32)__builtin_fabsf(y)};
    for (int i = 0; i < 12; i++) out[i * 64 + TID] = r[i];
    double w[] = {X + Y, X * Y, X / Y, __builtin_fma(X, Y, X), __builtin_sqrt(__builtin_fabs(X)), __builtin_floor(X), (double)(i64)(X * 1000)};
    for (int i = 0; i < 7; i++) wide[i * 64 + TID] = w[i];
    _Float16 n[] = {(_Float16)(h + g), (_Float16)(h * g), (_Float16)(h - g), (_Float16)__builtin_fmaf16(h, g, h), (_Float16)-h};
    for (int i = 0; i < 5; i++) narrow[i * 64 + TID] = n[i];
}""",
        "packed": """
extern "C" __global__ LANES(64) void packed(const half2* a, const half2* b, half2* out) {
    half2 x = a[TID], y = b[TID];
    out[TID] = x * y + x;
    out[64 + TID] = __builtin_elementwise_max(x, y) - y.yx;
    out[128 + TID] = __builtin_elementwise_fma(x, y, y);
}""",
        "scratch": """
extern "C" __global__ LANES(64) void scratch(const int* a, int* out, int n) {
    volatile int b[32];
    for (int i = 0; i < 32; i++) b[i] = a[i] * TID;
    int s = 0;
    for (int i = 0; i < n; i++) s += b[(i * 7 + TID) & 31];
    out[WG * 64 + TID] = s;
}""",
        "calls": """
static __device__ __attribute__((noinline)) int collatz(int n) {
    int steps = 0;
    while (n != 1 && steps < 1000) { n = n & 1 ? 3 * n + 1 : n / 2; steps++; }
    return steps;
}
static __device__ __attribute__((noinline)) int twice(int (*f)(int), int n) { return f(n) + f(n + 1); }
extern "C" __global__ LANES(64) void calls(const int* a, int* out) { out[TID] = twice(collatz, a[TID]); }""",
        "reduce": """
extern "C" __global__ LANES(256) void reduce(const float* a, float* out, int n) {
    float s = 0;
    for (int i = TID; i < n; i += 256) s += a[i];
    for (int m = 32; m; m >>= 1)
        s += __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute(((TID & 63) ^ m) << 2, __builtin_bit_cast(int, s)));
    __shared__ float part[4];
    if ((TID & 63) == 0) part[TID >> 6] = s;
    barrier();
    if (TID == 0) out[WG] = part[0] + part[1] + part[2] + part[3];
}
extern "C" __global__ LANES(64) void row_sums(const int* a, int* out) {
    int x = a[TID];
    x += __builtin_amdgcn_update_dpp(0, x, 0x111, 15, 15, true);   // row_shr:1
    x += __builtin_amdgcn_update_dpp(0, x, 0x112, 15, 15, true);
    x += __builtin_amdgcn_update_dpp(0, x, 0x114, 15, 15, true);
    x += __builtin_amdgcn_update_dpp(0, x, 0x118, 15, 15, true);   // each lane: the sum of its row up to itself
    out[TID] = x;
    out[64 + TID] = __builtin_amdgcn_update_dpp(-1, a[TID], 0x142, 0xa, 15, false);  // row_bcast:15 into rows 1 and 3
    out[128 + TID] = __builtin_amdgcn_mov_dpp(a[TID], 0x1b, 15, 15, true);           // quad_perm:[3,2,1,0]
    out[192 + TID] = __builtin_amdgcn_ds_swizzle(a[TID], 0x041f);                    // xor 1
    out[256 + TID] = __builtin_amdgcn_readlane(a[TID], 17) + __builtin_amdgcn_readfirstlane(a[TID]);
}""",
        "atomics": """
extern "C" __global__ LANES(64) void atomics(int* i, float* f, double* d, u64* q, int* old) {
    int x = WG * 64 + TID;
    __atomic_fetch_add(&i[0], x, __ATOMIC_RELAXED);
    __atomic_fetch_max(&i[1], x, __ATOMIC_RELAXED);
    __atomic_fetch_xor(&i[2], x, __ATOMIC_RELAXED);
    __atomic_fetch_min((u32*)&i[3], (u32)x, __ATOMIC_RELAXED);
    q[1 + x] = __atomic_fetch_add(&q[0], 1ul, __ATOMIC_RELAXED);
    int seen = i[4];
    while (!__atomic_compare_exchange_n(&i[4], &seen, seen + 2, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    float expect = f[0];
    while (!__atomic_compare_exchange_n((int*)f, (int*)&expect, __builtin_bit_cast(int, expect + 1.0f), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    old[x] = __atomic_exchange_n(&i[5], x, __ATOMIC_RELAXED);
    __builtin_amdgcn_global_atomic_fadd_f64((__attribute__((address_space(1))) double*)d, 0.5);
}""",
        "lds_dma": """
extern "C" __global__ LANES(64) void lds_dma(const u32* a, u32* out) {
    __shared__ u32 s[256];
    for (int i = 0; i < 4; i++)
        __builtin_amdgcn_global_load_lds((__attribute__((address_space(1))) void*)(a + i * 64 + TID), (__attribute__((address_space(3))) void*)(s + i * 64), 4, 0, 0);
    __builtin_amdgcn_s_waitcnt(0);
    __builtin_amdgcn_s_barrier();
    for (int i = 0; i < 4; i++) out[i * 64 + TID] = s[255 - (i * 64 + TID)];
}""",
        "fp8": """
extern "C" __global__ LANES(64) void quantise(const float* a, u32* fp8, u32* bf8) {
    const float* x = a + 4 * (WG * 64 + TID);
    u32 r = __builtin_amdgcn_cvt_pk_fp8_f32(x[0], x[1], 0, false);
    fp8[WG * 64 + TID] = __builtin_amdgcn_cvt_pk_fp8_f32(x[2], x[3], r, true);
    r = __builtin_amdgcn_cvt_pk_bf8_f32(x[0], x[1], 0, false);
    bf8[WG * 64 + TID] = __builtin_amdgcn_cvt_pk_bf8_f32(x[2], x[3], r, true);
}
extern "C" __global__ LANES(64) void dequantise(const u32* codes, float* fp8, float* bf8) {
    u32 c = codes[TID];
    fp8[4 * TID] = __builtin_amdgcn_cvt_f32_fp8(c, 0), fp8[4 * TID + 1] = __builtin_amdgcn_cvt_f32_fp8(c, 1);
    fp8[4 * TID + 2] = __builtin_amdgcn_cvt_f32_fp8(c, 2), fp8[4 * TID + 3] = __builtin_amdgcn_cvt_f32_fp8(c, 3);
    auto lo = __builtin_amdgcn_cvt_pk_f32_bf8(c, false), hi = __builtin_amdgcn_cvt_pk_f32_bf8(c, true);
    bf8[4 * TID] = lo[0], bf8[4 * TID + 1] = lo[1], bf8[4 * TID + 2] = hi[0], bf8[4 * TID + 3] = hi[1];
}""",
        "softmax": """
extern "C" __global__ LANES(64) void softmax(const float* a, float* out, int n) {
    const float* row = a + WG * n;
    float most = -1e30f, sum = 0;
    for (int i = TID; i < n; i += 64) most = __builtin_fmaxf(most, row[i]);
    for (int m = 32; m; m >>= 1) most = __builtin_fmaxf(most, __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((TID ^ m) << 2, __builtin_bit_cast(int, most))));
    for (int i = TID; i < n; i += 64) sum += __builtin_amdgcn_exp2f((row[i] - most) * 1.442695041f);
    for (int m = 32; m; m >>= 1) sum += __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((TID ^ m) << 2, __builtin_bit_cast(int, sum)));
    for (int i = TID; i < n; i += 64) out[WG * n + i] = __builtin_amdgcn_exp2f((row[i] - most) * 1.442695041f) * __builtin_amdgcn_rcpf(sum);
}""",
        "spin": """
extern "C" __global__ LANES(64) void relay(int* flags, int* out, int n) {
    // workgroup w waits for w + 1: with workgroups started in order, the first ones spin until the last has run
    if (WG + 1 < n) while (__hip_atomic_load(&flags[WG + 1], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
    out[WG * 64 + TID] = WG + 1 < n ? out[(WG + 1) * 64 + TID] + 1 : TID;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    if (TID == 0) __hip_atomic_store(&flags[WG], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
extern "C" __global__ LANES(64) void forever(int* flag) {
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
}""",
        "gemm": """
// C[m, n] = Σ_k A[m, k] · B[n, k], e4m3fnuz in, float out; 64x64 a workgroup of 4 waves, 32x32 a wave, K a multiple of 64
extern "C" __global__ LANES(256) void gemm(const u8* a, const u8* b, float* c, int m, int n, int k) {
    __shared__ __attribute__((aligned(16))) u8 a_lds[64 * 72], b_lds[64 * 72];
    int t = TID, lane = t & 63, wave = t >> 6, m0 = (int)__builtin_amdgcn_workgroup_id_y() * 64, n0 = WG * 64;
    __amdgpu_buffer_rsrc_t ra = __builtin_amdgcn_make_buffer_rsrc((void*)a, 0, m * k, 0x20000), rb = __builtin_amdgcn_make_buffer_rsrc((void*)b, 0, n * k, 0x20000);
    f32x16 acc = 0;
    for (int k0 = 0; k0 < k; k0 += 64) {
        u32x4 av = __builtin_amdgcn_raw_buffer_load_b128(ra, (m0 + t / 4) * k + k0 + t % 4 * 16, 0, 0);
        u32x4 bv = __builtin_amdgcn_raw_buffer_load_b128(rb, (n0 + t / 4) * k + k0 + t % 4 * 16, 0, 0);
        barrier();
        for (int h = 0; h < 2; h++) {
            *(u64*)(a_lds + t / 4 * 72 + t % 4 * 16 + 8 * h) = (u64)av[2 * h] | (u64)av[2 * h + 1] << 32;
            *(u64*)(b_lds + t / 4 * 72 + t % 4 * 16 + 8 * h) = (u64)bv[2 * h] | (u64)bv[2 * h + 1] << 32;
        }
        barrier();
        for (int kk = 0; kk < 64; kk += 16) {
            i64 x = *(i64*)(a_lds + (wave / 2 * 32 + lane % 32) * 72 + kk + lane / 32 * 8);
            i64 y = *(i64*)(b_lds + (wave % 2 * 32 + lane % 32) * 72 + kk + lane / 32 * 8);
            acc = __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(x, y, acc, 0, 0, 0);
        }
    }
    for (int v = 0; v < 16; v++) {
        int row = m0 + wave / 2 * 32 + 8 * (v / 4) + 4 * (lane / 32) + v % 4, column = n0 + wave % 2 * 32 + lane % 32;
        if (row < m && column < n) c[row * n + column] = acc[v];
    }
}""",
    }.items()
}
