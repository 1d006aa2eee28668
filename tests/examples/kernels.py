"""The kernels under examples/, their sizes, and arrays of realistic magnitude for them."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

import anedsl
from anedsl.api import Kernel
from anedsl.frontend import load_file
from tests.examples import formulas
from tests.examples.formulas import Parameters

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

LLAMA: dict[str, Any] = {}
"""A Llama of 110M parameters: the defaults of every kernel."""
QWEN = {"DIM": 1024, "HIDDEN": 3072, "HEADS": 16, "KV_HEADS": 8, "HD": 128, "SEQ": 256, "LAYERS": 28, "IC": 2048, "OC": 1024}
"""Qwen3-0.6B: heads are wider together than the model, and two share a key."""

_SMALL = {"SEQ": 6, "VOCAB": 50, "IC": 12, "OC": 20, "C": 8, "H": 4, "DEPTH": 3}
SMALL_LLAMA = {"DIM": 24, "HIDDEN": 40, "HEADS": 4, "LAYERS": 3, **_SMALL}
SMALL_QWEN = {"DIM": 20, "HIDDEN": 36, "HEADS": 4, "KV_HEADS": 2, "HD": 8, "LAYERS": 5, **_SMALL}


class Example(NamedTuple):
    """A kernel; `seed_ops` is the number of MIL ops in the seed's text, None where it is not known."""

    file: str
    kernel: str
    seed_ops: int | None = None
    dynamic: bool = False

    @property
    def parameters(self) -> list[str]:
        tree: Any = load_file(EXAMPLES / self.file).kernels[self.kernel]
        return [parameter.name.text for parameter in tree.parameters]

    def load(self, sizes: dict[str, Any]) -> Kernel:
        """The kernel with those of the sizes that it has."""
        known = self.parameters
        given = {name: value for name, value in sizes.items() if name in known}
        return anedsl.load(EXAMPLES / self.file, self.kernel, **given)


KERNELS = (
    Example("rmsnorm_bwd.ane", "rmsnorm_bwd", 16),
    Example("rmsnorm.ane", "rmsnorm", 7),
    Example("sdpa_fwd.ane", "sdpa_fwd", 25),
    Example("ffn_fwd.ane", "ffn_fwd", 14),
    Example("ffn_bwd.ane", "ffn_bwd", 17),
    Example("qkv_bwd.ane", "qkv_bwd", 8),
    Example("sdpa_bwd1.ane", "sdpa_bwd1", 24),
    Example("sdpa_bwd2.ane", "sdpa_bwd2", 22),
    Example("classifier.ane", "classifier_fwd", 1),
    Example("classifier.ane", "classifier_bwd", 3),
    Example("classifier.ane", "softmax_vocab", 1),
    Example("linear.ane", "conv_fp32", 3),
    Example("linear.ane", "matmul_fp32", 4),
    Example("linear.ane", "qkv"),
    Example("linear.ane", "ffn_up"),
    Example("attention_ops.ane", "sdpa_op"),
    Example("attention_ops.ane", "sdpa_op_masked"),
    Example("attention_ops.ane", "sdpa_op_runtime_mask"),
    Example("attention_ops.ane", "qkt"),
    Example("attention_ops.ane", "sv"),
    Example("grouped_attention.ane", "qkt_conv", 1),
    Example("grouped_attention.ane", "sv_conv", 1),
    Example("int8_conv.ane", "conv_chain"),
    Example("int8_conv.ane", "conv_chain_w8a8"),
    Example("conv_peak.ane", "conv_peak"),
    Example("dynamic.ane", "dyn_matmul", 8, dynamic=True),
    Example("dynamic.ane", "dyn_matmul_pair", 15, dynamic=True),
    Example("dynamic.ane", "sdpa_fwd_dynamic", 56, dynamic=True),
    Example("dynamic.ane", "ffn_fused_dynamic", 28, dynamic=True),
    Example("dynamic.ane", "sdpa_bwd1_dynamic", 23, dynamic=True),
)
EXAMPLE = {example.kernel: example for example in KERNELS}

DYNAMIC_LAYER = {
    "dyn_matmul": 4,
    "dyn_matmul_pair": 2,
    "sdpa_fwd_dynamic": 1,
    "ffn_fused_dynamic": 1,
    "sdpa_bwd1_dynamic": 1,
    "sdpa_bwd2": 1,
}
"""The ten programs of a layer whose weights arrive at run time: each kernel, and how many of them it makes."""

LONG = {"classifier_fwd", "classifier_bwd", "softmax_vocab", "conv_peak"}
"""Kernels of more than 10 GFLOP or 30 MB."""

Array = np.ndarray[Any, np.dtype[Any]]


def marked(example: Example) -> Any:
    """A test's parameter: the kernel at full size, slow where that takes more than a few seconds."""
    return pytest.param(example, id=example.kernel, marks=[pytest.mark.slow] if example.kernel in LONG else [])


class Case:
    """A kernel with its sizes decided, arrays for its inputs and weights, and its exact outputs."""

    def __init__(self, example: Example, sizes: dict[str, Any]) -> None:
        self.kernel = example.load(sizes)
        self.parameters = Parameters(self.kernel.parameters)
        self.inputs = {name: self._draw(name, type.shape) for name, type in self.kernel.inputs.items()}
        self.weights = {name: self._draw(name, type.shape) for name, type in self.kernel.weights.items()}
        tensors: dict[str, Any] = {name: torch.from_numpy(a) for name, a in {**self.inputs, **self.weights}.items()}
        if "DEPTH" in self.parameters:
            tensors["W"] = [tensors[f"W[{i}]"] for i in range(self.parameters.DEPTH)]
        outputs = getattr(formulas, example.kernel)(self.parameters, tensors)
        self.exact: dict[str, Array] = {name: tensor.numpy() for name, tensor in outputs.items()}

    def run(self, numerics: str) -> dict[str, Array]:
        return self.kernel(weights=self.weights, numerics=numerics, **self.inputs)

    def _draw(self, name: str, shape: tuple[int, ...]) -> Array:
        """Numbers that fp16 can hold: activations and gradients of variance 1, weights that keep it so."""
        rng = np.random.default_rng(zlib.crc32(f"{self.kernel.name}.{name}".encode()))
        numbers = rng.standard_normal(shape)
        if name == "mask":
            numbers = np.triu(np.full(shape, -1e4), 1)
        elif name in ("probs", "scores"):
            numbers = self._distributions(name, numbers)
        elif name in self.kernel.weights:
            numbers = 1 + numbers / 10 if shape[0] == 1 else numbers / shape[1] ** 0.5
        elif name[0].isupper():
            inner = shape[-1] if name == "W2" or len(shape) == 3 else shape[1]
            numbers /= inner**0.5
        return numbers.astype(np.float16).astype(np.float64)

    def _distributions(self, name: str, logits: Array) -> Array:
        """Attention weights: over the last axis, or, for the layout of `sv_conv`, over the keys of each head."""
        p = self.parameters
        weights = np.exp(logits.reshape(p.HEADS, p.SEQ, p.SEQ))
        axis = 1 if name == "scores" else 2
        found: Array = (weights / weights.sum(axis, keepdims=True)).reshape(logits.shape)
        return found
