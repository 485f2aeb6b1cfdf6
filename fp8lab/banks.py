"""What an LDS access costs: 32 banks of 4 bytes, and the groups of lanes that the LDS serves together.

A group takes as many clocks as its busiest bank has different dwords; the LDS serves one group after the other. This is
the rule of fp8lab/gfx942/core/trace.h, with its source, for addresses that no kernel has used yet.
"""

import numpy as np

LANES, BANKS = 64, 32
INTENTS = ("read", "write")


def groups(size, intent):
    """Return the groups of lanes that an access is served in, as a list of lists.

    size    bytes a lane: 1, 2, 4, 8 or 16
    intent  "read" or "write": 16-byte reads take other lanes together than 16-byte writes do
    """
    if size not in (1, 2, 4, 8, 16) or intent not in INTENTS:
        raise ValueError(f"a {intent!r} of {size} bytes: needs 'read' or 'write' of 1, 2, 4, 8 or 16 bytes a lane")
    together = min(32, LANES // max(2, size // 2))
    if (size, intent) != (16, "read"):
        return [list(range(first, first + together)) for first in range(0, LANES, together)]
    fours = [[0, 5], [1, 4], [2, 7], [3, 6]]    # of four lanes in a row
    return [[half + 4 * four + i for four in pair for i in range(4)] for half in (0, 32) for pair in fours]


def dwords(addresses, size, intent):
    """Return for each group the dwords that it needs from each bank: [[set of dword numbers, …], …].

    addresses  (64,) bytes from the start of the LDS, one a lane
    """
    addresses = np.asarray(addresses)
    if addresses.shape != (LANES,) or addresses.min() < 0:
        raise ValueError(f"addresses has shape {addresses.shape}, needs (64,): a byte address for each lane, from 0 on")
    needed = []
    for group in groups(size, intent):
        banks = [set() for _ in range(BANKS)]
        for lane in group:
            for dword in range(int(addresses[lane]) // 4, (int(addresses[lane]) + size - 1) // 4 + 1):
                banks[dword % BANKS].add(dword)
        needed.append(banks)
    return needed


def clocks(addresses, size, intent):
    """Return the clocks of one access of a wave, at best ideal_clocks(); arguments and errors as dwords()."""
    return sum(max(map(len, banks)) for banks in dwords(addresses, size, intent))


def ideal_clocks(size, intent):
    return len(groups(size, intent))


ROW_BYTES = 128
SCHEMES = {
    "row after row": lambda row, chunk: row * ROW_BYTES + chunk * 16,
    "rows padded by 16 bytes": lambda row, chunk: row * (ROW_BYTES + 16) + chunk * 16,
    "chunk ^ row % 4": lambda row, chunk: row * ROW_BYTES + (chunk ^ row % 4) * 16,
    "chunk ^ row % 8": lambda row, chunk: row * ROW_BYTES + (chunk ^ row % 8) * 16,
}


def fragment_read(place):
    """Addresses at which a wave reads an MFMA fragment of 16 bytes a lane: row lane % 16, chunk lane // 16.

    place  function of (row, chunk): where that chunk of 16 bytes lies, as in SCHEMES
    """
    return np.array([place(lane % 16, lane // 16) for lane in range(LANES)])


def tile_write(place):
    """Addresses at which a wave writes 16 bytes a lane of a tile: row lane // 8, chunk lane % 8."""
    return np.array([place(lane // 8, lane % 8) for lane in range(LANES)])
