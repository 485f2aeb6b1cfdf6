"""What the ops accept. Each message says which argument, what it was, what it must be, and the call that gets there.

Only shapes, strides and dtypes are looked at, so the checks work on fake tensors and inside torch.compile too. What
cannot be traced is looked at in eager mode only; where out lies also by the op itself, and by its fake.
"""

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import forward_ad

BLOCK = 128     # elements along k that share a scale; for b_scale also along n
FP8 = torch.float8_e4m3fnuz
FLOATS = (torch.float32, torch.bfloat16, torch.float16, torch.float64)
TOO_LONG_STEP, TOO_MANY_SCALES = 1 << 24, 1 << 29     # for the GPU's kernel, see gemm/gemm_launcher.hip


def check_gemm(a, b, a_scale, b_scale, out):
    """Raise TypeError or ValueError if gemm() does not accept these."""
    inputs = {"a": a, "b": b, "a_scale": a_scale, "b_scale": b_scale}
    given = inputs if out is None else inputs | {"out": out}
    for name, x in given.items():
        _check_tensor(x, name)
    _check_codes(a, "a", "quantize_activation(x)")
    _check_codes(b, "b", "quantize_weight(w)")
    _check_dtype(a_scale, "a_scale", torch.float32)
    _check_dtype(b_scale, "b_scale", torch.float32)
    for name, x in given.items():
        if x.ndim != 2:
            raise ValueError(f"{name} has {x.ndim} axes, needs 2, {_SHAPES[name]}: {name}.reshape(…) makes it a matrix")

    (m, k), n = a.shape, b.shape[1]
    if k % BLOCK:
        raise ValueError(f"a is {_shape(a)}, so K = {k}, which must be a multiple of {BLOCK}: pad x and the weight "
                         f"with zeros before they are quantised, torch.nn.functional.pad(x, (0, {-k % BLOCK}))")
    if b.shape[0] != k:
        remedy = "pass b.T" if n == k else "quantize_weight(w) makes it from a weight w of shape (N, K)"
        raise ValueError(f"b is {_shape(b)}, needs (K, N) with K = {k}, the columns of a: {remedy}")
    _check_layout(a, "a", "M")
    _check_layout(b, "b", "N")
    _check_scale(a_scale, "a_scale", (k // BLOCK, m), f"a row per {BLOCK} of K = {k}, a column per row of a",
                 "quantize_activation(x)")
    _check_scale(b_scale, "b_scale", (k // BLOCK, -(-n // BLOCK)),
                 f"a row per {BLOCK} of K = {k}, a column per {BLOCK} of N = {n}, rounded up", "quantize_weight(w)")
    for name, x in given.items():
        if x.device != a.device:
            raise ValueError(f"{name} is on {x.device}, needs {a.device}, where a is: {name}.to(a.device)")
        _check_no_grad(x, name)
    if out is not None:
        _check_out(out, m, n, inputs)


def check_float_matrix(x, name, shape):
    """Raise TypeError or ValueError if quantize_…() does not accept x."""
    _check_tensor(x, name)
    if x.dtype not in FLOATS:
        raise TypeError(f"{name} is {_dtype(x)}, needs one of {', '.join(str(f)[6:] for f in FLOATS)}: {name}.float()")
    if x.ndim != 2:
        raise ValueError(f"{name} has {x.ndim} axes, needs 2, {shape}: {name}.reshape(-1, K) makes it a matrix")
    if x.shape[1] % BLOCK:
        raise ValueError(f"{name} is {_shape(x)}, needs {shape} with K a multiple of {BLOCK}: "
                         f"torch.nn.functional.pad({name}, (0, {-x.shape[1] % BLOCK})) adds zeros")
    _check_no_grad(x, name)


def check_layer_input(x, weight):
    """Raise TypeError or ValueError if x is no (…, K) tensor for a weight (N, K)."""
    _check_tensor(x, "x")
    if x.ndim == 0 or x.shape[-1] != weight.shape[1]:
        raise ValueError(f"x is {_shape(x)}, needs (…, {weight.shape[1]}), as the weight is {_shape(weight)}")


def check_apart(out, inputs):
    """Raise ValueError if out uses bytes of an input {name: tensor}; of fake tensors, where they share a storage."""
    place, first, last = _extent(out)
    for name, x in inputs.items():
        x_place, x_first, x_last = _extent(x)
        if place == x_place and first < x_last and x_first < last:
            raise ValueError(f"out shares memory with {name}, needs its own: {_new_out(*out.shape)}")


def check_reach(a, b, a_scale, b_scale, out):
    """Raise ValueError where arguments that passed the checks above are beyond 32-bit offsets, which the GPU has."""
    (m, k), n = a.shape, b.shape[1]
    if m == 0 or n == 0:
        return
    if k >= TOO_LONG_STEP:
        raise ValueError(f"a is {_shape(a)}, needs K below 2^24 on a GPU: add the products of pieces of K")
    if n >= TOO_LONG_STEP:
        raise ValueError(f"b is {_shape(b)}, needs N below 2^24 on a GPU: compute C in pieces, b[:, :{1 << 23}] …")
    for name, x in {"a": a, "b": b, "out": out}.items():
        if x is None or (k == 0 and name != "out"):
            continue
        if any(size > 1 and stride >= TOO_LONG_STEP for size, stride in zip(x.shape, x.stride(), strict=True)):
            raise ValueError(f"{name} has strides {tuple(x.stride())} for shape {_shape(x)}, needs them below 2^24 on "
                             f"a GPU: {name}.contiguous() has smaller ones")
    for name, x in {"a_scale": a_scale, "b_scale": b_scale}.items():
        if x.numel() >= TOO_MANY_SCALES:
            raise ValueError(f"{name} is {_shape(x)}, needs fewer than 2^29 elements on a GPU: compute C in pieces, "
                             f"{'fewer rows of a' if name == 'a_scale' else 'fewer columns of b'} at a time")


_DEVICES = {"cpu": "cpu", "emulated": "cpu", "rocm": "cuda"}      # torch calls ROCm's devices cuda


def check_device(x, name, backend):
    """Raise ValueError if x, which passed the checks above, lies where this build of the kernel has no code for it."""
    device = _DEVICES[backend]
    if x.device.type not in (device, "meta"):
        raise ValueError(f"{name} is on {x.device}, needs {device}, as this is the {backend} build of the kernel: "
                         f"{name}.to({device!r}), or load another build, get_kernel(…, backend=…)")


_SHAPES = {"a": "(M, K)", "b": "(K, N)", "out": "(M, N)",
           "a_scale": "(K / 128, M)", "b_scale": "(K / 128, ceil(N / 128))"}


def _check_tensor(x, name):
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name} is a {type(x).__name__}, needs a torch.Tensor: torch.as_tensor({name})")
    if x.is_nested:
        raise ValueError(f"{name} is nested, needs one tensor: {name}.to_padded_tensor(0), if zeros are right there")
    if x.layout != torch.strided:
        raise ValueError(f"{name} is {str(x.layout)[6:]}, needs a dense tensor: {name}.to_dense()")


def _check_codes(x, name, make):
    if x.dtype == torch.float8_e4m3fn:
        raise TypeError(f"{name} is float8_e4m3fn, needs float8_e4m3fnuz, where the same byte means half as much: "
                        f"({name}.float() / 2).to(torch.float8_e4m3fnuz) with 2 * {name}_scale is the same matrix")
    if x.dtype != FP8:
        raise TypeError(f"{name} is {_dtype(x)}, needs float8_e4m3fnuz: {make} makes {name} and {name}_scale")


def _check_dtype(x, name, dtype):
    if x.dtype != dtype:
        raise TypeError(f"{name} is {_dtype(x)}, needs {str(dtype)[6:]}: {name}.to({dtype})")


def _check_layout(x, name, other):
    """One axis contiguous, and a step along the other one passes over all of it."""
    rows, columns = x.shape
    row_stride, column_stride = x.stride()
    if not (_runs(column_stride, columns, row_stride, rows) or _runs(row_stride, rows, column_stride, columns)):
        raise ValueError(f"{name} has strides {tuple(x.stride())} for shape {_shape(x)}, needs K or {other} "
                         f"contiguous: one stride 1, the other no smaller than the axis it steps over, as "
                         f"{name}.contiguous() has")


def _runs(stride, size, other_stride, other_size):
    """The axis is contiguous; strides of axes with one element or none do not count."""
    return (size <= 1 or stride == 1) and (other_size <= 1 or other_stride >= size)


def _check_scale(x, name, shape, meaning, make):
    if tuple(x.shape) != shape:
        remedy = f"{name}.T.contiguous()" if tuple(x.shape) == shape[::-1] else f"see {make}"
        raise ValueError(f"{name} is {_shape(x)}, needs {shape}, {meaning}: {remedy}")
    if not x.is_contiguous():
        raise ValueError(f"{name} has strides {tuple(x.stride())} for shape {shape}, needs {(shape[1], 1)}: "
                         f"{name}.contiguous()")


def _check_no_grad(x, name):
    if torch.is_grad_enabled() and x.requires_grad:
        raise ValueError(f"{name} requires grad, needs a tensor without, as FP8 has no backward pass here: "
                         f"{name}.detach(), or the call under torch.no_grad()")
    if not torch.compiler.is_compiling() and forward_ad.unpack_dual(x).tangent is not None:
        raise ValueError(f"{name} carries a tangent, needs a tensor without, as FP8 has no derivative here: it would "
                         f"be lost: {name}.detach()")


def _check_out(out, m, n, inputs):
    make = _new_out(m, n)
    if out.dtype != torch.bfloat16:
        raise TypeError(f"out is {_dtype(out)}, needs bfloat16: {make}")
    if tuple(out.shape) != (m, n):
        raise ValueError(f"out is {_shape(out)}, needs {(m, n)}, the rows of a and the columns of b: {make}")
    if not _runs(out.stride(1), n, out.stride(0), m):
        raise ValueError(f"out has strides {tuple(out.stride())} for shape {(m, n)}, needs ({n} or more, 1): {make}")
    if torch.compiler.is_compiling():
        return
    if out.is_neg():
        raise ValueError(f"out is a negated view, needs memory that holds its numbers: {make}")
    check_apart(out, inputs)


def _new_out(m, n):
    return f"torch.empty({m}, {n}, dtype=torch.bfloat16, device=a.device)"


def _extent(x):
    """(what the bytes are counted in, the first byte of x, the one behind its last); no bytes if x is empty."""
    is_fake = isinstance(x, FakeTensor) or x.is_meta        # no address
    place = x.untyped_storage()._cdata if is_fake else "memory"
    if x.numel() == 0:
        return place, 0, 0
    first = x.storage_offset() * x.element_size() if is_fake else x.data_ptr()
    last = sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))
    return place, first, first + (last + 1) * x.element_size()


def _shape(x):
    return tuple(x.shape)


def _dtype(x):
    return str(x.dtype)[6:]     # without "torch."
