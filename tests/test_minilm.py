"""The encoder of lesson 00 against sentence-transformers itself."""

import pytest
import torch

from fp8lab.minilm import MiniLM

SENTENCES = ["A cat sleeps on the warm windowsill.", "The kitten is napping in the sun.",
             "Stocks fell sharply after the announcement.", "How do I reset my password?",
             "I forgot my login and need a new one.", "x"]
# First four of 384 components: SentenceTransformer(get_model_path()).encode(SENTENCES, normalize_embeddings=True),
# sentence-transformers 6.2.0, transformers 5.24.0, torch 2.13.0, CPU.
EXPECTED = [[0.09800736, -0.01233985, -0.03948403, 0.14238009], [0.03878354, 0.05085407, -0.01167666, 0.06993511],
            [0.04090913, 0.01935394, 0.08848789, 0.09546892], [0.00690302, -0.06302345, -0.07204395, -0.03249605],
            [-0.07817397, -0.10119752, 0.04494065, -0.05242972], [-0.09790970, -0.06400068, -0.02318131, -0.04619659]]


@pytest.fixture(scope="module")
def encoder():
    return MiniLM.load()


def test_embeddings_equal_those_of_sentence_transformers(encoder):
    embedded = encoder.embed(SENTENCES)
    assert embedded.shape == (6, 384)
    torch.testing.assert_close(embedded[:, :4], torch.tensor(EXPECTED), atol=2e-6, rtol=0)
    torch.testing.assert_close(embedded.norm(dim=1), torch.ones(6))


def test_a_sentence_is_embedded_the_same_alone_and_beside_longer_ones(encoder):
    torch.testing.assert_close(encoder.embed(["x"])[0], encoder.embed(SENTENCES)[-1], atol=2e-6, rtol=0)


def test_every_linear_layer_goes_through_the_function_given(encoder):
    seen = []

    def spy(x, weight, bias):
        seen.append(tuple(weight.shape))
        return torch.nn.functional.linear(x, weight, bias)

    encoder.embed(["one sentence"], linear=spy)
    assert sorted(seen) == sorted(tuple(weight.shape) for weight in encoder.linear_layers().values())
    assert len(seen) == 36


def test_input_of_a_layer_is_what_its_weight_is_multiplied_with(encoder):
    x = encoder.input_of("encoder.layer.5.output.dense", ["a short one", "and a somewhat longer one"])
    tokens = max(len(each.ids) for each in encoder.tokenizer.encode_batch(["a short one", "and a somewhat longer one"]))
    assert x.shape == (2 * tokens, 1536)
    assert x.min() > -0.18      # it comes out of a GELU, whose smallest value is -0.17
