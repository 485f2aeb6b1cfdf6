"""The variant explorer: a machine and a repository → which folder loads, and why the others do not."""

from ..figures import variants
from ..variants import REPOSITORIES, System
from .explorer import Explorer, dropdown

TORCHES = ("2.9", "2.10", "2.11", "2.12", "2.13", "2.14")
# What torch was built for, and which GPU ROCm finds: one control, as a GPU means nothing to the rules without ROCm.
BACKENDS = {
    "none (CPU)": ("cpu", None),
    "ROCm 7.1, MI300X (gfx942)": ("rocm71", "gfx942"), "ROCm 7.2, MI300X (gfx942)": ("rocm72", "gfx942"),
    "ROCm 7.2, MI355X (gfx950)": ("rocm72", "gfx950"), "ROCm 7.2, MI250X (gfx90a)": ("rocm72", "gfx90a"),
    "ROCm 7.2, no GPU found": ("rocm72", None), "CUDA 13.0": ("cu130", None),
}


class VariantExplorer(Explorer):
    """A variants.System and a repository as controls: torch, backend, cpu, repository.

    The picture function behind it: figures.variants.
    """

    def __init__(self, system, repository):
        super().__init__()
        self.repository = dropdown("repository has", list(REPOSITORIES), repository)
        self.torch = dropdown("torch", TORCHES, system.torch)
        self.backend = dropdown("built for, GPU", BACKENDS, (system.backend, system.gpu))
        self.cpu = dropdown("CPU", ["x86_64", "aarch64"], system.cpu)
        controls = [self.torch, self.backend, self.cpu, self.repository]
        self.arrange([controls], controls)

    @property
    def system(self):
        backend, gpu = self.backend.value
        return System(torch=self.torch.value, backend=backend, cpu=self.cpu.value, gpu=gpu)

    def draw(self):
        return [variants(REPOSITORIES[self.repository.value], self.system)]


def variant_explorer(repository="one a torch version", **system):
    """Return a VariantExplorer.

    repository  a key of variants.REPOSITORIES
    system      fields of variants.System for the first picture: torch="2.12", backend="rocm72", gpu="gfx942"
    """
    return VariantExplorer(System(**system), repository)
