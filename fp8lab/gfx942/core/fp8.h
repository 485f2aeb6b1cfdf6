// FP8 matrix instructions, a vector of columns of D at a time: the same result as dot.h, in one of two ways.
//
//   fixed point  Where the exponents of A's row and of B's columns are close, dot.h cuts nothing: D is A * B + C in
//                32-bit integers, rounded once. fp8_fixed() says how close, and why.
//   aligned      dot.h's steps as they stand, for all other numbers: fp8_aligned().
//
// Sums of integers have no order, so elements are taken as they lie: a pair is two even or two odd k of a row of A (or
// column of B), the halves of one lane's register.
#pragma once
#include "dot.h"

// Vectors of the compiler (GCC and clang), as wide as the registers of most CPUs with AVX-512, or with less.
#ifdef __AVX512BW__
#define VECTOR_BYTES 64
#define EVERY_SECOND(x) x, x + 2, x + 4, x + 6, x + 8, x + 10, x + 12, x + 14, EIGHT_MORE(x + 16)
#define EIGHT_MORE(x) x, x + 2, x + 4, x + 6, x + 8, x + 10, x + 12, x + 14
#else
#define VECTOR_BYTES 32
#define EVERY_SECOND(x) x, x + 2, x + 4, x + 6, x + 8, x + 10, x + 12, x + 14
#endif
#define VECTOR(bytes) __attribute__((vector_size(bytes), aligned(4), may_alias))
enum { WIDTH = VECTOR_BYTES / 4, VECTORS = 32 / WIDTH };
typedef i32 Ints VECTOR(VECTOR_BYTES);
typedef float Floats VECTOR(VECTOR_BYTES);
typedef i16 Pairs VECTOR(VECTOR_BYTES);
typedef i32 Products VECTOR(2 * VECTOR_BYTES);
typedef double Doubles VECTOR(VECTOR_BYTES);  // of half the lanes
typedef i64 Longs VECTOR(VECTOR_BYTES);
typedef i32 HalfInts VECTOR(VECTOR_BYTES / 2);
typedef float HalfFloats VECTOR(VECTOR_BYTES / 2);
typedef i32 Word __attribute__((may_alias));

static ALWAYS_INLINE Ints choose(Ints mask, Ints a, Ints b) { return (a & mask) | (b & ~mask); }
static ALWAYS_INLINE Ints larger(Ints a, Ints b) { return choose(a > b, a, b); }
static ALWAYS_INLINE Ints smaller(Ints a, Ints b) { return choose(a < b, a, b); }
static ALWAYS_INLINE Ints splat(i32 x) { return (Ints){0} + x; }
static ALWAYS_INLINE Floats power_of_2(Ints exponent) { return (Floats)((exponent + 127) << 23); }
static ALWAYS_INLINE int any(Ints mask) {
    i32 found = 0;
    for (int l = 0; l < WIDTH; l++) found |= mask[l];
    return found != 0;
}

// 16 k of all rows of A, or of all columns of B, which here are called rows, too. An element's value is
// significand * 2^(exponent - fraction bits).
typedef struct {
    Pairs significand[8][VECTORS], exponent[8][VECTORS];  // [0-3 even k, 4-7 odd k][rows]; zero and NaN: significand 0
    Pairs fixed[8][VECTORS];                              // significand << (exponent - lowest one of the row)
    Ints span[VECTORS];                                   // the row's highest exponent less its lowest, or TOO_WIDE
    Ints nan[VECTORS];                                    // -1 if one of the row is NaN
    Floats unit[VECTORS], inverse[VECTORS];               // 2^(highest exponent - 12); 2^-(that)
    float value[2][8][32], power[2][8][32];               // [odd k][k / 2][row] the value; 2^exponent, but 0 for a zero
} Fp8Operand;
enum { TOO_WIDE = 99 };  // fixed has no room: or one of the row is NaN

