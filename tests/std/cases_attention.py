"""Cases of std.softmax, std.attention and std.rope."""

from __future__ import annotations

import torch
from torch.nn import functional as F  # noqa: N812

from tests.std.case import Case, wide

Tensor = torch.Tensor
BOUND = 4e-3


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, **more: object) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True, **more)  # type: ignore[arg-type]


def heads(x: Tensor, count: int) -> Tensor:
    """[1, count * D, 1, S] to [1, count, S, D]."""
    return x.reshape(1, count, x.shape[1] // count, x.shape[3]).transpose(2, 3)


def channels(x: Tensor) -> Tensor:
    return x.transpose(2, 3).reshape(1, -1, 1, x.shape[2])


def attend_channels(q: Tensor, k: Tensor, v: Tensor, count: int, kv: int, causal: bool) -> Tensor:
    return channels(attend(heads(q, count), heads(k, kv), heads(v, kv), is_causal=causal))


def turned(x: Tensor, base: float = 10000, start: int = 0, halves: bool = False) -> Tensor:
    """By complex numbers: pair i at position p times exp(i * p * base ^ (-2 i / D))."""
    positions, size = x.shape[2:]
    frequency = base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    angle = torch.outer(torch.arange(start, start + positions, dtype=torch.float64), frequency)
    pairs = torch.stack(x.chunk(2, -1), -1) if halves else x.unflatten(-1, (-1, 2))
    result = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * torch.polar(torch.ones_like(angle), angle))
    return torch.cat(result.unbind(-1), -1) if halves else result.flatten(-2)


