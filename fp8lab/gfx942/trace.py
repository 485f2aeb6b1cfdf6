"""What a launch did, instruction by instruction: how often, at what cost to LDS banks, in how many memory sectors.

Counts are exact, from the addresses of every lane; they depend on no clock. The bank model (32 banks of 4 bytes, the
groups of lanes that are served together) and its source are in core/trace.h.
"""

from dataclasses import dataclass

import numpy as np

TRAFFIC = np.dtype(
    [
        (name, "<u8")
        for name in (
            "lds_accesses",
            "lds_cycles",
            "lds_ideal",
            "global_accesses",
            "sectors",
            "lines",
            "ideal_sectors",
            "bytes",
        )
    ]
)
STEP = np.dtype(
    [
        ("workgroup", "<u4"),
        ("instruction", "<u4"),
        ("wave", "<u2"),
        ("lds_cycles", "<u2"),
        ("sectors", "<u2"),
        ("lines", "<u2"),
    ]
)
CLASSES = {"scalar": "salu", "vector": "valu", "lanes": "valu", "matrix": "mfma", "lds": "lds", "control": "control"}


class Counts(dict):
    """{mnemonic: how many times a wave ran it}; by_class and by_address look at the same counts in other ways."""

    def __init__(self, instructions, counts):
        super().__init__()
        self.by_address, self.by_class = {}, {}
        for instruction, count in zip(instructions, counts.tolist(), strict=False):
            if not count:
                continue
            self[instruction.name] = self.get(instruction.name, 0) + count
            self.by_address[instruction.address] = count
            kind = class_of(instruction)
            self.by_class[kind] = self.by_class.get(kind, 0) + count

    @property
    def total(self):
        return sum(self.values())


def class_of(instruction):
    """salu, valu, mfma, lds, vmem, smem or control: the unit of the compute unit that an instruction keeps busy."""
    family = instruction.op.family
    if family == "memory":
        return "smem" if instruction.op.more["form"].startswith("scalar") else "vmem"
    return CLASSES[family]


@dataclass(frozen=True)
class LdsTraffic:
    """One LDS instruction over the whole launch. cycles: clocks its banks were busy; ideal_cycles: with no conflict.

    bytes counts those of every lane, also where lanes share them.
    """

    instruction: str
    address: int
    accesses: int
    cycles: int
    ideal_cycles: int
    bytes: int

    @property
    def conflicts(self):
        return self.cycles - self.ideal_cycles


@dataclass(frozen=True)
class GlobalTraffic:
    """One global memory instruction over the whole launch: 32-byte sectors and 128-byte lines that it touched."""

    instruction: str
    address: int
    accesses: int
    bytes: int
    sectors: int
    lines: int
    ideal_sectors: int

    @property
    def coalescing(self):
        """Sectors the bytes need at least, over sectors touched: 1.0 is perfect."""
        return self.ideal_sectors / self.sectors if self.sectors else 1.0


def lds_traffic(instructions, traffic):
    return [
        LdsTraffic(
            str(i), i.address, int(t["lds_accesses"]), int(t["lds_cycles"]), int(t["lds_ideal"]), int(t["bytes"])
        )
        for i, t in zip(instructions, traffic, strict=False)
        if t["lds_accesses"]
    ]


def global_traffic(instructions, traffic):
    return [
        GlobalTraffic(
            str(i),
            i.address,
            int(t["global_accesses"]),
            int(t["bytes"]),
            int(t["sectors"]),
            int(t["lines"]),
            int(t["ideal_sectors"]),
        )
        for i, t in zip(instructions, traffic, strict=False)
        if t["global_accesses"]
    ]
