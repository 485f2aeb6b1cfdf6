"""fp8lab.hardware against published limits, and costs counted from real operands."""

import math

import pytest
import torch

from fp8lab.formats import E4M3FN, E4M3FNUZ
from fp8lab.hardware import (
    CONTEST_BENCHMARK_SHAPES,
    CONTEST_SHAPES,
    CONTEST_TEST_SHAPES,
    FP8_FORMAT,
    HARDWARE,
    MI300X,
    MI300X_CU,
    MI325X,
    MODEL_SHAPES,
    fp8_format,
    gemm_cost,
    roofline,
    this_machine,
)
from fp8lab.scaling import quantize_activation, quantize_weight

# AMD's "speed of light" for the contest, in µs: gpu-mode reference-kernels, problems/amd/fp8-mm.
PUBLISHED_US = {
    (1024, 1536, 7168): 8.63, (1024, 4608, 7168): 25.89, (6144, 1536, 7168): 51.78,
    (6144, 4608, 7168): 155.30, (1024, 7168, 256): 3.17, (6144, 7168, 256): 17.27,
}


@pytest.mark.parametrize(("shape", "published"), PUBLISHED_US.items(), ids=str)
def test_the_roofline_is_the_speed_of_light_amd_published(shape, published):
    assert roofline(*shape).time_us == pytest.approx(published, rel=0.0015)    # published with three digits


def test_the_geometric_mean_of_the_contest_is_the_published_one():
    times = [roofline(*shape).time_us for shape in CONTEST_BENCHMARK_SHAPES]
    assert math.exp(sum(map(math.log, times)) / 18) == pytest.approx(14.01, rel=0.001)


@pytest.mark.parametrize(("m", "n", "k"), [(5, 576, 256), (1, 1, 128), (0, 3, 128), (64, 64, 0)])
def test_cost_counts_the_bytes_of_the_operands(m, n, k):
    a, a_scale = quantize_activation(torch.zeros(m, k))
    b, b_scale = quantize_weight(torch.zeros(n, k))
    out = torch.empty(m, n, dtype=torch.bfloat16)
    cost = gemm_cost(m, n, k)
    assert cost.bytes == sum(t.numel() * t.element_size() for t in (a, b, a_scale, b_scale, out))
    assert cost.flops == 2 * m * n * k


@pytest.mark.parametrize("hardware", HARDWARE.values(), ids=lambda row: row.name)
def test_the_two_limits_meet_at_the_ridge(hardware):
    seen = set()
    for shape in CONTEST_SHAPES:
        place = roofline(*shape, hardware)
        assert place.ridge == hardware.fp8_flops / hardware.bandwidth
        assert place.bound == ("memory" if place.intensity < place.ridge else "compute")
        assert place.attainable <= hardware.fp8_flops
        assert place.time_us * place.attainable == pytest.approx(1e6 * gemm_cost(*shape).flops)
        seen.add(place.bound)
    assert seen == {"memory", "compute"}


def test_peak_follows_from_units_and_clock():
    assert MI300X.compute_units * MI300X_CU["FP8 operations a clock"] * MI300X_CU["peak clock in Hz"] == pytest.approx(
        MI300X.fp8_flops, rel=1e-4)
    assert (MI325X.fp8_flops, MI325X.arch) == (MI300X.fp8_flops, MI300X.arch)


def test_nothing_to_do_takes_no_time():
    place = roofline(0, 0, 0)
    assert (place.intensity, place.time_us, place.attainable, place.bound) == (0, 0, 0, "memory")


def test_only_gfx942_computes_in_fnuz():
    assert {arch for arch, fmt in FP8_FORMAT.items() if fmt is E4M3FNUZ} == {"gfx942"}
    assert fp8_format("gfx942:sramecc+:xnack-") is E4M3FNUZ and fp8_format("gfx950") is E4M3FN
    assert all(row.arch in FP8_FORMAT and row.source for row in HARDWARE.values())


def test_an_unknown_architecture_is_named():
    with pytest.raises(ValueError, match="arch is 'gfx90a', needs one known to compute in FP8: gfx942"):
        fp8_format("gfx90a")


def test_negative_sizes_are_named():
    with pytest.raises(ValueError, match=r"m, n, k are -1, 1, 128, needs sizes of 0 or more"):
        gemm_cost(-1, 1, 128)


def test_partial_last_block_has_a_scale_of_its_own():
    assert gemm_cost(2, 130, 100).bytes == 2 * 100 + 100 * 130 + 4 * (2 + 2) + 2 * 2 * 130
    assert gemm_cost(2, 130, 129).bytes - gemm_cost(2, 130, 128).bytes == 2 + 130 + 4 * (2 + 2)


def test_shapes_are_complete_and_possible():
    assert (len(set(CONTEST_BENCHMARK_SHAPES)), len(set(CONTEST_TEST_SHAPES))) == (18, 11)
    assert all(k % 128 == 0 for _, _, k in CONTEST_SHAPES)
    assert all(k % 128 == 0 for layers in MODEL_SHAPES.values() for _, k in layers.values())


def test_this_computer_is_measured():
    here = this_machine(size=256, repeats=2)
    assert here.fp8_flops > 1e8 and here.bandwidth > 1e8 and "measured" in here.source
    assert roofline(64, 64, 128, here).time_us > 0
