"""Decoding against LLVM: every row of the table in every encoding, whole kernels, and bytes that are no code."""

import random
import re
import shutil
import struct
import subprocess

import pytest
from gfx942_kernels import BUILT, compile_hip, needs_clang
from gfx942_sources import CORPUS
from hypothesis import given, settings
from hypothesis import strategies as st

from fp8lab.gfx942.decode import DecodeError, decode, decode_one
from fp8lab.gfx942.isa import BY_CODE, BY_NAME
from fp8lab.gfx942.isa.refused import NAMES
from fp8lab.gfx942.operands import words_of

MC, OBJDUMP = shutil.which("llvm-mc-22"), shutil.which("llvm-objdump-22")
needs_llvm = pytest.mark.skipif(
    not (MC and OBJDUMP), reason="needs llvm-mc-22 and llvm-objdump-22 (apt-get install llvm-22)"
)
SPELT_OTHERWISE = ("s_sendmsg", "ds_swizzle_b32")  # LLVM has names for their immediates; decoded alike


class Encoder:
    """Random but valid encodings of a row, each way its format allows."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def bits(self, n):
        return self.random.getrandbits(n)

    def even(self, n):
        return self.bits(n - 1) * 2

    def vgpr(self):
        return 256 + self.even(8)

    def scalar(self):
        return self.random.choice([self.even(6), 128 + self.bits(6), 193 + self.bits(3), 240 + self.bits(3), 106])

    def encodings(self, op):
        method = {
            "VOP1": self.vop,
            "VOP2": self.vop,
            "VOPC": self.vop,
            "GLOBAL": self.flat,
            "FLAT": self.flat,
            "SCRATCH": self.flat,
            "MUBUF_LDS": self.mubuf,
            "SOP1": self.sop1,
        }.get(op.format) or getattr(self, op.format.lower())
        for words in method(op):
            yield struct.pack(f"<{len(words)}I", *words)

    def sop2(self, op):
        yield [2 << 30 | op.opcode << 23 | (self.bits(5) & ~3) << 16 | self.scalar() << 8 | self.scalar()]

    def sopk(self, op):
        immediate = 1 | self.bits(5) << 6 | self.bits(4) << 11 if op.src[-1] == "hwreg" else self.bits(16)
        literal = [self.bits(32) | 0x10000] if "lit" in op.src else []
        yield [0xB << 28 | op.opcode << 23 | (self.bits(5) & ~3) << 16 | immediate, *literal]

    def sop1(self, op):
        source = (self.bits(5) & ~3) if op.family == "control" and op.src else self.scalar() if op.src else 0
        yield [0x17D << 23 | (self.bits(5) & ~3) << 16 | op.opcode << 8 | source]

    def sopc(self, op):
        second = self.bits(4) if "idx" in op.src else self.scalar()
        yield [0x17E << 23 | op.opcode << 16 | second << 8 | self.scalar()]

    def sopp(self, op):
        no_immediate = ("s_set_gpr_idx_off", "s_endpgm", "s_wakeup", "s_barrier", "s_icache_inv", "s_ttracedata")
        yield [0x17F << 23 | op.opcode << 16 | (0 if op.name in no_immediate else self.bits(3))]

    def smem(self, op):
        if op.family == "control":
            yield [0x30 << 26 | op.opcode << 18 | (8 << 6 if op.dst else 0), 0]
            return
        first = 0x30 << 26 | op.opcode << 18 | 16 << 6 | self.bits(3) * 2
        yield [first | 1 << 17, self.bits(20)]
        yield [first, self.bits(5)]
        yield [first | 1 << 17 | 1 << 14, self.bits(20) | self.bits(5) << 25]

    def vop(self, op):
        base = {"VOP1": 0x3F << 25 | op.opcode << 9, "VOPC": 0x3E << 25 | op.opcode << 17, "VOP2": op.opcode << 25}[
            op.format
        ]
        if op.name == "v_nop":
            yield [base]
            return
        base |= self.bits(5) << 17 if op.family == "lanes" else self.even(7) << 17 if op.format != "VOPC" else 0
        base |= self.even(7) << 9 if op.format != "VOP1" else 0
        registers_only = op.more.get("swap") or op.more.get("accumulators") or op.family == "lanes"
        for source in [self.vgpr()] if registers_only else [self.vgpr(), self.scalar()]:
            yield [base | source] + ([self.bits(32) | 0x10000] if "lit" in op.src else [])
        if "lit" in op.src or registers_only:
            return
        wide = any(words_of(type) == 2 and not type.startswith("mask") for type in (*op.dst, *op.src))
        fp8 = op.name.endswith(("_fp8", "_bf8"))
        if not wide and not op.name.startswith(("v_fmac", "v_dot")) and not fp8:
            second = (self.bits(3) % 7) << 24 if op.format != "VOP1" else 0
            to = (self.bits(3) % 7) << 8 | (self.bits(2) % 3) << 11 if op.format != "VOPC" else 0
            yield [base | 249, self.bits(8) | (self.bits(3) % 7) << 16 | second | to]
        if op.name.startswith("v_cvt_pk_f32"):
            yield [base | 249, self.bits(8) | (4 + self.bits(1)) << 16 | 6 << 8]
        if not wide and not fp8 and op.format != "VOPC":
            rows = (
                self.bits(8),
                0x101 + self.bits(3),
                0x111 + self.bits(3),
                0x121 + self.bits(3),
                0x150 + self.bits(4),
            )
            for control in (*rows, 0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x142, 0x143):
                yield [
                    base | 250,
                    self.bits(8) | control << 8 | self.bits(1) << 19 | self.bits(4) << 24 | self.bits(4) << 28,
                ]
        yield from self.vop3(op, op.opcode + {"VOP1": 320, "VOP2": 256, "VOPC": 0}[op.format])

    def vop3(self, op, opcode=None):
        if op.family == "lanes":
            return
        low, high = 0x34 << 26 | (op.opcode if opcode is None else opcode) << 16, 0
        for i, type in enumerate(op.src):
            high |= (self.even(5) if type == "mask" else self.vgpr()) << 9 * i
        low |= self.even(5) if op.dst[0].startswith("mask") else self.even(7)
        if len(op.dst) == 2:
            low |= self.even(5) << 8
        yield [low | (self.bits(2) << 13 if op.more.get("writes_byte") else 0), high]
        if len(op.dst) == 1 and {type.lstrip("+")[0] for type in (*op.dst, *op.src)} == {"f"}:
            keep = (1 << len(op.src)) - 1
            yield [low | (self.bits(3) & keep) << 8 | 1 << 15, high | (self.bits(3) & keep) << 29]

    def vop3p(self, op):
        sources = self.vgpr() | self.vgpr() << 9 | (self.vgpr() << 18 if len(op.src) > 2 else 0)
        dot = op.src[0] == "u32"
        halves = 7 if dot else self.bits(len(op.src))
        yield [0x1A7 << 23 | op.opcode << 16 | self.even(7) | (halves >> 2 & 1) << 14, sources | (halves & 3) << 27]

    def mai(self, op):
        if op.family == "vector":
            yield [
                0x1A7 << 23 | op.opcode << 16 | self.bits(8),
                256 + self.bits(8) | (1 << 27 if "read" in op.name else 0),
            ]
            return
        for acc in (0, 1):
            a, b, c = (256 + self.bits(5) * 4 for _ in range(3))
            first, second = (
                0x1A7 << 23 | op.opcode << 16 | self.bits(5) * 4 | acc << 15,
                a | b << 9 | c << 18 | acc * 3 << 27,
            )
            yield [first, second]
            if op.more["sparse"]:
                yield [first | self.bits(1) << 11 | 1 << 8, second]
            elif op.src[0] == "f64":
                yield [first, second | self.bits(3) << 29]
            elif op.more["blocks"] > 1:
                yield [first | 1 << 8 | self.bits(1) << 11, second | self.bits(3) << 29]

    def ds(self, op):
        plain = decode_one(struct.pack("<II", 0x36 << 26 | op.opcode << 17, 0), 0, 0)
        offset = 0 if op.more["kind"] == "nop" else self.bits(12)
        data = [self.even(7) if used else 0 for used in (len(plain.src) > 1, len(plain.src) > 2, plain.dst)]
        address = self.bits(8) if plain.src else 0
        yield [0x36 << 26 | op.opcode << 17 | offset, address | data[0] << 8 | data[1] << 16 | data[2] << 24]

    def flat(self, op):
        kind, segment = op.more["kind"], {"FLAT": 0, "SCRATCH": 1, "GLOBAL": 2}[op.format]
        for base in (0,) if segment == 0 else (0x7F, self.even(6)):
            for sc0 in (0,) if kind == "lds_dma" else (0, 1):
                returns, sends = kind == "load" or (kind == "atomic" and sc0), kind in ("store", "atomic")
                with_vgpr = self.bits(1) if segment == 1 else 0
                acc = self.bits(1) if returns != sends else 0
                first = (
                    0x37 << 26
                    | op.opcode << 18
                    | sc0 << 16
                    | segment << 14
                    | with_vgpr << 13
                    | self.bits(13 if segment else 12)
                )
                address = self.vgpr() - 256 if segment != 1 or with_vgpr else 0
                yield [
                    first,
                    address
                    | (self.even(7) << 8 if sends else 0)
                    | base << 16
                    | acc << 23
                    | (self.even(7) << 24 if returns else 0),
                ]

    def mubuf(self, op):
        if op.family == "control":
            yield [0x38 << 26 | op.opcode << 18, 0]
            return
        lds = op.format == "MUBUF_LDS"
        for enable in range(4):
            first = (
                0x38 << 26
                | op.opcode << 18
                | self.bits(1) << 14
                | lds << 16
                | (enable & 1) << 12
                | enable >> 1 << 13
                | self.bits(12)
            )
            offset = self.random.choice([self.bits(6), 128 + self.bits(6)])
            address, data = self.vgpr() - 256 if enable else 0, 0 if lds else self.even(7)
            yield [first, address | data << 8 | self.bits(4) << 16 | offset << 24]


def spelling(text):
    text = re.sub(r"\blit\((\w+)\)", r"\1", text.split("//")[0])  # LLVM's mark of a literal that could be shorter
    return re.sub(r"\s+", " ", text).strip()


def disassemble(chunks):
    """LLVM's text of each encoding: a marker instruction before each keeps them apart where one does not decode."""
    lines = []
    for i, chunk in enumerate(chunks):
        lines += [" ".join(f"{byte:#04x}" for byte in piece) for piece in (struct.pack("<I", 0xB0640000 | i), chunk)]
    out = subprocess.run(
        [MC, "--disassemble", "-triple=amdgcn-amd-amdhsa", "-mcpu=gfx942"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
    ).stdout
    found, current = {}, None
    for line in out.splitlines():
        marker = re.match(r"s_movk_i32 s100, (0x[0-9a-f]+|\d+)$", spelling(line))
        if marker:
            current = int(marker[1], 0)
        elif current is not None and spelling(line) and not spelling(line).startswith("."):
            found.setdefault(current, spelling(line))
    return [found.get(i) for i in range(len(chunks))]


@needs_llvm
@pytest.mark.parametrize("seed", range(3))
def test_every_row_decodes_as_llvm_does(seed):
    encoder = Encoder(seed)
    encoded = [(op, code) for op in BY_CODE.values() for code in encoder.encodings(op)]
    assert {op.name for op, _ in encoded} >= {op.name for op in BY_CODE.values()} - {
        "v_readlane_b32",
        "v_writelane_b32",
    }
    wrong = []
    for at in range(0, len(encoded), 500):
        part = encoded[at : at + 500]
        for (op, code), llvm in zip(part, disassemble([code for _, code in part]), strict=True):
            instruction = decode_one(code, 0, 0)
            if instruction.size != len(code) or (op.name not in SPELT_OTHERWISE and spelling(str(instruction)) != llvm):
                wrong.append((code.hex(), str(instruction), llvm))
    assert not wrong, wrong[:5]


@needs_llvm
@needs_clang
@pytest.mark.parametrize("level", ["-O1", "-O2", "-O3"])
@pytest.mark.parametrize("name", sorted(CORPUS))
def test_whole_kernels_decode_as_llvm_does(name, level):
    compile_hip(CORPUS[name], level, name=f"{name}{level}")
    listing = subprocess.run(
        [OBJDUMP, "-d", BUILT / f"{name}{level}.co"], capture_output=True, text=True, check=True
    ).stdout
    checked = 0
    for text, address, code in re.findall(r"^\s+(\S.*?)\s*// ([0-9A-F]+): ((?:[0-9A-F]{8} ?)+)", listing, re.M):
        code = b"".join(int(word, 16).to_bytes(4, "little") for word in code.split())
        instruction = decode_one(code, 0, int(address, 16))
        assert instruction.size == len(code)
        if instruction.name not in SPELT_OTHERWISE:
            assert spelling(str(instruction)) == spelling(text)
        checked += 1
    assert checked > 20


@settings(max_examples=300, deadline=None)
@given(st.binary(min_size=0, max_size=64))
def test_random_bytes_decode_or_say_where_they_do_not(data):
    try:
        for instruction in decode(data, address=0x1000):
            assert str(instruction)
    except DecodeError as error:
        assert str(error).startswith("0x10")


@pytest.mark.parametrize(
    "code, message",
    [
        ("00000000", "VOP2 opcode 0"),
        ("0100f0d3", "ends inside"),
        ("ff000000", "ends inside"),
        ("00000080", None),
        ("ffffffff", "no gfx942 instruction"),
    ],
)
def test_what_is_no_instruction_is_named(code, message):
    code = bytes.fromhex(code)
    if message is None or message.startswith("VOP2"):
        assert decode_one(code, 0, 0).name in ("v_cndmask_b32", "s_add_u32")
        return
    with pytest.raises(DecodeError, match=message):
        decode_one(code, 0, 0)


@pytest.mark.parametrize(
    "code, what",
    [
        ("1404f3d30a191a04".replace("04f3", "01f3"), "cbsz:1"),  # an MFMA that broadcasts blocks of A
        ("3c8085d20a170200", "clamp"),  # v_mul_lo_u32 with clamp
        ("3c0085d20a170220", "neg or abs"),  # and with a negated integer
    ],
)
def test_a_modifier_without_a_meaning_is_refused_by_name(code, what):
    with pytest.raises(DecodeError, match=f"0x40: v_.*{what}"):
        decode_one(bytes.fromhex(code), 0, 0x40)


@pytest.mark.parametrize(
    "code, text",
    [
        ("7fcf8cbf", "s_waitcnt vmcnt(63) expcnt(7) lgkmcnt(15)"),  # waits for nothing: LLVM then names all
        ("7fc08cbf", "s_waitcnt lgkmcnt(0)"),
    ],
)
def test_a_wait_is_spelled_as_llvm_does(code, text):
    assert str(decode_one(bytes.fromhex(code), 0, 0)) == text


def every_opcode():
    """(format, opcode, code): each format's opcodes with operands that suit most instructions."""
    vop3 = 256 + 4 | 256 + 8 << 9
    layouts = {  # format: opcodes, first word, further words
        "VOP1": (256, lambda o: 0x3F << 25 | 2 << 17 | o << 9 | 256 + 4, ()),
        "VOPC": (256, lambda o: 0x3E << 25 | o << 17 | 4 << 9 | 256 + 4, ()),
        "VOP2": (62, lambda o: o << 25 | 2 << 17 | 4 << 9 | 256 + 6, (0x12345678,)),
        "SOP1": (256, lambda o: 0x17D << 23 | 4 << 16 | o << 8 | 8, ()),
        "SOP2": (112, lambda o: 2 << 30 | o << 23 | 4 << 16 | 8 << 8 | 12, ()),
        "SOPC": (128, lambda o: 0x17E << 23 | o << 16 | 8 << 8 | 12, ()),
        "SOPP": (128, lambda o: 0x17F << 23 | o << 16, ()),
        "SOPK": (29, lambda o: 0xB << 28 | o << 23 | 4 << 16 | 1 | 31 << 11, (5,)),
        "SMEM": (256, lambda o: 0x30 << 26 | o << 18 | 16 << 6 | 1 | 1 << 17, (0,)),
        "DS": (256, lambda o: 0x36 << 26 | o << 17, (2 | 4 << 8 | 8 << 16 | 12 << 24,)),
        "VOP3": (1024, lambda o: 0x34 << 26 | o << 16 | 2, (vop3 | 256 + 12 << 18,)),
        "VOP3P": (128, lambda o: 0x1A7 << 23 | o << 16 | 2 | 1 << 14, (vop3 | 256 + 12 << 18 | 3 << 27,)),
        "MAI": (128, lambda o: 0x1A7 << 23 | o << 16 | 32, (vop3 | 256 + 32 << 18,)),
        "MUBUF": (128, lambda o: 0x38 << 26 | o << 18 | 1 << 12, (2 | 4 << 8 | 2 << 16 | 128 << 24,)),
        "MTBUF": (16, lambda o: 0x3A << 26 | o << 15 | 1 << 12 | 0x3A << 19, (2 | 4 << 8 | 2 << 16 | 128 << 24,)),
        "FLAT": (128, lambda o: 0x37 << 26 | o << 18 | 1 << 16, (2 | 4 << 8 | 8 << 24,)),
        "SCRATCH": (128, lambda o: 0x37 << 26 | o << 18 | 1 << 14 | 1 << 13, (2 | 4 << 8 | 0x7F << 16 | 8 << 24,)),
        "GLOBAL": (128, lambda o: 0x37 << 26 | o << 18 | 2 << 14 | 1 << 16, (2 | 4 << 8 | 0x7F << 16 | 8 << 24,)),
    }
    for format, (count, first, rest) in layouts.items():
        for opcode in range(count):
            yield format, opcode, struct.pack(f"<{1 + len(rest)}I", first(opcode), *rest)


@needs_llvm
def test_every_instruction_is_in_the_table_or_refused_by_its_name():
    """What LLVM's disassembler knows of gfx942 and the emulator does not is met with its mnemonic and address."""
    codes = list(every_opcode())
    names, met = set(BY_NAME), set()
    for at in range(0, len(codes), 500):
        part = codes[at : at + 500]
        for (format, opcode, code), text in zip(part, disassemble([code for *_, code in part]), strict=True):
            name = text and re.sub("_e(32|64)$", "", text.split()[0])
            if not name or name in names:
                continue
            with pytest.raises(DecodeError, match=f"^0x40: {name} ") as refused:
                decode_one(code, 0, 0x40)
            met.add((format, opcode, name))
            assert "does not have" in str(refused.value)
    listed = {(format, opcode, name) for format, table in NAMES.items() for opcode, name in table.items()}
    assert {name for *_, name in met} == {name for *_, name in listed}, met ^ listed
