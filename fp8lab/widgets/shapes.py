"""The shape explorer: M, N, K and the layouts → operands, blocks, bytes, and the place under the roof."""

import ipywidgets as widgets

from .. import hardware
from ..figures import gemm_layout, roofline
from .explorer import Explorer, choice, dropdown, integer

OWN = "your own"
LARGEST = 32_768


def named_shapes():
    """{name: (m, n, k)}: the contest's shapes, and the layers of two models for a few tokens and for many."""
    shapes = {f"contest {', '.join(map(str, shape))}": shape for shape in hardware.CONTEST_SHAPES}
    for model, layers in hardware.MODEL_SHAPES.items():
        for layer, (n, k) in layers.items():
            shapes |= {f"{model} {layer}, {tokens} tokens": (tokens, n, k) for tokens in (16, 4096)}
    return shapes


class ShapeExplorer(Explorer):
    """One gemm call as controls: m, n, k, named (fills them), a_layout, b_layout.

    Two pictures: figures.gemm_layout and figures.roofline; `figures` holds both. A shape that the op refuses shows why.
    """

    def __init__(self, m=1024, n=1536, k=7168):
        super().__init__()
        self.shapes = named_shapes()
        self.named = dropdown("shape", [OWN, *self.shapes], OWN)
        self.m, self.n, self.k = (integer(name, value, 1, LARGEST) for name, value in (("M", m), ("N", n), ("K", k)))
        self.a_layout = choice("a", ["K-contiguous", "M-contiguous"], "K-contiguous")
        self.b_layout = choice("b", ["K-contiguous", "N-contiguous"], "K-contiguous")
        self.cost = widgets.HTML()
        self.named.observe(self._fill, names="value")
        self.arrange([[self.m, self.n, self.k, self.named], [self.a_layout, self.b_layout]],
                     [self.m, self.n, self.k, self.a_layout, self.b_layout], below=[self.cost])

    def draw(self):
        m, n, k = self.m.value, self.n.value, self.k.value
        if self.shapes.get(self.named.value) != (m, n, k):
            self.named.value = OWN  # another size: the name no longer holds
        self.cost.value = ""
        pictures = [gemm_layout(m, n, k, self.a_layout.value, self.b_layout.value), roofline((m, n, k))]
        cost, place = hardware.gemm_cost(m, n, k), hardware.roofline(m, n, k)
        self.cost.value = (f"<p>{cost.flops:,} operations on {cost.bytes:,} bytes: {cost.intensity:,.1f} operations a "
                           f"byte, {place.bound} bound on MI300X; at least {place.time_us:,.2f} µs at its peaks.</p>")
        return pictures

    def _fill(self, _change):
        """Set M, N and K from the named shape, for one redraw."""
        if self.named.value != OWN:
            with self.one_redraw():
                self.m.value, self.n.value, self.k.value = self.shapes[self.named.value]


def shape_explorer(m=1024, n=1536, k=7168):
    """Return a ShapeExplorer that begins with these sizes."""
    return ShapeExplorer(m, n, k)
