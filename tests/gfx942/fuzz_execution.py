"""Run random instructions on the emulator: python fuzz_execution.py SEED PROGRAMS CODE_OBJECT, for test_fuzz.py.

A program is some instructions of random bits that decode, one for each row of the table in turn, put in place of a
kernel's code. Whatever it does to registers, addresses and the wave's fate, a launch ends with a Run or with one of the
project's own errors. Prints a line a program, and before it runs, so that a crash names its seed; exits 1 on any other
exception.
"""

import random
import struct
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from fp8lab.gfx942 import CodeObject, DecodeError, Device, KernelFault, LaunchError
from fp8lab.gfx942.decode import decode_one
from fp8lab.gfx942.isa import BY_NAME

PREFIXES = (  # first bits of each format: how many, and which
    *((1, 0), (2, 0b10), (9, 0b101111101), (9, 0b101111110), (9, 0b101111111), (4, 0b1011)),
    *((7, 0b0111110), (7, 0b0111111), (6, 0b110100), (6, 0b110110), (6, 0b110111), (6, 0b111000), (6, 0b110000)),
)
LOADS_AN_ARGUMENT = struct.pack("<II", 0xC0021900, 0)  # s_load_dword s100, s[0:1], 0x0: a good access before the bad
ENDINGS = ("s_endpgm", "s_trap", "s_setpc_b64", "s_swappc_b64")  # rare, or few programs get past them


def instructions(rng, count):
    """Yield the bytes of random instructions, each as likely to be any mnemonic it meets on the way."""
    seen = Counter()
    while count:
        bits, prefix = rng.choice(PREFIXES)
        word = prefix << 32 - bits | rng.getrandbits(32 - bits)
        code = word.to_bytes(4, "little") + rng.randbytes(8)
        try:
            found = decode_one(code, 0, 0)
        except DecodeError:
            continue
        if rng.random() * (1 + seen[found.name]) > 1 or (found.name in ENDINGS and rng.random() < 0.9):
            continue
        seen[found.name] += 1
        count -= 1
        yield code[: found.size] if found.target is None else branch(code, rng)


def extreme_address(code, rng):
    """Moves that put an address at an end of the 64-bit space into what an access takes its address from."""
    found = decode_one(code + bytes(8), 0, 0)
    if found.op.family != "memory" or rng.random() < 0.5:
        return b""
    address = rng.choice((1 << 31, 1 << 32, 1 << 63, *[1 << 64] * 5)) - rng.choice((1, 2, 4, 8, 16))
    address, moves = address - found.modifiers.get("offset", 0), b""
    for operand in found.src[:2]:
        for half in range(operand.words):
            value = address >> 32 * half & 0xFFFFFFFF if operand.words == 2 else 0
            if operand.number >= 256:  # v_mov_b32 and s_mov_b32, each with a literal
                moves += struct.pack("<II", 0x7E0002FF | (operand.number + half & 255) << 17, value)
            elif operand.number + half < 102:
                moves += struct.pack("<II", 0xBE8000FF | (operand.number + half) << 16, value)
    return moves


def branch(code, rng):
    """A branch to one of the next few dwords, or back: there may be an instruction there."""
    return rng.choice((-9, -3, 0, 1, 2, 3, 5)).to_bytes(2, "little", signed=True) + code[2:4]


def launch(data, kernel, program, rng):
    """Run program in place of kernel's code; the names of what came of it."""
    code_object = CodeObject(data)
    kernel = code_object.kernels[kernel]
    space = kernel.end - kernel.start
    code = program[: space - 4] + b"\x00\x00\x81\xbf"  # s_endpgm
    code_object.image[kernel.start : kernel.end] = np.frombuffer(code.ljust(space, b"\0"), np.uint8)
    arrays = [np.zeros(256, np.float32) for _ in range(3)]
    checks, mfma = rng.choice(("all", "none")), rng.choice(("exact", "fast"))
    device = Device(threads=1, checks=checks, mfma=mfma, hang_after=3000, step_limit=50_000)
    run = device.launch(kernel, 2, rng.choice((64, 100, 256)), [*arrays, 64, 64, 64], dynamic_lds=rng.choice((0, 256)))
    return {f.kind for f in run.findings} or {"clean"}


def main(seed, programs, path):
    data, outcomes, ran = Path(path).read_bytes(), Counter(), set()
    for n in range(programs):
        print(f"{seed} {n}", flush=True)
        rng = random.Random(f"{seed} {n}")
        pieces = list(instructions(rng, rng.choice((1, 3, 12))))
        ran |= {decode_one(piece + bytes(8), 0, 0).name for piece in pieces}
        pieces = [extreme_address(piece, rng) + piece for piece in pieces]
        try:
            outcomes.update(launch(data, "gemm", LOADS_AN_ARGUMENT + b"".join(pieces), rng))
        except KernelFault as fault:
            assert fault.findings and str(fault), "a fault without a reason"
            outcomes.update(f.kind for f in fault.findings)
        except (DecodeError, LaunchError) as error:
            outcomes[type(error).__name__] += 1
    print("mnemonics", len(ran), "of", len(BY_NAME), "outcomes", dict(outcomes))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
