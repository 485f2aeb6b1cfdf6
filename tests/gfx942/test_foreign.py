"""Kernels that another compiler made: Triton's run unmodified, give the right result, and have no finding.

The objects lie in triton_objects/; foreign_triton.py is their source and says how to make them again. Where
$FP8LAB_TRITON names a folder that holds Triton, a test does so and compares.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from fp8lab.gfx942 import CodeObject, Device

SOURCE, OBJECTS = Path(__file__).with_name("foreign_triton.py"), Path(__file__).with_name("triton_objects")
ABOUT = json.loads((OBJECTS / "kernels.json").read_text())
KERNELS = ABOUT["kernels"]
M, N, K = 256, 256, 256


def test_the_objects_are_made_of_this_source():
    text = SOURCE.read_text().partition("@triton.jit")[2]
    assert ABOUT["source"] == hashlib.sha256(text.encode()).hexdigest(), "make them again, see foreign_triton.py"
    assert {path.stem for path in OBJECTS.glob("*.hsaco")} == set(KERNELS)


@pytest.mark.skipif("FP8LAB_TRITON" not in os.environ, reason="needs FP8LAB_TRITON, a folder that holds triton==3.9.0")
def test_triton_makes_the_same_objects(tmp_path):
    environment = os.environ | {"PYTHONPATH": os.environ["FP8LAB_TRITON"], "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    (tmp_path / "made").mkdir()
    subprocess.run([sys.executable, SOURCE, tmp_path / "made"], check=True, env=environment, capture_output=True)
    for path in OBJECTS.iterdir():
        assert (tmp_path / "made" / path.name).read_bytes() == path.read_bytes(), path.name


# What Triton does on purpose: ping-pong schedules set half of the waves one barrier behind the other half, and a
# reduction lets several waves write the same sums to LDS.
ON_PURPOSE = {
    "barrier-divergence": ("fp8_row_256_w8_s2_m16", "fp8_column_256_w8_s2_m16"),
    "lds-same-value": ("column_sums",),
}


def launch(name, grid, args):
    about = KERNELS[name]
    kernel = CodeObject.load(OBJECTS / f"{name}.hsaco").kernels[about["kernel"]]
    args = [*args, *[None] * (sum(not a.is_hidden for a in kernel.arguments) - len(args))]  # Triton's own, unused here
    run = Device().launch(kernel, grid, 64 * about["waves"], args, dynamic_lds=about["lds"])
    unexpected = [f for f in run.findings if name not in ON_PURPOSE.get(f.kind, ())]
    assert not unexpected, "\n".join(map(str, unexpected))
    return run


FP8 = [f"fp8_{layout}_{tile}" for layout in ("row", "column")
       for tile in ("128_w4_s2_m16", "128_w4_s2_m32", "128_w8_s2_m16", "256_w8_s2_m16", "256_w8_s1_m16")]


@pytest.mark.parametrize("name", [*FP8, "fp16_row", "bf16_row"])
def test_triton_matmul(name):
    about = KERNELS[name]
    rng = np.random.default_rng(0)
    type = {"fp8": ml_dtypes.float8_e4m3fnuz, "fp16": np.float16, "bf16": ml_dtypes.bfloat16}[name.split("_")[0]]
    a, b = rng.standard_normal((M, K)).astype(type), rng.standard_normal((N, K)).astype(type)
    c = np.zeros((M, N), np.float32)
    raw = np.uint8 if a.itemsize == 1 else np.uint16
    if "column" in name:
        given, strides = [np.ascontiguousarray(x.view(raw).T) for x in (a, b)], [M, N]
    else:
        given, strides = [x.view(raw) for x in (a, b)], [K, K]
    run = launch(name, (N // about["TN"], M // about["TM"]), [*given, c, M, N, K, *strides])
    want = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.allclose(c, want, rtol=1e-5, atol=1e-4)
    assert any("mfma" in instruction for instruction in run.counts)


def test_triton_softmax():
    x = np.random.default_rng(1).standard_normal((3, 1000)).astype(np.float32)
    y = np.zeros_like(x)
    launch("softmax", 3, [x, y, 1000])
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    assert np.allclose(y, e / e.sum(axis=1, keepdims=True), rtol=2e-6)


def test_triton_reduction():
    x = np.random.default_rng(2).integers(-50, 50, (100, 128)).astype(np.float32)
    y = np.zeros(128, np.float32)
    launch("column_sums", 2, [x, y, 100, 128])
    assert np.array_equal(y, x.sum(axis=0))
