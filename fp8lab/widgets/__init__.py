"""Controls around the figures of fp8lab.figures; they pass values on and compute nothing.

Each explorer is a widget whose controls are attributes, so that a program can move them: explorer.m.value = 64.
"""

from .formats import FormatExplorer, format_explorer
from .launch import LaunchExplorer, launch_explorer
from .layers import LayerExplorer, layer_explorer
from .loading import LoadingExplorer, loading_explorer
from .scaling import ScaleExplorer, scale_explorer
from .shapes import ShapeExplorer, shape_explorer
from .variants import VariantExplorer, variant_explorer
from .wave import BankExplorer, WaveMicroscope, bank_explorer, wave_explorer

__all__ = ["BankExplorer", "FormatExplorer", "LaunchExplorer", "LayerExplorer", "LoadingExplorer", "ScaleExplorer",
           "ShapeExplorer", "VariantExplorer", "WaveMicroscope", "bank_explorer", "format_explorer", "launch_explorer",
           "layer_explorer", "loading_explorer", "scale_explorer", "shape_explorer", "variant_explorer",
           "wave_explorer"]
