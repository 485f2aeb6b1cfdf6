"""The op in the `kernels` library's benchmark format: `kernels benchmark .` times and verifies each workload.

With a ROCm torch on a MI300X it takes the HIP kernel: `fp8lab build --backend rocm` first.
"""

import torch
from kernels.benchmark import Benchmark


class GemmBenchmark(Benchmark):
    """One workload a layer of DeepSeek-V3, whose shapes the contest amd/fp8-mm of gpu-mode took."""

    seed = 0

    def _problem(self, m, n, k):
        # Results below 1: the runner allows an absolute difference of 0.01, less than a bfloat16 step above 2.
        x, w = torch.randn(m, k, device=self.device), torch.randn(n, k, device=self.device) / (8 * k**0.5)
        self.operands = (*self.kernel.quantize_activation(x), *self.kernel.quantize_weight(w))
        self.out = torch.empty(m, n, dtype=torch.bfloat16, device=self.device)

    def _gemm(self):
        a, a_scale, b, b_scale = self.operands
        self.kernel.gemm(a, b, a_scale, b_scale, out=self.out)

    def _dequantize_matmul(self):
        a, a_scale, b, b_scale = self.operands
        a = a.float() * a_scale.T.repeat_interleave(128, dim=1)
        b = b.float() * b_scale.repeat_interleave(128, dim=0).repeat_interleave(128, dim=1)[:, : b.shape[1]]
        return (a @ b).bfloat16()

    def setup_m1024_n1536_k7168(self):
        self._problem(1024, 1536, 7168)

    def benchmark_m1024_n1536_k7168(self):
        self._gemm()

    def verify_m1024_n1536_k7168(self):
        return self._dequantize_matmul()

    def setup_m1024_n576_k7168(self):
        self._problem(1024, 576, 7168)

    def benchmark_m1024_n576_k7168(self):
        self._gemm()

    def verify_m1024_n576_k7168(self):
        return self._dequantize_matmul()
