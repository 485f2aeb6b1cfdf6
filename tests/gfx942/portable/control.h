// Control flow: loops whose length depends on the data, divergent branches, tables, calls, arrays.
FUNCTION u32 gcd(u32 a, u32 b) {
    while (b) {
        u32 t = a % b;
        a = b;
        b = t;
    }
    return a;
}
CASE2(greatest_common_divisor, u32, u32, u32, gcd(a & 0xffff, b & 0xffff))
FUNCTION u32 collatz(u32 n) {
    u32 steps = 0;
    while (n > 1 && steps < 500) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}
CASE1(collatz_steps, u32, u32, collatz(a))
FUNCTION u32 crc(u32 x) {
    for (int i = 0; i < 32; i++) x = x & 1 ? x >> 1 ^ 0xedb88320 : x >> 1;
    return ~x;
}
CASE1(checksum, u32, u32, crc(a))
FUNCTION u32 root(u64 x) {
    u32 r = 0;
    for (u32 bit = 1u << 31; bit; bit >>= 1) {
        u64 t = r | bit;
        if (t * t <= x) r |= bit;
    }
    return r;
}
CASE1(integer_root, u32, u64, root(a))
FUNCTION u32 power(u32 base, u32 n) {
    u32 p = 1;
    for (; n; n >>= 1, base *= base)
        if (n & 1) p *= base;
    return p;
}
CASE2(power_by_squaring, u32, u32, u32, power(a, b))
FUNCTION u32 sparse(u32 x) {
    switch (x) {
        case 3:
            return 11;
        case 70:
            return 5;
        case 800:
            return 0xffff;
        case 0xffffffff:
            return 1;
        case 31:
            return x + 4;
    }
    return x;
}
CASE1(sparse_switch, u32, u32, sparse(a))
FUNCTION u32 dense(u32 x, u32 y) {
    switch (x & 15) {
        case 0:
            return y + 1;
        case 1:
            return y * 3;
        case 2:
            return y ^ 0x55555555;
        case 3:
            return y << 3;
        case 4:
            return y >> 7;
        case 5:
            return ~y;
        case 6:
            return y / 3;
        case 7:
            return y % 5;
        case 8:
            return 77;
        case 9:
            return y | 0xf0f;
        case 10:
            return y & 0xf0f;
        case 11:
            return 0 - y;
        case 12:
            return y * y;
        case 13:
            return y > 9;
        case 14:
            return y - x;
    }
    return x;
}
CASE2(dense_switch, u32, u32, u32, dense(a, b))
FUNCTION u32 looked_up(u32 x) {
    static const u32 table[16] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
    return table[x & 15] * table[x >> 4 & 15];
}
CASE1(lookup_table, u32, u32, looked_up(a))
CALLED u32 called(u32 x, u32 y) {
    return x * 3 + (y ^ x >> 5);
}
CALLED u32 calls(u32 x, u32 y) {
    return x & 1 ? called(x, y) : called(y, x + 1) - called(x, x);
}
CASE2(nested_calls, u32, u32, u32, calls(a, b))
CALLED f64 called_f64(f64 x, f32 y) {
    return x * 0.5 + y;
}
CASE2(call_with_doubles, f64, f64, f32, called_f64(a, b))
FUNCTION u64 sorted(u64 x) {  // the eight bytes in order
    u8 v[8];
    for (int i = 0; i < 8; i++) v[i] = (u8)(x >> 8 * i);
    for (int i = 1; i < 8; i++) {
        u8 t = v[i];
        int j = i;
        for (; j > 0 && v[j - 1] > t; j--) v[j] = v[j - 1];
        v[j] = t;
    }
    u64 out = 0;
    for (int i = 0; i < 8; i++) out |= (u64)v[i] << 8 * i;
    return out;
}
CASE1(sort_bytes, u64, u64, sorted(a))
FUNCTION u32 walk(u32 x, u32 y) {  // an array indexed by data
    u32 v[16];
    for (int i = 0; i < 16; i++) v[i] = x * (u32)i + y;
    for (int i = 0; i < 24; i++) v[v[i & 15] & 15] += v[x >> (i & 31) & 15] ^ (u32)i;
    u32 sum = 0;
    for (int i = 0; i < 16; i++) sum = sum * 31 + v[i];
    return sum;
}
CASE2(array_walk, u32, u32, u32, walk(a, b))
FUNCTION u32 nested(u32 x, u32 y, u32 z) {
    u32 r = 0;
    for (u32 i = 0; i < (x & 7); i++) {
        if (y >> i & 1) {
            r += z;
            if (r & 1) continue;
            r ^= x;
        } else if (z >> i & 1) {
            r = r * 5 + 1;
            if (r > 0x80000000u) break;
        }
        for (u32 j = i; j < (y >> 4 & 3); j++) r += i * j + (r >> 3);
    }
    return r;
}
CASE3(nested_divergence, u32, u32, u32, u32, nested(a, b, c))
FUNCTION u32 short_circuit(u32 x, u32 y, u32 z) {
    return (x > y && y > z) || (x & 1 && (z & 2 || y & 4)) ? x + y : z;
}
CASE3(short_circuits, u32, u32, u32, u32, short_circuit(a, b, c))
FUNCTION u64 fibonacci(u32 n) {
    u64 x = 0, y = 1;
    while (n--) {
        u64 t = x + y;
        x = y;
        y = t;
    }
    return x;
}
CASE1(fibonacci_number, u64, u32, fibonacci(a & 127))
FUNCTION f32 series(f32 x, u32 n) {
    f32 sum = 0, term = 1;
    for (u32 i = 1; i <= n && term > 1e-9f; i++) {
        sum += term;
        term = term * x / (f32)i;
    }
    return sum;
}
CASE2(series_until_small, f32, f32, u32, series(a > 0 && a < 20 ? a : 1, b & 63))
// A scalar beside a lane's value: subtracting it is v_subrev.
#define UNIFORM(T, ...)                                                                      \
    FUNCTION T minus_table_##T(T x, u32 n) {                                                 \
        static const T table[16] = {__VA_ARGS__};                                            \
        for (u32 i = 0; i < 16; i++) x = (T)(x - table[i]), x = n >> i & 1 ? (T)(x + x) : x; \
        return x;                                                                            \
    }                                                                                        \
    CASE2(minus_scalars_##T, T, T, u32, minus_table_##T(a, b))
UNIFORM(u32, 0x12345, 7, 0xabcdef01, 99999, 3, 5, 0x777777, 12, 0xfffffff, 4, 0x80000000, 1234567, 2, 1, 0xcafe0000, 17)
UNIFORM(u64, 0x123456789abc, 7, 0xabcdef0100000000, 9, 1ull << 40, 5, 7, 1, 1, 2, 3, 0x8000000000000000, 3, 4, 5, 6)
UNIFORM(u16, 0x1234, 777, 0xabcd, 9999, 300, 555, 0x7777, 12, 0xffff, 4, 0x8000, 123, 2, 1, 0xcafe, 17)
UNIFORM(f32, 1.25f, 3e8f, -7.1f, 0.1f, 5, 6.5f, 7.25f, 8, 9, 1e-3f, 11, 12.5f, 13, 14.75f, 15, 16)
UNIFORM(f16, 1.25f, 300, -7.5f, 0.125f, 5, 6.5f, 7.25f, 8, 9, 0.5f, 11, 12.5f, 13, 14.75f, 15, 16)
#define LOOPED(name, T, condition)                                                    \
    FUNCTION u32 looped_##name##_##T(T a, T b, u32 c) {                               \
        u32 n = 0;                                                                    \
        while (condition && n < 20) a = (T)(a - (T)(c >> 3)), b = (T)(b + (T)c), n++; \
        return n * 7 + (u32)a;                                                        \
    }                                                                                 \
    CASE3(loop_##name##_##T, u32, T, T, u32, looped_##name##_##T(a, b, c))
LOOPED(ge, u32, a >= b)
LOOPED(le, u32, a <= b)
LOOPED(ne, u32, a != b)
LOOPED(eq, u32, (a ^ b) >> 28 == 0)
FUNCTION u32 signed_loop(i32 a, i32 b) {
    u32 n = 0;
    while (a >= b && n < 9) a /= 2, n++;
    while (a <= b && n < 30) b /= 3, n++;
    return n;
}
CASE2(loop_signed, u32, i32, i32, signed_loop(a, b))
FUNCTION u32 exchange(u32 x, u32 y, u32 n) {
    for (u32 i = 0; i < (n & 15); i++) {
        u32 t = x;
        x = y;
        y = t;
        if (x > y + i) x -= i;
    }
    return x * 3 + y;
}
CASE3(exchanges, u32, u32, u32, u32, exchange(a, b, c))
