"""Broadcasts and negations of matrix instructions (cbsz, abid, blgp), and the sparse ones: what meets what."""

import numpy as np
import pytest
from gfx942_kernels import needs_clang, run_lanes
from gfx942_matrices import MODES, assert_same, mmasim_matrix, random_accumulator, random_operand, run_matrix

from fp8lab.gfx942 import layouts
from fp8lab.gfx942.decode import DecodeError
from fp8lab.gfx942.isa import BY_NAME

pytestmark = needs_clang
DENSE = [name for name in layouts.instructions() if name.startswith("v_mfma")]
SPARSE = [name for name in layouts.instructions() if name.startswith("v_smfmac")]
SEVERAL = [name for name in DENSE if BY_NAME[name].more["blocks"] > 1 and BY_NAME[name].src[0] != "f64"]
PATTERNS = [name for name in DENSE if name in SEVERAL or BY_NAME[name].src[0] == "f32"]


def matrices(name, mode="normal", tiles=3, seed=0):
    op, rng = BY_NAME[name], np.random.default_rng(seed)
    shape = lambda operand: (tiles, *layouts.layout(name, operand).shape)  # noqa: E731
    if op.src[0] == "i8":
        a, b = (rng.integers(0, 256, shape(x), dtype=np.uint8) for x in "AB")
        return a, b, rng.integers(0, 1 << 32, shape("C"), dtype=np.uint32)
    a, b = (random_operand(rng, shape(x), type, mode) for x, type in zip("AB", op.src, strict=False))
    return a, b, random_accumulator(rng, shape("C"), op.dst[0], mode)


