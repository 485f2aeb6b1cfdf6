"""Matrix instructions against two outside oracles: mmasim's arithmetic, and AMD's layouts."""

import numpy as np
import pytest
from gfx942_kernels import needs_clang, run_lanes

mmasim = pytest.importorskip("mmasim.amd.sim", reason="needs mmasim (pip install mmasim)")
torch = pytest.importorskip("torch")

TYPES = {
    "fp8": (torch.float8_e4m3fnuz, 1),
    "bf8": (torch.float8_e5m2fnuz, 1),
    "f16": (torch.float16, 2),
    "bf16": (torch.bfloat16, 2),
    "xf32": (torch.float32, 4),
    "f32": (torch.float32, 4),
    "f64": (torch.float64, 8),
}


def parts(name):
    """M, K, blocks, and the types of A, B and D, from AMD's name of the instruction."""
    d, shape, *rest = name.split("_")
    m, _, k = map(int, shape.split("x"))
    blocks = int(rest.pop(0)[:-1]) if rest[0][-1] == "b" and rest[0][:-1].isdigit() else 1
    a, b = rest if len(rest) == 2 else rest * 2
    return m, k, blocks, a, b, d


def lay_out_a(x, type_bytes):
    """(tiles, blocks, M, K) elements as bytes -> (tiles, registers, 64): AMD's layout, apart from the core's."""
    tiles, blocks, m, k = x.shape[:4]
    per_lane = m * k * blocks // 64
    lanes = np.zeros((tiles, 64, per_lane, type_bytes), np.uint8)
    for block in range(blocks):
        for i in range(m):
            for kk in range(k):
                if type_bytes == 8 and blocks == 4:
                    lane = i + 4 * block + 16 * kk
                else:
                    lane = i + m * (kk // per_lane + (k // per_lane) * block)
                lanes[:, lane, kk % per_lane] = x[:, block, i, kk]
    return np.ascontiguousarray(lanes.reshape(tiles, 64, -1)).view(np.uint32).transpose(0, 2, 1)


def lay_out_d(x):
    """(tiles, blocks, M, M) -> (tiles, registers, 64) and back by the index that is returned with it."""
    tiles, blocks, m, _ = x.shape
    words = x.dtype.itemsize // 4
    out = np.zeros((tiles, m * m * blocks * words // 64, 64), np.uint32)
    raw = np.ascontiguousarray(x).view(np.uint32).reshape(tiles, blocks, m, m, words)
    where = {}
    for block in range(blocks):
        for i in range(m):
            for j in range(m):
                if words == 2:
                    register, lane = (2 * (i // 4), j + 16 * (i % 4)) if blocks == 1 else (0, j + 4 * block + 16 * i)
                else:
                    strip, groups = i // 4 + m // 4 * block, 64 // m
                    register, lane = 4 * (strip // groups) + i % 4, j + m * (strip % groups)
                for w in range(words):
                    out[:, register + w, lane] = raw[:, block, i, j, w]
                    where[block, i, j, w] = register + w, lane
    return out, where


def emulate(name, a, b, c):
    """D of an MFMA for tiles of A (t, blocks, M, K) and B^T (t, blocks, M, K) bytes, and C (t, blocks, M, M)."""
    _, _, _, a_type, b_type, _ = parts(name)
    a_regs, b_regs = lay_out_a(a, TYPES[a_type][1]), lay_out_a(b, TYPES[b_type][1])
    c_regs, where = lay_out_d(c)
    na, nb, nd = a_regs.shape[1], b_regs.shape[1], c_regs.shape[1]
    registers = lambda first, n: f"v[{first}:{first + n - 1}]" if n > 1 else f"v{first}"  # noqa: E731
    # inputs start at v10; A, B and C must start at even registers
    pad = lambda regs: np.concatenate([regs, regs[:, :1]], 1) if regs.shape[1] % 2 else regs  # noqa: E731
    a_in, b_in = pad(a_regs), pad(b_regs)
    first_b, first_c = 10 + a_in.shape[1], 10 + a_in.shape[1] + b_in.shape[1]
    # run in place at v128, clear of inputs and outputs
    body = [f"v_mov_b32_e32 v{128 + i}, v{first_c + i}" for i in range(nd)]
    body += [
        "s_nop 4",
        f"v_mfma_{name} {registers(128, nd)}, {registers(10, na)}, {registers(first_b, nb)}, {registers(128, nd)}",
        "s_nop 15",
        "s_nop 15",
    ]
    body += [f"v_mov_b32_e32 v{60 + i}, v{128 + i}" for i in range(nd)]
    out, _ = run_lanes("\n  ".join(body), np.concatenate([a_in, b_in, c_regs], 1), nd)
    raw = np.zeros((*c.shape, c.dtype.itemsize // 4), np.uint32)
    for (block, i, j, w), (register, lane) in where.items():
        raw[:, block, i, j, w] = out[:, register, lane]
    return raw.reshape(-1).view(np.uint32 if c.dtype.itemsize == 4 else np.uint64).reshape(c.shape)


def operands(rng, shape, type, mode):
    """Random elements of a type as a torch tensor: every code, normal data, tiny and large scales, mixed scales."""
    dtype, size = TYPES[type]
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[size]
    if mode == "codes":
        return (
            torch.from_numpy(rng.integers(0, 1 << 8 * size, shape, dtype=bits).view(np.uint8).copy())
            .view(dtype)
            .reshape(shape)
        )
    x = rng.standard_normal(shape)
    if mode == "mixed":
        x = x * 2.0 ** rng.integers(-12, 8, shape)
    scale = {"normal": 1, "mixed": 1, "large": 60, "tiny": 2.0**-7}[mode]
    x = x * scale
    if size == 1:
        x = np.clip(x, -240, 240) if type == "fp8" else np.clip(x, -57344, 57344)
    return torch.from_numpy(x).to(dtype)


def accumulators(rng, shape, mode, dtype=np.float32):
    c = rng.standard_normal(shape) * {"normal": 1.0, "large": 1e4, "tiny": 2.0**-130, "mixed": 1.0, "codes": 1.0}[mode]
    if mode == "mixed":
        c = c * 2.0 ** rng.integers(-60, 40, shape)
    c = c.astype(dtype)
    if mode == "codes" and dtype == np.float32:
        c = rng.integers(0, 1 << 32, shape, dtype=np.uint32).view(np.float32)
    c[..., 0, :] = 0
    return c


def expected(name, a, b, c):
    """mmasim's CDNA3 model, for all tiles at once."""
    m, k, blocks, *_ = parts(name)
    sim = mmasim.MFMA("CDNA3", name)
    t = a.shape[0] * blocks
    a, b, c = (
        a.reshape(t, m, 1, k).expand(t, m, m, k),
        b.reshape(t, 1, m, k).expand(t, m, m, k),
        torch.from_numpy(c).reshape(t, m, m),
    )
    return sim.dpa(a, b, c).numpy()


def compare(name, tiles, modes, seed=0):
    """Bit for bit, zeros by sign too; returns how many values were compared."""
    m, k, blocks, a_type, b_type, d_type = parts(name)
    rng, compared = np.random.default_rng(seed), 0
    for mode in modes:
        shape = (tiles, blocks, m, k)
        a, b = operands(rng, shape, a_type, mode), operands(rng, shape, b_type, mode)
        c = accumulators(rng, (tiles, blocks, m, m), mode, np.float64 if d_type == "f64" else np.float32)
        raw = lambda x, type: x.contiguous().view(torch.uint8).numpy().reshape(*x.shape, TYPES[type][1])  # noqa: E731
        got = emulate(name, raw(a, a_type), raw(b, b_type), c)
        want = expected(name, a, b, c).reshape(got.shape).view(got.dtype)
        wrong = got != want
        # mmasim drops a NaN or infinite C where the products are large, as it takes its exponent for 0: not compared,
        # nor is a NaN that the first of two groups of products hands to the second
        wrong &= np.isfinite(c)
        if TYPES[a_type][1] == 1:
            spoilt = torch.isnan(a.float()).any(-1)[..., :, None] | torch.isnan(b.float()).any(-1)[..., None, :]
            assert np.isnan(got.view(np.float32)[spoilt.numpy()]).all()
            wrong &= ~spoilt.numpy()
        if a_type in ("f32", "f64"):  # a chain of IEEE fmas: which NaN comes out is the host's affair
            wrong &= ~(np.isnan(want.view(c.dtype)) & np.isnan(got.view(c.dtype)))
        assert not wrong.any(), (
            mode,
            wrong.sum(),
            np.argwhere(wrong)[0],
            hex(int(got[wrong][0])),
            hex(int(want[wrong][0])),
        )
        compared += got.size
    return compared


FP8 = [f"f32_{shape}_{a}_{b}" for shape in ("32x32x16", "16x16x32") for a in ("fp8", "bf8") for b in ("fp8", "bf8")]


@needs_clang
@pytest.mark.parametrize("name", FP8)
def test_fp8_matches_mmasim_on_a_million_outputs(name):
    tiles = 205 if "32x32" in name else 820
    assert compare(name, tiles, ("normal", "codes", "mixed", "large", "tiny")) >= 1_000_000


# every other floating-point matrix instruction: fewer outputs, as mmasim is slow, but every kind of value
OTHERS = [
    "f32_32x32x8_f16",
    "f32_16x16x16_f16",
    "f32_32x32x4_2b_f16",
    "f32_16x16x4_4b_f16",
    "f32_4x4x4_16b_f16",
    "f32_32x32x8_bf16",
    "f32_16x16x16_bf16",
    "f32_32x32x4_2b_bf16",
    "f32_16x16x4_4b_bf16",
    "f32_4x4x4_16b_bf16",
    "f32_16x16x8_xf32",
    "f32_32x32x4_xf32",
    "f32_32x32x1_2b_f32",
    "f32_16x16x1_4b_f32",
    "f32_4x4x1_16b_f32",
    "f32_32x32x2_f32",
    "f32_16x16x4_f32",
    "f64_16x16x4_f64",
    "f64_4x4x4_4b_f64",
]


@needs_clang
@pytest.mark.parametrize("name", OTHERS)
def test_other_types_match_mmasim(name):
    compare(name, 8, ("normal", "codes", "mixed", "large", "tiny"))


@needs_clang
@pytest.mark.parametrize(
    "name", ["i32_32x32x16_i8", "i32_16x16x32_i8", "i32_32x32x4_2b_i8", "i32_16x16x4_4b_i8", "i32_4x4x4_16b_i8"]
)
def test_int8_matches_numpy(name):
    m, k, blocks, *_ = parts(name)
    rng = np.random.default_rng(1)
    TYPES["i8"] = (torch.int8, 1)
    a, b = (rng.integers(-128, 128, (4, blocks, m, k)).astype(np.int8) for _ in range(2))
    c = rng.integers(-(1 << 31), 1 << 31, (4, blocks, m, m)).astype(np.int32)
    got = emulate(name, a.view(np.uint8)[..., None], b.view(np.uint8)[..., None], c)
    want = (np.einsum("tbik,tbjk->tbij", a.astype(np.int64), b.astype(np.int64)) + c).astype(np.int32)
    assert np.array_equal(got.view(np.int32), want)


@needs_clang
def test_exec_plays_no_part_in_a_matrix_instruction():
    """All lanes multiply and all lanes are written, whatever EXEC says."""
    rng = np.random.default_rng(2)
    ins = rng.integers(0x20, 0x50, (8, 64, 4)).astype(np.uint8).view(np.uint32)[..., 0]
    mfma = "v_mfma_f32_16x16x32_fp8_fp8 v[128:131], v[10:11], v[12:13], v[14:17]\n  s_nop 15\n"
    moves = "\n  ".join(f"v_mov_b32_e32 v{60 + i}, v{128 + i}" for i in range(4))
    full, _ = run_lanes(mfma + moves, ins, 4)
    masked, _ = run_lanes(f"s_mov_b64 exec, 0xff\n  s_nop 4\n  {mfma}  s_mov_b64 exec, -1\n  {moves}", ins, 4)
    assert np.array_equal(full, masked)


@needs_clang
def test_fast_mfma_is_close_to_exact_and_a_nan_operand_spoils_its_row():
    rng = np.random.default_rng(3)
    ins = rng.integers(0x20, 0x50, (8, 64, 4)).astype(np.uint8).view(np.uint32)[..., 0]
    ins[4:] = 0
    ins[0, 5] = 0x80  # A's row 5 holds a NaN
    body = "v_mfma_f32_16x16x32_fp8_fp8 v[60:63], v[10:11], v[12:13], v[14:17]"
    out, _ = run_lanes(body, ins, 4)
    values = out.view(np.float32).reshape(4, 4, 16)  # register, lane group, column: row is 4 * group + register
    nan = np.isnan(values).all(axis=2)
    assert nan[1, 1] and nan.sum() == 1
