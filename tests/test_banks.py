"""The clocks of LDS accesses: the rule in Python against what the emulator's core counts for real accesses."""

import numpy as np
import pytest

from fp8lab import banks, toolchain
from fp8lab.gfx942 import Device

# A wave reads or writes at addresses that it is given. The result is used, so that no access is left out.
PROBE = """
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 64))) void
typedef unsigned char u8x1;
typedef unsigned short u8x2;
typedef unsigned u8x4;
typedef unsigned u8x8 __attribute__((ext_vector_type(2)));
typedef unsigned u8x16 __attribute__((ext_vector_type(4)));
#define PROBES(T) \\
    KERNEL read_##T(const unsigned* at, T* out) { \\
        __attribute__((shared, aligned(16))) static unsigned char lds[32768]; \\
        unsigned lane = __builtin_amdgcn_workitem_id_x(); \\
        out[lane] = *(volatile T*)(lds + at[lane]); \\
    } \\
    KERNEL write_##T(const unsigned* at, T* out) { \\
        __attribute__((shared, aligned(16))) static unsigned char lds[32768]; \\
        unsigned lane = __builtin_amdgcn_workitem_id_x(); \\
        *(volatile T*)(lds + at[lane]) = out[lane]; \\
    }
PROBES(u8x1) PROBES(u8x2) PROBES(u8x4) PROBES(u8x8) PROBES(u8x16)
"""
ACCESSES = [(size, intent) for size in (1, 2, 4, 8, 16) for intent in banks.INTENTS]


@pytest.fixture(scope="module")
def kernels():
    return toolchain.compile(PROBE).code_object.kernels


@pytest.mark.parametrize(("size", "intent"), ACCESSES)
def test_clocks_are_those_that_the_emulator_counts(kernels, size, intent):
    rng = np.random.default_rng([size, len(intent)])
    patterns = [np.arange(64) * size, np.zeros(64, int), np.arange(64) * 128, *(
        rng.integers(0, reach, 64) * size for reach in (8, 64, 500, 2000, 2000, 2000))]
    for addresses in patterns:
        device = Device(threads=1, checks="none")       # lanes may write one address: only the clocks are looked at
        data = np.zeros(64 * size, np.uint8)
        run = device.launch(kernels[f"{intent}_u8x{size}"], 1, 64, [addresses.astype(np.uint32), data], trace=True)
        assert len(run.lds) == 1
        assert banks.clocks(addresses, size, intent) == run.lds[0].cycles
        assert banks.ideal_clocks(size, intent) == run.lds[0].ideal_cycles


@pytest.mark.parametrize(("size", "intent"), ACCESSES)
def test_groups_take_every_lane_once(size, intent):
    groups = banks.groups(size, intent)
    assert sorted(lane for group in groups for lane in group) == list(range(64))
    assert len({len(group) for group in groups}) == 1


@pytest.mark.parametrize(("scheme", "read"), [("row after row", 32), ("rows padded by 16 bytes", 16),
                                              ("chunk ^ row % 4", 16), ("chunk ^ row % 8", 8)])
def test_schemes_cost_what_the_lesson_says(scheme, read):
    place = banks.SCHEMES[scheme]
    assert banks.clocks(banks.fragment_read(place), 16, "read") == read
    assert banks.clocks(banks.tile_write(place), 16, "write") == 8
    everywhere = [place(row, chunk) for row in range(128) for chunk in range(8)]
    assert len(set(everywhere)) == 1024 and all(each % 16 == 0 for each in everywhere)


@pytest.mark.parametrize("call", [lambda: banks.clocks(np.zeros(63, int), 16, "read"),
                                  lambda: banks.clocks(np.full(64, -4), 16, "read"),
                                  lambda: banks.groups(12, "read"), lambda: banks.groups(16, "look")])
def test_what_is_no_access_is_refused_with_what_is_needed(call):
    with pytest.raises(ValueError, match="needs"):
        call()
