"""Code objects: the ELF file a compiler makes for gfx942, read into kernels with arguments and resources.

    kernel = CodeObject.load("gemm.co").kernels["gemm"]
    kernel.arguments       # [Argument(name="a", kind="global_buffer", offset=0, size=8), …]
    kernel.resources       # Resources(vgpr=128, agpr=0, sgpr=40, lds_bytes=36864, …)
    kernel.instructions    # [Instruction, …], decoded from the bytes

A file may also be a clang offload bundle (host and device objects in one file), compressed or not: the gfx942 entry is
taken. Everything read is checked against the size of the file first, so a damaged file is a CodeObjectError, never a
crash.

Source: LLVM, "User Guide for AMDGPU Backend": code object V4/V5/V6, kernel descriptor, metadata;
"Clang Offload Bundler".
"""

import struct
import zlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from fp8lab.gfx942.decode import DecodeError, decode_one

BUNDLE_MAGIC, COMPRESSED_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB"
# of a compressed bundle, by version: the sizes after magic, version and method, and where the data starts
COMPRESSED_SIZES = {1: ("<I", 20), 2: ("<xxxxI", 24), 3: ("<xxxxxxxxQ", 32)}
EM_AMDGPU, EF_MACH, MACH_GFX942 = 224, 0xFF, 0x4C
TARGETS = {0x2F: "gfx906", 0x30: "gfx908", 0x3F: "gfx90a", 0x41: "gfx1100", 0x4E: "gfx1201", 0x4F: "gfx950"}
PT_LOAD, SHT_SYMTAB, SHT_DYNSYM, SHT_NOTE, SHT_REL = 1, 2, 11, 7, 9
SHT_RELA, R_RELATIVE64 = 4, 13
NT_AMDGPU_METADATA, STT_OBJECT, STT_FUNC = 32, 1, 2
DAMAGE = (struct.error, IndexError, KeyError, UnicodeDecodeError, TypeError, OverflowError, AttributeError)
LARGEST_IMAGE = 1 << 28  # bytes of memory a code object may ask for; a damaged header asks for more
LARGEST_NUMBER = 1 << 17  # bytes of arguments, or of scratch a lane: 13 bits of KiB a wave
NUMBERS = (".vgpr_count", ".agpr_count", ".sgpr_count", ".max_flat_workgroup_size", ".vgpr_spill_count",
           ".sgpr_spill_count")  # fmt: skip


class CodeObjectError(ValueError):
    """The file is not a gfx942 code object that can be read: the message says which rule it breaks."""


class NoBinaryError(CodeObjectError):
    """The file is sound and has code for other targets only."""


@dataclass(frozen=True)
class Argument:
    """One argument of a kernel: where it lies in the kernarg segment and what it is.

    kind  "global_buffer", "by_value", "hidden_…" (filled by the runtime, not by the caller)
    """

    name: str
    kind: str
    offset: int
    size: int

    @property
    def is_hidden(self):
        return self.kind.startswith("hidden_")