static ALWAYS_INLINE void fp8_decode(Rows v, int m, int type, int group, Fp8Operand* to) {
    i16 f = (i16)fraction_bits[type], smallest = type == TYPE_FP8 ? -7 : -15;  // exponent of denormals, too
    for (int n = 0; n < m / WIDTH; n++) {
        Pairs high = {0}, low = high + TOO_WIDE, nan = {0};  // exponents here count from the smallest one
        for (int p = 0; p < 8; p++) {
            // lane l holds row l % m, k = 8 * (l / m) + 4 * register + byte; a group is 16 of k
            Pairs x = *(const Pairs*)&v[p & 1][m * (2 * group + (p >> 1 & 1)) + WIDTH * n];
            if (p < 4) x <<= 8;  // even k: the lower byte of each half
            Pairs negative = x >> 15;
            x = x >> 8 & 127;
            nan |= negative & (x == 0);
            Pairs e = x >> f;
            e += e > 0;  // -1 for true
            x -= e << f;
            Pairs above = e > high, below = (e < low) & (x != 0);
            high = (e & above) | (high & ~above);
            low = (e & below) | (low & ~below);
            to->exponent[p][n] = e + smallest;
            to->significand[p][n] = (x ^ negative) - negative;
        }
        Ints most = larger((Ints)high & 0xffff, (Ints)high >> 16);  // of both halves
        Ints least = smaller(smaller((Ints)low & 0xffff, (Ints)low >> 16), most);
        Ints spoilt = (Ints)nan << 16 >> 16 | (Ints)nan >> 16, span = most - least;
        to->span[n] = choose(spoilt | (span > 14 - f), splat(TOO_WIDE), span);
        to->nan[n] = spoilt;
        to->unit[n] = power_of_2(most + smallest - 12);
        to->inverse[n] = power_of_2(12 - smallest - most);
        for (int p = 0; p < 8; p++) {
            Ints s = (Ints)to->significand[p][n];
            Ints by = (Ints)(to->exponent[p][n] - smallest - (Pairs)(least | least << 16));  // as pairs: no borrow
            to->fixed[p][n] = (Pairs)(((s << (by & 15)) & 0xffff) | (s >> 16 << 16 << (by >> 16 & 15)));
        }
    }
}

// The rest of an operand, which most groups do without.
static ALWAYS_INLINE void fp8_decode_floats(int m, int type, Fp8Operand* to) {
    for (int n = 0; n < m / WIDTH; n++)
        for (int k = 0; k < 16; k++) {
            int up = k % 2 ? 0 : 16;  // the two of a pair
            Ints s = (Ints)to->significand[k / 2][n] << up >> 16, e = (Ints)to->exponent[k / 2][n] << up >> 16;
            *(Floats*)&to->value[k / 8][k % 8][WIDTH * n] =
                __builtin_convertvector(s, Floats) * power_of_2(e - fraction_bits[type]);
            *(Ints*)&to->power[k / 8][k % 8][WIDTH * n] = (Ints)power_of_2(e) & (s != 0);
        }
}

// Row i of A times a vector of columns of B.
static ALWAYS_INLINE Ints fp8_dot(const Fp8Operand* a, const Fp8Operand* b, int i, int n) {
    Ints sum = {0};
    for (int p = 0; p < 8; p++) {
        Ints x = splat(((const Word*)a->fixed[p])[i]);
#ifdef __clang__  // which sees the multiplication of pairs that x86 has (vpmaddwd) in this
        Products both = __builtin_convertvector((Pairs)x, Products) * __builtin_convertvector(b->fixed[p][n], Products);
        sum +=
            __builtin_shufflevector(both, both, EVERY_SECOND(0)) + __builtin_shufflevector(both, both, EVERY_SECOND(1));
#else
        Ints y = (Ints)b->fixed[p][n];
        sum += (x << 16 >> 16) * (y << 16 >> 16) + (x >> 16) * (y >> 16);
#endif
    }
    return sum;
}

// Row i, a vector of columns, in fixed point: the unit is 2^-24 of the largest product that the exponents of row and
// column allow, so steps 1 and 2 cut products and C at or below the unit. Where
//   - the spans leave room, products are multiples of the unit, less than 2^26 each, and their sum less than 2^30;
//   - C is a multiple of the unit, and less than 2^30: so step 2 cuts no sum (2^-32 of C is less) and drops no C,
// nothing is cut, and D is an integer below 2^31, which step 3 rounds once. Returns 0, and no D, where it is not so.
static ALWAYS_INLINE int fp8_fixed(const Fp8Operand* a, const Fp8Operand* b, int i, int n, int room, Floats* d) {
    Ints left = room - ((const Word*)a->span)[i] - b->span[n];
    Floats unit = ((const float*)a->unit)[i] * b->unit[n];
    Floats c = *d * (((const float*)a->inverse)[i] * b->inverse[n]);
    Ints small = ((Ints)c & 0x7fffffff) < (127 + 30) << 23;
    Ints whole = __builtin_convertvector((Floats)((Ints)c & small), Ints);
    Ints differs = __builtin_convertvector(whole, Floats) * unit != *d;
    if (any(differs | (left < 0))) return 0;
    *d = __builtin_convertvector((fp8_dot(a, b, i, n) << left) + whole, Floats) * unit;
    return 1;
}

