"""fp8lab.scaling against a loop over blocks that follows the documented rule, and properties of the result."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fp8lab.formats import E4M3FN, E4M3FNUZ, E5M2, FORMATS, decode, encode, to_torch
from fp8lab.scaling import (
    RECIPES,
    dequantize_activation,
    dequantize_weight,
    quantize,
    quantize_activation,
    quantize_weight,
)

F32 = np.float32


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, F32)


def by_loop(x, fmt, block):
    """Codes and scales by the rule at the head of scaling.py, one block at a time."""
    rows, columns = (size or whole for size, whole in zip(block, x.shape, strict=True))
    scales = np.empty((-(-x.shape[0] // rows), -(-x.shape[1] // columns)), F32)
    codes = np.empty(x.shape, np.uint8)
    for i, j in np.ndindex(scales.shape):
        part = np.s_[i * rows:(i + 1) * rows, j * columns:(j + 1) * columns]
        finite = np.abs(x[part][np.isfinite(x[part])])
        amax = finite.max() if finite.size else F32(0)
        scales[i, j] = 1 if amax == 0 else max(amax / F32(fmt.max), F32(2.0**-126))
        codes[part] = encode(x[part] / scales[i, j], fmt)
    return codes, scales


BLOCKS = [(None, None), (1, None), (None, 1), (1, 1), (1, 128), (128, 128), (128, 1), (3, 7), (64, 200), (1000, 1000)]


@pytest.mark.parametrize("fmt", [E4M3FNUZ, E5M2], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_every_block_shape_follows_the_rule_with_tails_in_both_axes(block, fmt):
    x = normal(130, 133) * np.exp(3 * normal(130, 1, seed=1))
    q = quantize(x, fmt, block)
    codes, scales = by_loop(x, fmt, block)
    np.testing.assert_array_equal(q.scales, scales)
    np.testing.assert_array_equal(q.codes, codes)
    assert (q.scales.dtype, q.codes.dtype, q.shape, q.scale_bytes) == (F32, np.uint8, x.shape, scales.nbytes)
    i, j = np.indices(x.shape)
    np.testing.assert_array_equal(q.dequantize(), decode(codes, fmt) * scales[i // q.block[0], j // q.block[1]])


@settings(max_examples=60)
@given(m=st.integers(0, 20), n=st.integers(0, 20), rows=st.integers(1, 9), columns=st.integers(1, 9),
       exponent=st.integers(-149, 120), seed=st.integers(0, 99))
def test_the_error_is_at_most_half_a_step_of_the_block(m, n, rows, columns, exponent, seed):
    """Any size of number: half a step is 2^-4 of a normal number, half the smallest subnormal below."""
    x = normal(m, n, seed=seed) * F32(2.0**exponent)
    q = quantize(x, block=(rows, columns))
    scale = np.repeat(np.repeat(q.scales, rows, 0)[:m], columns, 1)[:, :n].astype(np.float64)
    half_step = np.maximum(np.abs(x.astype(np.float64)) * 2.0**-4, scale * E4M3FNUZ.smallest_subnormal / 2)
    rounding = 2.0**-149 + np.abs(x) * 2.0**-22    # of the float32 division and product around the encoding
    assert (np.abs(q.dequantize() - x.astype(np.float64)) <= half_step + rounding).all()


def test_the_largest_element_of_each_block_becomes_the_largest_code():
    q = quantize(normal(64, 512), block=(1, 128))
    assert (np.abs(decode(q.codes, E4M3FNUZ)).reshape(64, 4, 128).max(axis=2) == 240).all()


@pytest.mark.parametrize("largest", [np.finfo(F32).max, F32(2.0**-126), F32(350 * 2.0**-149), F32(2.0**-149)])
def test_the_ends_of_float32_neither_overflow_nor_divide_by_zero(largest):
    x = np.array([[largest, -largest, 0, largest / 3]], F32)
    q = quantize(x, block=(1, 4))
    assert q.scales[0, 0] >= 2.0**-126
    assert np.isfinite(q.dequantize()).all()
    assert np.abs(q.dequantize() - x).max() <= max(largest / 16, 2.0**-136)


@pytest.mark.parametrize("fmt", [E4M3FNUZ, E4M3FN], ids=lambda fmt: fmt.name)
def test_power_of_two_scales_are_the_smallest_that_do_not_overflow(fmt):
    x = normal(40, 256)
    x[0, :128] = fmt.max * 2.0**-5    # exactly at the end of the range: no next power of two
    q = quantize(x, fmt, scale="power-of-two")
    assert (np.frexp(q.scales)[0] == 0.5).all()
    amax = np.abs(x).reshape(40, 2, 128).max(axis=2)
    assert (amax <= fmt.max * q.scales).all() and (amax > fmt.max * q.scales / 2).all()
    assert q.scales[0, 0] == 2.0**-5


def test_a_block_of_zeros_gets_scale_1_and_stays_zero():
    x = normal(4, 256)
    x[2, 128:] = 0
    for scale in ("float32", "power-of-two"):
        q = quantize(x, scale=scale)
        assert q.scales[2, 1] == 1 and not q.codes[2, 128:].any() and (q.scales != 1).sum() == 7


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_stay_in_their_element_and_leave_the_block_alone(fmt, bad):
    x = normal(2, 256)
    clean = quantize(np.where(np.arange(256) == 7, F32(0), x), fmt)
    x[:, 7] = bad
    q = quantize(x, fmt)
    np.testing.assert_array_equal(q.scales, clean.scales)
    back = q.dequantize()
    np.testing.assert_array_equal(back[:, 7], F32([bad if fmt is E5M2 else np.nan] * 2))
    np.testing.assert_array_equal(np.delete(back, 7, 1), np.delete(clean.dequantize(), 7, 1))


def test_a_block_of_nothing_finite_keeps_it_all():
    q = quantize(np.full((1, 128), np.nan, F32))
    assert q.scales[0, 0] == 1 and np.isnan(q.dequantize()).all()
    assert np.isnan(quantize(np.full((1, 3), 1e300)).dequantize()).all()    # beyond float32, so infinite


def test_saturation_hides_infinity_only_when_asked_to():
    x = normal(1, 128)
    x[0, 3] = -np.inf
    assert quantize(x, overflow="saturate").dequantize()[0, 3] == -240 * quantize(x).scales[0, 0]


def test_stochastic_rounding_never_turns_the_largest_element_into_nan():
    x = normal(2000, 128)
    q = quantize(x, rounding="stochastic", seed=0)
    assert np.isfinite(q.dequantize()).all()
    np.testing.assert_array_equal(q.codes, quantize(x, rounding="stochastic", seed=0).codes)
    assert abs((q.dequantize().astype(np.float64) - x).mean()) < 5 * (q.dequantize() - x).std() / np.sqrt(x.size)


@pytest.mark.parametrize("shape", [(0, 128), (4, 0), (0, 0)])
@pytest.mark.parametrize("block", [*RECIPES.values(), (3, 5)], ids=str)
def test_empty_matrices_quantise(shape, block):
    q = quantize(np.zeros(shape, F32), block=block)
    assert q.dequantize().shape == q.shape == shape
    assert q.scales.shape == tuple(-(-size // step) for size, step in zip(shape, q.block, strict=True))


def test_a_block_larger_than_the_matrix_is_the_whole_axis_and_costs_no_more():
    """Were it padded to its own size, these blocks would take 4 · 10^9 bytes and more."""
    x = normal(3, 3)
    q, whole = quantize(x, block=(10**9, np.int64(2**40))), quantize(x, block=(None, None))
    np.testing.assert_array_equal(q.codes, whole.codes)
    assert q.block == whole.block == (3, 3) and q.scales == whole.scales


def test_sizes_of_a_block_may_be_numpy_integers():
    x = normal(5, 6)
    np.testing.assert_array_equal(quantize(x, block=(np.int64(2), np.uint8(3))).codes, quantize(x, block=(2, 3)).codes)


def test_lists_of_numbers_quantise():
    np.testing.assert_array_equal(quantize([[1.0, 2.0]]).codes, quantize(np.array([[1.0, 2.0]])).codes)
    a, a_scale = quantize_activation([[1.0] * 128])
    np.testing.assert_array_equal(dequantize_activation(a.tolist(), a_scale.tolist()), np.ones((1, 128), F32))


# --- the op's operands ---


@pytest.mark.parametrize("m", [0, 1, 5])
@pytest.mark.parametrize("k", [0, 128, 384])
def test_activation_has_the_layout_the_op_wants(m, k):
    x = normal(m, k)
    a, a_scale = quantize_activation(torch.from_numpy(x))
    assert (a.dtype, tuple(a.shape), a.is_contiguous()) == (torch.float8_e4m3fnuz, (m, k), True)
    assert (a_scale.dtype, tuple(a_scale.shape), a_scale.is_contiguous()) == (torch.float32, (k // 128, m), True)
    codes, scales = by_loop(x, E4M3FNUZ, (1, 128))
    np.testing.assert_array_equal(a.view(torch.uint8).numpy(), codes)
    np.testing.assert_array_equal(a_scale.numpy(), scales.T)


@pytest.mark.parametrize("n", [0, 1, 128, 576])
def test_weight_has_the_layout_the_op_wants(n):
    w = normal(n, 256)
    b, b_scale = quantize_weight(torch.from_numpy(w))
    assert (b.dtype, tuple(b.shape)) == (torch.float8_e4m3fnuz, (256, n))
    assert n == 0 or b.stride() == (1, 256)
    assert (tuple(b_scale.shape), b_scale.is_contiguous()) == ((2, -(-n // 128)), True)
    codes, scales = by_loop(w, E4M3FNUZ, (128, 128))
    np.testing.assert_array_equal(b.view(torch.uint8).numpy(), codes.T)
    np.testing.assert_array_equal(b_scale.numpy(), scales.T)


def test_dequantising_gives_back_what_the_block_scales_stand_for():
    x, w = normal(7, 256), normal(300, 256)
    np.testing.assert_array_equal(dequantize_activation(*quantize_activation(x)), quantize(x).dequantize())
    np.testing.assert_array_equal(dequantize_weight(*quantize_weight(w)), quantize(w, block=(128, 128)).dequantize())


def test_dequantising_takes_any_strides_any_sign_and_keeps_nan():
    codes = np.full((2, 128), 0x40, np.uint8)
    codes[1, 5] = 0x80
    back = dequantize_activation(np.asfortranarray(codes), F32([[-0.5, 1e-30]]))
    assert back[0, 0] == -0.5 and np.isnan(back[1, 5]) and np.isnan(back).sum() == 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_torch_in_gives_torch_out_with_the_bits_of_numpy(dtype):
    x = torch.from_numpy(normal(5, 256)).to(getattr(torch, dtype)).requires_grad_()
    q, expected = quantize(x), quantize(x.detach().float().numpy())
    assert torch.equal(q.codes.view(torch.uint8), to_torch(expected.codes, E4M3FNUZ).view(torch.uint8))
    assert torch.equal(q.scales, torch.from_numpy(expected.scales))
    assert torch.equal(q.dequantize(), torch.from_numpy(expected.dequantize()))
    assert isinstance(expected.codes, np.ndarray)


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda: quantize(normal(4)), ValueError, r"x has shape \(4,\), needs a matrix of two axes; x.reshape"),
    (lambda: quantize(np.zeros((2, 2), int)), TypeError, "x is int64, needs float64"),
    (lambda: quantize(normal(4, 4), block=(0, 4)), ValueError, r"block is \(0, 4\), needs \(rows, columns\)"),
    (lambda: quantize(normal(4, 4), block=128), ValueError, "block is 128, needs"),
    (lambda: quantize(normal(4, 4), block=(True, 2)), ValueError, r"block is \(True, 2\), needs \(rows, columns\)"),
    (lambda: quantize(normal(4, 4), block=(2.0, 2)), ValueError, r"block is \(2.0, 2\), needs \(rows, columns\)"),
    (lambda: quantize([1.0, 2.0]), ValueError, r"x has shape \(2,\), needs a matrix"),
    (lambda: quantize(torch.zeros(2, 2).to(torch.float8_e4m3fn)), TypeError, "x is torch.float8_e4m3fn, needs float64"),
    (lambda: quantize(normal(4, 4), scale="e8m0"), ValueError, "scale is 'e8m0', needs 'float32' or 'power-of-two'"),
    (lambda: quantize(normal(4, 4), rounding="up"), ValueError, "rounding is 'up', needs one of"),
    (lambda: quantize_activation(normal(4, 100)), ValueError, r"x is \(4, 100\), needs \(M, K\), with K a mult"),
    (lambda: quantize_weight(normal(128)), ValueError, r"w is \(128,\), needs \(N, K\), as nn.Linear stores"),
    (lambda: dequantize_activation(np.zeros((4, 256), np.uint8), np.ones((4, 2))), ValueError,
     r"a_scale is \(4, 2\), needs \(2, 4\): one row per 128 of K = 256.*quantize_activation"),
    (lambda: dequantize_activation(np.zeros(256, np.uint8), np.ones((2, 1))), ValueError,
     r"a is \(256,\), needs \(M, K\); see quantize_activation"),
    (lambda: dequantize_weight(np.zeros(256, np.uint8), np.ones((2, 1))), ValueError, r"b is \(256,\), needs \(K, N\)"),
    (lambda: dequantize_activation(np.zeros((1, 128)), np.ones((1, 1))), TypeError, "a is float64, needs uint8"),
    (lambda: dequantize_weight(np.zeros((256, 576), np.uint8), np.ones((2, 4))), ValueError,
     r"b_scale is \(2, 4\), needs \(2, 5\)"),
])
def test_bad_input_is_named_with_the_way_out(call, error, message):
    with pytest.raises(error, match=message):
        call()
