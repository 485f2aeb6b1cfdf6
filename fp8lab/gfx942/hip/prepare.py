"""Write a code object as the tables that runtime.c launches from: python -m fp8lab.gfx942.hip.prepare IN OUT.

The layout is struct Module and its kin in runtime.c: fixed tables, offsets from the start of the file, little endian.
"""

import struct
import sys

import numpy as np

from fp8lab.gfx942.codeobject import CodeObject
from fp8lab.gfx942.device import scratch_bytes
from fp8lab.gfx942.program import load_program

MAGIC = 0x3234395846474850
HIDDEN = ("visible", "hidden_block_count_x", "hidden_block_count_y", "hidden_block_count_z", "hidden_group_size_x",
          "hidden_group_size_y", "hidden_group_size_z", "hidden_grid_dims", "hidden_dynamic_lds_size", "other")


class Tables:
    """Bytes that grow; add() returns the offset of what was added, aligned to 64 bytes."""

    def __init__(self, reserved):
        self.data = bytearray(reserved)

    def add(self, piece):
        self.data += bytes(-len(self.data) % 64)
        at = len(self.data)
        self.data += piece
        return at


def prepare(data):
    """The tables for a code object's bytes. Raises CodeObjectError, DecodeError."""
    code_object = CodeObject(data, "the program's code object")
    kernels = list(code_object.kernels.values())
    header, entry = struct.Struct("<QQQQII"), struct.Struct("<QQQQQ14I")
    tables = Tables(header.size + entry.size * len(kernels))
    base, image = 0, b""
    for n, kernel in enumerate(kernels):
        program = load_program(kernel)
        base, image, records = program.code_base, program.image.tobytes(), program.records
        texts = [str(i) for i in program.instructions]
        texts += ["past the end of the code"] * (len(records) - len(texts))
        places = np.cumsum([0] + [len(text) + 1 for text in texts[:-1]])
        first = tables.add("".join(text + "\0" for text in texts).encode())
        descriptor = kernel.descriptor
        arguments = b"".join(struct.pack("<4I", a.offset, a.size, _kind(a), 0) for a in kernel.arguments)
        pieces = (kernel.name.encode() + b"\0", records.tobytes(), program.code_index.tobytes(), arguments)
        text_table = (places + first).astype(np.uint64).tobytes()
        numbers = (
            len(records),
            len(program.splats),
            program.entry,
            len(program.code_index),
            len(kernel.arguments),
            descriptor.lds_bytes,
            scratch_bytes(kernel),
            descriptor.kernarg_bytes,
            kernel.resources.workgroup_size,
            descriptor.rsrc1,
            descriptor.rsrc2,
            descriptor.properties,
            descriptor.preload_words,
            descriptor.preload_offset,
        )
        offsets = [tables.add(piece) for piece in (*pieces, text_table)]
        entry.pack_into(tables.data, header.size + entry.size * n, *offsets, *numbers)
    image_at = tables.add(image)
    header.pack_into(tables.data, 0, MAGIC, image_at, len(image), base, len(kernels), 0)
    return bytes(tables.data)


def _kind(argument):
    if not argument.is_hidden:
        return 0
    return HIDDEN.index(argument.kind) if argument.kind in HIDDEN else HIDDEN.index("other")


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as source, open(sys.argv[2], "wb") as target:
        target.write(prepare(source.read()))
