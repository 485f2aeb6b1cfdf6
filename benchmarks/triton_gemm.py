"""The op in Triton, compiled for gfx942 without a GPU: the peer of benchmarks/isa.py, which runs this in a process of
its own, with Triton on PYTHONPATH: python triton_gemm.py VARIANTS.json FOLDER writes a .hsaco and a .json each.

One tile a workgroup on a plain grid, no masks at the edges, no split along K: less than the op asks for.
"""

import json
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ARGUMENTS = {"a": "*fp8e4b8", "b": "*fp8e4b8", "a_scale": "*fp32", "b_scale": "*fp32", "c": "*bf16"} | dict.fromkeys(
    ("m", "n", "k", "a_row", "a_k", "b_row", "b_k"), "i32"
)  # fp8e4b8 is e4m3fnuz


@triton.jit
def gemm(a, b, a_scale, b_scale, c, m, n, k, a_row, a_k, b_row, b_k, TM: tl.constexpr, TN: tl.constexpr):
    row, column = tl.program_id(1) * TM + tl.arange(0, TM), tl.program_id(0) * TN + tl.arange(0, TN)
    depth = tl.arange(0, 128)
    a += row[:, None] * a_row + depth[None, :] * a_k
    b += column[None, :] * b_row + depth[:, None] * b_k
    acc = tl.zeros((TM, TN), dtype=tl.float32)
    a_scale += row
    b_scale += tl.program_id(0) * TN // 128
    for _ in range(0, k // 128):
        dot = tl.dot(tl.load(a), tl.load(b), out_dtype=tl.float32)
        if TN <= 128:
            acc += dot * (tl.load(a_scale) * tl.load(b_scale))[:, None]
        else:
            acc += dot * (tl.load(a_scale)[:, None] * tl.load(b_scale + tl.arange(0, TN) // 128)[None, :])
        a += 128 * a_k
        b += 128 * b_k
        a_scale += m
        b_scale += tl.cdiv(n, 128)
    tl.store(c + row[:, None] * n + column[None, :], acc.to(tl.bfloat16))


def build(folder, name, tile, ones, unaligned, waves, stages, mfma):
    """Compile one variant.

    ones       strides that are 1
    unaligned  arguments of which nothing is known; all others are multiples of 16, pointers and strides alike
    """
    constants = dict.fromkeys(ones, 1) | {"TM": tile[0], "TN": tile[1]}
    signature = ARGUMENTS | dict.fromkeys(constants, "constexpr")
    places = {name: place for place, name in enumerate(signature)}
    aligned = {(places[key],): [["tt.divisibility", 16]] for key in ARGUMENTS if key not in (*ones, *unaligned)}
    source = ASTSource(fn=gemm, signature=signature, attrs=aligned,
                       constexprs={(places[key],): value for key, value in constants.items()})  # fmt: skip
    options = dict(num_warps=waves, num_stages=stages, matrix_instr_nonkdim=mfma)
    made = triton.compile(source, target=GPUTarget("hip", "gfx942", 64), options=options)
    (folder / f"{name}.hsaco").write_bytes(made.asm["hsaco"])
    about = {"version": triton.__version__, "lds": made.metadata.shared, "ones": ones, "waves": waves}
    (folder / f"{name}.json").write_text(json.dumps(about))


if __name__ == "__main__":
    for variant in json.loads(Path(sys.argv[1]).read_text()):
        build(Path(sys.argv[2]), **variant)
