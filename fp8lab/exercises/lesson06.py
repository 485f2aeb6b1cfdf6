"""Notebook 06: the declaration of an op, the number of workgroups, and a new row in the table of configurations."""

import itertools
import re
from functools import lru_cache

import numpy as np

from .. import formats, launcher, reference
from ..gfx942 import Device, KernelFault
from ..toolchain import CompileError
from .exercise import Exercise, Wrong

# --- declaring an op ---

SCHEMA = "(Tensor x, int block, Tensor(a!) seen) -> Tensor"
_numbers = itertools.count()


def block_amax(x, block, seen):
    """The op of the exercise: the largest magnitude of each block of a row, and in `seen` the largest so far."""
    amax = x.abs().reshape(len(x), -1, block).amax(2)
    seen.copy_(amax.max().maximum(seen))
    return amax


def _fake(x, block, seen):
    return x.new_empty(x.shape[0], x.shape[1] // block)


def _examine_op(op):
    """Return what torch says to a declaration of block_amax, as a sentence."""
    import torch

    if not isinstance(op, dict) or set(op) != {"schema", "fake"}:
        return f'It has to be {{"schema": text, "fake": function}}, you gave {type(op).__name__}'
    if not isinstance(op["schema"], str) or not callable(op["fake"]):
        return "The schema has to be text, and fake a function of x, block and seen"
    name = f"lesson06_{next(_numbers)}::block_amax"    # a name can be declared once in a process
    try:
        torch.library.define(name, op["schema"])
        torch.library.impl(name, "CPU", block_amax)
        torch.library.register_fake(name, op["fake"])
        called = getattr(torch.ops, name.partition("::")[0]).block_amax.default
        for rows, columns, block in ((6, 256, 128), (5, 96, 32)):
            meta = [torch.empty(shape, device="meta") for shape in ((rows, columns), (1,))]
            if not isinstance(op["fake"](meta[0], block, meta[1]), torch.Tensor):
                return "fake returns no tensor, the op does"
            said = torch.library.opcheck(called, (torch.randn(rows, columns), block, torch.zeros(1)),
                                         test_utils=("test_schema", "test_faketensor"), raise_exception=False)
            for test, answer in said.items():
                if answer != "SUCCESS":
                    return f"opcheck, {test}: {_first_line(answer, name)}"
    except Exception as error:
        return f"torch says: {_first_line(error, name)}"
    return "accepted"


def _first_line(error, name):
    text = " ".join(str(error).split()).replace(name, "block_amax").replace(name.replace("::", "."), "block_amax")
    return text.partition(". Declaration:")[0][:240].rstrip(".")


OP = Exercise(
    id="06.op",
    name="op",
    question="Declare block_amax to torch: its schema, which says what it returns and which argument it writes to, and "
             "a fake, which makes the result's shape without computing.",
    minutes=8,
    read="The op: a name, a schema, a device",
    examine=_examine_op,
    reference={"schema": SCHEMA, "fake": _fake},
    wrong=(
        Wrong("seen not marked as written",
              "block_amax writes to seen, and the schema does not say so. A compiler that believes the schema may move "
              "or drop the call. Mark the argument: Tensor(a!).",
              {"schema": SCHEMA.replace("(a!)", ""), "fake": _fake}),
        Wrong("returns nothing",
              "The schema says -> (), as that of gemm does. But block_amax returns a new tensor.",
              {"schema": SCHEMA.replace("-> Tensor", "-> ()"), "fake": _fake}),
        Wrong("fake has the shape of x",
              "The fake returns something like x. The result has one column for each block, not one for each element.",
              {"schema": SCHEMA, "fake": lambda x, block, seen: x.new_empty(x.shape)}),
        Wrong("blocks fixed",
              "The number of columns is written into the fake: right for one size only.",
              {"schema": SCHEMA, "fake": lambda x, block, seen: x.new_empty(x.shape[0], 2)}),
        Wrong("fake returns nothing",
              "The fake returns None. It has to return an empty tensor of the result's shape and dtype.",
              {"schema": SCHEMA, "fake": lambda x, block, seen: None}),
        Wrong("block is missing",
              "The schema has an argument less than the function. A number is declared as int.",
              {"schema": SCHEMA.replace("int block, ", ""), "fake": _fake}),
    ),
)

# --- how many workgroups ---

ENOUGH, MOST_PARTS, BLOCK = 274, 4, 128


def _launch_size(m, n, k, tile_m, tile_n):
    tiles = -(-m // tile_m) * -(-n // tile_n)
    most = max(1, min(MOST_PARTS, k // BLOCK))
    parts = min(most, -(-ENOUGH // tiles))
    return tiles * parts, parts


def _launch_cases():
    sizes = [(1024, 1536, 7168, 128, 128), (1024, 576, 7168, 128, 64), (6144, 4608, 7168, 256, 128),
             (64, 7168, 256, 64, 64), (1024, 512, 7168, 128, 64), (100, 130, 7168, 64, 64), (1024, 7168, 256, 128, 128)]
    return [(", ".join(map(str, case)), case) for case in sizes]


def _unlimited(m, n, k, tile_m, tile_n):
    tiles = -(-m // tile_m) * -(-n // tile_n)
    parts = min(-(-ENOUGH // tiles), k // BLOCK)
    return tiles * parts, parts


def _beyond_k(m, n, k, tile_m, tile_n):
    tiles = -(-m // tile_m) * -(-n // tile_n)
    parts = min(MOST_PARTS, -(-ENOUGH // tiles))
    return tiles * parts, parts


def _all_units(m, n, k, tile_m, tile_n):
    tiles = -(-m // tile_m) * -(-n // tile_n)
    parts = min(MOST_PARTS, k // BLOCK, -(-304 // tiles))
    return tiles * parts, parts


def _rounded_down(m, n, k, tile_m, tile_n):
    tiles = max(1, (m // tile_m) * (n // tile_n))
    parts = min(MOST_PARTS, k // BLOCK, -(-ENOUGH // tiles))
    return tiles * parts, parts


LAUNCH = Exercise(
    id="06.parts",
    name="launch_size",
    question="Return the number of workgroups and of parts: the fewest parts of K that give at least 274 compute units "
             "work; at most 4, at most one a block of 128, and as many as allowed if 274 is out of reach.",
    minutes=6,
    read="The launcher: which kernel, how many workgroups",
    cases=_launch_cases,
    reference=_launch_size,
    parts=("workgroups", "parts"),
    wrong=(
        Wrong("tiles rounded down",
              "A tile at the edge counts too, even if most of it lies outside of C: round up.",
              _rounded_down),
        Wrong("never split",
              "That is the number of tiles. With too few of them, each is computed by several workgroups, a part of K "
              "each.",
              lambda m, n, k, tile_m, tile_n: (-(-m // tile_m) * -(-n // tile_n), 1)),
        Wrong("more than 4 parts",
              "The launcher stops at 4 parts: each part writes a tile of float32 sums, and somebody has to add them.",
              _unlimited),
        Wrong("parts without a block",
              "There are more parts than blocks of K: some would have nothing to sum.",
              _beyond_k),
        Wrong("all 304 wanted",
              "The launcher is content when 274 of the 304 compute units have work, nine of ten.",
              _all_units),
        Wrong("parts forgotten in the product",
              "The parts are right, but each part of each tile is a workgroup of its own.",
              lambda m, n, k, tile_m, tile_n: (-(-m // tile_m) * -(-n // tile_n),
                                               _launch_size(m, n, k, tile_m, tile_n)[1])),
    ),
)

# --- a row of the table ---

NARROW = (100_000, 64, 2048)
ROWS = ("gemm_128x128_kk", "gemm_64x64_kk")    # of the practice table
CONFIGURATION = """
typedef Tile<128, 64, 4, 1> Tile128x64;
X(gemm_128x64_kk, Tile128x64, KContiguous, KContiguous)
"""


def _examine_configuration(text):
    """Return what the compiler, the rule and the emulator say to a typedef and a row, as a sentence."""
    if not isinstance(text, str):
        return f"It has to be text: a typedef and a row, you gave a {type(text).__name__}"
    lines = [line.strip().rstrip("\\").strip() for line in text.strip().splitlines() if line.strip()]
    typedefs = [line for line in lines if line.startswith("typedef")]
    rows = [line for line in lines if re.fullmatch(r"X\(\w+,[\w\s:<>,]*\)", line)]
    if len(typedefs) + len(rows) != len(lines) or len(rows) != 1:
        return "It needs lines that begin with typedef, and one row: X(name, tile, layout of a, layout of b)"
    return _try_configuration("\n".join(typedefs), rows[0])


@lru_cache(maxsize=64)
def _try_configuration(typedefs, row):
    name, *rest = (part.strip() for part in row[2:-1].split(","))
    shown = f"{', '.join(rest)}; {' '.join(typedefs.split())}"
    table = launcher.table(ROWS)
    if name in launcher.rows_of(table):
        return f"The table has a row {name} already; give yours another name"
    table = launcher.with_rows(table, typedefs, row)
    tile = re.search(rf"typedef Tile<\s*(\d+)\s*,\s*(\d+)\s*,[\s\d,]*>\s*{rest[0] if rest else ''}\s*;", table)
    if len(rest) != 3 or not tile:
        return (f"There is no typedef Tile<m, n, waves along m, waves along n> {rest[0]};" if len(rest) == 3 else
                "A row has four parts: X(name, tile, layout of a, layout of b)")
    try:
        kernel = launcher.compile_row(table, name).code_object.kernels[name]
        chosen = launcher.load(table, with_kernels=False).choice(launcher.Problem.sized(*NARROW)).name
    except CompileError as error:
        first = next((line for line in str(error).splitlines() if "error: " in line), "it does not compile")
        return f"The compiler says: {first.partition('error: ')[2][:200]}"
    if chosen != name:
        return f"It compiles, but the rule takes {chosen} for M, N, K = {NARROW}, not your row ({shown})"
    return _run(kernel, int(tile[1]), int(tile[2]), shown)


def _run(kernel, tile_m, tile_n, shown):
    """Run a kernel for K-contiguous operands on a product with edges, all checks on."""
    m, n, k = 200, 100, 256
    rng = np.random.default_rng(6)
    a, b = (formats.encode(rng.standard_normal((rows, k), np.float32), formats.E4M3FNUZ) for rows in (m, n))
    a_scale, b_scale = (rng.uniform(0.5, 2, (k // BLOCK, columns)).astype(np.float32) for columns in (m, 1))
    out = np.full((m, n), 0x7FC1, np.uint16)
    try:
        run = Device(threads=1, hang_after=1_000_000).launch(
            kernel, (-(-m // tile_m) * -(-n // tile_n),), (kernel.resources.workgroup_size,),
            [a, b, a_scale, b_scale, out, m, n, k, k, 1, k, 1, n, 1, None, None, 0])
    except KernelFault as fault:
        return f"The rule takes it, but the kernel cannot end: {fault.findings[0].kind} ({shown})"
    right = reference.compare((out.astype(np.uint32) << 16).view(np.float32),
                              reference.gemm(a, b.T, a_scale, b_scale)).within_tolerance
    if not right or run.findings:
        said = f"; the emulator: {run.findings[0].kind}, {run.findings[0].message}" if run.findings else ""
        return f"The rule takes it, but it computes {'something else' if not right else 'by luck'}{said} ({shown})"
    return "right"


ROW = Exercise(
    id="06.row",
    name="configuration",
    question="Write a typedef and a row for gemm_configs.h that the rule takes for M, N, K = 100,000, 64, 2,048, both "
             "operands K-contiguous, and that computes right.",
    minutes=8,
    read="A new row in the table",
    examine=_examine_configuration,
    reference=CONFIGURATION,
    wrong=(
        Wrong("waves as in 128 × 128",
              "The compiler refuses it: with two waves side by side a wave has 32 columns. It has to have 64, so a "
              "tile of 64 columns has room for one.",
              CONFIGURATION.replace("4, 1>", "2, 2>")),
        Wrong("wide instead of tall",
              "That is the tile for 64 rows. Here C has 64 columns, and three quarters of a tile of 256 lie outside.",
              CONFIGURATION.replace("128, 64, 4, 1", "64, 256, 1, 4").replace("128x64", "64x256")),
        Wrong("another layout",
              "The rule passes it over, as it is made for an M-contiguous a. Here both operands are K-contiguous.",
              CONFIGURATION.replace("KContiguous, K", "RowContiguous<true>, K")),
        Wrong("six waves",
              "The compiler refuses it: six waves bring 48 rows at a time, and the 64 rows of B are no multiple of "
              "that. Rows that nobody brought would be multiplied.",
              CONFIGURATION.replace("128, 64, 4, 1", "192, 64, 6, 1").replace("128x64", "192x64")),
        Wrong("no typedef",
              "The row names a tile that nobody has defined. A typedef has to go with it.",
              CONFIGURATION.replace("typedef Tile<128, 64, 4, 1> Tile128x64;\n", "")),
    ),
)

EXERCISES = [OP, LAUNCH, ROW]
