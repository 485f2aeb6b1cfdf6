"""What the tests of matrix instructions share: operands by AMD's layouts, random values, and mmasim's arithmetic.

A matrix is (tiles, blocks, rows, columns) of raw bits, a tile for each workgroup. The layouts are the table's
(fp8lab.gfx942.layouts), which test_layouts.py holds to the calculator's equations.
"""

import numpy as np
import pytest
from gfx942_kernels import run_lanes

from fp8lab.gfx942 import layouts
from fp8lab.gfx942.isa import BY_NAME

mmasim = pytest.importorskip("mmasim.amd.sim", reason="needs mmasim (pip install mmasim)")
torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # the tests run side by side as it is

TYPES = {
    "fp8": torch.float8_e4m3fnuz,
    "bf8": torch.float8_e5m2fnuz,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "xf32": torch.float32,
    "f32": torch.float32,
    "f64": torch.float64,
}
RAW = {2: np.uint8, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}  # bits: how they are held
MODES = ("normal", "codes", "mixed", "large", "tiny")


def to_registers(name, operand, x):
    """(tiles, blocks, rows, columns) raw elements -> (tiles, registers, 64) uint32."""
    at = layouts.layout(name, operand)
    row, column, block = np.moveaxis(layouts.table(name, operand), -1, 0)
    held = x[:, block, row, column].astype(np.uint64)  # (tiles, lane, register, place)
    if at.bits == 64:
        held[:, :, 1::2] >>= np.uint64(32)
    shifts = np.uint64(at.bits % 64) * np.arange(at.places, dtype=np.uint64)
    return np.bitwise_or.reduce(held << shifts, axis=-1).astype(np.uint32).transpose(0, 2, 1)


def from_registers(name, raw):
    """(tiles, registers, 64) uint32 of D -> (tiles, blocks, rows, columns) raw elements."""
    at = layouts.layout(name, "D")
    raw = raw.transpose(0, 2, 1).astype(np.uint64)
    row, column, block = np.moveaxis(layouts.table(name, "D")[:, :, 0], -1, 0)
    if at.bits == 64:
        raw = raw[:, :, ::2] | raw[:, :, 1::2] << np.uint64(32)
        row, column, block = row[:, ::2], column[:, ::2], block[:, ::2]
    x = np.zeros((len(raw), *at.shape), RAW[at.bits])
    x[:, block, row, column] = raw
    return x


def run_matrix(name, a, b, c, modifiers="", index=None, lanes_of_b=None):
    """Raw D of a matrix instruction in the emulator; a, b, c are raw matrices.

    index       (tiles, 1, 64) the register of places of a sparse A
    lanes_of_b  the lanes that B's registers are taken from, in place of 0-63
    """
    operands = [to_registers(name, operand, x) for operand, x in zip("ABC", (a, b, c), strict=True)]
    if lanes_of_b is not None:
        operands[1] = operands[1][:, :, lanes_of_b]
    if index is not None:
        operands.append(index)
    first, at, ins = [], 10, []
    for x in operands:  # each starts at an even register
        first.append(at)
        ins.append(x)
        if x.shape[1] % 2:
            ins.append(x[:, :1])
        at += (x.shape[1] + 1) // 2 * 2
    span = lambda first, n: f"v[{first}:{first + n - 1}]" if n > 1 else f"v{first}"  # noqa: E731
    na, nb, nd = (x.shape[1] for x in operands[:3])
    d = span(128, nd)  # C is there, too, clear of the inputs
    last = d if index is None else f"v{first[-1]}"
    body = [f"v_mov_b32_e32 v{128 + i}, v{first[2] + i}" for i in range(nd)]
    matrix = f"{name} {d}, {span(first[0], na)}, {span(first[1], nb)}, {last} {modifiers}"
    body += ["s_nop 4", matrix]
    body += ["s_nop 15", "s_nop 15", *(f"v_mov_b32_e32 v{60 + i}, v{128 + i}" for i in range(nd))]
    out, _ = run_lanes("\n  ".join(body), np.concatenate(ins, 1), nd)
    return from_registers(name, out)


def tensor(raw, type):
    """Raw elements as a torch tensor of their type."""
    return torch.from_numpy(np.ascontiguousarray(raw)).view(TYPES[type])


def random_operand(rng, shape, type, mode):
    """Raw random elements: normal, every code (NaN, infinities, denormals), of mixed, large or tiny scales."""
    bits = torch.finfo(TYPES[type]).bits
    if mode == "codes":
        return rng.integers(0, 1 << bits, shape, dtype=RAW[bits])
    x = rng.standard_normal(shape) * {"normal": 1, "mixed": 1, "large": 60, "tiny": 2.0**-7}[mode]
    if mode == "mixed":
        x = x * 2.0 ** rng.integers(-12, 8, shape)
    if bits == 8:
        x = np.clip(x, -240, 240)
    return torch.from_numpy(x).to(TYPES[type]).view(getattr(torch, f"uint{bits}")).numpy()


def random_accumulator(rng, shape, type, mode):
    c = rng.standard_normal(shape) * {"normal": 1.0, "large": 1e4, "tiny": 2.0**-130, "mixed": 1.0, "codes": 1.0}[mode]
    if mode == "mixed":
        c = c * 2.0 ** rng.integers(-60, 40, shape)
    c = c.astype(np.float64 if type == "f64" else np.float32).view(RAW[64 if type == "f64" else 32])
    if mode == "codes" and type == "f32":
        c = rng.integers(0, 1 << 32, shape, dtype=np.uint32)
    c[..., 0, :] = 0
    return c


def mmasim_matrix(name, a, b, c):
    """Raw D by mmasim's CDNA3 model of a dense instruction: a (…, M, K), b (…, 1 or M, M, K), columns for each row."""
    op = BY_NAME[name]
    m, k = a.shape[-2:]
    a = tensor(a, op.src[0]).reshape(-1, m, 1, k).expand(-1, m, m, k)
    b = tensor(b, op.src[1]).reshape(-1, b.shape[-3], m, k).expand(-1, m, m, k)
    sim = mmasim.MFMA("CDNA3", name.removeprefix("v_mfma_"))
    return sim.dpa(a, b, tensor(c, op.dst[0]).reshape(-1, m, m)).numpy().reshape(c.shape).view(c.dtype)


def assert_same(name, a, b, c, got, want):
    """Bit for bit, zeros by sign too, where mmasim is to be trusted; says where the first difference is.

    mmasim drops a NaN or infinite C where the products are large, as it takes its exponent for 0: not compared; nor is
    which NaN an FP8 NaN gives, but that it gives one; and in a chain of IEEE fmas which NaN comes out is the host's
    affair. b is (…, 1 or M, M, K), as for mmasim_matrix().
    """
    op = BY_NAME[name]
    wrong = (got != want) & np.isfinite(c.view(np.float64 if c.itemsize == 8 else np.float32))
    as_float = lambda x: x.view(np.float64 if x.itemsize == 8 else np.float32)  # noqa: E731
    if op.src[0] in ("fp8", "bf8"):
        spoilt = (a == 0x80).any(-1)[..., :, None] | (b == 0x80).any(-1)
        assert np.isnan(as_float(got)[spoilt]).all()
        wrong &= ~spoilt
    if op.src[0] in ("f32", "f64"):
        wrong &= ~(np.isnan(as_float(want)) & np.isnan(as_float(got)))
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0])
        raise AssertionError(f"{wrong.sum()} differ, the first at {at}: {got[at]:#x}, mmasim {want[at]:#x}")
