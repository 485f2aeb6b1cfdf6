"""Run every instruction that a C file of instructions/ describes, and say where the emulator's bits are not C's.

The files' cases are as in portable/targets.h: host_NAME is the reference, types_NAME its result and operands.
NAME__mask, __scc and __exec are an instruction's further results. Spelling and operand counts are the assembler's to
check; the operands' types come from C.
"""

import ctypes
import functools
import re
from pathlib import Path

import numpy as np
from gfx942_kernels import run_lanes
from gfx942_operands import differences, operands
from gfx942_reference import call, compile_reference

from fp8lab.gfx942.isa import BY_NAME

HERE = Path(__file__).parent
WAVES = 1024  # of 64 lanes: 65,536 operands an instruction
OLD = 0x5A5A5A5A  # what run_lanes leaves in results before: some instructions keep a half or a byte


@functools.cache
def reference(file):
    """(library, {case: [type of the result, of a, of b, of c]}) of instructions/file.h."""
    text = (HERE / "portable" / "targets.h").read_text() + (HERE / "instructions" / f"{file}.h").read_text()
    library = compile_reference(text)
    names = set(re.findall(rb"types_(\w+)", Path(library._name).read_bytes()))
    types = {name.decode(): ctypes.c_char_p.in_dll(library, f"types_{name.decode()}").value for name in names}
    return library, {name: value.decode().split() for name, value in sorted(types.items())}


def instructions(file):
    """{instruction: {"" or "mask" or "scc" or "exec": types}}: the cases by instruction."""
    found = {}
    for case, types in reference(file)[1].items():
        name, _, part = case.partition("__")
        found.setdefault(name, {})[part] = types
    return found


def signatures(file):
    """{types of a, b and c: names of the instructions that take them}."""
    found = {}
    for name, parts in instructions(file).items():
        found.setdefault(" ".join(next(iter(parts.values()))[1:]), []).append(name)
    return found


def words(type):
    return 2 if type in ("u64", "i64", "f64") or type.endswith(("32x2",)) else 1


def as_dwords(x):
    """(3, n) slots as run_lanes takes them: (waves, 6, 64)."""
    halves = np.stack([x & np.uint64(0xFFFFFFFF), x >> np.uint64(32)], axis=1).reshape(6, -1, 64)
    return halves.transpose(1, 0, 2).astype(np.uint32)


def slots(out, first, count):
    """count dwords of the results from first on, as (n,) uint64."""
    low = out[:, first].astype(np.uint64).ravel()
    return low | out[:, first + 1].astype(np.uint64).ravel() << np.uint64(32) if count == 2 else low


def check(file, signature, run, limit):
    """Run the instructions of a signature, limit at a time, by run(names, x); return {case: how it differs}."""
    library, types = reference(file)[0], signature.split()
    x = operands([type.replace("lane", "u32") for type in types], 64 * WAVES)
    if types[-1] == "lane":
        x[2] = np.arange(x.shape[1]) % 64
    names, wrong = signatures(file)[signature], {}
    for first in range(0, len(names), limit):
        for case, got in run(names[first : first + limit], x).items():
            result = reference(file)[1][case][0]
            if differs := differences(got, call(library[f"host_{case}"], x)[0], result, x):
                wrong[case] = differs
    return wrong


# --- scalar: operands a, b, c in s[12:13], s[14:15], s16; one after another, lane by lane


