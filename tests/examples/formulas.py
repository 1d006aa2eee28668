"""What each example computes, written in torch float64 from the mathematics: an independent judge.

One function a kernel, of the same name. Arguments are the kernel's parameters, and its inputs and weights as tensors; the
result is a tensor for each output. Backward kernels are formulas here; `test_gradients.py` compares with autograd.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

Tensors = dict[str, Tensor]


class Parameters(dict[str, Any]):
    """A kernel's parameters, also as attributes."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


def _rms(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return x / torch.sqrt(x.pow(2).mean(1, keepdim=True) + eps) * gain


def _linear(w: Tensor, x: Tensor) -> Tensor:
    """The rows of the matrix `w`, [out, in] and ones, times the channels of x."""
    return torch.einsum("oi,bihs->bohs", w.flatten(1), x)


def _back(w: Tensor, dy: Tensor) -> Tensor:
    return torch.einsum("oi,bohs->bihs", w.flatten(1), dy)


def _product(w: Tensor, a: Tensor) -> Tensor:
    """The transpose of a weight that arrives with the activations, times these."""
    return torch.einsum("bihs,biho->bohs", a, w)


def _heads(x: Tensor, count: int) -> Tensor:
    """[1, channels, 1, S] as [heads, S, channels of a head]."""
    return x.squeeze(2).unflatten(1, (count, -1)).squeeze(0).transpose(1, 2)


def _channels(x: Tensor) -> Tensor:
    """The inverse of `_heads`."""
    return x.transpose(1, 2).flatten(0, 1)[None, :, None]


def _rows(x: Tensor) -> Tensor:
    """[heads, S, S] as [1, heads * S, 1, S]."""
    return x.flatten(0, 1)[None, :, None]


def _probs(q: Tensor, k: Tensor) -> Tensor:
    scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return scores.masked_fill(later, float("-inf")).softmax(-1)


def attention(q: Tensor, k: Tensor, v: Tensor, heads: int, kv_heads: int) -> Tensor:
    """Causal attention; query head h meets key and value head h // (heads / kv_heads)."""
    queries, keys, values = _heads(q, heads), _heads(k, kv_heads), _heads(v, kv_heads)
    ratio = heads // kv_heads
    each = [_probs(queries[h : h + 1], keys[h // ratio : h // ratio + 1]) @ values[h // ratio] for h in range(heads)]
    return _channels(torch.cat(each))


def _turned(x: Tensor, count: int, base: float) -> Tensor:
    """Rotary positions as products of complex numbers, whose parts are the pairs of channels."""
    pairs = _heads(x, count).unflatten(-1, (-1, 2))
    _, length, half, _ = pairs.shape
    frequency = base ** (-torch.arange(half, dtype=torch.float64) / half)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    turned = torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angle), angle)
    return _channels(torch.view_as_real(turned).flatten(-2))


# ---- weights baked in ----


def rmsnorm(p: Parameters, t: Tensors) -> Tensors:
    return {"y": _rms(t["x"], t["rms_w"], p.EPS)}


def rmsnorm_bwd(p: Parameters, t: Tensors) -> Tensors:
    x, g = t["x"], t["dy"] * t["rms_w"]
    rrms = (x.pow(2).mean(1, keepdim=True) + p.EPS).rsqrt()
    return {"dx": rrms * (g - x * rrms**2 * (g * x).mean(1, keepdim=True))}


def sdpa_fwd(p: Parameters, t: Tensors) -> Tensors:
    xn = _rms(t["x"], t["rms1"], p.EPS)
    q, k, v = (_linear(t[name], xn) for name in ("wq", "wk", "wv"))
    attn = attention(q, k, v, p.HEADS, p.KV_HEADS)
    return {"o": _linear(t["wo"], attn), "q": q, "k": k, "v": v, "attn": attn, "xn": xn}


def ffn_fwd(p: Parameters, t: Tensors) -> Tensors:
    xn = _rms(t["x"], t["rms2"], p.EPS)
    h1, h3 = _linear(t["w1"], xn), _linear(t["w3"], xn)
    gate = functional.silu(h1) * h3
    return {"y": _linear(t["w2"], gate), "h1": h1, "h3": h3, "gate": gate, "xn": xn}


def ffn_bwd(p: Parameters, t: Tensors) -> Tensors:
    h1, dg = t["h1"], _back(t["w2"], t["dffn"])
    s = torch.sigmoid(h1)
    dh1, dh3 = dg * t["h3"] * s * (1 + h1 * (1 - s)), dg * h1 * s
    return {"dx": _back(t["w1"], dh1) + _back(t["w3"], dh3), "dh1": dh1, "dh3": dh3}


def qkv_bwd(p: Parameters, t: Tensors) -> Tensors:
    return {"dx": _back(t["wq"], t["dq"]) + _back(t["wk"], t["dk"]) + _back(t["wv"], t["dv"])}


def sdpa_bwd1(p: Parameters, t: Tensors) -> Tensors:
    return sdpa_bwd1_dynamic(p, {**t, "da": _back(t["wo"], t["dx2"])})


def sdpa_bwd2(p: Parameters, t: Tensors) -> Tensors:
    q, k = _heads(t["q"], p.HEADS), _heads(t["k"], p.HEADS)
    probs, dp = (t[name].view(p.HEADS, p.SEQ, p.SEQ) for name in ("probs", "dp"))
    ds = probs * (dp - (probs * dp).sum(-1, keepdim=True)) / p.HD**0.5
    return {"dq": _channels(ds @ k), "dk": _channels(ds.transpose(1, 2) @ q)}


def classifier_fwd(p: Parameters, t: Tensors) -> Tensors:
    return {"logits": _linear(t["embed"], t["x"])}


def classifier_bwd(p: Parameters, t: Tensors) -> Tensors:
    return {"dx": _back(t["embed"], t["dlogits"])}


def softmax_vocab(p: Parameters, t: Tensors) -> Tensors:
    return {"probs": t["logits"].softmax(1)}


def conv_fp32(p: Parameters, t: Tensors) -> Tensors:
    return {"y": _linear(t["w"], t["x"])}


def matmul_fp32(p: Parameters, t: Tensors) -> Tensors:
    return {"y": t["W"] @ t["x"]}


def qkv(p: Parameters, t: Tensors) -> Tensors:
    return {name: _linear(t[f"w{name}"], t["x"]) for name in ("q", "k", "v")}


def ffn_up(p: Parameters, t: Tensors) -> Tensors:
    return {"h1": _linear(t["w1"], t["x"]), "h3": _linear(t["w3"], t["x"])}


def sdpa_op(p: Parameters, t: Tensors) -> Tensors:
    return {"attn": functional.scaled_dot_product_attention(t["q"], t["k"], t["v"], attn_mask=t.get("mask"))}


sdpa_op_masked = sdpa_op_runtime_mask = sdpa_op


def qkt(p: Parameters, t: Tensors) -> Tensors:
    return {"scores": torch.einsum("bhqd,bhkd->bhqk", t["q"], t["k"])}


def sv(p: Parameters, t: Tensors) -> Tensors:
    return {"attn": torch.einsum("bhqk,bhkd->bhqd", t["probs"], t["v"])}


def qkt_conv(p: Parameters, t: Tensors) -> Tensors:
    keys = t["k"].view(p.HEADS, p.SEQ, p.HD)
    return {"scores": _rows(torch.einsum("hkd,hqd->hkq", keys, _heads(t["q"], p.HEADS)))}


def sv_conv(p: Parameters, t: Tensors) -> Tensors:
    values, scores = t["v"].view(p.HEADS, p.HD, p.SEQ), t["scores"].view(p.HEADS, p.SEQ, p.SEQ)
    return {"attn": _channels(torch.einsum("hdk,hkq->hqd", values, scores))}


def conv_chain(p: Parameters, t: Tensors) -> Tensors:
    y = t["x"]
    for weight in t["W"]:
        y = functional.conv2d(y, weight)
    return {"y": y}


conv_peak = conv_chain


def conv_chain_w8a8(p: Parameters, t: Tensors) -> Tensors:
    y = t["x"]
    for turn, weight in enumerate(t["W"]):
        if turn > 0:
            y = torch.round(y / p.SCALE).clamp(-128, 127) * p.SCALE
        y = functional.conv2d(y, _int8(weight))
    return {"y": y}


def _int8(weight: Tensor) -> Tensor:
    """A weight with 127 steps up to the largest magnitude of each output channel; the step is the next fp16 number."""
    exact = weight.abs().amax(dim=(1, 2, 3), keepdim=True) / 127
    step = exact.half()
    step = torch.where(step.double() < exact, torch.nextafter(step, torch.full_like(step, torch.inf)), step).double()
    return torch.round(weight / step) * step


# ---- weights that arrive with the activations ----


def dyn_matmul(p: Parameters, t: Tensors) -> Tensors:
    return {"y": _product(t["W"], t["a"])}


def dyn_matmul_pair(p: Parameters, t: Tensors) -> Tensors:
    return {"y": _product(t["A"], t["a"]) + _product(t["B"], t["b"])}


def sdpa_fwd_dynamic(p: Parameters, t: Tensors) -> Tensors:
    q, k, v = (_product(t[name], t["xn"]) for name in ("Wq", "Wk", "Wv"))
    q, k = _turned(q, p.HEADS, p.ROPE_BASE), _turned(k, p.KV_HEADS, p.ROPE_BASE)
    return {"attn": attention(q, k, v, p.HEADS, p.KV_HEADS), "q_rope": q, "k_rope": k, "v": v, "xn": t["xn"]}


def ffn_fused_dynamic(p: Parameters, t: Tensors) -> Tensors:
    h1, h3 = _product(t["W1"], t["xn"]), _product(t["W3"], t["xn"])
    gate = functional.silu(h1) * h3
    y = torch.einsum("bohi,bihs->bohs", t["W2"], gate)
    return {"x_next": t["x2"] + y / (2 * p.LAYERS) ** 0.5, "h1": h1, "h3": h3, "gate": gate}


def sdpa_bwd1_dynamic(p: Parameters, t: Tensors) -> Tensors:
    q, k, v, da = (_heads(t[name], p.HEADS) for name in ("q", "k", "v", "da"))
    probs = _probs(q, k)
    return {"dv": _channels(probs.transpose(1, 2) @ da), "probs": _rows(probs), "dp": _rows(da @ v.transpose(1, 2))}
