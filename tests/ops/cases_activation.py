"""Uses of activations; the wide ones reach where a textbook formula overflows."""

from __future__ import annotations

import torch
from torch.nn import functional

from tests.ops.case import Case, T

A = T((1, 6, 1, 5))
SIX = T((6,), low=0.1, const=True)
WIDE = T((3, 100), low=-200.0, high=200.0)
WIDE_FP32 = T((3, 100), "fp32", low=-30.0, high=30.0)


def of(op: str, formula: object, **attributes: object) -> list[Case]:
    return [Case(op, {"x": x}, attributes, formula) for x in (A, T(()), WIDE, WIDE_FP32)]


def channels(constant: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    return constant.reshape(1, -1, *[1] * (x.dim() - 2))


def softplus(x: torch.Tensor) -> torch.Tensor:
    return torch.logaddexp(x, torch.zeros_like(x))


CASES = [
    *of("relu", torch.relu),
    *of("relu6", functional.relu6),
    *of("leaky_relu", lambda x: functional.leaky_relu(x, 0.25), alpha=0.25),
    *of("leaky_relu", lambda x: functional.leaky_relu(x, 1.5), alpha=1.5),
    *of("clamped_relu", lambda x: functional.leaky_relu(x, 0.25).clamp(max=1.0), alpha=0.25, beta=1.0),
    *of("thresholded_relu", lambda x: torch.where(x >= 0.5, x, 0.0), alpha=0.5),
    *of("elu", lambda x: functional.elu(x, 0.75), alpha=0.75),
    *of("gelu", functional.gelu),
    *of("gelu", functional.gelu, mode="EXACT"),
    *of("gelu", lambda x: functional.gelu(x, approximate="tanh"), mode="TANH_APPROXIMATION"),
    *of("gelu", lambda x: x * torch.sigmoid(1.702 * x), mode="SIGMOID_APPROXIMATION"),
    *of("sigmoid", torch.sigmoid),
    *of("silu", functional.silu),
    *of("sigmoid_hard", lambda x: (0.25 * x + 0.5).clamp(0, 1), alpha=0.25, beta=0.5),
    *of("scaled_tanh", lambda x: 1.75 * torch.tanh(0.625 * x), alpha=1.75, beta=0.625),
    *of("softplus", softplus),
    *of("softsign", functional.softsign),
    *of("linear_activation", lambda x: 0.75 * x - 1.5, alpha=0.75, beta=-1.5),
    Case("prelu", {"x": A, "alpha": SIX}, torch=functional.prelu),
    # At rank 3 and 5 MIL wants equal slopes.
    Case("prelu", {"x": T((2, 6, 4)), "alpha": T((6,), low=0.25, high=0.25, const=True)}, torch=functional.prelu),
    Case("prelu", {"x": T((2, 6, 1, 2, 2)), "alpha": T((6,), low=0.25, high=0.25, const=True)}, torch=functional.prelu),
    *(
        Case(
            "softplus_parametric",
            {"x": x, "alpha": SIX, "beta": SIX},
            torch=lambda x, alpha, beta: channels(alpha, x) * softplus(channels(beta, x) * x),
        )
        for x in (A, T((2, 6, 3)), T((1, 6, 4, 4), low=-9, high=9))
    ),
]
