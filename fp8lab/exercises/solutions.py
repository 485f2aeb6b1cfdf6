"""One solution of each exercise, as a learner would write it; solution() shows them, the tests run them."""

import base64
import hashlib

import numpy as np

from fp8lab import formats, hardware


# exercise: 00.snr
def relative_error(snr_db):
    return 10 ** (-snr_db / 20)    # / 10 undoes the decibel, / 2 more is the square root


# exercise: 00.bound
def error_bound(mantissa_bits):
    return 2.0**-mantissa_bits / 2    # the step is 2^-bits of the power of two, and nearest goes half of it


# exercise: 01.decode
def decode_e4m3fnuz(code):
    sign = code >> 7
    exponent = code >> 3 & 0b1111
    mantissa = code & 0b111
    if code == 0x80:
        return float("nan")
    if exponent == 0:
        hidden, power = 0, -7                   # subnormal: the exponent of the smallest normal, no hidden 1
    else:
        hidden, power = 1, exponent - 8
    value = (hidden + mantissa / 8) * 2.0**power
    return -value if sign else value


# exercise: 01.predict
codes = {
    "1.0": 0x40,        # exponent field 8 is the bias: 2^0
    "241.0": 0x7F,      # nearer to 240 than to 256
    "248.0": 0x80,      # a tie, to the even 256, which does not exist: NaN
    "-0.0": 0x00,       # there is no -0
    "nan": 0x80,
    "-0.0001": 0x00,    # less than half of 2^-10: zero, and zero has no sign
}


# exercise: 01.repair
def fn_to_fnuz(codes, scale):
    fixed = codes.copy()
    fixed[codes == 0x80] = 0x00                              # -0 becomes 0
    fixed[(codes == 0x7F) | (codes == 0xFF)] = 0x80          # NaN stays NaN
    return fixed, 2 * scale                                  # the same byte means half as much


# exercise: 02.scale
def quantize_tensor(x):
    scale = np.abs(x).max() / formats.E4M3FNUZ.max
    codes = formats.encode(x / scale, formats.E4M3FNUZ)
    return codes, scale


# exercise: 02.snr
def snr_db(x, y):
    return 10 * np.log10(np.sum(x**2) / np.sum((x - y) ** 2))


# exercise: 02.policy
choices = {
    "weights, scaled by their own maximum": "nearest-even",     # the smallest error, once
    "a sum of many tiny updates kept in FP8": "stochastic",     # right on average, so the sum moves
    "activations with yesterday's scale": "saturate",           # a few per cent off instead of a NaN row
    "hunting for a wrong scale": "nan",                         # shows where
}


# exercise: 03.activation
def activation_scales(x):
    m, k = x.shape
    blocks = np.abs(x).reshape(m, k // 128, 128)
    return (blocks.max(axis=2) / np.float32(240)).T


# exercise: 03.weight
def weight_scales(w):
    n, k = w.shape
    scales = np.zeros((k // 128, -(-n // 128)), np.float32)    # -(-n // 128) rounds up
    for kb in range(scales.shape[0]):
        for nb in range(scales.shape[1]):                      # a slice past the end is cut: the tail
            block = w[nb * 128 : (nb + 1) * 128, kb * 128 : (kb + 1) * 128]
            scales[kb, nb] = np.abs(block).max() / 240
    return scales


# exercise: 03.power
def power_of_two_scale(amax):
    return 2.0 ** np.ceil(np.log2(amax / 240))


# exercise: 04.reference
def gemm_reference(a, b, a_scale, b_scale):
    c = np.zeros((a.shape[0], b.shape[1]))
    for kb in range(a.shape[1] // 128):
        k = slice(kb * 128, (kb + 1) * 128)
        columns = b_scale[kb][np.arange(b.shape[1]) // 128]
        c += a_scale[kb][:, None] * columns[None, :] * (a[:, k] @ b[k])
    return c


# exercise: 04.offset
def offset_of_b(k, n, K, N):
    return n * K + k    # b[k, n] is weight[n, k], and the rows of the weight have K bytes


# exercise: 04.bound
def place(m, n, k):
    operations = 2 * m * n * k
    moved = m * k + k * n + 2 * m * n + 4 * (k // 128) * (m + -(-n // 128))
    intensity = operations / moved
    return intensity, "memory" if intensity < hardware.MI300X.ridge else "compute"


# exercise: 05.barrier
barrier_after = [15, 22]    # when the tile is there, and when nobody needs it any more


# exercise: 05.element
held = {
    "D, lane 37, register 2": (10, 5),                   # row 4 * (37 // 16) + 2, column 37 % 16
    "D, lane 15, register 3": (3, 15),
    "A, lane 37, register 1, bits 8 to 15": (5, 21),     # row 37 % 16, k 8 * (37 // 16) + 5, the sixth of its bytes
}


# exercise: 05.swizzle
def swizzle(row, chunk):
    return chunk ^ row % 8    # xor keeps it in the row, and gives eight rows eight orders


# exercise: 06.op
op = {
    "schema": "(Tensor x, int block, Tensor(a!) seen) -> Tensor",
    "fake": lambda x, block, seen: x.new_empty(x.shape[0], x.shape[1] // block),
}


# exercise: 06.parts
def launch_size(m, n, k, tile_m, tile_n):
    tiles = -(-m // tile_m) * -(-n // tile_n)    # -(-m // tile_m) rounds up
    most = max(1, min(4, k // 128))
    parts = min(most, -(-274 // tiles))          # so that tiles * parts is 274 or more
    return tiles * parts, parts


# exercise: 06.row
configuration = """
typedef Tile<128, 64, 4, 1> Tile128x64;
X(gemm_128x64_kk, Tile128x64, KContiguous, KContiguous)
"""


# exercise: 07.section
rocm_section = """
[kernel.gemm_rocm]
backend = "rocm"
rocm-archs = ["gfx942"]
depends = ["torch"]
src = [
    "gemm/gemm_launcher.hip",
    "gemm/gemm_launcher.h",
    "gemm/gemm_kernel.h",
    "gemm/mfma.h",
]
"""


# exercise: 07.digest
def file_digest(data):
    return base64.b64encode(hashlib.sha256(data).digest()).decode()    # decode: bytes to text


# exercise: 07.pick
picks = {
    "torch 2.13, ROCm 7.1": "B",       # torch and backend are equal
    "torch 2.13, ROCm 7.2": "none",    # A is for another torch, B for another ROCm
    "torch 2.12, ROCm 7.2": "A",
    "torch 2.13, CPU": "D",            # C fits as well; stable ABI is preferred
    "torch 2.14, CPU": "D",            # 2.14 has all that 2.10 had
    "torch 2.9, CPU": "none",
}


# exercise: 08.remedy
remedies = {
    "A kernel version or revision must be specified.": "version=1",
    "Version 3 not found, available versions: 1, 2": "another version",
    "backend (rocm72) does not match selected backend (cpu)": "another variant",
    "is not from a trusted publisher.": "read the code, then trust_remote_code",
    "could not verify publisher trust status.": "unset HF_HUB_DISABLE_TELEMETRY",
    "is not available in the local cache and Hugging Face Hub is in offline mode.": "LOCAL_KERNELS",
}


# exercise: 08.verify
def verify(files, digest):
    found = {}
    for name in files.keys() | digest.keys():
        if name not in files:
            found[name] = "missing"
        elif name not in digest:
            found[name] = "unlisted"
        else:
            own = base64.b64encode(hashlib.sha256(files[name]).digest()).decode()
            found[name] = "same" if own == digest[name] else "altered"
    return found
