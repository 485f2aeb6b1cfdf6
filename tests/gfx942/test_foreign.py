"""Kernels that another compiler made: Triton's run unmodified, give the right result, and have no finding.

Triton is large and no dependency of this project, so these tests run where $FP8LAB_TRITON names a folder that holds it:
pip install --no-deps --target FOLDER triton==3.9.0
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from fp8lab.gfx942 import CodeObject, Device

FOLDER = os.environ.get("FP8LAB_TRITON")
pytestmark = pytest.mark.skipif(not FOLDER, reason="needs FP8LAB_TRITON, a folder that holds triton==3.9.0")
M, N, K = 256, 256, 256


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("triton")
    script = Path(__file__).with_name("foreign_triton.py")
    environment = os.environ | {"PYTHONPATH": FOLDER, "TRITON_CACHE_DIR": str(folder / "cache")}
    subprocess.run([sys.executable, script, folder], check=True, env=environment, capture_output=True)
    return folder


# What Triton does on purpose: ping-pong schedules set half of the waves one barrier behind the other half, and a
# reduction lets several waves write the same sums to LDS.
ON_PURPOSE = {
    "barrier-divergence": ("fp8_row_256_w8_s2_m16", "fp8_column_256_w8_s2_m16"),
    "lds-same-value": ("column_sums",),
}


def launch(folder, name, grid, args):
    about = json.loads((folder / f"{name}.json").read_text())
    kernel = CodeObject.load(folder / f"{name}.hsaco").kernels[about["kernel"]]
    args = [*args, *[None] * (sum(not a.is_hidden for a in kernel.arguments) - len(args))]  # Triton's own, unused here
    run = Device().launch(kernel, grid, 64 * about["waves"], args, dynamic_lds=about["lds"])
    unexpected = [f for f in run.findings if name not in ON_PURPOSE.get(f.kind, ())]
    assert not unexpected, "\n".join(map(str, unexpected))
    return run


FP8 = [f"fp8_{layout}_{tile}" for layout in ("row", "column")
       for tile in ("128_w4_s2_m16", "128_w4_s2_m32", "128_w8_s2_m16", "256_w8_s2_m16", "256_w8_s1_m16")]


@pytest.mark.parametrize("name", [*FP8, "fp16_row", "bf16_row"])
def test_triton_matmul(compiled, name):
    about = json.loads((compiled / f"{name}.json").read_text())
    rng = np.random.default_rng(0)
    type = {"fp8": ml_dtypes.float8_e4m3fnuz, "fp16": np.float16, "bf16": ml_dtypes.bfloat16}[name.split("_")[0]]
    a, b = rng.standard_normal((M, K)).astype(type), rng.standard_normal((N, K)).astype(type)
    c = np.zeros((M, N), np.float32)
    raw = np.uint8 if a.itemsize == 1 else np.uint16
    if "column" in name:
        given, strides = [np.ascontiguousarray(x.view(raw).T) for x in (a, b)], [M, N]
    else:
        given, strides = [x.view(raw) for x in (a, b)], [K, K]
    run = launch(compiled, name, (N // about["TN"], M // about["TM"]), [*given, c, M, N, K, *strides])
    want = a.astype(np.float64) @ b.astype(np.float64).T
    assert np.allclose(c, want, rtol=1e-5, atol=1e-4)
    assert any("mfma" in instruction for instruction in run.counts)


def test_triton_softmax(compiled):
    x = np.random.default_rng(1).standard_normal((3, 1000)).astype(np.float32)
    y = np.zeros_like(x)
    launch(compiled, "softmax", 3, [x, y, 1000])
    e = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    assert np.allclose(y, e / e.sum(axis=1, keepdims=True), rtol=2e-6)


def test_triton_reduction(compiled):
    x = np.random.default_rng(2).integers(-50, 50, (100, 128)).astype(np.float32)
    y = np.zeros(128, np.float32)
    launch(compiled, "column_sums", 2, [x, y, 100, 128])
    assert np.array_equal(y, x.sum(axis=0))
