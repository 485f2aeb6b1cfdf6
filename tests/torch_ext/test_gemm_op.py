"""gemm.gemm() on the CPU against the float64 oracle: every layout, edge, scale and code path."""

import math

import pytest
import torch
from gemm_problems import FP8, LAYOUTS, Guarded, bits, laid_out, problem, wrong_calls_of_threads
from hypothesis import given, settings
from hypothesis import strategies as st

from fp8lab import reference

PATHS = ["portable", "avx2", "avx512", "avx512_bf16_standin", "avx512_bf16"]

# either side of the tiles (4 × 8, 6 × 16, 14 × 32), of 128 columns of a b_scale, and of a task's 768 columns
EDGES = [(1, 1), (1, 128), (5, 9), (6, 16), (13, 31), (14, 32), (15, 33), (29, 127), (127, 130), (41, 576), (3, 769)]


def assert_right(got, operands):
    report = reference.compare(got, reference.gemm(*operands))
    assert report.within_tolerance and report.share_within_1_ulp >= 0.999, str(report)


@pytest.fixture(params=PATHS)
def path(request, gemm, monkeypatch):
    monkeypatch.setenv("GEMM_CPU_ISA", request.param)
    try:
        gemm.ops.cpu_isa()
    except RuntimeError:
        pytest.skip(f"this CPU has no {request.param}")
    return request.param


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("k", [0, 128, 256])
def test_every_layout_and_edge(gemm, path, layout, k):
    for m, n in EDGES:
        operands = problem(m, n, k, layout, seed=m + n)
        out = Guarded(m, n)
        assert gemm.gemm(*operands, out=out.view) is out.view
        assert out.changes() == [], (m, n)
        assert_right(out.view, operands)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layer_of_the_contest(gemm, layout):
    operands = problem(200, 576, 7168, layout)
    assert_right(gemm.gemm(*operands), operands)


def test_more_rows_than_a_task_has(gemm):
    operands = problem(1025, 40, 256)
    assert_right(gemm.gemm(*operands), operands)


@pytest.mark.kernels_ci
@pytest.mark.parametrize("layout", LAYOUTS)
def test_first_answer(gemm, layout):
    operands = problem(33, 200, 384, layout)
    assert_right(gemm.gemm(*operands), operands)


