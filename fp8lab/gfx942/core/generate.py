"""Write the core's handlers from the table: one C function for each row of isa/, and the lists of them.

A handler is the row's meaning inside its family's frame: fetch sources, run the meaning for the wave or for each lane,
put the result. The frames are here; the functions they call are in operands.h, access.h, move.h and mfma.h.
"""

from fp8lab.gfx942.isa import BY_NAME

C_TYPES = {
    "u32": "u32",
    "i32": "i32",
    "f32": "float",
    "u64": "u64",
    "i64": "i64",
    "f64": "double",
    "u16": "u16",
    "i16": "i16",
    "f16": "float",
    "f16hi": "float",
    "u8": "u8",
    "i8": "i8",
    "mask": "u32",
    "maskx": "u32",
    "mix": "float",
    "lit": "float",
}
HALVES = {"u16x2": "u16", "i16x2": "i16", "f16x2": "f16", "f32x2": "f32", "u32x2": "u32"}
SOURCES, DESTINATIONS = "abcf", "de"


def sources(parts=5):
    """Return {file name: C text}: the handlers in files that compile side by side, and the arrays that list them."""
    rows = list(BY_NAME.values())
    groups = {"matrix": [op for op in rows if op.family == "matrix"]}
    others = [op for op in rows if op.family != "matrix"]
    size = -(-len(others) // parts)
    groups |= {str(i): others[i * size : (i + 1) * size] for i in range(parts)}
    files = {}
    for name, group in groups.items():
        include = "mfma.h" if name == "matrix" else "move.h"
        functions = "\n".join(function for op in group for function in _functions(op))
        files[f"handlers_{name}.c"] = (
            f'{_header(f"handlers, part {name}")}#include "control.h"\n#include "{include}"\n'
            f'#include "handlers.h"\n\n{functions}\n'
        )
    names = [name for op in rows for name in _names(op)]
    files["handlers.h"] = (
        _header("what the handlers are called") + "\n".join(f"void {name}(Wave*, const Ins*);" for name in names) + "\n"
    )
    listed = "\n".join(f"    op_{op.name}," for op in rows)
    clamping = "\n".join(f"    {'clamp_' + op.name if 'clamp' in op.more else 0}," for op in rows)
    files["handlers.inc"] = (
        f'{_header("the handler of each row, and of rows with clamp")}#include "handlers.h"\n'
        f"static void (*const handler[])(Wave*, const Ins*) = {{\n{listed}\n}};\n"
        f"static void (*const clamping[])(Wave*, const Ins*) = {{\n{clamping}\n}};\n"
        "enum { ROWS = sizeof handler / sizeof handler[0] };\n"
    )
    return files


def _names(op):
    return [f"op_{op.name}"] + ([f"clamp_{op.name}"] if "clamp" in op.more else [])


def _functions(op):
    for name, meaning in zip(_names(op), (op.meaning, op.more.get("clamp")), strict=False):
        yield _function(op, name, meaning)


def _header(what):
    return f"// Made by fp8lab/gfx942/core/generate.py from the table in fp8lab/gfx942/isa: {what}.\n"


def _function(op, name, meaning):
    frame = {
        "scalar": _scalar,
        "control": _plain,
        "lanes": _plain,
        "vector": _vector,
        "matrix": _matrix,
        "memory": _memory,
        "lds": _lds,
    }[op.family]
    body = "\n".join("    " + line for line in frame(op, meaning) if line)
    return f"void {name}(Wave* w, const Ins* in) {{\n{body}\n}}"


def _plain(op, meaning):
    return [meaning + ";"]


def _uses(meaning, word):
    return word in "".join(c if c.isalnum() or c == "_" else " " for c in meaning).split()


# --- scalar: variables d, a, b, scc, exec -----------------------------------------------------------------------------


def _scalar(op, meaning):
    lines = []
    for k, type in enumerate(op.src):
        wide = type in ("u64", "i64")
        c = C_TYPES.get(type, "u32") if type != "lit" else "u32"
        lines.append(f"{c} {SOURCES[k]} = ({c})scalar_{'u64' if wide else 'u32'}(w, in, {k});")
    for type in op.dst:
        c = C_TYPES[type.lstrip("+")]
        old = f" = ({c}){'pair(w, in->d)' if c in ('u64', 'i64') else 'w->s[in->d]'}" if type[0] == "+" else ""
        lines.append(f"{c} d{old};")
    flags, executes = _uses(meaning, "scc"), _uses(meaning, "exec")
    lines += ["u32 scc = w->scc;" if flags else "", "u64 exec = pair(w, EXEC);" if executes else "", meaning + ";"]
    for type in op.dst:
        lines.append(
            "set_pair(w, in->d, (u64)d);" if C_TYPES[type.lstrip("+")] in ("u64", "i64") else "w->s[in->d] = (u32)d;"
        )
    lines += ["w->scc = scc;" if flags else "", "set_pair(w, EXEC, exec);" if executes else ""]
    return lines


# --- vector: variables d, e, a, b, c, lane, vcc, mode, half -----------------------------------------------------------


def _load(type, array):
    """C that reads one lane of an operand of a type."""
    return {
        "u32": f"{array}[l]",
        "i32": f"(i32){array}[l]",
        "f32": f"as_f32({array}[l])",
        "mix": f"as_f32({array}[l])",
        "lit": f"as_f32({array}[l])",
        "u16": f"(u16){array}[l]",
        "i16": f"(i16){array}[l]",
        "f16": f"f32_from_f16({array}[l] & 0xffff)",
        "u64": f"(u64){array}[l] | (u64){array}[LANES + l] << 32",
        "i64": f"(i64)((u64){array}[l] | (u64){array}[LANES + l] << 32)",
        "f64": f"as_f64((u64){array}[l] | (u64){array}[LANES + l] << 32)",
    }[type]


def _store(type, array, value):
    if type in ("u64", "i64", "f64"):
        bits = f"bits_f64({value})" if type == "f64" else f"(u64){value}"
        return (
            f"u64 out_{value} = {bits}; {array}[l] = (u32)out_{value}; {array}[LANES + l] = (u32)(out_{value} >> 32);"
        )
    bits = {
        "u32": value,
        "i32": f"(u32){value}",
        "f32": f"bits_f32({value})",
        "u16": f"(u16){value}",
        "i16": f"(u16){value}",
        "f16": f"f16_from_f32({value})",
        "f16hi": f"f16_from_f32({value})",
    }[type]
    return f"{array}[l] = {bits};"


def words(type):
    return 2 if type.lstrip("+") in ("u64", "i64", "f64", "f32x2", "u32x2") else 1


def _vector(op, meaning):
    if not op.dst:
        return []
    if op.dst[0] == "maskx":  # v_cmpx is v_cmp, and EXEC gets the mask too
        return [f"op_{op.name.replace('v_cmpx', 'v_cmp')}(w, in);", "set_pair(w, EXEC, pair(w, in->d));"]
    if any(type in HALVES for type in (*op.dst, *op.src)):
        return _packed(op, meaning)
    if op.more.get("swap"):
        return [
            "u32 *D = w->v[in->d - VGPR], *E = w->v[in->e - VGPR];",
            f"EACH_ACTIVE(pair(w, EXEC)) {{ u32 d = D[l], e = E[l]; {meaning}; D[l] = d; E[l] = e; }}",
        ]
    lines, loop = [], []
    for k, type in enumerate(op.src):
        name = SOURCES[k]
        if type == "mask":
            lines.append(f"u64 {name.upper()} = scalar_u64(w, in, {k});")
            loop.append(f"u32 {name} = (u32)({name.upper()} >> l) & 1;")
        else:
            fetch = "mix_source" if type == "mix" else "vector_source"
            lines.append(f"const u32* {name.upper()} = {fetch}(w, in, {k});")
            loop.append(f"{C_TYPES[type]} {name} = {_load(type, name.upper())};")
    if _uses(meaning, "vcc"):
        lines.append("u64 VCCS = pair(w, VCC);")
        loop.append("u32 vcc = (u32)(VCCS >> l) & 1;")
    if _uses(meaning, "mode"):
        lines.append("u32 mode = w->mode;")
    if _uses(meaning, "lane"):
        loop.append("u32 lane = l;")
    if _uses(meaning, "scaled"):
        loop.append("u32 scaled;")
    ends = []
    first = op.dst[0].lstrip("+")
    for name, type in zip(DESTINATIONS, op.dst, strict=False):
        bare = type.lstrip("+")
        if bare == "mask":
            lines.append(f"u8 {name.upper()}[LANES] __attribute__((aligned(64)));")
            loop.append(f"u32 {name};")
            ends.append(f"put_mask(w, in, in->{name}, {name.upper()});")
            continue
        lines.append("u32* D = destination(w, in);")
        # fma_f16 is a double: its one rounding is the store's
        c = "double" if first in ("f16", "f16hi") and "fma_f16" in meaning else C_TYPES[bare]
        if type[0] == "+":
            lines.append("const u32* O = w->v[in->d - VGPR];")
            loop.append(f"{c} d = {_load(bare, 'O')};")
        else:
            loop.append(f"{c} d;")
    loop.append(meaning + ";")
    masks = []
    for name, type in zip(DESTINATIONS, op.dst, strict=False):
        bare = type.lstrip("+")
        if bare == "mask":
            loop.append(f"{name.upper()}[l] = (u8)({name} != 0);")
            masks = ends
        else:
            store = _store(bare, "D", "d")
            loop.append(store.replace("f16_from_f32", "f16_from_f64") if "fma_f16" in meaning else store)
    if "mask" in op.dst and first != "mask":
        # carry out: the mask goes first, as the result may overwrite a source but never the carry
        ends = [*masks, f"finish(w, in, D, {words(op.dst[0])});"]
    elif first != "mask":
        ends = [f"finish(w, in, D, {words(op.dst[0])});"]
    return [*lines, "EACH_LANE {", *["    " + line for line in loop], "}", *ends]


def _packed(op, meaning):
    """A meaning for each half: of one register (16-bit types), or each of a pair of registers (32-bit types)."""
    result = op.dst[0]
    inner = HALVES[result]
    if result in ("f32x2", "u32x2"):
        lines = [
            "int direct = pair(w, EXEC) == ~0ull && !(in->fancy_result | w->force);",
            "u32 room[4][LANES] __attribute__((aligned(64)));",
            "for (u32 half = 0; half < 2; half++) {",
        ]
        loop = []
        for k, type in enumerate(op.src):
            name = SOURCES[k]
            if type in HALVES:
                half = "0" if op.more.get("first_from_lo") else "half"
                lines.append(f"    const u32* {name.upper()} = packed_source(w, in, {k}, {half}, room[{k}]);")
            else:
                lines.append(f"    const u32* {name.upper()} = vector_source(w, in, {k});")
            bare = HALVES.get(type, type)
            loop.append(f"{C_TYPES[bare]} {name} = {_load(bare, name.upper())};")
        # the first half goes aside until the second has read its sources, which may be the destination
        lines += [
            "    u32* D = w->result[half];",
            "    EACH_LANE {",
            *["        " + line for line in loop],
            f"        {C_TYPES[inner]} d; {meaning}; {_store(inner, 'D', 'd')}",
            "    }",
            "}",
            "if (direct) memcpy(w->v[in->d - VGPR], w->result[0], sizeof w->result[0] * 2);",
            "else finish_slow(w, in, 2);",
        ]
        return lines
    lines, loop = [], []
    for k in range(len(op.src)):
        name = SOURCES[k]
        lines.append(f"const u32* {name.upper()} = vector_source(w, in, {k});")
    lines.append("u32* D = destination(w, in);")
    for k, type in enumerate(op.src):
        name, bare = SOURCES[k], HALVES[type]
        lines.append(f"u32 {name}_shift[2] = {{16 * (in->op_sel >> {k} & 1), 16 * (in->op_sel_hi >> {k} & 1)}};")
        flip = f" ^ {name}_flip[half]" if bare == "f16" else ""
        if bare == "f16":
            lines.append(f"u32 {name}_flip[2] = {{(in->neg >> {k} & 1u) << 15, (in->neg_hi >> {k} & 1u) << 15}};")
        loop.append(f"u32 {name}_bits = ({name.upper()}[l] >> {name}_shift[half] & 0xffff){flip};")
        value = f"f32_from_f16({name}_bits)" if bare == "f16" else f"({C_TYPES[bare]}){name}_bits"
        loop.append(f"{C_TYPES[bare]} {name} = {value};")
    c = "double" if "fma_f16" in meaning else C_TYPES[inner]
    out = {"f16": "f16_from_f64(d)" if c == "double" else "f16_from_f32(d)"}.get(inner, "(u16)d")
    return [
        *lines,
        "EACH_LANE {",
        "    u32 out = 0;",
        "    for (u32 half = 0; half < 2; half++) {",
        *["        " + line for line in loop],
        f"        {c} d; {meaning}; out |= (u32){out} << 16 * half;",
        "    }",
        "    D[l] = out;",
        "}",
        "finish(w, in, D, 1);",
    ]


# --- matrix -----------------------------------------------------------------------------------------------------------


def _matrix(op, meaning):
    m = op.more
    types = ", ".join(f"TYPE_{type.upper()}" for type in (op.dst[0], op.src[0], op.src[1]))
    shape = f"{m['m']}, {m['k']}, {m['blocks']}, {types}, {int(m['sparse'])}"
    return [f"static const Shape shape = {{{shape}}};", "matrix(w, in, &shape);"]


# --- memory -----------------------------------------------------------------------------------------------------------

SIZES = {"u8": 1, "i8": 1, "u16": 2, "i16": 2, "u32": 4, "i32": 4, "f32": 4, "u64": 8, "i64": 8, "f64": 8}


def _size(type):
    return 4 * int(type[4:]) if type.startswith("u32x") else SIZES[type]


def _memory(op, meaning):
    type, kind, form = op.src[0], op.more["kind"], op.more["form"]
    if form.startswith("scalar"):
        return [f"{kind}(w, in, {_size(type) // 4}, {int(form == 'scalar_buffer')});"]
    intent = {"load": "READ", "store": "WRITE", "atomic": "ATOMIC", "lds_dma": "READ"}[kind]
    data = (
        "in->src[3]" if form == "buffer" else "in->src[2]"
    )  # a buffer has an address, a descriptor and a scalar offset
    return [f"Access at; find_{form}(w, in, &at, {_size(type)}, {intent});", *_move(op, meaning, kind, type, data)]


def _move(op, meaning, kind, type, data):
    """The data half of an access: bytes between memory (at.host[l], null where nothing is to move) and registers."""
    if type.startswith("u32x"):
        words_ = _size(type) // 4
        return [
            f"load_words(w, in->d, &at, {words_});" if kind == "load" else f"store_words(w, {data}, &at, {words_});"
        ]
    c = C_TYPES[type]
    read = f"{c} m = 0; if (at.host[l]) memcpy(&m, at.host[l], sizeof m);"
    changes = "changed |= (u64)(memcmp(at.host[l], &m, sizeof m) != 0) << l;"
    write = "memcpy(at.host[l], &m, sizeof m);"
    if kind == "load":
        return [
            "u32* D = w->v[in->d - VGPR];",
            f"EACH_ACTIVE(at.lanes) {{ {read} u32 d = D[l]; {meaning}; D[l] = d; }}",
        ]
    if kind == "store":
        return [
            f"const u32* D = w->v[{data} - VGPR];",
            "u64 changed = 0;",
            f"EACH_ACTIVE(at.lanes) if (at.host[l]) {{ u32 d = D[l]; {c} m; {meaning}; {changes} {write} }}",
            "note_stored(w, &at, changed);",
        ]
    if kind == "lds_dma":
        return [f"EACH_ACTIVE(at.lanes) {{ {read} u32 d; {meaning}; store_to_lds(w, in, &at, (u32)l, d); }}"]
    return _atomic(op, meaning, type, data)


def _atomic(op, meaning, type, data):
    """m = meaning as one step, against the other workgroups' threads: compare and swap until nothing came between."""
    c, bits = C_TYPES[type], "u64" if _size(type) == 8 else "u32"
    wide = bits == "u64"
    to_bits = {"float": "bits_f32(%s)", "double": "bits_f64(%s)"}.get(c, f"({bits})%s")
    from_bits = {"float": "as_f32(%s)", "double": "as_f64(%s)"}.get(c, f"({c})%s")

    def operand(name, register, skip):
        lo = f"w->v[{register} - VGPR + {skip}][l]"
        value = f"((u64){lo} | (u64)w->v[{register} - VGPR + {skip + 1}][l] << 32)" if wide else lo
        return f"{c} {name} = {from_bits % value};"

    second = ""
    if _uses(meaning, "e"):
        second = operand("e", data, 2 if wide else 1) if op.family == "memory" else operand("e", "in->src[2]", 0)
    put = "w->v[in->d - VGPR][l] = (u32)old;" + (" w->v[in->d - VGPR + 1][l] = (u32)(old >> 32);" if wide else "")
    return [
        "EACH_ACTIVE(at.lanes) {",
        f"    {bits} old = 0;",
        "    if (at.host[l]) {",
        f"        {operand('d', data, 0)} {second}",
        f"        {bits} fresh, *at_bits = ({bits}*)at.host[l];",
        "        old = __atomic_load_n(at_bits, __ATOMIC_SEQ_CST);",
        "        do {",
        f"            {c} m = {from_bits % 'old'}; {meaning}; fresh = {to_bits % 'm'};",
        "        } while (!__atomic_compare_exchange_n(at_bits, &old, fresh, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));",
        "        if (fresh != old) w->group->progressed = 1;",
        "    }",
        f"    if (in->flags & RETURNS) {{ {put} }}",
        "}",
    ]


def _lds(op, meaning):
    kind = op.more["kind"]
    if kind == "nop":
        return []
    if kind == "crossbar":
        return [meaning + ";"]
    type, pair = op.src[0], op.more.get("pair")
    size = _size(type)
    intent = {"load": "READ", "store": "WRITE", "atomic": "ATOMIC"}[kind]
    if not pair:
        return [
            f"Access at; find_lds(w, in, &at, {size}, {intent}, in->offset[0], 0);",
            *_move(op, meaning, kind, type, "in->src[1]"),
        ]
    lines = [
        "Access at, second;",
        f"find_lds(w, in, &at, {size}, {intent}, in->offset[0] * {size * pair}, 1);",
        f"find_lds(w, in, &second, {size}, {intent}, in->offset[1] * {size * pair}, 2);",
    ]
    n = size // 4
    if kind == "load":
        # both addresses are read before either half is written: the address may be the destination
        return [*lines, f"load_words(w, in->d, &at, {n});", f"load_words(w, in->d + {n}, &second, {n});"]
    return [*lines, f"store_words(w, in->src[1], &at, {n});", f"store_words(w, in->src[2], &second, {n});"]
