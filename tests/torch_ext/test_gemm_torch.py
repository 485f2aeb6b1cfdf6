"""The op inside torch, in every build: opcheck, torch.compile, fake tensors, layers."""

import re
from pathlib import Path

import pytest
import torch
from gemm_problems import LAYOUTS, bits
from gemm_problems import problem as problem_on_the_cpu
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

CHECKS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


@pytest.fixture
def gemm(any_gemm, device):
    """Each build; tensors made without naming a device lie where it wants them."""
    with torch.device(device):
        yield any_gemm


@pytest.fixture
def problem(device):
    def there(*arguments):
        with torch.device("cpu"):
            return tuple(x.to(device) for x in problem_on_the_cpu(*arguments))

    return there


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch.compiler.reset()


@pytest.fixture
def torch_compares_fp8(monkeypatch):
    """opcheck compares arguments before and after with torch.allclose, which torch 2.13 lacks for e4m3fnuz."""
    allclose = torch.allclose

    def by_bits(x, y, **tolerance):
        return torch.equal(bits(x), bits(y)) if x.element_size() == 1 else allclose(x, y, **tolerance)

    monkeypatch.setattr(torch, "allclose", by_bits)


def op(gemm, name):
    return getattr(gemm.ops, name).default


@pytest.mark.parametrize("layout", LAYOUTS)
def test_opcheck_gemm(gemm, problem, torch_compares_fp8, layout):
    out = torch.zeros(20, 130, dtype=torch.bfloat16)
    torch.library.opcheck(op(gemm, "gemm"), (*problem(20, 130, 256, layout), out), test_utils=CHECKS)


