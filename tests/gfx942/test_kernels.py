"""Compiled kernels at every optimisation level: right results, no findings, whatever instructions the compiler chose."""

# ruff: noqa: E501  (an instruction sequence or a kernel's line is kept whole)

import ml_dtypes
import numpy as np
import pytest
from gfx942_kernels import compile_hip, needs_clang
from gfx942_sources import CORPUS

from fp8lab.gfx942 import Device

pytestmark = needs_clang
rng = np.random.default_rng(0)
FP8 = ml_dtypes.float8_e4m3fnuz


@pytest.fixture(params=["-O1", "-O2", "-O3"])
def level(request):
    return request.param


def launch(source, kernel, grid, block, args, level="-O3", **options):
    code_object = compile_hip(CORPUS[source], level, name=f"{source}{level}")
    run = Device().launch(code_object.kernels[kernel], grid, block, args, **options)
    assert not run.findings, "\n".join(map(str, run.findings))
    return run


def test_vector_add(level):
    a, b, c = rng.standard_normal(1000, np.float32), rng.standard_normal(1000, np.float32), np.full(1024, 7, np.float32)
    run = launch("vadd", "vadd", 4, 256, [a, b, c, 1000], level)
    assert np.array_equal(c[:1000], a + b) and (c[1000:] == 7).all()
    assert run.counts["v_add_f32"] == 16


def test_lds_and_barrier(level):
    a, c = rng.standard_normal(512, np.float32), np.zeros(512, np.float32)
    launch("lds", "reverse", 2, 256, [a, c], level)
    assert np.array_equal(c.reshape(2, 256), a.reshape(2, 256)[:, ::-1] * 2)


def test_lds_atomics(level):
    a, bins = rng.integers(0, 256, 5000).astype(np.uint8), np.zeros(256, np.uint32)
    launch("lds", "histogram", 1, 256, [a, bins, len(a)], level)
    assert np.array_equal(bins, np.bincount(a, minlength=256))


