"""Write a code object as the tables that the C side launches from: main(IN, OUT) in a Python of its own.

The layout is Header and its kin in hip.h: fixed tables, offsets from the start of the file, little endian.
"""

import hashlib
import struct
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

from fp8lab.cache import cache_dir
from fp8lab.gfx942.codeobject import CodeObject, CodeObjectError, NoBinaryError
from fp8lab.gfx942.decode import DecodeError
from fp8lab.gfx942.device import scratch_bytes
from fp8lab.gfx942.program import LaunchError, load_program

EMULATOR = Path(__file__).resolve().parent.parent
MAGIC = 0x3234395846474850
HEADER, ENTRY, PAGE = struct.Struct("<5Q4I"), struct.Struct("<5Q16I"), 4096
HIDDEN = ("visible", "hidden_block_count_x", "hidden_block_count_y", "hidden_block_count_z", "hidden_group_size_x",
          "hidden_group_size_y", "hidden_group_size_z", "hidden_grid_dims", "hidden_dynamic_lds_size", "other")


class Tables:
    """Bytes that grow; add() returns the offset of what was added."""

    def __init__(self, reserved):
        self.data = bytearray(reserved)

    def add(self, piece, align=64):
        self.data += bytes(-len(self.data) % align)
        at = len(self.data)
        self.data += piece
        return at


def prepare(data):
    """The tables for a code object's bytes. Raises CodeObjectError, DecodeError, LaunchError."""
    code_object = CodeObject(data, "the program's code object")
    kernels = list(code_object.kernels.values())
    tables = Tables(HEADER.size + ENTRY.size * len(kernels))
    for n, kernel in enumerate(kernels):
        ENTRY.pack_into(tables.data, HEADER.size + ENTRY.size * n, *_kernel(kernel, tables))
    relocations = b"".join(struct.pack("<Qq", *relocation) for relocation in code_object.relocations)
    variables = b"".join(
        struct.pack("<QQQ", tables.add(name.encode() + b"\0"), address, size)
        for name, (address, size) in code_object.variables.items()
    )
    image = code_object.image.tobytes()  # where the loader puts it is where kernels see it: relocated there
    offsets = tables.add(image, PAGE), len(image), tables.add(relocations), tables.add(variables)
    numbers = len(kernels), len(code_object.relocations), len(code_object.variables), 0
    HEADER.pack_into(tables.data, 0, MAGIC, *offsets, *numbers)
    return bytes(tables.data)


def _kernel(kernel, tables):
    """The fields of a KernelEntry; what they point to goes into tables."""
    program = load_program(kernel)
    records, descriptor = program.records, kernel.descriptor
    texts = [str(i) for i in program.instructions]
    texts += ["past the end of the code"] * (len(records) - len(texts))
    places = np.cumsum([0] + [len(text) + 1 for text in texts[:-1]])
    first = tables.add("".join(text + "\0" for text in texts).encode())
    arguments = b"".join(struct.pack("<4I", a.offset, a.size, _kind(a), 0) for a in kernel.arguments)
    pieces = (kernel.name.encode() + b"\0", records.tobytes(), program.code_index.tobytes(), arguments,
              (places + first).astype(np.uint64).tobytes())
    return (
        *[tables.add(piece) for piece in pieces],
        len(records),
        len(program.splats),
        program.entry,
        len(program.code_index),
        len(kernel.arguments),
        sum(not a.is_hidden for a in kernel.arguments),
        descriptor.lds_bytes,
        scratch_bytes(kernel),
        max([descriptor.kernarg_bytes, *(a.offset + a.size for a in kernel.arguments)]),
        kernel.resources.workgroup_size,
        kernel.resources.vgpr,
        descriptor.rsrc1,
        descriptor.rsrc2,
        descriptor.properties,
        descriptor.preload_words,
        descriptor.preload_offset,
    )


def _kind(argument):
    if not argument.is_hidden:
        return 0
    return HIDDEN.index(argument.kind) if argument.kind in HIDDEN else HIDDEN.index("other")


def _kept(data):
    """prepare(data), from the cache where it can: decoding the gemm's 22 kernels would take every process seconds."""
    emulator = [path.read_bytes() for path in sorted(EMULATOR.rglob("*")) if path.suffix in (".py", ".csv")]
    entry = cache_dir() / f"hip-tables-{hashlib.sha256(repr((data, emulator)).encode()).hexdigest()[:16]}"
    try:
        return zlib.decompress(entry.read_bytes())
    except (OSError, zlib.error):
        tables = prepare(data)
    entry.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=entry.parent, delete=False) as fresh:
        fresh.write(zlib.compress(tables, 1))
    Path(fresh.name).replace(entry)
    return tables


def main(source, target):
    """Exit code: 0; 3 if the file has no gfx942 code, 1 if it cannot be read, said in one sentence on stderr."""
    try:
        Path(target).write_bytes(_kept(Path(source).read_bytes()))
    except (CodeObjectError, DecodeError, LaunchError) as error:
        print(f"fp8lab hip: {error}", file=sys.stderr)
        return 3 if isinstance(error, NoBinaryError) else 1
    return 0