// Row i, a vector of columns, by the steps of dot.h. Exponents are biased by 127, as in C's bits.
static ALWAYS_INLINE void fp8_aligned(const Fp8Operand* a, const Fp8Operand* b, int i, int n, Floats* d) {
    // 1. products in units of 2^-24 of the largest power; a conversion to integers cuts towards zero
    Ints sum[2], top[2];
    for (int odd = 0; odd < 2; odd++) {
        sum[odd] = top[odd] = splat(0);
        for (int k = 0; k < 8; k++) {
            Floats power = a->power[odd][k][i] * *(const Floats*)&b->power[odd][k][WIDTH * n];
            top[odd] = larger(top[odd], (Ints)power);  // floats above 0 are in the order of their bits
        }
        top[odd] >>= 23;
        Floats scale = power_of_2(24 + 127 - top[odd]);
        for (int k = 0; k < 8; k++) {
            Floats product = a->value[odd][k][i] * *(const Floats*)&b->value[odd][k][WIDTH * n];
            sum[odd] += __builtin_convertvector(product * scale, Ints);
        }
    }
    Ints e_dot = larger(top[0], top[1]), none = e_dot == 0;
    Ints dot = (sum[0] >> smaller(e_dot - top[0], splat(31))) + (sum[1] >> smaller(e_dot - top[1], splat(31)));

    // 2. C and the sum in units of 2^-24 of the larger exponent e, then both in those of `further` bits more: up to
    // 8, of which the sum needs no more than it was moved by
    Ints bits = (Ints)*d, e_c = bits >> 23 & 255, e = larger(e_dot, e_c), negative = bits >> 31;
    Ints c = (bits & 0x7fffff | 0x800000) << 1;
    c = ((c ^ negative) - negative) >> (e - e_c & 31) & (e - e_c <= 25);
    Ints further = smaller(e - e_dot, splat(8));
    dot >>= smaller(e - e_dot - further, splat(31));
    Floats c_further = __builtin_convertvector(c, Floats) * power_of_2(further), unit = power_of_2(e - 151 - further);

    // 3. double holds the exact sum; its last 21 bits are those after 31 fractional ones
    Floats out;
    for (int half = 0; half < 2; half++) {
        Longs x = (Longs)(__builtin_convertvector(((const HalfInts*)&dot)[half], Doubles) +
                          __builtin_convertvector(((const HalfFloats*)&c_further)[half], Doubles));
        x = (x + (x < 0 & 0x1fffff)) & ~0x1fffffll;
        ((HalfFloats*)&out)[half] = __builtin_convertvector((Doubles)x, HalfFloats);
    }
    Ints result = choose(none | (e_c == 255), (Ints)(*d + 0), (Ints)(out * unit));  // + 0: there is no -0
    *d = (Floats)choose(((const Word*)a->nan)[i] | b->nan[n] | (*d != *d), splat(0x7fffffff), result);
}

// Row i, all columns, for Device(mfma="fast"): nothing is cut, the sum is rounded.
static ALWAYS_INLINE void fp8_rounded(const Fp8Operand* a, const Fp8Operand* b, int m, int i, float* d) {
    double sum[32] = {0};
    for (int k = 0; k < 16; k++)
        for (int j = 0; j < m; j++) sum[j] += (double)(a->value[k / 8][k % 8][i] * b->value[k / 8][k % 8][j]);
    for (int j = 0; j < m; j++) {
        int nan = ((const Word*)a->nan)[i] | ((const Word*)b->nan)[j];
        d[j] = nan ? NAN : (float)(sum[j] + (double)d[j]);
    }
}

static ALWAYS_INLINE void fp8_matrix(const Shape* s, int m, Rows va, Rows vb, u32 (*d)[LANES], int fast) {
    Fp8Operand a __attribute__((aligned(64))), b __attribute__((aligned(64)));
    int lane_groups = LANES / m, room = 24 - fraction_bits[s->a] - fraction_bits[s->b];
    for (int group = 0; group < s->k / 16; group++) {
        int floats = 0;
        fp8_decode(va, m, s->a, group, &a);
        fp8_decode(vb, m, s->b, group, &b);
        for (int i = 0; i < m; i++) {
            int strip = i / 4;
            float* row = (float*)&d[4 * (strip / lane_groups) + i % 4][m * (strip % lane_groups)];
            for (int n = 0; n < m / WIDTH; n++) {
                Floats* to = (Floats*)row + n;
                if (!fast && fp8_fixed(&a, &b, i, n, room, to)) continue;
                if (!floats) {
                    fp8_decode_floats(m, s->a, &a);
                    fp8_decode_floats(m, s->b, &b);
                    floats = 1;
                }
                if (!fast) fp8_aligned(&a, &b, i, n, to);
            }
            if (fast) fp8_rounded(&a, &b, m, i, row);
        }
    }
}