@pytest.mark.parametrize("block_rows", [1, 128])
def test_opcheck_quantize(gemm, torch_compares_fp8, block_rows):
    if gemm.BACKEND != "cpu":
        pytest.skip("this build quantises with torch's own operations")
    codes = torch.zeros(130, 256).to(torch.float8_e4m3fnuz)
    scale = torch.zeros(2, -(-130 // block_rows))
    torch.library.opcheck(op(gemm, "quantize"), (torch.randn(130, 256), block_rows, codes, scale), test_utils=CHECKS)


def linear(gemm, x, w):
    a, a_scale = gemm.quantize_activation(x)
    b, b_scale = gemm.quantize_weight(w)
    return gemm.gemm(a, b, a_scale, b_scale) * 2


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiles_into_one_graph(gemm, backend, dynamic):
    if gemm.BACKEND == "emulated" and (backend, dynamic) != ("aot_eager", False):
        pytest.skip("once is enough where nothing but the op differs")
    compiled = torch.compile(linear, fullgraph=True, backend=backend, dynamic=dynamic)
    for m in (30, 17):
        x, w = torch.randn(m, 256), torch.randn(140, 256)
        assert torch.equal(compiled(gemm, x, w), linear(gemm, x, w))


def test_compiles_with_inductor(gemm):
    if gemm.BACKEND == "emulated":
        pytest.skip("inductor compiles for the CPU here, which says nothing about the rocm build")
    compiled = torch.compile(linear, fullgraph=True)
    x, w = torch.randn(30, 256), torch.randn(140, 256)
    torch.testing.assert_close(compiled(gemm, x, w), linear(gemm, x, w), rtol=0, atol=0)


def test_compiles_with_out(gemm, problem):
    def into(a, b, a_scale, b_scale, out):
        return gemm.gemm(a, b, a_scale, b_scale, out=out)

    operands = problem(30, 140, 256)
    out = torch.zeros(30, 140, dtype=torch.bfloat16)
    torch.compile(into, fullgraph=True, backend="aot_eager")(*operands, out)
    assert torch.equal(bits(out), bits(gemm.gemm(*operands)))


def test_a_compiled_call_says_the_same_sentence(gemm, problem):
    a, b, a_scale, b_scale = problem(30, 140, 256)
    with pytest.raises(ValueError, match="a_scale is \\(30, 2\\), needs \\(2, 30\\)"):
        torch.compile(gemm.gemm, backend="eager")(a, b, a_scale.T.contiguous(), b_scale)
    with pytest.raises(Exception, match="a_scale is \\(30, 2\\), needs \\(2, 30\\)"):
        torch.compile(gemm.gemm, backend="eager", fullgraph=True)(a, b, a_scale.T.contiguous(), b_scale)


def test_fake_tensors_get_the_shape_and_the_checks(gemm, problem):
    with FakeTensorMode() as mode:
        a, b, a_scale, b_scale = (mode.from_tensor(x) for x in problem(30, 140, 256))
        out = gemm.gemm(a, b, a_scale, b_scale, out=torch.empty(30, 140, dtype=torch.bfloat16))
        assert out.shape == (30, 140) and out.dtype == torch.bfloat16
        with pytest.raises(ValueError, match=r"b is \(140, 256\)"):
            gemm.gemm(a, b.T, a_scale, b_scale)


@pytest.mark.parametrize("where", ["README.md", "the package's docstring"])
def test_the_example_runs_on_a_linear_layer_as_it_stands(gemm, monkeypatch, where):
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    if where == "README.md":
        if gemm.BACKEND != "cpu":
            pytest.skip("it loads the CPU's build")
        code = re.search(r"```python\n(.*?)```", (root / where).read_text(), re.S)[1]
    else:
        code = "\n".join(re.findall(r"^>>> (.*)", gemm.__doc__, re.M)) + "\ny = c"
    names = {"gemm": gemm, "x": torch.randn(5, 256), "linear": nn.Linear(256, 140)}
    exec(code, names)
    assert names["y"].shape == (5, 140)


# --- layers ---


class Fp8Linear(nn.Module):
    """What kernelize() works on: has its own state and forward; BlockScaledLinear replaces the forward."""

    def __init__(self, gemm, linear):
        super().__init__()
        codes, scale = gemm.quantize_weight(linear.weight.detach())
        self.register_buffer("weight", codes.T)
        self.register_buffer("weight_scale", scale)
        self.bias = linear.bias

    def forward(self, x):
        raise NotImplementedError


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_block_scaled_linear_is_linear(gemm, bias, dtype):
    plain = nn.Linear(256, 140, bias=bias)
    module = Fp8Linear(gemm, plain)
    x = torch.randn(2, 5, 256)
    with torch.no_grad():
        y = gemm.layers.BlockScaledLinear.forward(module, x.to(dtype))
        expected = plain(x)
    assert y.dtype == dtype and y.shape == expected.shape
    assert (y - expected).norm() / expected.norm() < 0.06


@pytest.mark.parametrize("shape", [(256,), (0, 256), (2, 0, 256)])
def test_block_scaled_linear_takes_any_leading_axes(gemm, shape):
    module = Fp8Linear(gemm, nn.Linear(256, 140))
    with torch.no_grad():
        assert gemm.layers.BlockScaledLinear.forward(module, torch.ones(shape)).shape == (*shape[:-1], 140)


@pytest.mark.parametrize("shape", [(), (3, 0), (3, 128)])
def test_block_scaled_linear_names_the_axis_it_needs(gemm, shape):
    module = Fp8Linear(gemm, nn.Linear(256, 140))
    message = f"x is {shape}, needs (…, 256), as the weight is (140, 256)"
    with torch.no_grad(), pytest.raises(ValueError, match=re.escape(message)):
        gemm.layers.BlockScaledLinear.forward(module, torch.ones(shape))


def test_block_scaled_linear_compiles_into_one_graph(gemm):
    if gemm.BACKEND == "emulated":
        pytest.skip("once is enough where nothing but the op differs")
    module = Fp8Linear(gemm, nn.Linear(256, 140))
    forward = gemm.layers.BlockScaledLinear.forward
    x = torch.randn(2, 5, 256)
    with torch.no_grad():
        compiled = torch.compile(forward, fullgraph=True, backend="aot_eager", dynamic=True)
        assert torch.equal(compiled(module, x), forward(module, x))


def test_block_scaled_linear_with_k_0_gives_the_bias(gemm):
    module = Fp8Linear(gemm, nn.Linear(128, 140))
    module.weight, module.weight_scale = module.weight[:, :0], module.weight_scale[:0]
    with torch.no_grad():
        y = gemm.layers.BlockScaledLinear.forward(module, torch.ones(3, 0))
        assert torch.equal(y, module.bias.expand(3, 140))


def test_kernelize_puts_the_layer_in(gemm, device):
    from kernels import LocalLayerRepository, Mode, kernelize, use_kernel_forward_from_hub, use_kernel_mapping

    layer = use_kernel_forward_from_hub("BlockScaledLinear")(Fp8Linear)
    model = nn.Sequential(layer(gemm, nn.Linear(256, 140)))
    variants = Path(gemm.__file__).parent.parent
    kind = "rocm" if gemm.BACKEND == "rocm" else "cpu"
    repository = LocalLayerRepository(variants, layer_name="BlockScaledLinear")
    with use_kernel_mapping({"BlockScaledLinear": {kind: repository}}):
        model = kernelize(model, mode=Mode.INFERENCE, device=kind)
    with torch.no_grad():
        assert model(torch.randn(3, 256)).shape == (3, 140)
