"""What the notebooks give to the learner: one part for each exercise, with ... where the answer goes."""
# ruff: noqa

# exercise: 00.snr
def relative_error(snr_db):
    return ...    # FILL IN: sqrt(error energy / signal energy), from decibel


# exercise: 00.bound
def error_bound(mantissa_bits):
    return ...    # FILL IN: half a step, relative to the power of two below


# exercise: 01.decode
def decode_e4m3fnuz(code):
    sign = code >> 7
    exponent = ...    # FILL IN: four bits
    mantissa = ...    # FILL IN: three bits
    return ...        # FILL IN: NaN, subnormal or normal (about 5 lines)


# exercise: 01.predict
codes = {
    "1.0": ...,      # FILL IN: a byte, such as 0x38
    "241.0": ...,
    "248.0": ...,
    "-0.0": ...,
    "nan": ...,
    "-0.0001": ...,
}


# exercise: 01.repair
def fn_to_fnuz(codes, scale):
    fixed = codes.copy()
    ...                      # FILL IN: the bytes that mean something else (2 lines)
    return fixed, ...        # FILL IN: the new scale


# exercise: 02.scale
def quantize_tensor(x):
    scale = ...              # FILL IN
    codes = ...              # FILL IN: formats.encode(...)
    return codes, scale


# exercise: 02.snr
def snr_db(x, y):
    return ...    # FILL IN


# exercise: 02.policy
choices = {
    "weights, scaled by their own maximum": ...,       # FILL IN: a rounding
    "a sum of many tiny updates kept in FP8": ...,     # FILL IN: a rounding
    "activations with yesterday's scale": ...,         # FILL IN: "nan" or "saturate"
    "hunting for a wrong scale": ...,                  # FILL IN: "nan" or "saturate"
}


# exercise: 03.activation
def activation_scales(x):
    m, k = x.shape
    return ...    # FILL IN: (k // 128, m) float32 (about 3 lines)


# exercise: 03.weight
def weight_scales(w):
    n, k = w.shape
    return ...    # FILL IN: (k // 128, ceil(n / 128)) float32; the last block has 64 rows (about 5 lines)


# exercise: 03.power
def power_of_two_scale(amax):
    return ...    # FILL IN


# exercise: 04.reference
def gemm_reference(a, b, a_scale, b_scale):
    c = np.zeros((a.shape[0], b.shape[1]))
    for kb in range(a.shape[1] // 128):
        ...       # FILL IN: add the block, scaled (about 3 lines)
    return ...    # FILL IN: c, when it is filled


# exercise: 04.offset
def offset_of_b(k, n, K, N):
    return ...    # FILL IN: bytes


# exercise: 04.bound
def place(m, n, k):
    operations = ...    # FILL IN
    moved = ...         # FILL IN: bytes of a, b, both scales and C
    return ..., ...     # FILL IN: intensity, "memory" or "compute"


# exercise: 05.barrier
barrier_after = [...]    # FILL IN: line numbers


# exercise: 05.element
held = {
    "D, lane 37, register 2": ...,                  # FILL IN: (row, column)
    "D, lane 15, register 3": ...,
    "A, lane 37, register 1, bits 8 to 15": ...,    # FILL IN: (row, k)
}


# exercise: 05.swizzle
def swizzle(row, chunk):
    return ...    # FILL IN: 0 to 7


# exercise: 06.op
op = {
    "schema": ...,    # FILL IN: "(Tensor x, …) -> …"
    "fake": ...,      # FILL IN: lambda x, block, seen: …
}


# exercise: 06.parts
def launch_size(m, n, k, tile_m, tile_n):
    return ..., ...    # FILL IN: workgroups, parts (about 4 lines)


# exercise: 06.row
configuration = ...    # FILL IN: """ ... """ with a typedef and a row (2 lines)


# exercise: 07.section
rocm_section = ...    # FILL IN: """ ... """ with [kernel.gemm_rocm] and what belongs under it (about 10 lines)


# exercise: 07.digest
def file_digest(data):
    return ...    # FILL IN


# exercise: 07.pick
picks = {
    "torch 2.13, ROCm 7.1": ...,    # FILL IN: "A", "B", "C", "D" or "none"
    "torch 2.13, ROCm 7.2": ...,
    "torch 2.12, ROCm 7.2": ...,
    "torch 2.13, CPU": ...,
    "torch 2.14, CPU": ...,
    "torch 2.9, CPU": ...,
}


# exercise: 08.remedy
remedies = {    # FILL IN: each of the six remedies once, as text
    "A kernel version or revision must be specified.": ...,
    "Version 3 not found, available versions: 1, 2": ...,
    "backend (rocm72) does not match selected backend (cpu)": ...,
    "is not from a trusted publisher.": ...,
    "could not verify publisher trust status.": ...,
    "is not available in the local cache and Hugging Face Hub is in offline mode.": ...,
}


# exercise: 08.verify
def verify(files, digest):
    found = {}
    for name in files.keys() | digest.keys():
        found[name] = ...    # FILL IN: "same", "altered", "missing" or "unlisted" (about 6 lines)
    return found