def test_integer_arithmetic(level):
    a = rng.integers(-(2**31), 2**31, 64).astype(np.int32)
    b = np.where(np.arange(64) % 3, rng.integers(-1000, 1000, 64), rng.integers(-(2**31), 2**31, 64)).astype(np.int32)
    out = np.zeros((17, 64), np.int64)
    launch("integers", "integers", 1, 64, [a, b, out], level)
    mask = (1 << 64) - 1
    signed = lambda x: (x & mask ^ 1 << 63) - (1 << 63)  # noqa: E731
    quotient = lambda x, y: abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)  # noqa: E731
    for lane in range(64):
        x, y = int(a[lane]), int(b[lane])
        ux, uy = x & 0xFFFFFFFF, y & 0xFFFFFFFF
        wide = signed((x << 20) | uy)
        u = wide & mask
        s = y & 63
        int8, int16 = ((y & 255) ^ 128) - 128, ((x & 65535) ^ 32768) - 32768
        want = [
            quotient(x, y | 1),
            ux // (uy | 1),
            x - quotient(x, y | 1) * (y | 1),
            quotient(wide, y | 1),
            signed(u // ((y & mask) | 1)),
            signed(wide * y),
            wide >> s,
            signed(wide << s),
            signed(u >> s),
            min(wide, y),
            bin(u).count("1"),
            64 - (u | 1).bit_length(),
            ((u | 1) & -(u | 1)).bit_length() - 1,
            int(f"{ux:032b}"[::-1], 2),
            signed(int.from_bytes(u.to_bytes(8, "little"), "big")),
            int16 * int8,
            signed(wide * (y & mask) >> 64),
        ]
        assert out[:, lane].tolist() == want, lane


def test_floating_point(level):
    a, b = (
        (rng.standard_normal(64) * 2.0 ** rng.integers(-8, 8, 64)).astype(np.float32),
        rng.standard_normal(64).astype(np.float32),
    )
    out, wide, narrow = np.zeros((12, 64), np.float32), np.zeros((7, 64)), np.zeros((5, 64), np.float16)
    launch("floats", "floats", 1, 64, [a, b, out, wide, narrow], level)
    fma = (a.astype(np.longdouble) * b + a).astype(np.float32)
    want = [
        a + b,
        a * b,
        a / b,
        fma,
        np.sqrt(abs(a)),
        np.floor(a),
        np.trunc(b),
        np.rint(a),
        np.minimum(a, b),
        np.maximum(a, -b),
        np.trunc(a),
        np.trunc(abs(b)),
    ]
    for i, row in enumerate(want):
        assert np.array_equal(out[i], row.astype(np.float32)), i
    x, y = a.astype(np.float64), b.astype(np.float64)
    # products of two floats are exact in double, so that the fma rounds once either way
    for i, row in enumerate([x + y, x * y, x / y, x * y + x, np.sqrt(abs(x)), np.floor(x), np.trunc(x * 1000)]):
        assert np.array_equal(wide[i], row), i
    h, g = a.astype(np.float16), b.astype(np.float16)
    once = (h.astype(np.float64) * g.astype(np.float64) + h.astype(np.float64)).astype(np.float16)
    for i, row in enumerate([h + g, h * g, h - g, once, -h]):
        assert np.array_equal(narrow[i].view(np.uint16), row.view(np.uint16)), i


def test_packed_half(level):
    a, b = (rng.standard_normal((64, 2)).astype(np.float16) for _ in range(2))
    out = np.zeros((3, 64, 2), np.float16)
    launch("packed", "packed", 1, 64, [a, b, out], level)
    x, y = a.astype(np.float64), b.astype(np.float64)
    fused, apart = (x * y + x).astype(np.float16), a * b + a
    assert (np.equal(out[0], fused) | np.equal(out[0], apart)).all()  # the compiler may contract
    assert np.array_equal(out[1], np.maximum(a, b) - b[:, ::-1])
    assert np.array_equal(out[2], (x * y + y).astype(np.float16))


def test_scratch(level):
    a, out = rng.integers(0, 100, 32).astype(np.int32), np.zeros(64, np.int32)
    launch("scratch", "scratch", 1, 64, [a, out, 20], level)
    lane = np.arange(64)
    assert np.array_equal(out, sum(a[(i * 7 + lane) & 31] * lane for i in range(20)))


def test_calls_and_function_pointers(level):
    a, out = rng.integers(1, 1000, 64).astype(np.int32), np.zeros(64, np.int32)
    launch("calls", "calls", 1, 64, [a, out], level)

    def collatz(n):
        steps = 0
        while n != 1 and steps < 1000:
            n, steps = (3 * n + 1 if n & 1 else n // 2), steps + 1
        return steps

    assert out.tolist() == [collatz(n) + collatz(n + 1) for n in a.tolist()]


def test_reductions(level):
    a, out = rng.integers(-50, 50, 1000).astype(np.float32), np.zeros(2, np.float32)
    launch("reduce", "reduce", 2, 256, [a, out, 1000], level)
    assert (out == a.sum()).all()


def test_lanes_exchange_by_dpp_swizzle_and_readlane(level):
    a, out = rng.integers(-1000, 1000, 64).astype(np.int32), np.zeros((5, 64), np.int32)
    launch("reduce", "row_sums", 1, 64, [a, out], level)
    rows = a.reshape(4, 16)
    assert np.array_equal(out[0].reshape(4, 16), rows.cumsum(axis=1))
    broadcast = np.full((4, 16), -1)
    broadcast[1], broadcast[3] = rows[0, 15], rows[2, 15]
    assert np.array_equal(out[1].reshape(4, 16), broadcast)
    assert np.array_equal(out[2].reshape(16, 4), a.reshape(16, 4)[:, ::-1])
    assert np.array_equal(out[3].reshape(32, 2), a.reshape(32, 2)[:, ::-1])
    assert (out[4] == a[17] + a[0]).all()


def test_global_atomics_of_many_workgroups(level):
    n = 64 * 32
    i, f, d, q, old = (
        np.zeros(6, np.int32),
        np.zeros(1, np.float32),
        np.zeros(1),
        np.zeros(n + 1, np.uint64),
        np.zeros(n, np.int32),
    )
    i[3], i[5] = -1, -7
    launch("atomics", "atomics", 32, 64, [i, f, d, q, old], level)
    x = np.arange(n)
    assert i[:5].tolist() == [x.sum(), n - 1, np.bitwise_xor.reduce(x), 0, 2 * n]
    assert f[0] == n and d[0] == n / 2 and q[0] == n
    assert sorted(q[1:].tolist()) == list(range(n))  # every ticket once
    assert sorted([*old.tolist(), int(i[5])]) == sorted([-7, *x.tolist()])  # an exchange loses nothing


def test_loads_to_lds(level):
    a, out = rng.integers(0, 2**32, 256, dtype=np.uint32), np.zeros(256, np.uint32)
    launch("lds_dma", "lds_dma", 1, 64, [a, out], level)
    assert np.array_equal(out, a[::-1])


def test_fp8_conversion_matches_ml_dtypes(level):
    edges = np.array(
        [
            0,
            -0.0,
            240,
            -240,
            247.9,
            248,
            1e9,
            np.inf,
            -np.inf,
            np.nan,
            2.0**-10,
            2.0**-11,
            3 * 2.0**-12,
            57344,
            61440,
            2.0**-18,
        ]
    )
    a = np.concatenate([edges, rng.standard_normal(2032) * 2.0 ** rng.integers(-14, 14, 2032)]).astype(np.float32)
    fp8, bf8 = np.zeros(512, np.uint32), np.zeros(512, np.uint32)
    launch("fp8", "quantise", 8, 64, [a, fp8, bf8], level)
    assert np.array_equal(fp8.view(np.uint8), a.astype(FP8).view(np.uint8))
    assert np.array_equal(bf8.view(np.uint8), a.astype(ml_dtypes.float8_e5m2fnuz).view(np.uint8))


def test_every_fp8_code_decodes_as_in_ml_dtypes(level):
    codes, fp8, bf8 = np.arange(256, dtype=np.uint8), np.zeros(256, np.float32), np.zeros(256, np.float32)
    launch("fp8", "dequantise", 1, 64, [codes.view(np.uint32), fp8, bf8], level)
    for got, type in ((fp8, FP8), (bf8, ml_dtypes.float8_e5m2fnuz)):
        assert np.array_equal(got, codes.view(type).astype(np.float32), equal_nan=True)


def test_softmax(level):
    a, out = rng.standard_normal((3, 200)).astype(np.float32), np.zeros((3, 200), np.float32)
    launch("softmax", "softmax", 3, 64, [a, out, 200], level)
    e = np.exp(a.astype(np.float64) - a.max(axis=1, keepdims=True))
    assert np.allclose(out, e / e.sum(axis=1, keepdims=True), rtol=2e-6)


@pytest.mark.parametrize("m, n, k", [(64, 64, 64), (100, 70, 192), (1, 1, 64), (192, 128, 128)])
def test_gemm_with_ragged_edges(m, n, k, level):
    a, b = rng.standard_normal((m, k)).astype(FP8), rng.standard_normal((n, k)).astype(FP8)
    c = np.full((m, n), np.nan, np.float32)
    launch("gemm", "gemm", (-(-n // 64), -(-m // 64)), 256, [a.view(np.uint8), b.view(np.uint8), c, m, n, k], level)
    want = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.allclose(c, want, rtol=1e-5, atol=1e-4)
