"""The launcher: which configuration a problem gets, what is refused and how, what reaches HIP."""

import ctypes
import threading

import numpy as np
import pytest
from emulated import layouts, names, tile
from host import PAGE, STATUS, describe, last_launch, launched, launches, library, problem, run, workspace_bytes

from fp8lab.hardware import CONTEST_BENCHMARK_SHAPES

CUS = 304


def test_the_launcher_says_what_it_launches():
    for p in (problem(1024, 1536, 7168), problem(33, 65, 128, "kn"), problem(6144, 4608, 7168, "kk")):
        choice = launched(p)
        assert describe(p) == f"{choice.name}, {choice.grid} workgroups, K in {choice.parts} parts"


@pytest.mark.parametrize("pair", ["mn", "mk", "kn", "kk"])
@pytest.mark.parametrize(("m", "n", "k"), [shape for shape in CONTEST_BENCHMARK_SHAPES if shape[0] == 1024])
def test_nine_of_ten_cus_have_work_on_the_small_contest_shapes(m, n, k, pair):
    choice = launched(problem(m, n, k, pair))
    assert choice.grid >= 0.9 * CUS
    assert 1 <= choice.parts <= 4
    assert choice.name.endswith(f"_{pair}")


@pytest.mark.parametrize("pair", ["mn", "mk", "kn", "kk"])
def test_each_pair_of_layouts_gets_a_configuration_of_its_own(pair):
    name = launched(problem(6144, 4608, 7168, pair)).name
    assert layouts(name) == pair
    assert "odd" not in name


def test_operands_that_no_fast_layout_reads_get_a_slower_one():
    assert launched(problem(65, 130, 256)).name.endswith("odd_mn")
    assert launched(problem(64, 130, 256, "kn", b_k_stride=131, b=PAGE + 1)).name.endswith("odd_kn")
    assert launched(problem(64, 128, 256, "kk", a=PAGE + 1)).name == "gemm_64x64_any"
    assert launched(problem(66, 128, 256, a_k_stride=67)).name == "gemm_64x64_any"  # does not end at a word
    assert launched(problem(64, 128, 256, a=PAGE + 2, a_k_stride=66)).name.endswith("odd_mn")


def test_large_tiles_are_taken_where_there_are_enough_of_them():
    assert tile(launched(problem(6144, 7168, 2048, "kk")).name) == (256, 256)
    assert tile(launched(problem(64, 64, 128)).name) == (64, 64)


def test_k_is_split_only_into_the_workspace_that_is_given():
    p = problem(1024, 512, 7168)
    choice, needed = launched(p), workspace_bytes(p)
    m, n = tile(choice.name)
    assert choice.parts > 1
    assert needed == choice.grid * m * n * 4 + choice.grid // choice.parts * 8
    assert choice.arrived - choice.partial == choice.grid * m * n * 4
    for given in (0, needed - 1):
        p.workspace_bytes = given
        fewer = launched(p)
        assert fewer.grid < choice.grid or fewer.parts < choice.parts
    p.workspace, p.workspace_bytes = None, 1 << 40
    assert launched(p).parts == 1
    assert workspace_bytes(problem(6144, 4608, 7168)) == 0


def test_one_launch_on_the_callers_stream():
    before = launches()
    choice = launched(problem(1024, 1536, 7168), stream=77)
    assert launches() == before + 1
    assert choice.stream == 77
    assert list(choice.sizes) == [1024, 1536, 7168, 1, 1024, 1, 1536, 1536, choice.parts]


def test_every_call_has_a_number_of_its_own_on_any_thread():
    """Two calls with one number, sharing a workspace one after the other, could count each other's workgroups."""
    seen = []

    def call():
        seen.extend(launched(problem(64, 64, 128)).call for _ in range(100))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(seen)) == len(seen) == 400
    assert all(number % 256 == 0 for number in seen)