@pytest.mark.parametrize("name", SEVERAL)
def test_cbsz_and_abid_let_one_block_of_a_stand_in_for_its_group(name):
    a, b, c = matrices(name)
    blocks = BY_NAME[name].more["blocks"]
    for cbsz, abid in {(1, 0), (blocks.bit_length() - 1, blocks - 1)}:
        group = 1 << cbsz
        stand_in = a[:, [block // group * group + abid for block in range(blocks)]]
        got = run_matrix(name, a, b, c, f"cbsz:{cbsz} abid:{abid}")
        assert np.array_equal(got, run_matrix(name, stand_in, b, c)), (cbsz, abid)


LANE_GROUPS = {1: (0, 1, 0, 1), 2: (2, 3, 2, 3), 3: (1, 2, 3, 0), 4: (0,) * 4, 5: (1,) * 4, 6: (2,) * 4, 7: (3,) * 4}


@pytest.mark.parametrize("name", PATTERNS)
def test_blgp_reads_b_from_other_groups_of_16_lanes(name):
    a, b, c = matrices(name)
    for blgp in LANE_GROUPS if "4x4x1_16b_f32" in name else (3,):
        lanes = np.concatenate([np.arange(16) + 16 * group for group in LANE_GROUPS[blgp]])
        got = run_matrix(name, a, b, c, f"blgp:{blgp}")
        assert np.array_equal(got, run_matrix(name, a, b, c, lanes_of_b=lanes)), blgp


@pytest.mark.parametrize("name", [name for name in DENSE if BY_NAME[name].src[0] == "f64"])
def test_blgp_negates_operands_of_float64(name):
    a, b, c = matrices(name)
    minus = np.uint64(1 << 63)
    for bits in (1, 2, 4, 7):
        negated = [x ^ minus if bits >> n & 1 else x for n, x in enumerate((a, b, c))]
        neg = ",".join(str(bits >> n & 1) for n in range(3))
        assert np.array_equal(run_matrix(name, a, b, c, f"neg:[{neg}]"), run_matrix(name, *negated)), bits


@pytest.mark.parametrize(
    "name, modifiers, message",
    [
        ("v_mfma_f32_32x32x16_fp8_fp8", "cbsz:1", "cbsz:1"),
        ("v_mfma_f32_32x32x8_f16", "blgp:1", "blgp:1"),
        ("v_mfma_f32_16x16x4_4b_f16", "cbsz:3", "more than its 4 blocks"),
    ],
)
def test_a_modifier_the_instruction_has_not_is_refused(name, modifiers, message):
    with pytest.raises(DecodeError, match=f"{name} with .*{message}"):
        run_matrix(name, *matrices(name, tiles=1), modifiers)


def places(name, tiles, rng):
    """Which two of each four elements are stored, in any order, equal ones too: (tiles, M, K / 2), and as registers."""
    _, m, kept = layouts.layout(name, "A").shape
    of_four = rng.integers(0, 4, (tiles, 1, m, kept))
    row, column, block = np.moveaxis(layouts.table(name, "K"), -1, 0)
    held = of_four[:, block, row, column][:, :, 0].astype(np.uint32)  # (tiles, lane, place)
    stored = m * kept // 64
    held[:, :, stored:] = rng.integers(0, 4, held[:, :, stored:].shape)  # what abid does not choose plays no part
    return of_four[:, 0], np.bitwise_or.reduce(held << 2 * np.arange(16, dtype=np.uint32), axis=-1)[:, None]


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_instructions_multiply_the_elements_of_b_that_a_names(name):
    """As a dense instruction of half the depth, which mmasim has, on the rows of B that each row of A names."""
    op, rng = BY_NAME[name], np.random.default_rng(5)
    k = op.more["k"]
    dense = name.replace("smfmac", "mfma").replace(f"x{k}_", f"x{k // 2}_")
    for mode in MODES:
        a, b, c = matrices(name, mode, tiles=8)
        of_four, index = places(name, 8, rng)
        got = run_matrix(name, a, b, c, index=index)
        along_k = of_four + 4 * (np.arange(k // 2) // 2)
        tile = np.arange(8)[:, None, None]
        picked = b[:, 0][tile, along_k].swapaxes(-1, -2)[:, None]  # (tiles, 1, row, column, K / 2)
        if op.src[0] == "i8":
            want = np.einsum(
                "tbik,tbijk->tbij", a.view(np.int8).astype(np.int64), picked.view(np.int8).astype(np.int64)
            )
            assert np.array_equal(got.view(np.int32), (want + c.view(np.int32)).astype(np.int32))
            return
        assert_same(name, a, picked, c, got, mmasim_matrix(dense, a, picked, c))


@pytest.mark.parametrize("name", [name for name in SPARSE if name.endswith(("_bf16", "_i8", "_fp8_bf8"))])
def test_abid_chooses_the_part_of_the_index_register(name):
    rng = np.random.default_rng(6)
    a, b, c = matrices(name)
    _, index = places(name, 3, rng)
    bits = 8 if BY_NAME[name].src[0] in ("f16", "bf16") else 16
    for abid in range(1, 32 // bits):
        moved = run_matrix(name, a, b, c, f"abid:{abid}", index=index)
        assert np.array_equal(moved, run_matrix(name, a, b, c, index=index >> np.uint32(bits * abid)))
    fixed = run_matrix(name, a, b, c, "cbsz:1 abid:1", index=index)  # with cbsz always the first
    assert np.array_equal(fixed, run_matrix(name, a, b, c, index=index))


def test_a_sparse_instruction_reads_its_destination_and_its_index():
    """As the checks see it: both must have been written, and long enough before."""
    x = np.zeros((6, 64), np.uint32)
    write_d = "\n  ".join(f"v_mov_b32_e32 v{128 + i}, 0" for i in range(4))
    sparse = "v_smfmac_f32_16x16x64_fp8_fp8 v[128:131], v[10:11], v[12:15], {index}\n  s_nop 7\n  s_nop 1"
    found = lambda body: [(f.kind, str(f)) for f in run_lanes(body, x, 1, checks="all")[1].findings]  # noqa: E731
    wait = "\n  s_nop 1\n  "
    tail = "\n  v_mov_b32_e32 v60, v128"
    assert found(write_d + wait + sparse.format(index="v10") + tail) == []
    ((kind, text),) = found(write_d + wait + sparse.format(index="v200") + tail)
    assert kind == "uninitialised-register" and "v200" in text
    ((kind, text),) = found(wait + sparse.format(index="v10") + tail)
    assert kind == "uninitialised-register" and "v128" in text
    ((kind, text),) = found(write_d + "\n  " + sparse.format(index="v10") + tail)
    assert kind == "missing-wait-states" and "v130" in text
