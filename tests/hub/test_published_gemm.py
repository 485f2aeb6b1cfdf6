"""The kernel of this repository: built here, published to the Hub, loaded in a fresh process, run as its card says."""

import re

import pytest
from hub_clients import Client
from huggingface_hub import HfApi

from fp8lab import localbuild, publish

SCRIPT = """
import torch
torch.manual_seed(0)
{card}
from fp8lab import reference
report("call", lambda: [list(c.shape), str(c.dtype)])
close = reference.compare(c, reference.gemm(a, b, a_scale, b_scale))
report("close", lambda: [close.within_tolerance, close.share_within_1_ulp])
report("error of x @ w.T", lambda: float((c.float() - x @ w.T).norm() / (x @ w.T).norm()))
report("where", lambda: kernel.__file__)

from kernels import LayerRepository, Mode, kernelize, use_kernel_forward_from_hub, use_kernel_mapping

@use_kernel_forward_from_hub("BlockScaledLinear")
class BlockScaledLinear(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.weight_scale, self.bias = b.T, b_scale, None
    def forward(self, x):
        raise NotImplementedError("the plain module computes nothing, so a result can only be the kernel's")

layer = LayerRepository("myorg/real", layer_name="BlockScaledLinear", version=1)
with use_kernel_mapping({{"BlockScaledLinear": {{"cpu": layer}}}}):
    model = kernelize(torch.nn.Sequential(BlockScaledLinear()), mode=Mode.INFERENCE, device="cpu", use_fallback=False)
report("kernelize", lambda: bool(torch.equal(model(x).bfloat16(), c)))
"""


@pytest.fixture(scope="module")
def loaded(hub, tmp_path_factory):
    localbuild.build()
    api = HfApi(endpoint=hub.endpoint, token=hub.token)
    todo = publish.plan(localbuild.ROOT, api, "myorg/real")
    publish.upload(todo, api)
    [code] = re.findall(r"```python\n(.*?)```", todo.card, re.DOTALL)
    code = code.replace("1024", "96").replace("1536", "200").replace("7168", "384")  # the card's shapes, in little
    client = Client(tmp_path_factory.mktemp("published"), hub.endpoint)
    return client.script(SCRIPT.format(card=code)) | {"card": todo.card, "home": str(client.home)}


def test_the_cards_example_runs_as_written_in_a_fresh_process(loaded):
    assert loaded["call"] == [[96, 200], "torch.bfloat16"]
    assert loaded["where"].startswith(loaded["home"])


def test_its_result_is_the_formulas_and_stands_for_x_times_w_transposed(loaded):
    within_tolerance, share_within_1_ulp = loaded["close"]
    assert within_tolerance and share_within_1_ulp >= 0.999
    assert loaded["error of x @ w.T"] < 0.05  # what rounding both operands to 3 mantissa bits costs


def test_kernelize_takes_the_layer_from_the_hub(loaded):
    assert loaded["kernelize"] is True


def test_the_card_lists_every_public_function_and_layer(loaded):
    for name in ("gemm", "quantize_activation", "quantize_weight", "BlockScaledLinear"):
        assert f"- `{name}`" in loaded["card"]
