"""The launcher: which configuration a problem gets, what is refused and how, what reaches HIP.

Its host half is compiled as it is, with a HIP runtime that records the launch instead of running it.
"""

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from emulated import SOURCES, Problem, assert_close, layouts, names, place, tile
from emulated import launch as emulate

from fp8lab import toolchain
from fp8lab.gfx942 import Device

STUB = Path(__file__).parent / "hip_stub"
CUS = 304
# gpu-mode's amd-fp8-mm, leaderboard 399: the shapes that are timed (m 1024 and 6144), and those that are only checked
TIMED_N_K = [(1536, 7168), (3072, 1536), (576, 7168), (7168, 256), (7168, 2048), (4608, 7168), (7168, 2304),
             (512, 7168), (4096, 512)]  # fmt: skip
CHECKED = [(64, 64, 128), (64, 1536, 7168), (64, 3072, 1536), (64, 576, 7168), (96, 7168, 256), (96, 7168, 2048),
           (96, 4608, 7168), (128, 7168, 2304), (128, 512, 7168), (512, 4096, 512), (512, 1536, 7168)]  # fmt: skip
STATUS = ["OK", "NULL_POINTER", "NEGATIVE_SIZE", "K_NOT_MULTIPLE_OF_128", "STRIDES", "TOO_LARGE", "WRONG_DEVICE",
          "LAUNCH_FAILED"]  # fmt: skip
PAGE = 1 << 20  # an address that is aligned to everything; nothing is read from it


class GemmProblem(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("m", "n", "k")] + [
        ("a", ctypes.c_void_p), ("a_row_stride", ctypes.c_int64), ("a_k_stride", ctypes.c_int64),
        ("b", ctypes.c_void_p), ("b_k_stride", ctypes.c_int64), ("b_column_stride", ctypes.c_int64),
        ("a_scale", ctypes.c_void_p), ("b_scale", ctypes.c_void_p),
        ("out", ctypes.c_void_p), ("out_row_stride", ctypes.c_int64),
        ("workspace", ctypes.c_void_p), ("workspace_bytes", ctypes.c_size_t)]  # fmt: skip


def contest(m, n, k, axes="mn", **changes):
    """A problem with operands contiguous along the axes named, and a workspace of any size."""
    a_strides, b_strides = (1, m) if axes[0] == "m" else (k, 1), (n, 1) if axes[1] == "n" else (1, k)
    p = GemmProblem(m, n, k, PAGE, *a_strides, PAGE, *b_strides, PAGE, PAGE, PAGE, n, PAGE, 1 << 40)
    for name, value in changes.items():
        setattr(p, name, value)
    return p


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The launcher's host code, linked to the recorder."""
    folder = tmp_path_factory.mktemp("launcher")
    clang = toolchain.find_clang()
    if clang.name == "ziglang":
        pytest.skip("needs a clang that finds the C library's headers; ziglang's bare clang does not")
    flags = ["-x", "hip", "--offload-host-only", "-fuse-cuid=none", "-nogpuinc", "-nogpulib", "-std=c++17", "-O1",
             "-fPIC", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "--offload-arch=gfx942",
             f"-I{STUB}"]  # fmt: skip
    done = clang.run(*flags, "-c", str(SOURCES / "gemm_launcher.hip"), "-o", str(folder / "launcher.o"))
    assert done.returncode == 0, done.stderr
    subprocess.run(["c++", "-shared", "-fPIC", f"-I{STUB}", STUB / "recorder.cpp", folder / "launcher.o", "-o",
                    folder / "launcher.so"], check=True)  # fmt: skip
    lib = ctypes.CDLL(str(folder / "launcher.so"))
    lib.gemm_workspace_bytes.restype = ctypes.c_size_t
    lib.gemm_status_string.restype = ctypes.c_char_p
    return lib


def value(library, name, kind=ctypes.c_uint):
    return kind.in_dll(library, name).value


def describe(library, problem):
    text = ctypes.create_string_buffer(200)
    assert library.gemm_describe(ctypes.byref(problem), text, 200) == 0
    name, groups, parts = text.value.decode().split(", ")
    return name, int(groups.split()[0]), int(parts.split()[2])


def run(library, problem, stream=0):
    return STATUS[library.gemm_run(ctypes.byref(problem), ctypes.c_void_p(stream))]


