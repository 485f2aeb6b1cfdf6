"""What bad input gets: an exception whose sentence names the argument, what it was, what it must be and the way there,
and an `out` that nothing was written to. The same from every build of the kernel."""

import contextlib
import re

import numpy as np
import pytest
import torch
from gemm_problems import FP8, Guarded, problem

M, N, K = 10, 140, 256


FN = torch.float8_e4m3fn
CASES = {   # what is wrong -> (argument, how to spoil it, exception, what the sentence has to say)
    "a is numpy": ("a", lambda a: np.zeros((M, K)), TypeError,
                   "a is a ndarray, needs a torch.Tensor: torch.as_tensor(a)"),
    "a is float32": ("a", lambda a: a.float(), TypeError,
                     "a is float32, needs float8_e4m3fnuz: quantize_activation(x) makes a and a_scale"),
    "a is e4m3fn": ("a", lambda a: a.float().to(FN), TypeError,
                    "a is float8_e4m3fn, needs float8_e4m3fnuz, where the same byte means half as much: "
                    "(a.float() / 2).to(torch.float8_e4m3fnuz) with 2 * a_scale is the same matrix"),
    "b is uint8": ("b", lambda b: b.view(torch.uint8), TypeError,
                   "b is uint8, needs float8_e4m3fnuz: quantize_weight(w) makes b and b_scale"),
    "a_scale is float64": ("a_scale", lambda s: s.double(), TypeError,
                           "a_scale is float64, needs float32: a_scale.to(torch.float32)"),
    "b_scale is bfloat16": ("b_scale", lambda s: s.bfloat16(), TypeError, "b_scale is bfloat16, needs float32"),
    "a has three axes": ("a", lambda a: a[None], ValueError, "a has 3 axes, needs 2, (M, K): a.reshape(…)"),
    "b has one axis": ("b", lambda b: b[:, 0], ValueError, "b has 1 axes, needs 2, (K, N)"),
    "a_scale has one axis": ("a_scale", lambda s: s[0], ValueError, "a_scale has 1 axes, needs 2, (K / 128, M)"),
    "K is no multiple": ("a", lambda a: a[:, :200], ValueError,
                         "a is (10, 200), so K = 200, which must be a multiple of 128"),
    "b is the weight": ("b", lambda b: b.T, ValueError,
                        "b is (140, 256), needs (K, N) with K = 256, the columns of a: pass b.T"),
    "b has another K": ("b", lambda b: b[:128], ValueError, "b is (128, 140), needs (K, N) with K = 256"),
    "a is strided on both axes": ("a", lambda a: torch.zeros(2 * M, 2 * K).to(a.device, FP8)[::2, ::2], ValueError,
                                  "a has strides (1024, 2) for shape (10, 256), needs K or M contiguous"),
    "rows of a overlap": ("a", lambda a: torch.zeros(5000).to(a.device, FP8).as_strided((M, K), (64, 1)), ValueError,
                          "a has strides (64, 1) for shape (10, 256), needs K or M contiguous: one stride 1, the other "
                          "no smaller than the axis it steps over, as a.contiguous() has"),
    "b is expanded": ("b", lambda b: b[:1].expand(K, N), ValueError, "b has strides"),
    "a_scale is transposed": ("a_scale", lambda s: s.T.contiguous(), ValueError,
                              "a_scale is (10, 2), needs (2, 10), a row per 128 of K = 256, a column per row of a: "
                              "a_scale.T.contiguous()"),
    "b_scale lacks the partial column": ("b_scale", lambda s: s[:, :1].contiguous(), ValueError,
                                         "b_scale is (2, 1), needs (2, 2), a row per 128 of K = 256, a column per "
                                         "128 of N = 140, rounded up: see quantize_weight(w)"),
    "a_scale is not contiguous": ("a_scale", lambda s: s.T.contiguous().T, ValueError,
                                  "a_scale has strides (1, 2) for shape (2, 10), needs (10, 1): a_scale.contiguous()"),
    "b_scale is not contiguous": ("b_scale", lambda s: s.new_ones(2, 4)[:, ::2], ValueError,
                                  "b_scale has strides (4, 2) for shape (2, 2), needs (2, 1): b_scale.contiguous()"),
    "a_scale is sparse": ("a_scale", lambda s: s.to_sparse(), ValueError,
                          "a_scale is sparse_coo, needs a dense tensor: a_scale.to_dense()"),
    "b is sparse": ("b", lambda b: torch.sparse_coo_tensor([[0], [0]], b[0, :1], (K, N), check_invariants=True),
                    ValueError,
                    "b is sparse_coo, needs a dense tensor: b.to_dense()"),
    "b_scale is nested": ("b_scale", lambda s: torch.nested.nested_tensor(list(s), layout=torch.jagged), ValueError,
                          "b_scale is nested, needs one tensor: b_scale.to_padded_tensor(0), if zeros are right there"),
    "b is on another device": ("b", lambda b: b.to("meta"), ValueError,
                               "b is on meta, needs {device}, where a is: b.to(a.device)"),
    "b_scale is on another device": ("b_scale", lambda s: s.to("meta"), ValueError,
                                     "b_scale is on meta, needs {device}"),
    "a_scale requires grad": ("a_scale", lambda s: s.clone().requires_grad_(), ValueError,
                              "a_scale requires grad, needs a tensor without, as FP8 has no backward pass here: "
                              "a_scale.detach(), or the call under torch.no_grad()"),
}
ONLY_PYTHON = {"a is numpy", "a_scale is sparse", "b is sparse", "b_scale is nested", "a_scale requires grad",
               "b is on another device", "b_scale is on another device"}
