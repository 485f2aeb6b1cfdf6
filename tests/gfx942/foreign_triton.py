"""Triton kernels for gfx942, compiled without a GPU: the sources of the code objects in triton_objects/.

    pip install --no-deps --target FOLDER triton==3.9.0
    PYTHONPATH=FOLDER python foreign_triton.py triton_objects

writes a .hsaco each and kernels.json, which says what a launch needs to know and of what text the objects were made.
Triton is large and no dependency of this project; the same version gives the same bytes.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # no paths of this machine in the objects
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def matmul(a, b, c, m, n, k, am, ak, bn, bk, TM: tl.constexpr, TN: tl.constexpr, TK: tl.constexpr):
    row, column = tl.program_id(1) * TM + tl.arange(0, TM), tl.program_id(0) * TN + tl.arange(0, TN)
    depth = tl.arange(0, TK)
    a += row[:, None] * am + depth[None, :] * ak
    b += column[None, :] * bn + depth[:, None] * bk
    acc = tl.zeros((TM, TN), dtype=tl.float32)
    for _ in range(0, k // TK):
        acc += tl.dot(tl.load(a), tl.load(b), out_dtype=tl.float32)
        a += TK * ak
        b += TK * bk
    tl.store(c + row[:, None] * n + column[None, :], acc)


@triton.jit
def softmax(x, y, n, N: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, N)
    v = tl.load(x + row * n + column, mask=column < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + row * n + column, e / tl.sum(e, axis=0), mask=column < n)


@triton.jit
def column_sums(x, y, m, n, M: tl.constexpr, N: tl.constexpr):
    row, column = tl.arange(0, M), tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + row[:, None] * n + column[None, :], mask=row[:, None] < m, other=0.0)
    tl.store(y + column, tl.sum(v, axis=0))


def build(folder, name, function, signature, constants, waves=4, **options):
    names = list(signature)
    signature = signature | {key: "constexpr" for key in constants}
    aligned = {(names.index(key),): [["tt.divisibility", 16]] for key in names if key not in constants}
    places = {(list(signature).index(key),): value for key, value in constants.items()}
    source = ASTSource(fn=function, signature=signature, constexprs=places, attrs=aligned)
    made = triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=dict(num_warps=waves, **options))
    (folder / f"{name}.hsaco").write_bytes(made.asm["hsaco"])
    tile = {key: value for key, value in constants.items() if key.startswith("T")}
    return {name: dict(kernel=made.metadata.name, lds=made.metadata.shared, waves=waves) | tile}


def digest():
    """Of this file from the first kernel on: what the objects depend on."""
    return hashlib.sha256(Path(__file__).read_text().partition("@triton.jit")[2].encode()).hexdigest()


def main(folder):
    kernels = {}
    numbers = {key: "i32" for key in ("m", "n", "k", "am", "ak", "bn", "bk")}
    for layout in ("row", "column"):
        tiles = ((128, 4, 2, 16), (128, 4, 2, 32), (128, 8, 2, 16), (256, 8, 2, 16), (256, 8, 1, 16))
        for tm, waves, stages, shape in tiles:
            pointers = {"a": "*fp8e4b8", "b": "*fp8e4b8", "c": "*fp32"}
            fixed = {"ak": 1, "bk": 1} if layout == "row" else {"am": 1, "bn": 1}
            constants = dict(TM=tm, TN=128, TK=128) | fixed
            name = f"fp8_{layout}_{tm}_w{waves}_s{stages}_m{shape}"
            more = dict(num_stages=stages, matrix_instr_nonkdim=shape)
            kernels |= build(folder, name, matmul, pointers | numbers, constants, waves, **more)
    for type in ("fp16", "bf16"):
        pointers = {"a": f"*{type}", "b": f"*{type}", "c": "*fp32"}
        constants = dict(TM=64, TN=64, TK=32, ak=1, bk=1)
        more = dict(num_stages=2, matrix_instr_nonkdim=16)
        kernels |= build(folder, f"{type}_row", matmul, pointers | numbers, constants, 4, **more)
    pointers = {"x": "*fp32", "y": "*fp32"}
    kernels |= build(folder, "softmax", softmax, pointers | {"n": "i32"}, {"N": 1024})
    kernels |= build(folder, "column_sums", column_sums, pointers | {"m": "i32", "n": "i32"}, {"M": 128, "N": 64})
    about = {"triton": triton.__version__, "source": digest(), "kernels": kernels}
    (folder / "kernels.json").write_text(json.dumps(about, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
