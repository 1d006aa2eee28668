"""Cases of std.activations."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional as F  # noqa: N812

from tests.std.case import Case, wide

Tensor = torch.Tensor


def softplus(x: Tensor) -> Tensor:
    return F.softplus(x, threshold=1e3)  # torch cuts to a straight line at 20


def gradients(formula: Callable[..., Tensor], dy: Tensor, *operands: Tensor) -> tuple[Tensor, ...]:
    for operand in operands:
        operand.requires_grad_()
    return torch.autograd.grad(formula(*operands), operands, dy)


UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "softplus(x)": softplus,
    "log_sigmoid(x)": F.logsigmoid,
    "gelu_exact(x)": F.gelu,
    "gelu_tanh(x)": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_sigmoid(x)": lambda x: x * torch.sigmoid(1.702 * x),
    "swish(x)": F.silu,
    "swish(x, beta = 0.5)": lambda x: x * torch.sigmoid(x / 2),
    "silu_grad(x)": lambda x: gradients(F.silu, torch.ones_like(x), x)[0],
    "mish(x)": lambda x: x * torch.tanh(softplus(x)),
    "selu(x)": F.selu,
    "celu(x)": F.celu,
    "celu(x, alpha = 2.5)": lambda x: F.celu(x, 2.5),
    "relu_squared(x)": lambda x: F.relu(x) ** 2,
    "hard_sigmoid(x)": F.hardsigmoid,
    "hard_swish(x)": F.hardswish,
    "hard_tanh(x)": F.hardtanh,
    "hard_tanh(x, -2, 3.5)": lambda x: F.hardtanh(x, -2, 3.5),
}

GATES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "swiglu(gate, up)": lambda gate, up: F.silu(gate) * up,
    "geglu(gate, up)": lambda gate, up: F.gelu(gate) * up,
    'geglu(gate, up, "TANH_APPROXIMATION")': lambda gate, up: F.gelu(gate, approximate="tanh") * up,
    "reglu(gate, up)": lambda gate, up: F.relu(gate) * up,
}

SHAPES = [(1, 16, 1, 40), (7, 11), (600,)]

CASES = [
    *(
        Case("activations", f"{call}-{len(shape)}d", f"y = {call}", {"x": shape}, formula, 2e-3, {"x": wide})
        for call, formula in UNARY.items()
        for shape in SHAPES
    ),
    *(
        Case("activations", f"{call}-{len(shape)}d", f"y = {call}", {"gate": shape, "up": shape}, formula)
        for call, formula in GATES.items()
        for shape in SHAPES
    ),
    Case(
        "activations", "swiglu_bwd", "dgate, dup = swiglu_bwd(dy, gate, up)", dict.fromkeys(("dy", "gate", "up"), (1, 16, 1, 40)),
        lambda dy, gate, up: gradients(GATES["swiglu(gate, up)"], dy, gate, up),
    ),
]  # fmt: skip
