"""gemm.gemm() where gfx942 machine code computes it: binding, launcher and kernel together.

On the emulator with all of its checks, which turn what a GPU would not tell into exceptions; or on a MI300X.
"""

import math

import pytest
import torch
from gemm_problems import FP8, LAYOUTS, Guarded, bits, laid_out, problem, wrong_calls_of_threads

from fp8lab import reference, scaling

EDGES = [(1, 1), (15, 17), (64, 63), (65, 128), (129, 127)]     # either side of 16, of the smallest tile, and of 128


@pytest.fixture(autouse=True)
def all_checks(monkeypatch):
    monkeypatch.setenv("FP8LAB_HIP_CHECKS", "all")


def assert_right(got, operands):
    report = reference.compare(got.cpu(), reference.gemm(*(x.cpu() for x in operands)))
    assert report.within_tolerance and report.share_within_1_ulp >= 0.999, str(report)


def on(device, operands):
    """The operands there, in their layout; rows with a pitch lose it."""
    return tuple(x.to(device) for x in operands)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("k", [0, 128, 256])
def test_every_layout_and_edge(gpu_gemm, device, layout, k):
    for m, n in EDGES:
        operands = on(device, problem(m, n, k, layout, seed=m + n))
        out = Guarded(m, n, device=device)
        assert gpu_gemm.gemm(*operands, out=out.view) is out.view
        assert out.changes() == [], (m, n)
        assert_right(out.view, operands)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_further_apart_than_their_length(gpu_gemm, device, layout):
    for pitch in (37, 64):
        operands = [x if device == "cpu" else _pitched(x, pitch) for x in problem(30, 70, 256, layout, pitch=pitch)]
        assert_right(gpu_gemm.gemm(*operands), operands)


def _pitched(x, pitch):
    if x.dtype != FP8:
        return x.cuda()
    along = 1 if x.stride(1) == 1 else 0
    return laid_out(x.cuda(), along, pitch)


def test_views_at_any_byte(gpu_gemm, device):
    buffer = torch.randint(0, 127, (1 << 14,), generator=torch.Generator().manual_seed(1), dtype=torch.uint8).view(FP8)
    floats = torch.rand(1 << 8, generator=torch.Generator().manual_seed(2)) * 1e-3
    buffer, floats = on(device, (buffer, floats))
    for offset in range(1, 5):
        a = buffer.as_strided((18, 256), (256, 1), offset)
        b = buffer.as_strided((256, 40), (1, 300), 100 + offset)        # overlaps a, which both only read
        a_scale, b_scale = floats.as_strided((2, 18), (18, 1), offset), floats.as_strided((2, 1), (1, 1), 7 + offset)
        assert_right(gpu_gemm.gemm(a, b, a_scale, b_scale), (a, b, a_scale, b_scale))


def test_k_split_between_workgroups_needs_a_workspace_that_nobody_sees(gpu_gemm, device):
    operands = on(device, problem(60, 64, 1024))
    assert_right(gpu_gemm.gemm(*operands), operands)
    if device == "cuda":
        before = torch.cuda.memory_allocated()
        out = gpu_gemm.gemm(*operands)
        assert torch.cuda.memory_allocated() - before <= max(512, 2 * out.numel())


@pytest.mark.parametrize(("m", "n", "k"), [(0, 5, 128), (5, 0, 128), (0, 0, 0), (0, 3, 0)])
def test_empty_axes(gpu_gemm, device, m, n, k):
    assert gpu_gemm.gemm(*on(device, problem(m, n, k))).shape == (m, n)


def test_nan_codes_reach_their_row_and_column_and_no_other(gpu_gemm, device):
    a, b, a_scale, b_scale = problem(20, 50, 256)
    a_scale.abs_().add_(1e-3), b_scale.abs_().add_(1e-3)
    a.view(torch.uint8)[7, 200] = 0x80
    b.view(torch.uint8)[3, 41] = 0x80
    expected = torch.zeros(20, 50, dtype=torch.bool)
    expected[7] = expected[:, 41] = True
    assert torch.equal(gpu_gemm.gemm(*on(device, (a, b, a_scale, b_scale))).isnan().cpu(), expected)