OUT_CASES = {   # what is wrong -> (out, filled with 42, exception, what the sentence has to say)
    "out is float32": (lambda: full(M, N).float(), TypeError,
                       "out is float32, needs bfloat16: torch.empty(10, 140, dtype=torch.bfloat16, device=a.device)"),
    "out is larger": (lambda: full(M + 1, N), ValueError, "out is (11, 140), needs (10, 140)"),
    "out is transposed": (lambda: full(N, M).T, ValueError,
                          "out has strides (1, 10) for shape (10, 140), needs (140 or more, 1)"),
    "out is expanded": (lambda: full(1, N).expand(M, N), ValueError, "out has strides (0, 1) for shape (10, 140)"),
    "out requires grad": (lambda: full(M, N).requires_grad_(), ValueError, "out requires grad"),
    "out is on another device": (lambda: full(M, N).to("meta"), ValueError, "out is on meta, needs {device}"),
}


@pytest.fixture
def gemm(any_gemm, device):
    """Each build; tensors made without naming a device lie where it wants them."""
    with torch.device(device):
        yield any_gemm


def full(rows, columns):
    return torch.full((rows, columns), 42.0, dtype=torch.bfloat16)


def said(sentence, device):
    return re.escape(sentence.replace("{device}", str(torch.empty(0, device=device).device)))


def spoiled(arguments, case):
    name, spoil, _, _ = CASES[case]
    return arguments | {name: spoil(arguments[name])}


@pytest.fixture
def arguments(gemm, device):
    with torch.device("cpu"):
        operands = problem(M, N, K)
    return dict(zip(("a", "b", "a_scale", "b_scale"), (x.to(device) for x in operands), strict=True))


@pytest.mark.kernels_ci
@pytest.mark.parametrize("case", CASES)
def test_a_bad_input_is_named_with_the_way_out(gemm, device, arguments, case):
    _, _, exception, sentence = CASES[case]
    out = Guarded(M, N, device=device)
    with pytest.raises(exception, match=said(sentence, device)) as caught:
        gemm.gemm(**spoiled(arguments, case), out=out.view)
    assert "\n" not in str(caught.value)
    assert out.is_untouched()


