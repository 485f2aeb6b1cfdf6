"""What gemm() does at the ends of its ranges: the GPU kernel's offsets of 32 bits, views at any byte, scales whose
product leaves float32. In every build."""

import re

import numpy as np
import pytest
import torch
from gemm_problems import FP8, bits, codes, problem, scales

from fp8lab import reference

STEP, SCALES = 1 << 24, 1 << 29     # the first that the GPU's kernel does not reach


def meta(*shape, dtype=FP8, strides=None):
    x = torch.empty(0, dtype=dtype, device="meta")
    return x.new_empty_strided(shape, strides) if strides else x.new_empty(shape)


def arguments(m, n, k, **changes):
    """Tensors without memory: a K-contiguous, b N-contiguous."""
    a_scale, b_scale = (meta(k // 128, columns, dtype=torch.float32) for columns in (m, -(-n // 128)))
    return {"a": meta(m, k), "b": meta(k, n), "a_scale": a_scale, "b_scale": b_scale} | changes


LIMITS = {   # what -> (the last that is taken, the first that is not, the sentence about that)
    "N": (arguments(1, STEP - 1, 128), arguments(1, STEP, 128), "b is (128, 16777216), needs N below 2^24 on a GPU"),
    "K": (arguments(1, 1, STEP - 128), arguments(1, 1, STEP), "a is (1, 16777216), needs K below 2^24 on a GPU"),
    "rows of a": (arguments(2, 2, 128, a=meta(2, 128, strides=(STEP - 1, 1))),
                  arguments(2, 2, 128, a=meta(2, 128, strides=(STEP, 1))),
                  "a has strides (16777216, 1) for shape (2, 128), needs them below 2^24 on a GPU: a.contiguous()"),
    "M of an M-contiguous a": (arguments(STEP - 1, 2, 128, a=meta(128, STEP - 1).T),
                               arguments(STEP, 2, 128, a=meta(128, STEP).T), "a has strides (1, 16777216)"),
    "rows of b": (arguments(2, 2, 128, b=meta(2, 128, strides=(STEP - 1, 1)).T),
                  arguments(2, 2, 128, b=meta(2, 128, strides=(STEP, 1)).T), "b has strides (1, 16777216)"),
    "rows of out": (arguments(2, 2, 128, out=meta(2, 2, dtype=torch.bfloat16, strides=(STEP - 1, 1))),
                    arguments(2, 2, 128, out=meta(2, 2, dtype=torch.bfloat16, strides=(STEP, 1))),
                    "out has strides (16777216, 1)"),
    "a_scale": (arguments(SCALES - 1, 1, 128), arguments(SCALES, 1, 128),
                "a_scale is (1, 536870912), needs fewer than 2^29 elements on a GPU: compute C in pieces"),
    "b_scale": (arguments(1, STEP - 128, 1 << 19), arguments(1, STEP - 127, 1 << 19),
                "b_scale is (4096, 131072), needs fewer than 2^29 elements on a GPU"),
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_limit_of_the_gpus_kernel_is_named_and_the_cpu_has_none(any_gemm, limit):
    taken, refused, sentence = LIMITS[limit]
    any_gemm.gemm(**taken)
    if any_gemm.BACKEND == "cpu":
        assert any_gemm.gemm(**refused).shape == (refused["a"].shape[0], refused["b"].shape[1])
    else:
        with pytest.raises(ValueError, match=re.escape(sentence)):
            any_gemm.gemm(**refused)


@pytest.mark.parametrize(("m", "n", "k"), [(1 << 40, 0, 256), (0, 1 << 40, 256), (1 << 22, 1, 0)])
def test_sizes_of_what_is_not_read_do_not_count(any_gemm, m, n, k):
    assert any_gemm.gemm(**arguments(m, n, k)).shape == (m, n)


def test_strides_of_axes_with_one_element_do_not_count(any_gemm, device):
    far = 1 << 40
    a, b, a_scale, b_scale = (x.to(device) for x in problem(1, 40, 256))
    out = torch.empty(1, 40, dtype=torch.bfloat16, device=device).as_strided((1, 40), (far, 1))
    any_gemm.gemm(a.as_strided((1, 256), (far, 1)), b, a_scale, b_scale, out=out)
    assert torch.equal(bits(out), bits(any_gemm.gemm(a, b, a_scale, b_scale)))
    strided = torch.empty(80, dtype=torch.bfloat16, device=device).as_strided((1, 40), (80, 2))
    with pytest.raises(ValueError, match="out has strides"):
        any_gemm.gemm(a, b, a_scale, b_scale, out=strided)


def test_any_number_of_rows_without_k_are_zeros(any_gemm, device):
    rows = (1 << 22) + 1 if any_gemm.BACKEND != "emulated" else 1001    # 65537 workgroups take the emulator a minute
    empty = torch.empty(rows, 0, device=device).to(FP8), torch.empty(0, 1, device=device).to(FP8)
    out = any_gemm.gemm(*empty, torch.empty(0, rows, device=device), torch.empty(0, 1, device=device))
    assert out.shape == (rows, 1) and not out.any()


def test_rows_as_far_apart_as_they_may_be(gpu_gemm, device):
    """The memory between them is asked for, and never touched."""
    m, n, k = 66, 6, 128
    a, b, a_scale, b_scale = (x.to(device) for x in problem(m, n, k))
    far_a = torch.empty(m * STEP, dtype=FP8, device=device).as_strided((m, k), (STEP - 4, 1))
    far_b = torch.empty(k * STEP, dtype=FP8, device=device).as_strided((k, n), (STEP - 1, 1))
    far_out = torch.empty(m * STEP, dtype=torch.bfloat16, device=device).as_strided((m, n), (STEP - 1, 1))
    far_a.copy_(a), far_b.copy_(b)
    assert_right(gpu_gemm.gemm(far_a, far_b, a_scale, b_scale, out=far_out), (a, b, a_scale, b_scale))


def assert_right(got, operands):
    report = reference.compare(got.cpu(), reference.gemm(*(x.cpu() for x in operands)))
    assert report.within_tolerance and report.share_within_1_ulp >= 0.999, str(report)


# --- views ---


@pytest.mark.parametrize("first", [0, 1, 2, 3])
@pytest.mark.parametrize("pitch", [40, 44, 47])
def test_a_view_may_begin_at_any_byte_of_its_rows(any_gemm, device, monkeypatch, first, pitch):
    """N- and M-contiguous views of the middle of a matrix that begins at a word."""
    monkeypatch.setenv("FP8LAB_HIP_CHECKS", "all")
    generator = torch.Generator().manual_seed(first)
    memory = codes(256, pitch, generator).to(device)
    view = memory[:, first : first + 39 - 3 + first % 2]
    width, other = view.shape[1], codes(256, 8, generator).to(device)
    wide, narrow = scales(2, width, generator).to(device), scales(2, 8, generator).to(device)
    one = scales(2, 1, generator).to(device)
    assert_right(any_gemm.gemm(other.T, view, narrow, one), (other.T, view, narrow, one))
    assert_right(any_gemm.gemm(view.T, other, wide, one), (view.T, other, wide, one))


def test_the_middle_of_a_weight(any_gemm, device, monkeypatch):
    monkeypatch.setenv("FP8LAB_HIP_CHECKS", "all")
    weight, ones = torch.ones(256, 44, device=device).to(FP8), torch.ones(5, 256, device=device).to(FP8)
    scale = torch.ones(2, 40, device=device)
    for first in range(5):
        view = weight[:, first : first + 39]
        assert bool((any_gemm.gemm(ones, view, scale[:, :5].contiguous(), scale[:, :1].contiguous()) == 256).all())
        assert bool((any_gemm.gemm(view.T, ones.T, scale[:, :39].contiguous(), scale[:, :1].contiguous()) == 256).all())


# --- scales ---


def with_scales(a_scale, b_scale, device, value=1.0):
    """A product of one block, of small integers times a value: its sum has no rounding. And its float64 result.

    Row 0 of a is zero.
    """
    generator = torch.Generator().manual_seed(7)
    a, b = (torch.randint(1, 8, shape, generator=generator).float() for shape in ((20, 128), (128, 33)))
    a[0] = 0
    a, b = (a * value).to(FP8).to(device), (b * value).to(FP8).to(device)
    operands = a, b, torch.full((1, 20), a_scale, device=device), torch.full((1, 1), b_scale, device=device)
    return operands, reference.gemm(*(x.cpu() for x in operands))


@pytest.mark.parametrize(("a_scale", "b_scale"), [
    (2.0**100, 3 * 2.0**-105), (1e-30, 1e28), (-3e38, 1e-38), (1e19, -1e12), (3e-19, 2e-19), (1e-45, 3e38)])
def test_huge_and_tiny_scales_whose_product_is_a_float32_are_right(any_gemm, device, a_scale, b_scale):
    operands, exact = with_scales(a_scale, b_scale, device)
    report = reference.compare(any_gemm.gemm(*operands).cpu(), exact)
    assert report.share_within_1_ulp == 1 and report.nan_mismatches == 0, str(report)


@pytest.mark.parametrize(("a_scale", "b_scale", "value"), [
    (1e20, 1e19, 2.0**-8), (-3e38, 2.0, 2.0**-8), (1e-23, 1e-23, 32.0), (2e-23, -1e-22, 32.0)])
def test_a_product_of_scales_out_of_float32_stays_out(any_gemm, device, a_scale, b_scale, value):
    """Infinite, 0 or short of bits, as gemm_float32() says it, though the float64 result is an ordinary number."""
    operands, exact = with_scales(a_scale, b_scale, device, value)
    assert (np.abs(exact[exact != 0]) < 3e38).all() and (np.abs(exact[exact != 0]) > 1e-46).all()
    got = any_gemm.gemm(*operands).cpu()
    expected = torch.as_tensor(reference.gemm_float32(*(x.cpu() for x in operands))).bfloat16()
    assert torch.equal(got.isnan(), expected.isnan())
    assert torch.equal(got[~got.isnan()], expected[~got.isnan()])
    assert reference.compare(got, exact).share_within_1_ulp < 0.9