@pytest.mark.parametrize(("n", "k"), TIMED_N_K)
def test_nine_of_ten_cus_have_work_on_the_small_contest_shapes(library, n, k):
    name, groups, parts = describe(library, contest(1024, n, k))
    assert groups >= 0.9 * CUS
    assert 1 <= parts <= 4
    assert name.endswith("_mn")


@pytest.mark.parametrize("pair", ["mn", "mk", "kn", "kk"])
def test_each_pair_of_layouts_gets_a_configuration_of_its_own(library, pair):
    name = describe(library, contest(6144, 4608, 7168, pair))[0]
    assert layouts(name) == pair
    assert "odd" not in name


def test_operands_that_no_fast_layout_reads_get_a_slower_one(library):
    assert describe(library, contest(65, 130, 256))[0].endswith("odd_mn")
    assert describe(library, contest(64, 130, 256, "kn", b_k_stride=131, b=PAGE + 1))[0].endswith("odd_kn")
    assert describe(library, contest(64, 128, 256, "kk", a=PAGE + 1))[0] == "gemm_64x64_any"
    assert describe(library, contest(66, 128, 256, a_k_stride=67))[0] == "gemm_64x64_any"  # does not end at a word
    assert describe(library, contest(64, 128, 256, a=PAGE + 2, a_k_stride=66))[0].endswith("odd_mn")


def test_large_tiles_are_taken_where_there_are_enough_of_them(library):
    assert tile(describe(library, contest(6144, 7168, 2048, "kk"))[0]) == (256, 256)
    assert tile(describe(library, contest(64, 64, 128))[0]) == (64, 64)


def test_k_is_split_only_into_the_workspace_that_is_given(library):
    problem = contest(1024, 512, 7168)
    name, groups, parts = describe(library, problem)
    m, n = tile(name)
    assert parts > 1
    assert library.gemm_workspace_bytes(ctypes.byref(problem)) == groups * m * n * 4 + groups // parts * 8
    for bytes_given in (0, library.gemm_workspace_bytes(ctypes.byref(problem)) - 1):
        problem.workspace_bytes = bytes_given
        _, fewer_groups, fewer_parts = describe(library, problem)
        assert fewer_groups * fewer_parts < groups * parts or fewer_parts < parts
    problem.workspace, problem.workspace_bytes = None, 1 << 40
    assert describe(library, problem)[2] == 1
    assert library.gemm_workspace_bytes(ctypes.byref(contest(6144, 4608, 7168))) == 0


def test_one_launch_on_the_callers_stream(library):
    before = value(library, "launches")
    assert run(library, contest(1024, 1536, 7168), stream=77) == "OK"
    _, groups, parts = describe(library, contest(1024, 1536, 7168))
    assert value(library, "launches") == before + 1
    assert value(library, "last_stream", ctypes.c_long) == 77
    assert value(library, "last_grid") == groups
    assert list((ctypes.c_int * 9).in_dll(library, "last_ints")) == [1024, 1536, 7168, 1, 1024, 1, 1536, 1536, parts]


def test_every_call_has_a_number_of_its_own(library):
    seen = set()
    for _ in range(200):
        assert run(library, contest(64, 64, 128)) == "OK"
        seen.add(value(library, "last_call", ctypes.c_ulong))
    assert len(seen) == 200
    assert all(number % 256 == 0 for number in seen)


@pytest.mark.parametrize(("changes", "status"), [
    ({"m": -1}, "NEGATIVE_SIZE"), ({"k": 192}, "K_NOT_MULTIPLE_OF_128"), ({"a": None}, "NULL_POINTER"),
    ({"b": None}, "NULL_POINTER"), ({"a_scale": None}, "NULL_POINTER"), ({"b_scale": None}, "NULL_POINTER"),
    ({"out": None}, "NULL_POINTER"), ({"a_k_stride": 63}, "STRIDES"), ({"a_row_stride": 2}, "STRIDES"),
    ({"b_k_stride": 0}, "STRIDES"), ({"out_row_stride": 127}, "STRIDES"), ({"a_k_stride": 1 << 23}, "TOO_LARGE"),
    ({"out_row_stride": 1 << 23}, "TOO_LARGE")])  # fmt: skip
def test_a_wrong_problem_is_refused_before_anything_is_launched(library, changes, status):
    before = value(library, "launches")
    problem = contest(64, 128, 256)
    for name, changed in changes.items():
        setattr(problem, name, changed)
    assert run(library, problem) == status
    assert value(library, "launches") == before