def probabilities(q: Tensor, k: Tensor) -> Tensor:
    k = k.repeat_interleave(q.shape[1] // k.shape[1], 1)
    return torch.softmax(q @ k.transpose(2, 3) / q.shape[3] ** 0.5, -1)


def softmax_gradient(dy: Tensor, x: Tensor) -> Tensor:
    x.requires_grad_()
    return torch.autograd.grad(torch.softmax(x, 1), x, dy)[0]


def qkv(h: int, kv: int, s: int, t: int, d: int, b: int = 1) -> dict[str, tuple[int, ...]]:
    return {"q": (b, h, s, d), "k": (b, kv, t, d), "v": (b, kv, t, d)}


GROUPED = qkv(6, 2, 7, 9, 16)


def packed(h: int, kv: int, s: int, d: int) -> dict[str, tuple[int, ...]]:
    return {"q": (1, h * d, 1, s), "k": (1, kv * d, 1, s), "v": (1, kv * d, 1, s)}


SOFTMAX = [
    *(
        Case("softmax", f"{name}-{axis}", f"y = {name}(x, axis = {axis})", {"x": (2, 6, 3, 10)}, formula, makes={"x": wide})
        for axis in (1, -1)
        for name, formula in {
            "logsumexp": lambda x, axis=axis: torch.logsumexp(x, axis, keepdim=True),
            "log_softmax": lambda x, axis=axis: torch.log_softmax(x, axis),
        }.items()
    ),
    Case(
        "softmax", "softmax_bwd", "y = softmax_bwd(dy, softmax(x, axis = 1), axis = 1)", {"dy": (1, 9, 1, 5), "x": (1, 9, 1, 5)},
        softmax_gradient, BOUND,
    ),
]  # fmt: skip

ATTENTION = [
    Case("attention", "plain", "y = attention(q, k, v)", qkv(4, 4, 7, 7, 16), attend, BOUND),
    Case("attention", "batch", "y = attention(q, k, v)", qkv(4, 2, 7, 7, 16, b=3), attend, BOUND),
    Case("attention", "more-keys", "y = attention(q, k, v)", qkv(4, 4, 3, 20, 8), attend, BOUND),
    Case("attention", "grouped", "y = attention(q, k, v)", GROUPED, attend, BOUND),
    Case("attention", "one-key-head", "y = attention(q, k, v)", qkv(6, 1, 7, 9, 16), attend, BOUND),
    Case(
        "attention", "values-of-another-size", "y = attention(q, k, v, scale = 0.2)",
        {"q": (1, 4, 5, 8), "k": (1, 2, 6, 8), "v": (1, 2, 6, 12)}, lambda q, k, v: attend(q, k, v, scale=0.2), BOUND,
    ),
    Case("attention", "mask", "y = attention(q, k, v, mask)", {**GROUPED, "mask": (1, 1, 7, 9)}, attend, BOUND),
    Case("attention", "mask-of-heads", "y = attention(q, k, v, mask)", {**GROUPED, "mask": (1, 6, 7, 9)}, attend, BOUND),
    Case("attention", "mask-of-keys", "y = attention(q, k, v, mask)", {**GROUPED, "mask": (1, 1, 1, 9)}, attend, BOUND),
    Case("attention", "probs", "y = attention_probs(q, k)", {"q": (1, 6, 7, 16), "k": (1, 2, 9, 16)}, probabilities, BOUND),
    *(
        Case(
            "attention", f"causal-{h}-{kv}", "y = causal_attention(q, k, v)", qkv(h, kv, s, s, d),
            lambda q, k, v: attend(q, k, v, is_causal=True), BOUND,
        )
        for h, kv, s, d in ((3, 3, 12, 8), (8, 2, 33, 16))
    ),
    *(
        Case(
            "attention", f"channels-{h}-{kv}-{'causal' if causal else 'all'}",
            f"y = attention_channels(q, k, v, {h}, {kv}{f', mask = causal_mask({s})' if causal else ''})", packed(h, kv, s, d),
            lambda q, k, v, h=h, kv=kv, causal=causal: attend_channels(q, k, v, h, kv, causal), BOUND,
        )
        for h, kv, s, d in ((3, 3, 12, 8), (6, 2, 33, 16))
        for causal in (False, True)
    ),
    Case("attention", "split", "y = split_heads(x, 4)", {"x": (1, 24, 1, 5)}, lambda x: heads(x, 4)),
    Case("attention", "merge", "y = merge_heads(x)", {"x": (1, 4, 5, 6)}, channels),
    Case(
        "attention", "channel-heads", "y = channel_heads(x, 4, 3)", {"x": (1, 24, 1, 5)},
        lambda x: x.reshape(1, 4, 6, 5).repeat_interleave(3, 1),
    ),
    Case("attention", "repeat", "y = repeat_heads(x, 3)", {"x": (2, 4, 5, 6)}, lambda x: x.repeat_interleave(3, 1)),
    Case("attention", "repeat-once", "y = repeat_heads(x, 1) * 2", {"x": (2, 4, 5, 6)}, lambda x: x * 2),
]  # fmt: skip

ROPE = [
    *(
        Case(
            "rope", f"{pairs}-{shape}", f'y = rope(x, rope_tables({shape[2]}, {shape[3]}, pairs = "{pairs}"))', {"x": shape},
            lambda x, pairs=pairs: turned(x, halves=pairs == "halves"),
        )
        for pairs in ("interleaved", "halves")
        for shape in ((1, 3, 9, 8), (2, 4, 65, 64), (1, 1, 1, 2))
    ),
    Case(
        "rope", "base-and-start", "y = rope(x, rope_tables(9, 16, base = 1e6, start = 100))", {"x": (1, 3, 9, 16)},
        lambda x: turned(x, 1e6, 100),
    ),
    *(
        Case(
            "rope", f"channels-{pairs}", f'y = rope_channels(x, rope_tables(9, 8, pairs = "{pairs}", axis = 2), 3)',
            {"x": (1, 24, 1, 9)},
            lambda x, pairs=pairs: channels(turned(heads(x, 3), halves=pairs == "halves")),
        )
        for pairs in ("interleaved", "halves")
    ),
    *(
        Case(
            "rope", f"bwd-{axis}", f"t = rope_tables(9, 8, axis = {axis})\ny = rope_bwd(rope(x, t), t)",
            {"x": (1, 3, 9, 8) if axis == 3 else (1, 3, 8, 9)}, lambda x: x, BOUND,
        )
        for axis in (2, 3)
    ),
    *(
        Case(
            "rope", f"tables-as-inputs-{tables}", "y = rope(x, [c, s, rope_turn(8), 3])",
            {"x": (2, 3, 9, 8), "c": tables, "s": tables},
            lambda x, c, s: x * c + torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2) * s,
        )
        for tables in ((1, 1, 9, 8), (9, 8), (2, 1, 1, 8))
    ),
]  # fmt: skip

CASES = [*SOFTMAX, *ATTENTION, *ROPE]