@dataclass(frozen=True)
class Resources:
    """What a kernel asks of the hardware, from its metadata and kernel descriptor.

    vgpr            32-bit vector registers a lane, AGPRs included; agpr of them are AGPRs; sgpr scalar ones a wave
    lds_bytes       static LDS a workgroup; scratch_bytes private memory a lane
    kernarg_bytes   size of the argument block; workgroup_size the most lanes a workgroup may have
    """

    vgpr: int
    agpr: int
    sgpr: int
    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int
    workgroup_size: int
    vgpr_spills: int
    sgpr_spills: int

    @property
    def waves_per_simd(self):
        """Waves one SIMD can hold: of 512 VGPRs in steps of 8, and of the CU's 64 KiB of LDS for 4 SIMDs; 8 at most.

        Source: LLVM, "User Guide for AMDGPU Backend", granulated_workitem_vgpr_count; CDNA3 ISA guide, "LDS".
        """
        waves = -(-self.workgroup_size // 64)
        by_lds = 65536 // self.lds_bytes * waves // 4 if self.lds_bytes else 8
        return min(8, 512 // max(8, -(-self.vgpr // 8) * 8), by_lds)


@dataclass(frozen=True)
class Descriptor:
    """The 64-byte kernel descriptor: what the command processor reads before it starts a wave."""

    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int
    entry: int
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int
    preload_words: int
    preload_offset: int


class Kernel:
    """A kernel of a code object: name, arguments, resources, instructions; what Device.launch takes."""

    def __init__(self, code_object, name, descriptor, metadata, start, end):
        self.code_object, self.name, self.descriptor, self.metadata = code_object, name, descriptor, metadata
        self.start, self.end = start, end
        self.program = None  # as program.load_program() made it
        listed = metadata.get(".args", [])
        self.arguments = [
            # .coerce: a pointer of the kernel's parameters, as clang passes it
            Argument(a.get(".name", f"#{i}").removesuffix(".coerce"), a[".value_kind"], a[".offset"], a[".size"])
            for i, a in enumerate(listed)
        ]

    def __getstate__(self):
        return self.__dict__ | {"program": None}  # it holds addresses of this process

    @property
    def resources(self):
        m, d = self.metadata, self.descriptor
        return Resources(
            m.get(".vgpr_count", 0),
            m.get(".agpr_count", 0),
            m.get(".sgpr_count", 0),
            d.lds_bytes,
            d.scratch_bytes,
            d.kernarg_bytes,
            m.get(".max_flat_workgroup_size", 1024),
            m.get(".vgpr_spill_count", 0),
            m.get(".sgpr_spill_count", 0),
        )

    @cached_property
    def instructions(self):
        """The kernel's Instructions in address order. Raises DecodeError for one the emulator does not have."""
        return decode_range(self.code_object.image, self.start, self.end)

    def __repr__(self):
        arguments = ", ".join(a.name for a in self.arguments if not a.is_hidden)
        return f"<Kernel {self.name}({arguments})>"


class CodeObject:
    """A loaded code object: image (the memory it describes, uint8), kernels by name.

    functions, variables  by name: (start, end) and (address, bytes) in the image
    """

    def __init__(self, data, origin="code object"):
        self.origin = origin
        self._data = _unbundle(bytes(data), origin)
        try:
            self._read()
        except DAMAGE as error:
            raise CodeObjectError(f"{origin}: damaged code object ({type(error).__name__}: {error})") from error

    @classmethod
    def load(cls, path):
        """Read a .co/.hsaco file or a clang offload bundle. Raises CodeObjectError; OSError if there is no file."""
        return cls(Path(path).read_bytes(), str(path))

    def _read(self):
        data = self._data
        if data[:4] != b"\x7fELF" or data[4:6] != b"\x02\x01":
            raise CodeObjectError(
                f"{self.origin}: {_what(data)}, needs a code object (a 64-bit little-endian ELF file) as "
                "clang -x hip --offload-arch=gfx942 --offload-device-only makes it, or a bundle with one in it"
            )
        machine, flags = struct.unpack_from("<H", data, 18)[0], struct.unpack_from("<I", data, 48)[0]
        if machine != EM_AMDGPU:
            raise NoBinaryError(f"{self.origin}: made for machine {machine}, needs {EM_AMDGPU} (AMDGPU)")
        if flags & EF_MACH != MACH_GFX942:
            raise NoBinaryError(
                f"{self.origin}: made for {TARGETS.get(flags & EF_MACH, f'AMDGPU target {flags & EF_MACH:#x}')}, "
                "needs gfx942: compile with --offload-arch=gfx942"
            )
        self._load_segments()
        sections = self._sections()
        self._relocate(sections)
        self.symbols = self._symbols(sections)
        metadata = {k[".name"]: self._checked(k) for k in self._metadata(sections)["amdhsa.kernels"]}
        self.kernels, self.functions, self.variables = {}, {}, {}
        for name, (value, size, kind) in self.symbols.items():
            if kind == STT_FUNC:
                self._check(value, size, f"function {name}")
                self.functions[name] = (value, value + size)
            elif kind == STT_OBJECT and not name.endswith(".kd"):
                self._check(value, size, f"variable {name}")
                self.variables[name] = (value, size)
        for name, about in metadata.items():
            if f"{name}.kd" not in self.symbols or name not in self.functions:
                raise CodeObjectError(f"{self.origin}: kernel {name} is in the metadata but its symbols are not")
            descriptor = self._descriptor(self.symbols[f"{name}.kd"][0])
            self.kernels[name] = Kernel(self, name, descriptor, about, *self.functions[name])

    def _checked(self, about):
        """The metadata of a kernel, if what is used of it is of the right kind."""
        numbers = [about.get(key, 0) for key in NUMBERS]
        for argument in about.get(".args", []):
            numbers += [argument[".offset"], argument[".size"]]
            if not isinstance(argument[".value_kind"], str) or not isinstance(argument.get(".name", ""), str):
                raise CodeObjectError(f"{self.origin}: an argument of {about['.name']!r} has no name or kind")
        if not isinstance(about[".name"], str) or not all(type(n) is int and 0 <= n <= LARGEST_NUMBER for n in numbers):
            raise CodeObjectError(f"{self.origin}: the metadata of {about['.name']!r} has no sizes: {numbers}")
        return about

    def _check(self, address, size, what):
        if not 0 <= address <= address + size <= len(self.image):
            raise CodeObjectError(f"{self.origin}: {what} lies at {address:#x}+{size:#x}, outside the loaded image")

    def _load_segments(self):
        data = self._data
        (offset,) = struct.unpack_from("<Q", data, 32)
        entry_size, count = struct.unpack_from("<HH", data, 54)
        loads = []
        for i in range(count):
            kind, _, at, address, _, in_file, in_memory, _ = struct.unpack_from(
                "<IIQQQQQQ", data, offset + i * entry_size
            )
            if kind != PT_LOAD:
                continue
            if at + in_file > len(data) or in_file > in_memory or address + in_memory > LARGEST_IMAGE:
                raise CodeObjectError(f"{self.origin}: segment {i} reaches outside the file or past 256 MiB of memory")
            loads.append((at, address, in_file, in_memory))
        if not loads:
            raise CodeObjectError(f"{self.origin}: no loadable segment; link the object (ld.lld -shared) first")
        # instruction fetch runs ahead of the last instruction, so leave a page after the image, as the loader does
        self.image = np.zeros(max(address + size for _, address, _, size in loads) + 4096, np.uint8)
        for at, address, in_file, _ in loads:
            self.image[address : address + in_file] = np.frombuffer(data, np.uint8, in_file, at)

    def _sections(self):
        data = self._data
        (offset,) = struct.unpack_from("<Q", data, 40)
        entry_size, count = struct.unpack_from("<HH", data, 58)
        sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * entry_size) for i in range(count)]
        for i, (_, kind, _, _, at, size, *_) in enumerate(sections):
            if kind != 8 and at + size > len(data):  # 8: NOBITS takes no room in the file
                raise CodeObjectError(f"{self.origin}: section {i} reaches past the end of the file")
        return sections

    def _relocate(self, sections):
        """Pointers to the image itself (tables of functions, vtables) are kept as offsets; Device adds the base."""
        self.relocations = []
        for _, kind, _, _, at, size, *_ in sections:
            if kind != SHT_RELA:
                continue
            for position in range(at, at + size - 23, 24):
                where, info, addend = struct.unpack_from("<QQq", self._data, position)
                if info & 0xFFFFFFFF == R_RELATIVE64:
                    self._check(where, 8, "relocation")
                    self.relocations.append((where, addend))

    def _symbols(self, sections):
        symbols = {}
        for _, kind, _, _, at, size, link, *_ in sections:
            if kind not in (SHT_SYMTAB, SHT_DYNSYM):
                continue
            names_at, names_size = sections[link][4], sections[link][5]
            names = self._data[names_at : names_at + names_size]
            for position in range(at, at + size - 23, 24):
                name_at, info, _, section, value, length = struct.unpack_from("<IBBHQQ", self._data, position)
                end = names.find(b"\0", name_at)
                name = names[name_at : end if end >= 0 else None].decode()
                if name and section:
                    symbols[name] = (value, length, info & 15)
        return symbols

    def _metadata(self, sections):
        for _, kind, _, _, at, size, *_ in sections:
            if kind != SHT_NOTE:
                continue
            end = at + size
            while at + 12 <= end:
                name_size, size_, type = struct.unpack_from("<III", self._data, at)
                body = at + 12 + (name_size + 3 & ~3)
                if body + size_ > end:
                    break
                if type == NT_AMDGPU_METADATA and self._data[at + 12 : at + 18] == b"AMDGPU":
                    return unpack_msgpack(self._data[body : body + size_])
                at = body + (size_ + 3 & ~3)
        raise CodeObjectError(f"{self.origin}: no AMDGPU metadata note, so the kernels' arguments are unknown")

    def _descriptor(self, at):
        self._check(at, 64, "kernel descriptor")
        lds, scratch, kernarg = struct.unpack_from("<III", self.image, at)
        (offset,) = struct.unpack_from("<q", self.image, at + 16)
        rsrc3, rsrc1, rsrc2 = struct.unpack_from("<III", self.image, at + 44)
        properties, preload = struct.unpack_from("<HH", self.image, at + 56)
        self._check(at + offset, 4, "kernel entry")
        words, first = preload & 0x7F, preload >> 7
        if kernarg > LARGEST_NUMBER or scratch > LARGEST_NUMBER or words > 16 or 4 * (words + first) > kernarg + 64:
            raise CodeObjectError(
                f"{self.origin}: a kernel descriptor asks for {kernarg} bytes of arguments, {words} words of them from "
                f"word {first} in registers, and {scratch} bytes of scratch a lane, which no gfx942 has"
            )
        return Descriptor(lds, scratch, kernarg, at + offset, rsrc1, rsrc2, rsrc3, properties, words, first)


