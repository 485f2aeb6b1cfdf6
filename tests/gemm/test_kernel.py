"""The gfx942 kernel computes the op, in every configuration of the table; on the emulator with all its checks."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from emulated import F8, FLAGS, SOURCES, Problem, assert_close, kernels, launch, layouts, names, place, tile, ulps
from host import launched
from host import problem as gemm_problem

from fp8lab import toolchain
from fp8lab.gfx942 import CodeObject, Device


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
@pytest.mark.parametrize("k", [0, 128, 256, 7168])
def test_every_length_of_k_is_right(name, k):
    problem = Problem.random(48, 64, k)
    out, run = launch(name, problem)
    assert run.findings == []
    assert_close(out, problem) if k else np.testing.assert_array_equal(out, 0)


@pytest.mark.parametrize("name", names())
def test_splitting_k_gives_the_same_bits_in_any_order_of_workgroups(name):
    problem = Problem.random(*sizes(name), 640)
    for parts in (2, 3, 4):
        first, run = launch(name, problem, parts, shuffle_seed=parts)
        assert run.findings == []
        assert_close(first, problem)
        again, _ = launch(name, problem, parts, Device(checks="none"))
        np.testing.assert_array_equal(again, first)


def test_workgroups_may_run_in_any_order():
    problem = Problem.random(300, 400, 128)
    first, _ = launch("gemm_64x64_mn", problem)
    for seed in range(3):
        again, run = launch("gemm_64x64_mn", problem, shuffle_seed=seed)
        assert run.findings == []
        np.testing.assert_array_equal(again, first)


def test_calls_on_several_streams_do_not_meet():
    """Four threads, each with its own stream, workspace and result, running at the same time."""

    def call(seed):
        data = Problem.random(68, 136, 3584, seed)
        choice = launched(gemm_problem(68, 136, 3584), stream=seed)
        assert choice.stream == (seed or None)
        out, run = launch(choice.name, data, choice.parts, Device(threads=1), shuffle_seed=seed, call=choice.call)
        return data, choice, out, run

    with ThreadPoolExecutor(4) as threads:
        done = list(threads.map(call, range(4)))
    assert len({choice.call for _, choice, _, _ in done}) == 4
    for data, choice, out, run in done:
        assert choice.parts > 1
        assert run.findings == []
        assert_close(out, data)


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


@pytest.mark.parametrize("name", names())
def test_scales_of_any_size_and_sign_are_applied(name):
    """Negative, zero, below the smallest normal float32, so large that bfloat16 overflows; rows of each kind."""
    problem = Problem.random(*sizes(name), 512)
    kinds = np.array([-3.0, 0.0, 1e-41, 1e-30, 1e30, 3e38], np.float32)
    problem.a_scale[:] = kinds[np.add.outer(np.arange(4), np.arange(len(problem.a))) % 6]
    problem.a_scale[:, ::7] = 0
    problem.b_scale[:] = 1, -1
    out, run = launch(name, problem)
    assert run.findings == []
    exact = problem.reference()
    assert (np.abs(exact) > 3.4e38).any() and (exact[::7] == 0).all()
    assert (ulps(out, exact) <= 1).mean() >= 0.999


@pytest.mark.parametrize("name", names())
def test_tiny_results_are_not_flushed_to_zero(name):
    problem = Problem.random(*sizes(name), 128)
    problem.a_scale[:], problem.b_scale[:] = 1e-41, 1
    out, _ = launch(name, problem)
    assert (ulps(out, problem.reference()) <= 1).mean() >= 0.999
    assert (out & 0x7FFF).any()


def test_ties_are_rounded_to_even():
    problem = Problem.random(64, 64, 128)
    problem.a[:], problem.b[:] = 0, 0
    problem.a[:, 7], problem.b[:, 7], problem.b_scale[:] = 1, 1, 1
    steps = np.arange(64)
    problem.a_scale[0] = 1 + (2 * steps + 1) * 2.0**-8  # half way between bfloat16 1 + step / 128 and the next
    out, _ = launch("gemm_64x64_kk", problem)
    np.testing.assert_array_equal(out[:, 0], 0x3F80 + (steps + 1) // 2 * 2)


@pytest.mark.parametrize("name", names())
def test_a_nan_code_makes_its_row_or_column_nan_and_no_other(name):
    m, n = sizes(name)
    problem = Problem.random(m, n, 256)
    problem.a[5, 200] = problem.b[9, 3] = F8(np.nan)
    out, run = launch(name, problem)
    assert run.findings == []
    expected = np.zeros((m, n), bool)
    expected[5], expected[:, 9] = True, True
    np.testing.assert_array_equal((out & 0x7FFF) > 0x7F80, expected)
    assert (ulps(out, problem.reference()) <= 1).mean() >= 0.999


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
