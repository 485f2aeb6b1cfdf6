"""The variant explorer: a machine and a repository → which folder loads, and why the others do not."""

from ..figures import variants
from ..variants import REPOSITORIES, System
from .explorer import Explorer, dropdown

TORCHES = ("2.9", "2.10", "2.11", "2.12", "2.13", "2.14")
BACKENDS = {"none (CPU)": "cpu", "ROCm 7.1": "rocm71", "ROCm 7.2": "rocm72", "CUDA 13.0": "cu130"}


class VariantExplorer(Explorer):
    """A variants.System and a repository as controls: torch, backend, cpu, repository.

    The picture function behind it: figures.variants.
    """

    def __init__(self, system, repository):
        super().__init__()
        self.repository = dropdown("repository has", list(REPOSITORIES), repository)
        self.torch = dropdown("torch", TORCHES, system.torch)
        self.backend = dropdown("built for GPU", BACKENDS, system.backend)
        self.cpu = dropdown("CPU", ["x86_64", "aarch64"], system.cpu)
        controls = [self.torch, self.backend, self.cpu, self.repository]
        self.arrange([controls], controls)

    @property
    def system(self):
        return System(torch=self.torch.value, backend=self.backend.value, cpu=self.cpu.value)

    def draw(self):
        return [variants(REPOSITORIES[self.repository.value], self.system)]


def variant_explorer(repository="one a torch version", **system):
    """Return a VariantExplorer.

    repository  a key of variants.REPOSITORIES
    system      fields of variants.System for the first picture: torch="2.12", backend="rocm72", cpu="aarch64"
    """
    return VariantExplorer(System(**system), repository)
