"""Findings of a HIP program's kernel in words: launch.c writes what it knows, this writes a sentence a line."""

from pathlib import Path

import numpy as np

from fp8lab.gfx942.findings import FINDING, read_findings


class _Line(str):
    """An instruction's text, with its address in the code object."""

    address = 0


def main(source, to):
    """Read launch.c's file, write the sentences; return the exit code."""
    with open(source, "rb") as file:
        kernel = file.readline().decode().strip()
        instructions, ranges, findings = map(int, file.readline().split())
        buffers = [_buffer(*map(int, file.readline().split())) for _ in range(ranges)]
        lines = [file.readline().decode().rstrip("\n").partition(" ") for _ in range(findings)]
        raw = np.frombuffer(file.read(), FINDING)
    listing = [None] * instructions
    for finding, (address, _, text) in zip(raw, lines, strict=True):
        if finding["instruction"] < instructions:
            listing[finding["instruction"]] = line = _Line(text)
            line.address = int(address)
    sentences = [f"{finding}\n" for finding in read_findings(raw, kernel, listing, buffers)]
    Path(to).write_text("".join(sentences))
    return 0


def _buffer(low, high, writable):
    return f"the buffer at {low:#x}", low, high - low, bool(writable)