@pytest.mark.parametrize("value", [0.0, -0.0, 2.0**-126, 3e38, math.inf, -math.inf, math.nan])
def test_scales_at_the_limits_of_float32(gpu_gemm, device, value):
    a, b, a_scale, b_scale = problem(15, 130, 256)
    a_scale[1, 3], b_scale[0, 1] = value, value
    got = gpu_gemm.gemm(*on(device, (a, b, a_scale, b_scale))).cpu()
    expected = torch.as_tensor(reference.gemm_float32(a, b, a_scale, b_scale))
    report = reference.compare(got, expected)
    assert report.nan_mismatches == 0 and report.share_within_1_ulp > 0.998, str(report)
    assert torch.equal(got.isinf(), expected.bfloat16().isinf())


def test_calls_from_several_threads(gpu_gemm, device, monkeypatch):
    monkeypatch.setenv("FP8LAB_HIP_CHECKS", "none")
    operands = [on(device, problem(33 + i, 70, 256, seed=i)) for i in range(4)]
    operands = [(*x[:1], operands[0][1], x[2], operands[0][3]) for x in operands]       # one weight for all
    expected = [bits(gpu_gemm.gemm(*x)).cpu() for x in operands]
    assert wrong_calls_of_threads(gpu_gemm.gemm, operands, expected, rounds=5) == []


@pytest.mark.rocm
def test_the_current_stream_is_used(gpu_gemm, device):
    if device == "cpu":
        pytest.skip("needs a MI300X: the emulator has no stream of torch's")
    operands = on(device, problem(512, 512, 1024))
    expected = gpu_gemm.gemm(*operands)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        late = torch.zeros_like(operands[2]).copy_(operands[2])
        got = gpu_gemm.gemm(operands[0], operands[1], late, operands[3])
    stream.synchronize()
    assert torch.equal(got, expected)


def test_the_seed_example(gpu_gemm, device, monkeypatch):
    """1024 × 1536 × 7168, as the notes say it; without the checks, with which it would take minutes."""
    monkeypatch.setenv("FP8LAB_HIP_CHECKS", "none")
    generator = torch.Generator().manual_seed(0)
    x, w = torch.randn(1024, 7168, generator=generator), torch.randn(1536, 7168, generator=generator)
    a, a_scale = gpu_gemm.quantize_activation(x.to(device))
    b, b_scale = gpu_gemm.quantize_weight(w.to(device))
    c = gpu_gemm.gemm(a, b, a_scale, b_scale)
    rows = slice(100, 200)
    assert_right(c[rows], (a[rows], b, a_scale[:, rows].contiguous(), b_scale))
    exact = x @ w.T
    assert (c.cpu().float() - exact).norm() / exact.norm() < 0.06


# --- quantisation, which these builds do with torch's operations ---


@pytest.mark.parametrize("function", ["quantize_activation", "quantize_weight"])
def test_quantisation_has_the_bits_of_scaling(gpu_gemm, device, function):
    generator = torch.Generator().manual_seed(3)
    for shape in [(1, 128), (3, 256), (127, 128), (300, 512), (0, 128), (5, 0)]:
        x = torch.randn(shape, generator=generator) * torch.randn(shape, generator=generator).exp()
        assert_same(gpu_gemm, device, function, x)
    any_bits = torch.randint(-(2**31), 2**31, (200, 1024), generator=generator, dtype=torch.int64).to(torch.int32)
    assert_same(gpu_gemm, device, function, any_bits.view(torch.float32))
    for value in (0.0, -0.0, 1e-45, 1e-38, 3.4e38, math.inf, math.nan):
        assert_same(gpu_gemm, device, function, torch.full((129, 128), value))


def assert_same(gemm, device, function, x):
    codes, scale = getattr(gemm, function)(x.to(device))
    expected_codes, expected_scale = getattr(scaling, function)(x)
    assert codes.stride() == expected_codes.stride() and scale.is_contiguous()
    assert torch.equal(scale.cpu(), expected_scale)
    assert torch.equal(bits(codes).cpu(), bits(expected_codes))
