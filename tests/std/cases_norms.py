"""Cases of std.norms."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from tests.std.case import Case

Tensor = torch.Tensor


def rms(x: Tensor, g: Tensor | float = 1.0, eps: float = 1e-5, axis: int = 1) -> Tensor:
    return x / torch.sqrt((x**2).mean(axis, keepdim=True) + eps) * g


def rms_gradients(dy: Tensor, x: Tensor, g: Tensor, **more: Any) -> tuple[Tensor, ...]:
    """By autograd, not by the formula."""
    x.requires_grad_()
    g.requires_grad_()
    return torch.autograd.grad(rms(x, g, **more), (x, g), dy)


def layer(x: Tensor, axis: int, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x.movedim(axis, -1), (x.shape[axis],), eps=eps).movedim(-1, axis)


def norm_cases(c: int, s: int) -> list[Case]:
    x, g = (1, c, 1, s), (1, c, 1, 1)
    size = f"{c}x{s}"
    return [
        Case("norms", f"rmsnorm-{size}", "y = rmsnorm(x, g)", {"x": x, "g": g}, rms),
        Case("norms", f"narrow-{size}", "y = rmsnorm(x, g, wide = false)", {"x": x, "g": g}, rms),
        Case("norms", f"eps-{size}", "y = rmsnorm(x, g, eps = 0.25)", {"x": x, "g": g}, lambda x, g: rms(x, g, 0.25)),
        Case(
            "norms", f"bwd-{size}", "y = rmsnorm_bwd(dy, x, g)", {"dy": x, "x": x, "g": g},
            lambda dy, x, g: rms_gradients(dy, x, g)[0], 4e-3,
        ),
        Case(
            "norms", f"bwd-narrow-{size}", "y = rmsnorm_bwd(dy, x, g, wide = false)", {"dy": x, "x": x, "g": g},
            lambda dy, x, g: rms_gradients(dy, x, g)[0], 4e-3,
        ),
        Case(
            "norms", f"bwd-gain-{size}", "y = rmsnorm_bwd_gain(dy, x)", {"dy": x, "x": x},
            lambda dy, x: rms_gradients(dy, x, torch.ones(g, dtype=x.dtype))[1], 4e-3,
        ),
        Case(
            "norms", f"layernorm-{size}", "y = layernorm(x, g, b)", {"x": x, "g": g, "b": g},
            lambda x, g, b: layer(x, 1) * g + b,
        ),
    ]  # fmt: skip


CASES = [
    *norm_cases(8, 4),
    *norm_cases(96, 33),
    Case(
        "norms", "rmsnorm-of-a-head", "y = rmsnorm(x, g, axis = 3)", {"x": (2, 3, 5, 16), "g": (1, 1, 1, 16)},
        lambda x, g: F.rms_norm(x, (16,), g.reshape(16), 1e-5),
    ),
    Case(
        "norms", "bwd-gain-of-a-head", "y = rmsnorm_bwd_gain(dy, x, axis = 3, over = [0, 1, 2])",
        {"dy": (2, 3, 5, 16), "x": (2, 3, 5, 16)},
        lambda dy, x: rms_gradients(dy, x, torch.ones((1, 1, 1, 16), dtype=x.dtype), axis=3)[1], 4e-3,
    ),
    Case("norms", "rmsnorm-rank-2", "y = rmsnorm(x, 1, axis = -1)", {"x": (5, 24)}, lambda x: rms(x, axis=-1)),
    Case("norms", "layernorm-bare", "y = layernorm(x, axis = -1, eps = 0.1)", {"x": (5, 24)}, lambda x: layer(x, -1, 0.1)),
    Case(
        "norms", "layernorm-two-axes", "y = layernorm(x, axis = [1, 3])", {"x": (2, 8, 1, 5)},
        lambda x: F.layer_norm(x.movedim(2, 1), (8, 5)).movedim(1, 2),
    ),
    *(
        Case(
            "norms", f"groupnorm-{groups}", f"y = groupnorm(x, {groups}, g, b)",
            {"x": (2, 12, 3, 5), "g": (1, 12, 1, 1), "b": (1, 12, 1, 1)},
            lambda x, g, b, groups=groups: F.group_norm(x, groups, g.reshape(12), b.reshape(12), 1e-5),
        )
        for groups in (1, 3, 12)
    ),
]  # fmt: skip
