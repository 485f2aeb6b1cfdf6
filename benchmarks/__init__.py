"""Timings: `make bench` runs benchmarks.cpu; `kernels benchmark .` runs benchmark.py."""