def decode_range(image, start, end):
    """Return the Instructions at start … end of image. Raises DecodeError with mnemonic and address."""
    code, at, found = image[start:end].tobytes(), 0, []
    while at < len(code):
        instruction = decode_one(code, at, start + at)
        found.append(instruction)
        at += instruction.size
    return found


def _unbundle(data, origin):
    """The gfx942 entry of a clang offload bundle, or data itself if it is no bundle."""
    if data.startswith(COMPRESSED_MAGIC):
        data = _decompress(data, origin)
    if not data.startswith(BUNDLE_MAGIC):
        return data
    targets = []
    try:
        (count,) = struct.unpack_from("<Q", data, 24)
        at = 32
        for _ in range(count):
            offset, size, length = struct.unpack_from("<QQQ", data, at)
            target = data[at + 24 : at + 24 + length].decode()
            at += 24 + length
            targets.append(target)
            if "gfx942" in target:
                if offset + size > len(data):
                    raise CodeObjectError(f"{origin}: bundle entry {target} reaches past the end of the file")
                return data[offset : offset + size]
    except (struct.error, UnicodeDecodeError, OverflowError) as error:
        raise CodeObjectError(f"{origin}: damaged offload bundle ({error})") from error
    raise NoBinaryError(
        f"{origin}: a bundle for {', '.join(targets) or 'no target'}, needs one for gfx942: compile with "
        "--offload-arch=gfx942"
    )