@pytest.mark.parametrize("case", OUT_CASES)
def test_a_bad_out_is_named_and_not_written(gemm, device, arguments, case):
    make, exception, sentence = OUT_CASES[case]
    out = make()
    with pytest.raises(exception, match=said(sentence, device)):
        gemm.gemm(**arguments, out=out)
    assert out.is_meta or bool((out == 42.0).all())


def sharing_out(name, arguments):
    """Arguments of which out and one input use the same bytes."""
    memory = torch.zeros(1 << 16, dtype=torch.uint8)
    x = arguments[name]
    shared = memory[: x.numel() * x.element_size()].view(x.dtype).view(x.shape if name != "b" else x.T.shape)
    shared = shared.T if name == "b" else shared
    out = memory[: M * N * 2].view(torch.bfloat16).view(M, N)
    return arguments | {name: shared}, out


@pytest.mark.parametrize("name", ["a", "b", "a_scale", "b_scale"])
def test_out_in_the_memory_of_an_input_is_refused(gemm, arguments, name):
    arguments, out = sharing_out(name, arguments)
    with pytest.raises(ValueError, match=rf"out shares memory with {name}, needs its own: torch.empty\(10, 140"):
        gemm.gemm(**arguments, out=out)
    assert not out.any()


@pytest.mark.parametrize("name", ["a", "b", "a_scale", "b_scale"])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_out_in_the_memory_of_an_input_is_refused_under_compile(gemm, arguments, name, backend):
    if gemm.BACKEND != "cpu":
        pytest.skip("the fake is the same in every build")
    arguments, out = sharing_out(name, arguments)
    torch.compiler.reset()
    compiled = torch.compile(gemm.gemm, backend=backend, fullgraph=True)
    with pytest.raises(torch._dynamo.exc.TorchRuntimeError, match=f"out shares memory with {name}"):
        compiled(**arguments, out=out)
    assert not out.any()


@pytest.mark.parametrize("elsewhere", ["fake", "meta"])
def test_out_of_tensors_without_memory_is_refused_only_where_it_shares_their_storage(gemm, arguments, elsewhere):
    with torch._subclasses.FakeTensorMode() if elsewhere == "fake" else contextlib.nullcontext() as mode:
        def there(x):
            return mode.from_tensor(x) if mode else x.to("meta")

        inputs = {name: there(x) for name, x in arguments.items()}
        assert gemm.gemm(**inputs, out=there(full(M, N))).shape == (M, N)
        memory = there(torch.zeros(1 << 16, dtype=torch.uint8))
        inputs["a_scale"] = memory[: 8 * M].view(torch.float32).view(2, M)
        out = memory[: 2 * M * N].view(torch.bfloat16).view(M, N)
        with pytest.raises(ValueError, match="out shares memory with a_scale"):
            gemm.gemm(**inputs, out=out)


def test_a_negated_view_is_read_with_its_sign_and_refused_as_out(gemm, arguments):
    out = torch.full((M, N), 42.0, dtype=torch.bfloat16)
    with pytest.raises(ValueError, match=r"out is a negated view, needs .*: torch.empty\(10, 140"):
        gemm.gemm(**arguments, out=torch._neg_view(out))
    assert bool((out == 42.0).all())
    negated = arguments | {"a_scale": torch._neg_view(arguments["a_scale"])}
    assert torch.equal(gemm.gemm(**negated), -gemm.gemm(**arguments))


def test_a_forward_derivative_is_refused_not_lost(gemm, arguments):
    scale = arguments.pop("a_scale")
    with pytest.raises(ValueError, match=r"a_scale carries a tangent, needs .*: a_scale.detach\(\)"):
        torch.func.jvp(lambda s: gemm.gemm(a_scale=s, **arguments), (scale,), (torch.ones_like(scale),))
    x = torch.randn(3, 128)
    with pytest.raises(ValueError, match="x carries a tangent"):
        torch.func.jvp(lambda x: gemm.quantize_activation(x)[1], (x,), (x,))