@pytest.mark.kernels_ci
def test_the_seed_example_as_written(gemm):
    m, n, k = 128, 256, 512
    a = torch.randn(m, k).to(FP8)
    b = torch.randn(k, n).to(FP8)
    a_scale = torch.ones(k // 128, m)
    b_scale = torch.ones(k // 128, n // 128)
    c = torch.empty(m, n, dtype=torch.bfloat16)
    gemm.gemm(a, b, a_scale, b_scale, c)
    torch.testing.assert_close(c.float(), a.float() @ b.float(), rtol=2e-2, atol=1e-3)


@pytest.mark.parametrize(("m", "n", "k"), [(0, 5, 128), (5, 0, 128), (0, 0, 0), (0, 3, 0), (4, 7, 0)])
def test_empty_axes(gemm, path, m, n, k):
    out = gemm.gemm(*problem(m, n, k))
    assert out.shape == (m, n) and out.dtype == torch.bfloat16
    assert not out.any()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_further_apart_than_their_length(gemm, path, layout):
    operands = problem(30, 70, 256, layout, pitch=37)     # NaN in between
    assert_right(gemm.gemm(*operands), operands)


def test_views_that_slide_over_one_buffer(gemm):
    """Every alignment of every pointer."""
    generator = torch.Generator().manual_seed(1)
    buffer = torch.randint(0, 127, (1 << 16,), generator=generator, dtype=torch.uint8).view(FP8)
    floats = torch.rand(1 << 12, generator=generator) * 1e-3
    for offset in range(17):
        a = buffer[offset:].as_strided((18, 256), (256, 1), offset)
        b = buffer[offset:].as_strided((256, 40), (1, 300), 5000 + offset)
        a_scale, b_scale = floats.as_strided((2, 18), (18, 1), offset), floats.as_strided((2, 1), (1, 1), 100 + offset)
        out = torch.empty(1 << 12, dtype=torch.bfloat16).as_strided((18, 40), (41, 1), offset)
        assert_right(gemm.gemm(a, b, a_scale, b_scale, out), (a, b, a_scale, b_scale))


def test_axes_of_one_element_with_odd_strides(gemm):
    generator = torch.Generator().manual_seed(2)
    code = torch.randint(0, 127, (5000,), generator=generator, dtype=torch.uint8).view(FP8)
    scale = torch.rand(2, 1, generator=generator) * 1e-3
    row = [code.as_strided((1, 256), strides) for strides in ((9999, 1), (1, 3), (0, 1), (7, 7))]
    column = [code.as_strided((256, 1), strides) for strides in ((1, 9999), (5, 1), (1, 0), (2, 2))]
    for a in row:
        for b in column:
            assert_right(gemm.gemm(a, b, scale, scale), (a, b, scale, scale))


# --- codes and scales at their limits ---


def test_nan_codes_reach_their_row_and_column_and_no_other(gemm, path):
    for layout in LAYOUTS:
        a, b, a_scale, b_scale = problem(20, 50, 256, layout)
        a_scale.abs_().add_(1e-3), b_scale.abs_().add_(1e-3)
        a.view(torch.uint8)[7, 200] = 0x80
        b.view(torch.uint8)[3, 41] = 0x80
        expected = torch.zeros(20, 50, dtype=torch.bool)
        expected[7] = expected[:, 41] = True
        assert torch.equal(gemm.gemm(a, b, a_scale, b_scale).isnan(), expected), layout


def test_nan_codes_anywhere(gemm, path):
    operands = problem(40, 200, 128, nan=True, seed=3)
    got, expected = gemm.gemm(*operands), reference.gemm(*operands)
    assert torch.equal(got.isnan(), torch.as_tensor(expected).isnan())


@pytest.mark.parametrize("value", [0.0, -0.0, 2.0**-126, 1e-45, -1e-40, 3e38, math.inf, -math.inf, math.nan])
def test_scales_at_the_limits_of_float32(gemm, path, value):
    a, b, a_scale, b_scale = problem(15, 130, 256)
    a_scale[1, 3], b_scale[0, 1] = value, value
    got = gemm.gemm(a, b, a_scale, b_scale)
    expected = torch.as_tensor(reference.gemm_float32(a, b, a_scale, b_scale))
    report = reference.compare(got, expected)
    assert report.nan_mismatches == 0 and report.share_within_1_ulp > 0.998, str(report)
    assert torch.equal(got.isinf(), expected.bfloat16().isinf())


def test_tiny_and_huge_scales_that_cancel(gemm, path):
    a, b, _, _ = problem(15, 33, 128)
    a_scale, b_scale = torch.full((1, 15), 1e-30), torch.full((1, 1), 1e28)
    assert_right(gemm.gemm(a, b, a_scale, b_scale), (a, b, a_scale, b_scale))


def test_ties_round_to_even(gemm, path):
    """1 + 2^-8 lies between two bfloat16 numbers; 1 + 3 · 2^-8 too, its even neighbour is above."""
    a = torch.zeros(2, 128).to(FP8)
    b = torch.zeros(128, 1).to(FP8)
    a[:, 0], b[0] = 1.0, 1.0
    a[0, 1], a[1, 1], b[1] = 2.0**-4, 3 * 2.0**-4, 2.0**-4
    ones = torch.ones(1, 2), torch.ones(1, 1)
    assert gemm.gemm(a, b, *ones).flatten().tolist() == [1.0, 1.015625]


# --- the same bits ---


def test_every_path_gives_the_same_bits(gemm, monkeypatch):
    operands = problem(61, 333, 1024, seed=5)
    results = {}
    for name in PATHS:
        monkeypatch.setenv("GEMM_CPU_ISA", name)
        try:
            results[name] = bits(gemm.gemm(*operands))
        except RuntimeError:
            continue    # not on this CPU
    assert len(results) >= 2 or results.keys() == {"portable"}
    for name, got in results.items():
        assert torch.equal(got, results["portable"]), name


@settings(max_examples=25, deadline=None)
@given(m=st.integers(1, 40), n=st.integers(1, 140), blocks=st.integers(1, 3), layout=st.sampled_from(LAYOUTS),
       seed=st.integers(0, 2**31))
def test_sums_without_rounding_give_the_bits_of_the_float32_reference(gemm, m, n, blocks, layout, seed):
    """Codes of small integers make each block's sum exact, so the rest of the order of operations must agree."""
    generator = torch.Generator().manual_seed(seed)
    k = 128 * blocks
    a, b = (torch.randint(-8, 9, shape, generator=generator).float().to(FP8) for shape in ((m, k), (k, n)))
    a = laid_out(a, 1 if layout[0] == "K-contiguous" else 0)
    b = laid_out(b, 0 if layout[1] == "K-contiguous" else 1)
    a_scale = torch.randn(blocks, m, generator=generator)
    b_scale = torch.randn(blocks, -(-n // 128), generator=generator)
    expected = torch.as_tensor(reference.gemm_float32(a, b, a_scale, b_scale)).bfloat16()
    assert torch.equal(gemm.gemm(a, b, a_scale, b_scale), expected)


@pytest.fixture
def restore_threads():
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


def test_the_number_of_threads_changes_no_bit(gemm, restore_threads):
    operands = problem(150, 800, 512)
    results = []
    for threads in (1, 2, 3, 7):
        torch.set_num_threads(threads)
        results.append(bits(gemm.gemm(*operands)))
    assert all(torch.equal(result, results[0]) for result in results)


def test_calls_from_several_threads(gemm):
    operands = [problem(64 + i, 300, 512, seed=i) for i in range(4)]
    expected = [bits(gemm.gemm(*x)) for x in operands]
    assert wrong_calls_of_threads(gemm.gemm, operands, expected, rounds=10) == []


def test_an_unknown_path_names_those_there_are(gemm, monkeypatch):
    monkeypatch.setenv("GEMM_CPU_ISA", "sse9")
    with pytest.raises(RuntimeError, match=r"^GEMM_CPU_ISA is sse9, needs one of .*portable.*, which this CPU has"):
        gemm.gemm(*problem(2, 2, 128))
