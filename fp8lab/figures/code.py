"""Source code as a picture: what a step changes, line by line. Taught in notebook 05."""

import difflib
import html
from dataclasses import dataclass

from . import palette

ADDED, REMOVED = "#dcefff", "#fbe3dc"    # pale blue and red: INK on them is readable, and each line has its sign


@dataclass(frozen=True)
class Code:
    """Lines of code that a notebook shows as HTML, each with its sign; `summary` says in a sentence what they are.

    lines  (sign, text): "+" new, "-" gone, " " as before, "…" lines left out; or a line's number instead of a sign
    """

    lines: tuple
    summary: str

    def html(self):
        rows = "".join(_row(sign, text) for sign, text in self.lines)
        return (f'<figure style="margin:0"><div style="overflow-x:auto;background:{palette.PAPER};color:{palette.INK};'
                f'border:1px solid {palette.LINE};font:12px/1.5 monospace;white-space:pre" tabindex="0" role="group" '
                f'aria-label="{html.escape(self.summary, quote=True)}">{rows}</div>'
                f"<figcaption>{html.escape(self.summary)}</figcaption></figure>")

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/html": self.html(), "text/plain": str(self)}

    def __str__(self):
        width = max(len(sign) for sign, _ in self.lines)
        return "\n".join(f"{sign:>{width}} {text}".rstrip() for sign, text in self.lines)

    def __repr__(self):
        return f"Code: {self.summary}"


def _row(sign, text):
    element = {"+": "ins", "-": "del"}.get(sign, "span")
    fill = {"+": ADDED, "-": REMOVED, "…": palette.RULE}.get(sign, palette.PAPER)
    bold = ";font-weight:bold" if sign in ("+", "-") else ""
    return (f'<{element} style="display:block;text-decoration:none;background:{fill}">'
            f'<span style="display:inline-block;width:2.4em;text-align:center;user-select:none{bold}">{sign}</span>'
            f"{html.escape(text)}</{element}>")


def code_diff(old, new, context=2):
    """Show the lines by which one source differs from another; of what they share, `context` lines around each.

    old, new  texts; lines that begin with // in the first column are left out of the comparison at the top of the file

    Raises ValueError where they do not differ.
    """
    before, after = _body(old), _body(new)
    shown = []
    for group in difflib.SequenceMatcher(None, before, after, autojunk=False).get_grouped_opcodes(context):
        if shown or group[0][1]:
            shown.append(("…", ""))
        for tag, a, b, c, d in group:
            shown += [(" ", line) for line in before[a:b]] if tag == "equal" else (
                [("-", line) for line in before[a:b]] + [("+", line) for line in after[c:d]])
    if not shown:
        raise ValueError("the two sources do not differ")
    added, removed = (sum(sign == wanted for sign, _ in shown) for wanted in "+-")
    return Code(tuple(shown), f"{_count(added)} new (+), {_count(removed)} gone (-), of {len(after)}.")


def code(text, summary):
    """Show a source with the numbers of its lines, and a sentence under it."""
    return Code(tuple((str(number), line) for number, line in enumerate(text.rstrip().splitlines(), 1)), summary)


def _body(text):
    """The lines of a source without the comment that heads it."""
    lines = text.rstrip().splitlines()
    while lines and lines[0].startswith("//"):
        lines = lines[1:]
    return lines


def _count(n):
    return f"{n} line{'' if n == 1 else 's'}"
