"""Data in, picture out: pure functions, each returning a Picture that carries its sentence as `summary`."""

from .build import lock_graph, variants
from .formats import byte, number_line, rounding, spacing, two_formats, weight_histogram
from .hub import hub_requests, hub_tree
from .layout import block_grid, gemm_layout, memory_order
from .outliers import columns, outlier_cost
from .picture import Picture
from .roofline import roofline
from .scaling import error_map, recipes, scale_point, similarity

__all__ = [
    "Picture",
    "block_grid",
    "byte",
    "columns",
    "error_map",
    "gemm_layout",
    "hub_requests",
    "hub_tree",
    "lock_graph",
    "memory_order",
    "number_line",
    "outlier_cost",
    "recipes",
    "roofline",
    "rounding",
    "scale_point",
    "similarity",
    "spacing",
    "two_formats",
    "variants",
    "weight_histogram",
]
