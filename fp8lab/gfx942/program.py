"""A kernel as the core runs it: records of its code and of the functions it may call, and the memory they use."""

import struct
from dataclasses import dataclass

import numpy as np

from fp8lab.gfx942.codeobject import decode_range
from fp8lab.gfx942.decode import DecodeError
from fp8lab.gfx942.records import make_program, undefined_record

CODE_BASE = 0x8_0000_0000  # device address of the code object's image
NOWHERE = 0xFFFFFFFF
DYNAMIC_STACK = 16384  # bytes a lane, where the compiler could not bound the depth of calls
JUMPS = ("s_swappc_b64", "s_setpc_b64", "s_call_b64")


class LaunchError(ValueError):
    """The launch cannot be: wrong arguments, grid, block or LDS. Nothing has run."""


@dataclass
class Program:
    """records and splats as core/state.h lays them out; instructions beside them for messages; entry is a record.

    code_index  record of each dword of the image that starts an instruction, else NOWHERE
    image       the code object's memory, relocated to code_base
    prepared    whether the core has put its handlers into the records
    """

    records: np.ndarray
    splats: np.ndarray
    instructions: list
    entry: int
    code_index: np.ndarray
    image: np.ndarray
    code_base: int = CODE_BASE
    prepared: bool = False


def scratch_bytes(kernel):
    """Private memory a lane, in bytes."""
    return max(kernel.descriptor.scratch_bytes, DYNAMIC_STACK if kernel.metadata.get(".uses_dynamic_stack") else 0)


def load_program(kernel):
    """Decode kernel, once; if it has indirect jumps, the code object's functions too.

    Raises DecodeError for code of the kernel that the emulator does not have; such a function faults when called.
    """
    if kernel.program is not None:
        return kernel.program
    instructions, bad = list(kernel.instructions), []
    if any(i.name in JUMPS for i in instructions):
        kernels = {k.start for k in kernel.code_object.kernels.values()}
        for start, end in kernel.code_object.functions.values():
            if start in kernels:
                continue
            try:
                instructions += decode_range(kernel.code_object.image, start, end)
            except DecodeError:
                bad.append(start)
    records, constants = make_program(instructions)
    image = kernel.code_object.image.copy()
    for where, addend in kernel.code_object.relocations:
        image[where : where + 8] = np.frombuffer(struct.pack("<Q", CODE_BASE + addend), np.uint8)
    index = np.full(len(image) // 4 + 1, NOWHERE, np.uint32)
    for n, i in enumerate(instructions):
        index[i.address // 4] = n
    for start in bad:
        index[start // 4] = len(records)
        records = np.concatenate([records, undefined_record(start)])
    # a last record that faults, for a wave that runs past the end
    records = np.ascontiguousarray(np.concatenate([records, undefined_record(int(kernel.end))]))
    entry = int(index[kernel.descriptor.entry // 4])
    if entry == NOWHERE:
        raise LaunchError(f"{kernel.name}: its entry point {kernel.descriptor.entry:#x} is no instruction of it")
    splats = np.zeros((max(1, constants), 2, 64), np.uint32)
    kernel.program = Program(records, splats, instructions, entry, index, image)
    return kernel.program
