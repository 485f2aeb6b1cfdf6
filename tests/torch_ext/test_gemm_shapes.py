"""gemm.gemm() at the contest's shapes and at every edge, where gfx942 machine code computes it.

On a MI300X all of it, `pytest -m rocm`: 29 shapes, 15 sizes of M by 15 of N, four lengths of K, four layouts. On the
emulator what takes it a second; tests/gemm has the rest there, without torch: test_contest_*.py, test_edges.py.
"""

import itertools

import pytest
import torch
from gemm_problems import LAYOUTS, Guarded, bits, problem

from fp8lab import reference
from fp8lab.hardware import CONTEST_SHAPES

SIZES = (1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 575, 576)
MOST_EMULATED = 3e7     # multiply-adds
CONTEST_LAYOUT = ("M-contiguous", "N-contiguous")


def on(device, operands):
    return tuple(x.to(device) for x in operands)


def assert_right(got, operands):
    """Against float64, computed where the tensors are: FP8 times float32 is exact there."""
    a, b, a_scale, b_scale = operands
    scaled_a = a.float().double() * a_scale.double().T.repeat_interleave(128, 1)
    b_scale = b_scale.double().repeat_interleave(128, 0).repeat_interleave(128, 1)[:, : b.shape[1]]
    scaled_b = b.float().double() * b_scale
    report = reference.compare(got.cpu(), (scaled_a @ scaled_b).cpu())
    assert report.within_tolerance and report.share_within_1_ulp >= 0.999, str(report)


def skip_if_long(gemm, m, n, k):
    if gemm.BACKEND == "emulated" and m * n * k > MOST_EMULATED:
        pytest.skip("needs a MI300X: too long here")


@pytest.mark.parametrize(("m", "n", "k"), CONTEST_SHAPES)
def test_a_shape_of_the_contest(gpu_gemm, device, m, n, k):
    skip_if_long(gpu_gemm, m, n, k)
    operands = on(device, problem(m, n, k, CONTEST_LAYOUT))
    assert_right(gpu_gemm.gemm(*operands), operands)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("k", [0, 128, 256, 7168])
def test_sizes_around_every_edge(gpu_gemm, device, layout, k):
    pairs = itertools.product(SIZES, SIZES) if gpu_gemm.BACKEND == "rocm" else [(17, 63)] if k == 7168 else [(65, 16)]
    for m, n in pairs:
        operands = on(device, problem(m, n, k, layout, seed=m + n))
        out = Guarded(m, n, device=device)
        gpu_gemm.gemm(*operands, out=out.view)
        assert out.changes() == [], (m, n)
        assert_right(out.view, operands)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nan_codes_anywhere(gpu_gemm, device, layout):
    for m, n, k in [(65, 129, 256)] + ([(1000, 1001, 2048)] if gpu_gemm.BACKEND == "rocm" else []):
        operands = on(device, problem(m, n, k, layout, nan=True))
        nan = operands[0].float().isnan().any(1)[:, None] | operands[1].float().isnan().any(0)
        assert torch.equal(gpu_gemm.gemm(*operands).isnan(), nan)


@pytest.mark.rocm
def test_calls_on_several_streams_at_once(gpu_gemm, device):
    """Each splits K, and so has a workspace and counters that the others must not meet."""
    if device == "cpu":
        pytest.skip("needs a MI300X: the emulator has no streams of torch's; tests/gemm/test_through_hip.py has HIP's")
    calls = [on(device, problem(1024, 576, 7168, CONTEST_LAYOUT, seed=i)) for i in range(4)]
    expected = [gpu_gemm.gemm(*operands) for operands in calls]
    streams = [torch.cuda.Stream() for _ in calls]
    torch.cuda.synchronize()
    for _ in range(20):
        results = []
        for stream, operands in zip(streams, calls, strict=True):
            with torch.cuda.stream(stream):
                results.append(gpu_gemm.gemm(*operands))
        torch.cuda.synchronize()
        for got, want in zip(results, expected, strict=True):
            assert torch.equal(bits(got), bits(want))


@pytest.mark.rocm
def test_a_captured_call_can_be_repeated(gpu_gemm, device):
    if device == "cpu":
        pytest.skip("needs a MI300X: the emulator has no graphs of torch's; tests/gemm/test_through_hip.py has HIP's")
    operands = on(device, problem(1024, 576, 7168, CONTEST_LAYOUT))
    expected, graph = gpu_gemm.gemm(*operands), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = gpu_gemm.gemm(*operands)
    for _ in range(3):
        out.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(bits(out), bits(expected))
