"""fp8lab.reference against exact fractions, dequantised float64 products, torch and ml_dtypes."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
import torch

from fp8lab.formats import E4M3FN, E4M3FNUZ, decode, to_torch
from fp8lab.reference import compare, gemm, gemm_float32, to_bfloat16
from fp8lab.scaling import dequantize_activation, dequantize_weight

F32 = np.float32


def problem(m, n, k, seed=0):
    """Random codes without NaN, scales of any sign and many sizes."""
    rng = np.random.default_rng(seed)
    a, b = (rng.choice(np.setdiff1d(np.arange(256), [0x80]), shape).astype(np.uint8) for shape in ((m, k), (k, n)))
    a_scale, b_scale = (rng.standard_normal(shape).astype(F32) * F32(2.0) ** rng.integers(-20, 4, shape)
                        for shape in ((k // 128, m), (k // 128, -(-n // 128))))
    return a, b, a_scale, b_scale


# --- the oracle ---


def test_elements_equal_the_formula_in_exact_fractions():
    a, b, a_scale, b_scale = problem(3, 130, 256)
    c = gemm(a, b, a_scale, b_scale)
    av, bv = decode(a, E4M3FNUZ), decode(b, E4M3FNUZ)
    for m, n in [(0, 0), (1, 127), (2, 128), (0, 129)]:
        exact = sum(Fraction(float(a_scale[k // 128, m])) * Fraction(float(b_scale[k // 128, n // 128]))
                    * Fraction(float(av[m, k])) * Fraction(float(bv[k, n])) for k in range(256))
        terms = float((np.abs(a_scale[:, m] * b_scale[:, n // 128]) @ np.abs(av[m] * bv[:, n]).reshape(2, 128)).sum())
        assert abs(exact - Fraction(c[m, n])) <= Fraction(terms) * Fraction(2) ** -52


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 128), (64, 576, 384), (65, 129, 128), (5, 256, 1024)])
def test_it_is_the_product_of_the_dequantised_operands(m, n, k):
    a, b, a_scale, b_scale = problem(m, n, k)
    # 4-bit codes times 24-bit scales are not exact in float32: the two differ by its rounding, relative to the terms.
    x = dequantize_activation(a, a_scale).astype(np.float64)
    w = dequantize_weight(b, b_scale).astype(np.float64)
    assert (np.abs(gemm(a, b, a_scale, b_scale) - x @ w.T) <= 2.0**-22 * (np.abs(x) @ np.abs(w.T))).all()


def test_each_scale_acts_on_its_own_block_only():
    a, b, a_scale, b_scale = problem(4, 576, 256)
    base = gemm(a, b, a_scale, b_scale)
    changed = a_scale.copy()
    changed[1, 2] *= 2
    difference = gemm(a, b, changed, b_scale) - base
    assert difference[2].any() and not np.delete(difference, 2, 0).any()
    changed = b_scale.copy()
    changed[0, 4] *= 2    # the partial last column of N = 576
    difference = gemm(a, b, a_scale, changed) - base
    assert difference[:, 512:].all() and not difference[:, :512].any()


@pytest.mark.parametrize(("m", "n", "k"), [(0, 5, 128), (5, 0, 128), (3, 5, 0), (0, 0, 0)])
def test_empty_sizes_give_zeros_of_the_right_shape(m, n, k):
    for function, dtype in ((gemm, np.float64), (gemm_float32, F32)):
        c = function(*problem(m, n, k))
        assert (c.shape, c.dtype, c.any()) == ((m, n), dtype, False)


@pytest.mark.parametrize("k_contiguous_a", [True, False])
@pytest.mark.parametrize("k_contiguous_b", [True, False])
def test_torch_tensors_of_any_layout_give_what_numpy_gives(k_contiguous_a, k_contiguous_b):
    a, b, a_scale, b_scale = problem(6, 200, 256)
    ta, tb = to_torch(a.copy(), E4M3FNUZ), to_torch(b.copy(), E4M3FNUZ)
    ta = ta if k_contiguous_a else ta.T.contiguous().T
    tb = tb.T.contiguous().T if k_contiguous_b else tb
    got = gemm(ta, tb, torch.from_numpy(a_scale), torch.from_numpy(b_scale))
    np.testing.assert_array_equal(got, gemm(a, b, a_scale, b_scale))


def test_the_same_bytes_in_e4m3fn_are_four_times_as_much():
    a, b, a_scale, b_scale = problem(4, 8, 128)
    a[a & 0x7F == 0x7F] = b[b & 0x7F == 0x7F] = 0    # NaN in e4m3fn
    fnuz = gemm(a, b, a_scale, b_scale)
    np.testing.assert_array_equal(gemm(a, b, a_scale, b_scale, E4M3FN), 4 * fnuz)
    np.testing.assert_array_equal(gemm(to_torch(a, E4M3FN), to_torch(b, E4M3FN), a_scale, b_scale), 4 * fnuz)


def test_nan_codes_and_infinite_scales_reach_their_row_and_column_only():
    a, b, a_scale, b_scale = problem(4, 200, 128)
    a[1, 5] = b[7, 150] = 0x80
    for function in (gemm, gemm_float32):
        expected = np.zeros((4, 200), bool)
        expected[1], expected[:, 150] = True, True
        np.testing.assert_array_equal(np.isnan(function(a, b, a_scale, b_scale)), expected)
        assert not np.isfinite(function(a, b, np.where(np.arange(4) == 3, F32(np.inf), a_scale), b_scale)[3]).any()


def test_float32_order_is_a_loop_over_blocks_with_each_operation_rounded():
    a, b, a_scale, b_scale = problem(5, 150, 512)
    av, bv = decode(a, E4M3FNUZ).astype(np.float64), decode(b, E4M3FNUZ).astype(np.float64)
    got = gemm_float32(a, b, a_scale, b_scale)
    for m, n in np.ndindex(5, 150):
        acc = F32(0)
        for kb in range(4):
            k = slice(128 * kb, 128 * kb + 128)
            dot = F32(np.sum(av[m, k] * bv[k, n]))
            acc = F32(acc + F32(F32(a_scale[kb, m] * b_scale[kb, n // 128]) * dot))
        assert got[m, n] == acc


def test_the_float32_order_holds_the_projects_own_tolerance():
    data = problem(64, 576, 2048)
    report = compare(to_bfloat16(gemm_float32(*data)), gemm(*data))
    assert report.share_within_1_ulp >= 0.999 and report.within_tolerance


def test_large_scales_overflow_to_infinity_in_float32_only():
    a, b = np.full((1, 128), 0x7F, np.uint8), np.full((128, 1), 0x7F, np.uint8)
    scales = F32([[1e30]]), F32([[1e10]])
    assert np.isinf(gemm_float32(a, b, *scales)).all() and np.isfinite(gemm(a, b, *scales)).all()


@pytest.mark.parametrize(("change", "message"), [
    ({"a": np.zeros((4, 256), np.uint8)}, r"a is \(4, 256\) and b \(128, 8\), needs \(M, K\) and \(K, N\)"),
    ({"b": np.zeros(128, np.uint8)}, r"b is \(128,\), needs \(K, N\)"),
    ({"a": np.zeros((4, 64), np.uint8), "b": np.zeros((64, 8), np.uint8)}, "K is 64, needs a multiple of 128"),
    ({"a_scale": np.ones((4, 1), F32)}, r"a_scale is \(4, 1\), needs \(1, 4\): one row per 128 of K = 128"),
    ({"b_scale": np.ones((1, 2), F32)}, r"b_scale is \(1, 2\), needs \(1, 1\).*N = 8, rounded up; see"),
])
def test_sizes_that_do_not_fit_are_named(change, message):
    arguments = dict(zip(("a", "b", "a_scale", "b_scale"), problem(4, 8, 128), strict=True)) | change
    with pytest.raises(ValueError, match=message):
        gemm(**arguments)


# --- bfloat16 ---


def test_bfloat16_rounding_is_that_of_torch_and_ml_dtypes():
    x = np.random.default_rng(0).integers(0, 1 << 32, 1_000_000, dtype=np.uint32)
    x[:3] = 0x7F800001, 0xFFFFFFFF, 0x7F7FFFFF    # NaNs that rounding could turn into something else; overflow
    x = x.view(F32)
    expected = torch.from_numpy(x).bfloat16().float().numpy()
    np.testing.assert_array_equal(to_bfloat16(x), expected)
    np.testing.assert_array_equal(np.signbit(to_bfloat16(x))[~np.isnan(x)], np.signbit(x)[~np.isnan(x)])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(to_bfloat16(x), x.astype(ml_dtypes.bfloat16).astype(F32))


def test_bfloat16_from_float64_is_rounded_once():
    tie = 1 + 2.0**-8
    assert to_bfloat16([tie, tie + 2.0**-40, -tie - 2.0**-40]).tolist() == [1, 1 + 2.0**-7, -1 - 2.0**-7]
    assert to_bfloat16(F32(tie + 2.0**-40)) == 1    # the trap is real


# --- the report ---


def test_identical_results_have_no_error():
    x = np.array([[1.0, -0.0, np.nan, np.inf]])
    report = compare(np.array([[1.0, 0.0, np.nan, np.inf]]), x)
    assert report.within_tolerance and report.ulp_histogram["0"] == 4
    assert (report.max_abs, report.max_rel, report.nan_mismatches, report.share_within_1_ulp) == (0, 0, 0, 1)
    assert report.snr_db == np.inf


def test_errors_are_measured_and_the_worst_is_found():
    expected = np.array([[100.0, 1.0, 0.0], [1.0, 2.0, 4.0]])
    got = expected + np.array([[1.5, 0.0, 0.0], [0.0, 0.25, 0.0]])
    report = compare(got, expected)
    assert (report.max_abs, report.max_rel) == (1.5, 0.125)
    assert report.worst == ((1, 1), 2.25, 2.0)    # 0.25 of 0.041 allowed; 1.5 of 2.001 is within
    assert not report.within_tolerance
    assert report.snr_db == pytest.approx(10 * np.log10((expected**2).sum() / (1.5**2 + 0.25**2)))
    assert "worst element   [1, 1]: got 2.25, expected 2" in str(report) and "NOT within" in str(report)


@pytest.mark.parametrize(("got", "expected", "within"), [
    (1.0209, 1.0, True), (1.0211, 1.0, False), (0.000999, 0.0, True), (0.00101, 0.0, False), (-1.0209, -1.0, True),
    (np.nan, 1.0, False), (1.0, np.nan, False), (np.inf, 1.0, False), (np.inf, -np.inf, False), (np.inf, np.inf, True),
])
def test_the_tolerance_is_that_of_the_contest(got, expected, within):
    report = compare(np.array([got]), np.array([expected]))
    assert report.within_tolerance == within
    assert report.nan_mismatches == (np.isnan(got) != np.isnan(expected))


def test_a_nan_is_worse_than_any_error():
    report = compare(np.array([1.5, np.nan, 1.0]), np.array([1.0, 1.0, 1.0]))
    assert report.worst[0] == (1,) and report.nan_mismatches == 1 and report.ulp_histogram["257 or more"] == 1
    assert report.max_abs == 0.5 and "NaN mismatches  1" in str(report)


def test_ulps_are_steps_of_bfloat16():
    one = np.ones(6)
    step = 2.0**-7
    report = compare(one + step * np.array([0, 1, -1, 2, 5, 0.4]), one)
    # Below 1 the step is half as wide, so one step of 2^-7 down is two.
    assert {name: count for name, count in report.ulp_histogram.items() if count} == {"0": 2, "1": 1, "2": 2, "5–16": 1}
    assert report.share_within_1_ulp == 0.5
    smallest = 2.0**-133
    assert compare(np.array([smallest]), np.array([-smallest])).ulp_histogram["2"] == 1    # across zero


def test_the_report_takes_the_bfloat16_tensor_an_op_returns():
    data = problem(16, 64, 256)
    expected = gemm(*data)
    report = compare(torch.from_numpy(expected).float().bfloat16(), expected)
    assert report.within_tolerance and report.share_within_1_ulp == 1 and 50 < report.snr_db < 60


def test_empty_results_compare():
    report = compare(np.zeros((0, 4)), np.zeros((0, 4)))
    assert report.within_tolerance and report.worst is None and "0 × 4" in str(report)


def test_zero_tolerance_is_met_by_equal_arrays_only():
    x = np.array([0.0, 1.0, -2.0, np.inf, np.nan])
    assert compare(x, x, atol=0, rtol=0).within_tolerance
    report = compare(np.array([0.0, np.nextafter(1, 2)]), np.array([0.0, 1.0]), atol=0, rtol=0)
    assert not report.within_tolerance and report.worst[0] == (1,)


@pytest.mark.parametrize(("call", "message"), [
    (lambda a, b, sa, sb: gemm(torch.zeros(4, 128), b, sa, sb), "a is float32, needs uint8"),
    (lambda a, b, sa, sb: gemm(a, decode(b, E4M3FNUZ), sa, sb), "b is float32, needs uint8"),
    (lambda a, b, sa, sb: gemm(torch.zeros(4, 128).to(torch.float8_e8m0fnu), b, sa, sb),
     "a is torch.float8_e8m0fnu, needs torch.float8_e4m3fnuz"),
    (lambda a, b, sa, sb: gemm(a, b, sa, sb.astype(int)), r"b_scale is int64, needs .*b_scale.astype"),
    (lambda a, b, sa, sb: compare(to_torch(a, E4M3FNUZ), decode(a, E4M3FNUZ)),
     r"got is torch.float8_e4m3fnuz, needs .*got.float\(\)"),
    (lambda a, b, sa, sb: compare(a.astype(np.float32), a), "expected is uint8, needs float64"),
])
def test_another_dtype_is_named_with_the_argument(call, message):
    with pytest.raises(TypeError, match=message):
        call(*problem(4, 8, 128))


def test_different_shapes_are_named():
    with pytest.raises(ValueError, match=r"got is \(2,\), needs the shape of expected, \(3,\)"):
        compare(np.zeros(2), np.zeros(3))