def run_scalar(names, x):
    """{case: results} of scalar instructions: d in s[20:21], then SCC and EXEC, five dwords an instruction."""
    lines = [f"v_mov_b32_e32 v{60 + i}, 0" for i in range(5 * len(names))] + ["s_mov_b32 s30, 0", "next_lane:"]
    lines += [f"v_readlane_b32 s{12 + i}, v{10 + i}, s30" for i in range(5)] + ["s_and_b32 s16, s16, 1"]
    lines += ["s_mov_b32 m0, s30"]
    for n, name in enumerate(names):
        lines += ["s_mov_b64 s[20:21], s[14:15]"]
        lines += ["s_mov_b64 exec, s[14:15]"] if "exec" in name else []
        lines += ["s_cmp_lg_u32 s16, 0", scalar_text(name), "s_cselect_b32 s22, 1, 0", "s_mov_b64 s[24:25], exec"]
        lines += ["s_mov_b64 exec, -1"] if "exec" in name else []
        lines += [f"v_writelane_b32 v{60 + 5 * n + i}, s{r}, m0" for i, r in enumerate((20, 21, 22, 24, 25))]
    lines += ["s_add_u32 s30, s30, 1", "s_cmp_lt_u32 s30, 64", "s_cbranch_scc1 next_lane"]
    out, _ = run_lanes("\n  ".join(lines), as_dwords(x), 5 * len(names))
    found = {}
    for n, name in enumerate(names):
        for part, types in instructions("scalar")[name].items():
            first, count = {"": (0, words(types[0])), "scc": (2, 1), "exec": (3, 2)}[part]
            found[f"{name}__{part}" if part else name] = slots(out, 5 * n + first, count)
    return found


def scalar_text(name):
    op = BY_NAME[name]
    pair = lambda first, type: f"s[{first}:{first + 1}]" if type.lstrip("+") in ("u64", "i64") else f"s{first}"  # noqa: E731
    constant = "0xffff" if name.endswith("_u32") else "-1"
    places = [pair(20, type) for type in op.dst]
    places += [constant if type == "imm" else pair(12 + 2 * k, type) for k, type in enumerate(op.src)]
    return f"{name} {', '.join(places)}"


# --- vector: operands a, b, c in v[10:11], v[12:13], v[14:15]; a mask as a source is c's lowest bit


def run_vector(file, names, x):
    """{case: results} of vector instructions: d in two registers, the mask in a third."""
    lines = ["v_and_b32_e32 v3, 1, v14", "v_cmp_eq_u32_e64 s[22:23], 1, v3"]
    for n, name in enumerate(names):
        lines += vector_text(name, 60 + 4 * n)
    out, _ = run_lanes("\n  ".join(lines), as_dwords(x), 4 * len(names), directives=".amdhsa_float_denorm_mode_32 3")
    found = {}
    for n, name in enumerate(names):
        for part, types in instructions(file)[name].items():
            got = slots(out, 4 * n + (2 if part == "mask" else 0), words(types[0]))
            found[f"{name}__{part}" if part else name] = got
    return found


def vector_text(name, d):
    """The lines that run an instruction, its result in v[d:d+1] and, a bit a lane, in v(d+2)."""
    op = BY_NAME[name]
    wide = ("u64", "i64", "f64", "f32x2", "u32x2")
    pair = lambda first, type: f"v[{first}:{first + 1}]" if type.lstrip("+") in wide else f"v{first}"  # noqa: E731
    lines, places = [], []
    for type in op.dst:
        places.append("s[20:21]" if type.startswith("mask") else pair(d, type))
        if type[0] == "+":
            lines += [f"v_mov_b32_e32 v{d}, v14", f"v_mov_b32_e32 v{d + 1}, v15"]
    places += ["s[22:23]" if type == "mask" else pair(10 + 2 * k, type) for k, type in enumerate(op.src)]
    if op.dst[0] == "maskx":
        lines = [f"v_mov_b32_e32 v{d + 2}, 0"]
        # what is compared is EXEC: the mask itself only reaches the lanes that EXEC then names
        active = f"v_cndmask_b32_e64 v{d + 2}, 0, 1, s[20:21]"
        return [*lines, f"{name}_e64 {', '.join(places)}", active, "s_mov_b64 exec, -1"]
    lines.append(f"{name} {', '.join(places)}")
    if any(type.startswith("mask") for type in op.dst):
        lines.append(f"v_cndmask_b32_e64 v{d + 2}, 0, 1, s[20:21]")
    return lines
