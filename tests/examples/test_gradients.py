"""The backward kernels, one behind the other, give what torch's automatic differentiation gives for a whole layer."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.examples import formulas
from tests.examples.kernels import EXAMPLE, SMALL_LLAMA, SMALL_QWEN, Case

pytestmark = pytest.mark.parametrize("sizes", [SMALL_LLAMA, SMALL_QWEN], ids=["llama", "qwen"])


class Forward:
    """The forward formula of a kernel, differentiated: every tensor knows its gradient."""

    def __init__(self, kernel: str, sizes: dict[str, Any], output: str) -> None:
        case = Case(EXAMPLE[kernel], sizes)
        self.sizes = sizes
        self.parameters = case.parameters
        self.tensors = {name: torch.from_numpy(array) for name, array in {**case.inputs, **case.weights}.items()}
        self.tensors["x"].requires_grad_()
        self.tensors |= getattr(formulas, kernel)(self.parameters, self.tensors)
        for tensor in self.tensors.values():
            if tensor.requires_grad:
                tensor.retain_grad()
        result = self.tensors[output]
        self.given = torch.randn(result.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        result.backward(self.given)

    def __getitem__(self, name: str) -> Tensor:
        return self.tensors[name].detach()

    def grad(self, name: str) -> Tensor:
        found = self.tensors[name].grad
        assert found is not None
        return found

    def run(
        self, kernel: str, weights: tuple[str, ...] = (), sizes: dict[str, Any] | None = None, **inputs: Tensor
    ) -> dict[str, Tensor]:
        """The outputs of another kernel, without rounding."""
        loaded = EXAMPLE[kernel].load(self.sizes if sizes is None else sizes)
        arrays = {name: tensor.numpy() for name, tensor in inputs.items()}
        outputs = loaded(weights={name: self[name].numpy() for name in weights}, numerics="fp64", **arrays)
        return {name: torch.from_numpy(array) for name, array in outputs.items()}

    def back(self, weight: str, dy: Tensor) -> Tensor:
        """The transposed weight times the gradient, by `dyn_matmul`."""
        w = _dynamic(self[weight])
        return self.run("dyn_matmul", sizes=_plain(w, dy), a=dy, W=w)["y"]

    def back_pair(self, first: str, da: Tensor, second: str, db: Tensor) -> Tensor:
        """The sum of two such products, by `dyn_matmul_pair`."""
        a, b = _dynamic(self[first]), _dynamic(self[second])
        return self.run("dyn_matmul_pair", sizes=_plain(a, da), a=da, b=db, A=a, B=b)["y"]


def _dynamic(w: Tensor) -> Tensor:
    """A weight [out, in, 1, 1] as it travels with the gradients of its outputs: [1, out, 1, in]."""
    return w.flatten(1)[None, :, None]


def _plain(w: Tensor, dy: Tensor) -> dict[str, int]:
    return {"IC": w.shape[1], "OC": w.shape[3], "SEQ": dy.shape[3]}


def _close(found: Tensor, wanted: Tensor) -> None:
    assert found.shape == wanted.shape
    assert wanted.abs().max() > 0
    assert (found - wanted).abs().max() / wanted.abs().max() < 1e-10


def _repeated(x: Tensor, layer: Forward) -> Tensor:
    """Keys or values, a copy for each query head."""
    p = layer.parameters
    return x.unflatten(1, (p.KV_HEADS, p.HD)).repeat_interleave(p.HEADS // p.KV_HEADS, 1).flatten(1, 2)


def _summed(x: Tensor, layer: Forward) -> Tensor:
    """The gradients of the copies, added up."""
    p = layer.parameters
    return x.unflatten(1, (p.KV_HEADS, -1, p.HD)).sum(2).flatten(1, 2)


def test_attention_backwards(sizes: dict[str, Any]) -> None:
    layer = Forward("sdpa_fwd", sizes, output="o")
    q, k, v = layer["q"], _repeated(layer["k"], layer), _repeated(layer["v"], layer)

    first = layer.run("sdpa_bwd1", ("wo",), q=q, k=k, v=v, dx2=layer.given)
    _close(_summed(first["dv"], layer), layer.grad("v"))

    second = layer.run("sdpa_bwd2", probs=first["probs"], dp=first["dp"], q=q, k=k)
    dk = _summed(second["dk"], layer)
    _close(second["dq"], layer.grad("q"))
    _close(dk, layer.grad("k"))

    dxn = layer.run("qkv_bwd", ("wq", "wk", "wv"), dq=second["dq"], dk=dk, dv=layer.grad("v"))["dx"]
    _close(dxn, layer.grad("xn"))

    norm = EXAMPLE["rmsnorm_bwd"].load(sizes)
    dx = norm(weights={"rms_w": layer["rms1"].numpy()}, numerics="fp64", dy=dxn.numpy(), x=layer["x"].numpy())["dx"]
    _close(torch.from_numpy(dx), layer.grad("x"))


def test_attention_backwards_with_dynamic_weights(sizes: dict[str, Any]) -> None:
    layer = Forward("sdpa_fwd", sizes, output="o")
    da = layer.back("wo", layer.given)
    _close(da, layer.grad("attn"))

    k, v = _repeated(layer["k"], layer), _repeated(layer["v"], layer)
    first = layer.run("sdpa_bwd1_dynamic", q=layer["q"], k=k, v=v, da=da)
    _close(_summed(first["dv"], layer), layer.grad("v"))

    dxn = layer.back("wq", layer.grad("q")) + layer.back_pair("wk", layer.grad("k"), "wv", layer.grad("v"))
    _close(dxn, layer.grad("xn"))


def test_the_gated_linear_unit_backwards(sizes: dict[str, Any]) -> None:
    layer = Forward("ffn_fwd", sizes, output="y")
    found = layer.run("ffn_bwd", ("w1", "w3", "w2"), dffn=layer.given, h1=layer["h1"], h3=layer["h3"])
    _close(found["dh1"], layer.grad("h1"))
    _close(found["dh3"], layer.grad("h3"))
    _close(found["dx"], layer.grad("xn"))


def test_the_gated_linear_unit_backwards_with_dynamic_weights(sizes: dict[str, Any]) -> None:
    layer = Forward("ffn_fwd", sizes, output="y")
    _close(layer.back("w2", layer.given), layer.grad("gate"))
    _close(layer.back_pair("w1", layer.grad("h1"), "w3", layer.grad("h3")), layer.grad("xn"))


def test_the_classifier_backwards(sizes: dict[str, Any]) -> None:
    layer = Forward("classifier_fwd", sizes, output="logits")
    _close(layer.run("classifier_bwd", ("embed",), dlogits=layer.given)["dx"], layer.grad("x"))
