"""The launch explorer: a shape, its layouts and a workspace → what the launcher starts, and where it runs."""

from .. import launcher
from ..figures import workgroup_map
from .explorer import Explorer, choice, dropdown, integer
from .shapes import LARGEST, OWN, named_shapes

WORKSPACE = ("as much as it asks for", "none")


class LaunchExplorer(Explorer):
    """One gemm_problem as controls: m, n, k, named (fills them), a_layout, b_layout, workspace.

    The picture function behind it: figures.workgroup_map. What the launcher refuses is shown in its own words.
    """

    def __init__(self, m, n, k, a_layout, b_layout):
        super().__init__()
        self.launcher, self.shapes = launcher.load(), named_shapes()
        self.named = dropdown("shape", [OWN, *self.shapes], OWN)
        self.m, self.n, self.k = (integer(name, value, 1, LARGEST) for name, value in (("M", m), ("N", n), ("K", k)))
        self.a_layout = choice("a", launcher.A_LAYOUTS, a_layout)
        self.b_layout = choice("b", launcher.B_LAYOUTS, b_layout)
        self.workspace = choice("workspace", WORKSPACE, WORKSPACE[0])
        self.named.observe(self._fill, names="value")
        controls = [self.m, self.n, self.k, self.a_layout, self.b_layout, self.workspace]
        self.arrange([[self.m, self.n, self.k, self.named], [self.a_layout, self.b_layout, self.workspace]], controls)

    def draw(self):
        sizes = self.m.value, self.n.value, self.k.value
        problem = launcher.Problem.sized(*sizes, self.a_layout.value, self.b_layout.value)
        given = self.launcher.workspace_bytes(problem) if self.workspace.value == WORKSPACE[0] else 0
        problem.workspace_bytes = given
        layouts = f"a {self.a_layout.value}, b {self.b_layout.value}"
        given = "no workspace" if self.workspace.value != WORKSPACE[0] else f"{given:,} bytes of workspace"
        return [workgroup_map(self.launcher.choice(problem), *sizes, f"{layouts}, {given}")]

    def _fill(self, _change):
        """Set M, N and K from the named shape, for one redraw."""
        if self.named.value != OWN:
            with self.one_redraw():
                self.m.value, self.n.value, self.k.value = self.shapes[self.named.value]


def launch_explorer(m=1024, n=1536, k=7168, a_layout="M-contiguous", b_layout="N-contiguous"):
    """Return a LaunchExplorer that begins with this problem; the layouts are those of the contest."""
    return LaunchExplorer(m, n, k, a_layout, b_layout)
