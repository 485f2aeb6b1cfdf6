"""The gfx942 kernel computes the op: every configuration, every edge, on the emulator with all its checks."""

import numpy as np
import pytest

pytest.importorskip("fp8lab.gfx942", reason="the emulator is not there")

from emulated import F8, FLAGS, SOURCES, Problem, assert_close, kernels, launch, layouts, names, place, tile, ulps

from fp8lab import toolchain
from fp8lab.gfx942 import CodeObject, Device

SIZES = (1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 575, 576)


def skewed_kernel(skew):
    """gemm_128x128_odd_mk, whose a begins `skew` bytes into its argument: arrays have addresses of whole pages."""
    table = (SOURCES / "gemm_configs.h").read_text()
    assert table.count("{{a, m, k,") == 1
    source = table.replace("{{a, m, k,", f"{{{{a + {skew}, m, k,")
    source += "GEMM_KERNEL(gemm_128x128_odd_mk, Tile128x128, RowContiguous<false>, KContiguous)\n"
    return CodeObject.load(toolchain.compile(source, flags=FLAGS).path).kernels["gemm_128x128_odd_mk"]


def odd(name):
    return "odd" in name or "any" in name


def sizes(name):
    """Sizes of (m, n) that a configuration may be given: row-contiguous operands of the fast ones end at words."""
    a, b = layouts(name)
    m, n = (150, 200) if odd(name) else (150 if a == "k" else 152, 200 if b == "k" else 204)
    return m, n


@pytest.mark.parametrize("name", names())
def test_a_configuration_is_right_and_clean(name):
    m, n = sizes(name)
    problem = Problem.random(m, n, 384)
    out, run = launch(name, problem)
    assert run.findings == []
    assert_close(out, problem)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["gemm_128x128_kk", "gemm_128x128_odd_mn", "gemm_64x64_any"])
def test_every_size_around_a_tile_edge_is_right(name, size):
    for m, n in ((size, 33), (33, size)):
        problem = Problem.random(m, n, 256)
        out, run = launch(name, problem)
        assert run.findings == [], (m, n)
        assert_close(out, problem)


@pytest.mark.parametrize("name", ["gemm_256x256_kk", "gemm_256x128_mn", "gemm_64x64_mk", "gemm_128x128_odd_kn"])
@pytest.mark.parametrize("k", [0, 128, 256, 7168])
def test_every_length_of_k_is_right(name, k):
    problem = Problem.random(64, 64, k)
    out, run = launch(name, problem)
    assert run.findings == []
    assert_close(out, problem) if k else np.testing.assert_array_equal(out, 0)


@pytest.mark.parametrize("parts", [2, 3, 4])
@pytest.mark.parametrize("name", ["gemm_128x128_mn", "gemm_64x64_kk", "gemm_256x256_kk"])
def test_splitting_k_gives_the_same_bits_in_any_order(name, parts):
    problem = Problem.random(132, 136, 640)
    first, run = launch(name, problem, parts)
    assert run.findings == []
    assert_close(first, problem)
    for seed in range(3):
        again, _ = launch(name, problem, parts, Device(checks="none"), shuffle_seed=seed)
        np.testing.assert_array_equal(again, first)


@pytest.mark.parametrize("n", [40, 36, 34, 33])
def test_nothing_outside_the_result_is_written(n):
    problem = Problem.random(70, n, 128)
    room = np.full((72, n + 5), 0x4242, np.uint16)
    out, run = launch("gemm_128x128_kk", problem, out=room[1:71, :n])
    assert run.findings == []
    assert_close(out, problem)
    assert (room[0] == 0x4242).all() and (room[71] == 0x4242).all() and (room[:, n:] == 0x4242).all()


@pytest.mark.parametrize("skew", [1, 2, 3])
def test_an_odd_operand_may_begin_at_any_byte(skew):
    problem = Problem.random(67, 96, 256)
    # What is outside is decided a word at a time, so the last byte of the last row must end one.
    pitch = next(p for p in range(67, 75) if (skew + 255 * p + 67) % 4 == 0)
    out, run = launch(skewed_kernel(skew), problem, a=place(problem.a, "m", pitch, skew))
    assert run.findings == []
    assert_close(out, problem)


def test_rows_may_have_a_larger_pitch():
    problem = Problem.random(100, 72, 256)
    out, run = launch("gemm_128x128_kn", problem, a=place(problem.a, "k", 260), b=place(problem.b, "n", 80))
    assert run.findings == []
    assert_close(out, problem)


@pytest.mark.parametrize("scale", [-3.0, 0.0, 1e-30, 1e30])
def test_scales_of_any_size_and_sign_are_applied(scale):
    problem = Problem.random(64, 200, 256)
    problem.a_scale[1] = scale
    problem.b_scale[0, 1] = -2.5
    out, run = launch("gemm_128x128_kk", problem)
    assert run.findings == []
    assert (ulps(out, problem.reference()) <= 1).mean() >= 0.999


def test_ties_are_rounded_to_even():
    problem = Problem.random(64, 64, 128)
    problem.a[:], problem.b[:] = 0, 0
    problem.a[:, 7], problem.b[:, 7], problem.b_scale[:] = 1, 1, 1
    steps = np.arange(64)
    problem.a_scale[0] = 1 + (2 * steps + 1) * 2.0**-8  # half way between bfloat16 1 + step / 128 and the next
    out, _ = launch("gemm_64x64_kk", problem)
    np.testing.assert_array_equal(out[:, 0], 0x3F80 + (steps + 1) // 2 * 2)


def test_a_nan_code_makes_its_row_or_column_nan_and_no_other():
    problem = Problem.random(64, 64, 256)
    problem.a[5, 200] = problem.b[9, 3] = F8(np.nan)
    out, _ = launch("gemm_128x128_mn", problem)
    expected = np.zeros((64, 64), bool)
    expected[5], expected[:, 9] = True, True
    np.testing.assert_array_equal((out & 0x7FFF) > 0x7F80, expected)
    assert (ulps(out, problem.reference()) <= 1).all()


def test_all_layouts_give_the_same_bits():
    problem = Problem.random(132, 140, 512)
    device, pairs = Device(checks="none"), ("kk", "mn", "mk", "kn", "odd_mn")
    results = [launch(f"gemm_128x128_{pair}", problem, device=device)[0] for pair in pairs]
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@pytest.mark.parametrize("name", names())
def test_lds_is_served_without_bank_conflicts(name):
    m, n = tile(name)
    _, run = launch(name, Problem.random(m, n, 256))
    accesses = [x for x in run.lds if x.accesses]
    assert accesses
    assert [x for x in accesses if x.conflicts] == []


def test_a_launch_over_more_rows_than_the_matrix_has_is_found():
    problem = Problem.random(64, 64, 128)
    liar = Problem(np.zeros((65, 128), F8), problem.b, np.zeros((1, 65), np.float32), problem.b_scale)
    _, run = launch("gemm_64x64_kk", liar, a=place(problem.a, "k"), out=np.zeros((65, 64), np.uint16))
    assert any(f.kind == "out-of-bounds" or "bound" in str(f) for f in run.findings)


def test_the_table_is_what_was_compiled():
    assert sorted(kernels()) == sorted(names())