@pytest.mark.parametrize("empty", [(0, 64, 128), (64, 0, 128)])
def test_an_empty_result_needs_no_launch(library, empty):
    before = value(library, "launches")
    assert run(library, contest(*empty, a=None, b=None, out=None)) == "OK"
    assert value(library, "launches") == before


def test_no_k_is_a_launch_that_writes_zeros(library):
    assert run(library, contest(64, 64, 0, a=None, b=None, a_scale=None, b_scale=None)) == "OK"
    assert list((ctypes.c_int * 9).in_dll(library, "last_ints"))[:3] == [64, 64, 0]


@pytest.mark.parametrize(("error", "status"), [(98, "WRONG_DEVICE"), (209, "WRONG_DEVICE"), (1, "LAUNCH_FAILED")])
def test_what_hip_refuses_becomes_a_status_and_the_next_call_works(library, error, status):
    answer = ctypes.c_int.in_dll(library, "answer")
    answer.value = error
    assert run(library, contest(64, 64, 128)) == status
    answer.value = 0
    assert run(library, contest(64, 64, 128)) == "OK"


def test_every_status_has_a_sentence(library):
    sentences = [library.gemm_status_string(i).decode() for i in range(len(STATUS))]
    assert len(set(sentences)) == len(STATUS)
    assert library.gemm_status_string(len(STATUS)).decode() == "not a status of this library"


def test_the_entry_point_of_other_kernels_takes_the_contest_layout(library):
    pointer = ctypes.c_void_p(PAGE)
    assert library.run(pointer, pointer, pointer, pointer, pointer, 1024, 1536, 7168, None, None) == 0
    assert list((ctypes.c_int * 9).in_dll(library, "last_ints")) == [1024, 1536, 7168, 1, 1024, 1, 1536, 1536, 1]


def test_one_element_needs_no_stride(library):
    assert run(library, contest(1, 1, 128, a_row_stride=0, a_k_stride=1, b_column_stride=0, b_k_stride=1)) == "OK"


@pytest.mark.parametrize(("m", "n", "k"), CHECKED)
def test_a_contest_shape_is_right_with_the_configuration_it_gets(library, m, n, k):
    name, _, parts = describe(library, contest(m, n, k))
    problem = Problem.random(m, n, k)
    device = Device(checks="all" if m * n * k < 1e9 else "none")  # with checks the five largest would take 50 s
    out, done = emulate(name, problem, parts, device, a=place(problem.a, "m"), b=place(problem.b, "n"))
    assert done.findings == []
    assert_close(out, problem)


@pytest.mark.parametrize(("m", "n", "k"), [(1024, 7168, 256), (6144, 4096, 512), (6144, 3072, 1536)])
def test_a_sample_of_a_timed_contest_shape_is_right(library, m, n, k):
    """Four workgroups, on four XCDs, of the configuration it gets; the whole takes minutes."""
    name, _, parts = describe(library, contest(m, n, k))
    assert parts == 1
    problem, out = Problem.of_any_codes(m, n, k), np.full((m, n), 0x7FC1, np.uint16)
    _, done = emulate(name, problem, 1, None, place(problem.a, "m"), place(problem.b, "n"), out, groups=4)
    assert done.findings == []
    height, width = tile(name)
    corners = [(row, column) for row in range(0, m, height) for column in range(0, n, width)]
    written = [(row, column) for row, column in corners if out[row, column] != 0x7FC1]
    assert len(written) == 4
    for row, column in written:
        assert_close(out, problem, slice(row, row + height), slice(column, column + width))


def test_every_configuration_of_the_table_can_be_chosen_or_is_named_here(library):
    """A row that the rule never takes is dead weight; gemm_128x256_kk waits for a measurement on hardware."""
    rng = np.random.default_rng(1)
    chosen = {"gemm_128x256_kk"}
    for _ in range(4000):
        m, n = (int(2 ** rng.uniform(0, 14)) for _ in range(2))
        k = 128 * int(2 ** rng.uniform(0, 6))
        if rng.random() < 0.7:
            m, n = m // 4 * 4 + 4, n // 4 * 4 + 4
        problem = contest(m, n, k, rng.choice(["mn", "mk", "kn", "kk"]), a=PAGE + int(rng.random() < 0.1))
        chosen.add(describe(library, problem)[0])
    assert set(names()) - chosen == set()