def test_out_beside_an_input_in_one_buffer_is_fine(gemm, arguments):
    memory = torch.zeros(M * K + M * N * 2, dtype=torch.uint8)
    a = memory[: M * K].view(FP8).view(M, K)
    a.copy_(arguments["a"])
    out = memory[M * K :].view(torch.bfloat16).view(M, N)
    gemm.gemm(**arguments | {"a": a}, out=out)
    assert torch.equal(out, gemm.gemm(**arguments))


def test_requires_grad_is_fine_where_no_gradient_is_recorded(gemm, arguments):
    expected = gemm.gemm(**arguments)
    arguments["a_scale"].requires_grad_()
    with torch.no_grad():
        assert torch.equal(gemm.gemm(**arguments), expected)


def test_the_conversion_from_e4m3fn_that_the_message_names_is_exact(gemm):
    codes = torch.arange(256, dtype=torch.uint8).view(1, 256).view(torch.float8_e4m3fn)
    converted = (codes.float() / 2).to(FP8)
    torch.testing.assert_close(2 * converted.float(), codes.float(), rtol=0, atol=0, equal_nan=True)


def test_operands_on_a_device_that_the_build_is_not_for(gemm, arguments):
    """No such device need exist: what is asked for is its name."""

    class Elsewhere(torch.Tensor):
        device = torch.device("xpu")

    elsewhere = {name: x.as_subclass(Elsewhere) for name, x in arguments.items()}
    place = "cuda" if gemm.BACKEND == "rocm" else "cpu"
    with pytest.raises(ValueError, match=rf"a is on xpu, needs {place}, as this is the {gemm.BACKEND} build of the "
                                         rf"kernel: a.to\('{place}'\), or load another build"):
        gemm.gemm(**elsewhere)


# --- direct callers of the op, and of compiled graphs ---


@pytest.mark.parametrize("case", sorted(CASES.keys() - ONLY_PYTHON))
def test_the_op_itself_refuses_too(gemm, device, arguments, case):
    out = Guarded(M, N, device=device)
    with pytest.raises(RuntimeError):
        gemm.ops.gemm(*spoiled(arguments, case).values(), out.view)
    assert out.is_untouched()


@pytest.mark.parametrize("case", ["out is float32", "out is larger", "out is transposed", "out is expanded"])
def test_the_op_itself_refuses_a_bad_out(gemm, arguments, case):
    out = OUT_CASES[case][0]()
    with pytest.raises(RuntimeError, match="out"):
        gemm.ops.gemm(*arguments.values(), out)
    assert bool((out == 42.0).all())


@pytest.mark.parametrize("name", ["a", "b", "a_scale", "b_scale"])
def test_the_op_itself_refuses_an_out_in_the_memory_of_an_input(gemm, arguments, name):
    arguments, out = sharing_out(name, arguments)
    with pytest.raises(RuntimeError, match=f"out shares memory with {name}"):
        gemm.ops.gemm(*arguments.values(), out)
    assert not out.any()


# --- quantisation ---


@pytest.mark.parametrize("function", ["quantize_activation", "quantize_weight"])
@pytest.mark.parametrize(("x", "exception", "sentence"), [
    ([[0.0] * 128], TypeError, "is a list, needs a torch.Tensor"),
    (torch.zeros(3, 128, dtype=torch.int32), TypeError, "is int32, needs one of float32, bfloat16, float16, float64"),
    (torch.zeros(3, 128).to(FP8), TypeError, "is float8_e4m3fnuz, needs one of"),
    (torch.zeros(2, 3, 128), ValueError, "has 3 axes, needs 2"),
    (torch.zeros(3, 130), ValueError, "is (3, 130), needs"),
    (torch.zeros(3, 128, requires_grad=True), ValueError, "requires grad"),
])
def test_quantisation_names_what_is_wrong(gemm, device, function, x, exception, sentence):
    name = "x" if function == "quantize_activation" else "w"
    with pytest.raises(exception, match=re.escape(f"{name} {sentence}")):
        getattr(gemm, function)(x.to(device) if isinstance(x, torch.Tensor) else x)