@pytest.mark.parametrize(("changes", "status"), [
    ({"m": -1}, "NEGATIVE_SIZE"), ({"k": 192}, "K_NOT_MULTIPLE_OF_128"), ({"a": None}, "NULL_POINTER"),
    ({"b": None}, "NULL_POINTER"), ({"a_scale": None}, "NULL_POINTER"), ({"b_scale": None}, "NULL_POINTER"),
    ({"out": None}, "NULL_POINTER"), ({"a_k_stride": 63}, "STRIDES"), ({"a_row_stride": 2}, "STRIDES"),
    ({"b_k_stride": 0}, "STRIDES"), ({"out_row_stride": 127}, "STRIDES"), ({"a_k_stride": 1 << 24}, "STEP_TOO_LARGE"),
    ({"b_k_stride": 1 << 24}, "STEP_TOO_LARGE"), ({"out_row_stride": 1 << 24}, "STEP_TOO_LARGE")])  # fmt: skip
def test_a_wrong_problem_is_refused_before_anything_is_launched(changes, status):
    before = launches()
    assert run(problem(64, 128, 256, **changes)) == status
    assert launches() == before


@pytest.mark.parametrize("empty", [(0, 64, 128), (64, 0, 128)])
def test_an_empty_result_needs_no_launch(empty):
    before = launches()
    assert run(problem(*empty, a=None, b=None, out=None)) == "OK"
    assert launches() == before


def test_no_k_is_a_launch_that_writes_zeros():
    choice = launched(problem(64, 64, 0, a=None, b=None, a_scale=None, b_scale=None))
    assert choice.sizes[:3] == [64, 64, 0]


