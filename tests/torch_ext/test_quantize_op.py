"""quantize_activation() and quantize_weight(): the bits of fp8lab.scaling, on every code path."""

import numpy as np
import pytest
import torch
from gemm_problems import FP8, bits
from hypothesis import given, settings
from hypothesis import strategies as st

from fp8lab import scaling

FUNCTIONS = ["quantize_activation", "quantize_weight"]


def assert_same(gemm, function, x):
    codes, scale = getattr(gemm, function)(x)
    expected_codes, expected_scale = getattr(scaling, function)(x)
    assert codes.dtype == FP8 and codes.stride() == expected_codes.stride()
    assert scale.is_contiguous() and torch.equal(scale, expected_scale)
    assert torch.equal(bits(codes), bits(expected_codes))


@pytest.fixture(params=["portable", "avx2", "avx512"])
def path(request, gemm, monkeypatch):
    monkeypatch.setenv("GEMM_CPU_ISA", request.param)
    try:
        gemm.ops.cpu_isa()
    except RuntimeError:
        pytest.skip(f"this CPU has no {request.param}")


@pytest.mark.kernels_ci
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("shape", [(1, 128), (3, 256), (127, 128), (128, 384), (300, 512), (0, 128), (5, 0)])
def test_the_bits_of_scaling(gemm, path, function, shape):
    generator = torch.Generator().manual_seed(0)
    assert_same(gemm, function, torch.randn(shape, generator=generator) * torch.randn(shape, generator=generator).exp())


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_float_dtypes(gemm, function, dtype):
    assert_same(gemm, function, torch.randn(130, 256, generator=torch.Generator().manual_seed(1)).to(dtype))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_any_strides(gemm, function):
    x = torch.randn(512, 300, generator=torch.Generator().manual_seed(2))
    assert_same(gemm, function, x.T[::2, :256])


@pytest.mark.parametrize("function", FUNCTIONS)
def test_any_float32_bit_pattern(gemm, path, function):
    """Subnormals, ±0, infinities and NaN of every payload among them."""
    x = np.random.default_rng(3).integers(0, 2**32, (200, 1024), dtype=np.uint32).view(np.float32)
    assert_same(gemm, function, torch.from_numpy(x))


def test_each_magnitude_with_a_neighbour_of_every_size(gemm, path):
    """Blocks whose largest element is 240 · 2^e: x / scale then takes every value near the steps of the format."""
    steps = torch.arange(0, 240 * 1024 + 1, 37) / 1024.0
    x = torch.zeros(len(steps) // 60 + 1, 128)
    x[:, 0] = 240.0
    for row in range(x.shape[0]):
        values = steps[row * 60 : row * 60 + 60]
        x[row, 1 : 1 + len(values)], x[row, 64 : 64 + len(values)] = values, -values
    for exponent in (-126, -20, 0, 60):
        assert_same(gemm, "quantize_activation", x * 2.0**exponent)


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-45, 1e-38, 3.4e38, float("inf"), -float("inf"), float("nan")])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_blocks_of_one_special_value(gemm, path, function, value):
    assert_same(gemm, function, torch.full((129, 128), value))
    x = torch.ones(129, 256)
    x[3, 7] = value
    assert_same(gemm, function, x)


@settings(max_examples=50, deadline=None)
@given(data=st.data(), function=st.sampled_from(FUNCTIONS))
def test_any_block(gemm, function, data):
    values = data.draw(st.lists(st.floats(width=32), min_size=1, max_size=128))
    x = torch.zeros(2, 128)
    x[0, : len(values)] = torch.tensor(values)
    assert_same(gemm, function, x)


def test_what_comes_out_is_what_gemm_takes(gemm):
    generator = torch.Generator().manual_seed(4)
    x, w = torch.randn(50, 384, generator=generator), torch.randn(200, 384, generator=generator)
    a, a_scale = gemm.quantize_activation(x)
    b, b_scale = gemm.quantize_weight(w)
    c, exact = gemm.gemm(a, b, a_scale, b_scale).float(), x @ w.T
    # each factor keeps 3 mantissa bits: relative error about 2^-4 / sqrt(3) an element, and the two add up
    assert (c - exact).norm() / exact.norm() < 0.06


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_number_of_threads_changes_no_bit(gemm, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        assert_same(gemm, "quantize_activation", torch.randn(333, 1024, generator=torch.Generator().manual_seed(5)))
    finally:
        torch.set_num_threads(before)