def _what(data):
    """What a file is that is no code object, as far as its first bytes tell."""
    known = {b"": "an empty file", b"BC\xc0\xde": "LLVM bitcode, not yet linked", b"!<arch>": "an archive (.a)",
             b"\x93NUMPY": "a NumPy array"}  # fmt: skip
    start = next((start for start in known if start and data.startswith(start)), data[:1])
    return known.get(start, "neither an ELF file nor a bundle")


def _decompress(data, origin):
    """The bundle inside a compressed one: magic, version, method (0 zlib, 1 zstd), sizes, hash, data."""
    import zstandard  # here, as few files need it

    try:
        version, method = struct.unpack_from("<HH", data, 4)
        if version not in COMPRESSED_SIZES or method > 1:
            raise CodeObjectError(
                f"{origin}: a compressed bundle of version {version} and method {method}; known are versions 1 to 3 "
                "and methods 0 (zlib) and 1 (zstd)"
            )
        format, start = COMPRESSED_SIZES[version]
        (size,) = struct.unpack_from(format, data, 8)
        if size > LARGEST_IMAGE:
            raise CodeObjectError(f"{origin}: a compressed bundle of {size} bytes, more than 256 MiB")
        if method == 0:
            bundle = zlib.decompressobj().decompress(data[start:], size)
        else:
            bundle = zstandard.ZstdDecompressor().stream_reader(data[start:]).read(size)
    except (struct.error, zlib.error, zstandard.ZstdError) as error:
        raise CodeObjectError(f"{origin}: damaged compressed bundle ({error})") from error
    if len(bundle) != size:
        raise CodeObjectError(f"{origin}: a compressed bundle of {len(bundle)} bytes, its header says {size}")
    return bundle


# MessagePack, the binary JSON of the metadata note: first byte -> struct format of a number or of a length
_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_LENGTHS = {
    0xD9: ">B",
    0xDA: ">H",
    0xDB: ">I",
    0xC4: ">B",
    0xC5: ">H",
    0xC6: ">I",
    0xDC: ">H",
    0xDD: ">I",
    0xDE: ">H",
    0xDF: ">I",
}


def unpack_msgpack(data):
    """Return the value that MessagePack bytes hold. Source: the MessagePack specification. Raises CodeObjectError."""
    at = 0

    def take(format):
        nonlocal at
        (value,) = struct.unpack_from(format, data, at)
        at += struct.calcsize(format)
        return value

    def text(length):
        nonlocal at
        at += length
        if at > len(data):
            raise CodeObjectError("metadata ends inside a string")
        return data[at - length : at].decode()

    def value(depth):
        if depth > 16:
            raise CodeObjectError("metadata is nested too deeply")
        first = take(">B")
        if first < 0x80:
            return first
        if first >= 0xE0:
            return first - 256
        if first in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[first]
        if first in _NUMBERS:
            return take(_NUMBERS[first])
        if 0xA0 <= first < 0xC0:
            return text(first & 31)
        length = take(_LENGTHS[first]) if first in _LENGTHS else first & 15
        if 0xC4 <= first <= 0xC6 or 0xD9 <= first <= 0xDB:
            return text(length)
        if first & 0xF0 == 0x90 or first in (0xDC, 0xDD):
            return [value(depth + 1) for _ in range(length)]
        if first & 0xF0 == 0x80 or first in (0xDE, 0xDF):
            return {value(depth + 1): value(depth + 1) for _ in range(length)}
        raise CodeObjectError(f"metadata has an unknown MessagePack type {first:#x}")

    return value(0)


__all__ = ["Argument", "CodeObject", "CodeObjectError", "DecodeError", "Kernel", "Resources"]