STEP, SCALES, WORKGROUPS = 1 << 24, 1 << 29, 1 << 22  # the first that is too large
LIMITS = {  # what -> the last problem that is taken, the first that is not, and its status
    "n": (problem(1, STEP - 1, 128, "kk"), problem(1, STEP, 128, "kk"), "STEP_TOO_LARGE"),
    "k": (problem(1, 1, STEP - 128, "kk"), problem(1, 1, STEP, "kk"), "STEP_TOO_LARGE"),
    "m of an M-contiguous a": (problem(STEP - 1, 1, 128), problem(STEP, 1, 128), "STEP_TOO_LARGE"),
    "rows of a": (problem(2, 8, 128, "kk", a_row_stride=STEP - 4), problem(2, 8, 128, "kk", a_row_stride=STEP),
                  "STEP_TOO_LARGE"),
    "rows of b": (problem(8, 2, 128, "kk", b_column_stride=STEP - 4), problem(8, 2, 128, "kk", b_column_stride=STEP),
                  "STEP_TOO_LARGE"),
    "k of b": (problem(8, 2, 128, "kn", b_k_stride=STEP - 1), problem(8, 2, 128, "kn", b_k_stride=STEP),
               "STEP_TOO_LARGE"),
    "rows of out": (problem(2, 8, 128, out_row_stride=STEP - 1), problem(2, 8, 128, out_row_stride=STEP),
                    "STEP_TOO_LARGE"),
    "a_scale": (problem(SCALES // 2 - 1, 1, 256, "kk"), problem(SCALES // 2, 1, 256, "kk"), "SCALES_TOO_LARGE"),
    "b_scale": (problem(1, STEP - 128, 1 << 19, "kk"), problem(1, STEP - 127, 1 << 19, "kk"), "SCALES_TOO_LARGE"),
    "workgroups": (problem((WORKGROUPS - 1) * 256, 1, 0), problem((WORKGROUPS - 1) * 256 + 1, 1, 0), "GRID_TOO_LARGE"),
    "workgroups, of another tile": (problem(2047 * 256, 2048 * 256, 128, "kk"), problem(2048 * 256, 2048 * 256, 128),
                                    "GRID_TOO_LARGE"),
}  # fmt: skip


@pytest.mark.parametrize("limit", LIMITS)
def test_every_limit_is_where_the_sentence_says(limit):
    taken, refused, status = LIMITS[limit]
    assert run(taken) == "OK" and run(refused) == status
    assert last_launch().grid < WORKGROUPS


@pytest.mark.parametrize("shape", [(65536, 65536, 7168), (33300, 129280, 7168), (1048576, 4096, 128),
                                   ((1 << 22) + 1, 1, 0), (1, (1 << 22) + 1, 128), ((1 << 28) + 3, 1, 0)])  # fmt: skip
def test_no_limit_stops_what_fits(shape):
    for axes in ("kk", "mn"):
        if axes == "kk" or shape[0] < STEP:
            assert launched(problem(*shape, axes)).grid < WORKGROUPS


def test_numbers_of_64_bits_are_refused_and_not_cut_off():
    assert run(problem(1 << 40, 1, 0)) == "GRID_TOO_LARGE"
    assert run(problem((1 << 63) - 1, 1, 0)) == "GRID_TOO_LARGE"
    assert run(problem(1 << 40, 1, 128, "kk")) == "SCALES_TOO_LARGE"
    assert run(problem(8, 1 << 40, 128, "kk")) == "STEP_TOO_LARGE"


def test_a_stride_over_one_element_means_nothing():
    far = 1 << 40
    assert run(problem(1, 8, 128, "kk", a_row_stride=far, out_row_stride=far)) == "OK"
    assert last_launch().sizes[3] == 128 and last_launch().sizes[7] == 8
    assert run(problem(8, 1, 128, "kk", b_column_stride=far)) == "OK"
    assert run(problem(8, 8, 0, a_row_stride=far, a_k_stride=far, b_k_stride=far, b_column_stride=far)) == "OK"


def test_a_tile_whose_rows_are_too_far_apart_for_its_offsets_is_not_taken():
    near, far = (launched(problem(4096, 4096, 128, "kk", out_row_stride=stride)) for stride in (4096, STEP - 1))
    assert tile(near.name)[0] > 64 and tile(far.name) == (64, 64)
    m, _ = tile(launched(problem(4096, 4096, 128, "kk", a_row_stride=STEP - 4)).name)
    assert m * (STEP - 4) < 1 << 31


@pytest.mark.parametrize(("error", "status"), [(98, "WRONG_DEVICE"), (209, "WRONG_DEVICE"), (200, "WRONG_DEVICE"),
                                               (218, "WRONG_DEVICE"), (1, "LAUNCH_FAILED")])  # fmt: skip
def test_what_hip_refuses_becomes_a_status_and_the_next_call_works(error, status):
    answer = ctypes.c_int.in_dll(library(), "answer")
    answer.value = error
    assert run(problem(64, 64, 128)) == status
    answer.value = 0
    assert run(problem(64, 64, 128)) == "OK"


def test_every_status_has_a_sentence():
    sentences = [library().gemm_status_string(i).decode() for i in range(len(STATUS))]
    assert len(set(sentences)) == len(STATUS)
    assert library().gemm_status_string(len(STATUS)).decode() == "not a status of this library"


def test_the_entry_point_of_other_kernels_takes_the_contest_layout():
    pointer = ctypes.c_void_p(PAGE)
    assert library().run(pointer, pointer, pointer, pointer, pointer, 1024, 1536, 7168, None, None) == 0
    assert list(last_launch().sizes) == [1024, 1536, 7168, 1, 1024, 1, 1536, 1536, 1]
    for n, workgroups in ((576, 144), (512, 128)):  # it has no workspace, so it cannot split K; gemm_launcher.h says so
        assert library().run(pointer, pointer, pointer, pointer, pointer, 1024, n, 7168, None, None) == 0
        assert last_launch().grid == workgroups


def test_one_element_needs_no_stride():
    assert run(problem(1, 1, 128, a_row_stride=0, a_k_stride=1, b_column_stride=0, b_k_stride=1)) == "OK"


def test_every_configuration_of_the_table_is_chosen_for_some_problem():
    """A row that the rule never takes is dead weight."""
    rng = np.random.default_rng(1)
    chosen = set()
    for _ in range(8000):
        m, n = int(2 ** rng.uniform(0, 14)), int(2 ** rng.uniform(0, 17))
        k = 128 * int(2 ** rng.uniform(0, 6))
        if rng.random() < 0.7:
            m, n = m // 4 * 4 + 4, n // 4 * 4 + 4
        axes, skew = rng.choice(["mn", "mk", "kn", "kk"]), int(rng.random() < 0.1)
        chosen.add(launched(problem(m, n, k, axes, a=PAGE + skew)).name)
    assert set(names()) - chosen == set()
