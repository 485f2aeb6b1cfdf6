"""The layer explorer: the weights of a real encoder, and what each recipe does to them."""

from ..figures import error_map
from ..formats import FORMATS
from ..scaling import RECIPES
from .explorer import Explorer, dropdown


class LayerExplorer(Explorer):
    """One weight matrix at a time. Controls: layer, recipe, fmt. The picture function behind it: figures.error_map."""

    def __init__(self, weights):
        super().__init__()
        self.weights = weights
        names = {name.removeprefix("encoder."): name for name in weights}
        self.layer = dropdown("layer", names, next(iter(weights)))
        self.recipe = dropdown("block", list(RECIPES), "per tensor")
        self.fmt = dropdown("format", list(FORMATS), "e4m3fnuz")
        controls = [self.layer, self.recipe, self.fmt]
        self.arrange([controls], controls)

    def draw(self):
        return [error_map(self.weights[self.layer.value], RECIPES[self.recipe.value], FORMATS[self.fmt.value],
                          name=self.layer.label)]


def layer_explorer(encoder):
    """Return a LayerExplorer over the linear layers of a minilm.MiniLM."""
    return LayerExplorer(encoder.linear_layers())
