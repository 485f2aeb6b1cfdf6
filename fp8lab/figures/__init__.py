"""Data in, picture out: pure functions, each returning a Picture that carries its sentence as `summary`."""

from .build import lock_graph, variants
from .code import Code, code, code_diff
from .formats import byte, number_line, rounding, spacing, two_formats, weight_histogram
from .hub import hub_requests, hub_tree
from .kernel import compute_unit, loop_order, step_counts
from .launch import call_layers, gemm_problem, workgroup_map
from .layout import block_grid, gemm_layout, memory_order
from .outliers import columns, outlier_cost
from .picture import Picture
from .roofline import roofline
from .scaling import error_map, recipes, scale_point, similarity
from .wave import lds_banks, register_map

__all__ = [
    "Code",
    "Picture",
    "block_grid",
    "byte",
    "call_layers",
    "code",
    "code_diff",
    "columns",
    "compute_unit",
    "error_map",
    "gemm_layout",
    "gemm_problem",
    "hub_requests",
    "hub_tree",
    "lds_banks",
    "lock_graph",
    "loop_order",
    "memory_order",
    "number_line",
    "outlier_cost",
    "recipes",
    "register_map",
    "roofline",
    "rounding",
    "scale_point",
    "similarity",
    "spacing",
    "step_counts",
    "two_formats",
    "variants",
    "weight_histogram",
    "workgroup_map",
]
