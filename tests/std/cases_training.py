"""Cases of std.losses and std.optim."""

from __future__ import annotations

import torch
from torch.nn import functional as F  # noqa: N812

from tests.std.case import Case, one_hot, probability

Tensor = torch.Tensor
STEP = 3
"""Which step of Adam: its corrections are inputs."""


def loss_gradient(logits: Tensor, targets: Tensor, axis: int = 1, smoothing: float = 0.0, scale: float = 1.0) -> Tensor:
    logits.requires_grad_()
    return torch.autograd.grad(cross_entropy(logits, targets, axis, smoothing) * scale, logits)[0]


def cross_entropy(logits: Tensor, targets: Tensor, axis: int = 1, smoothing: float = 0.0, mean: bool = True) -> Tensor:
    reduction = "mean" if mean else "none"
    found = F.cross_entropy(logits.movedim(axis, 1), targets.movedim(axis, 1), label_smoothing=smoothing, reduction=reduction)
    return found.reshape((1,) * logits.ndim) if mean else found.unsqueeze(axis)


def stepped(
    optimizer: type[torch.optim.Optimizer], w: Tensor, g: Tensor, state: dict[str, Tensor], lr: Tensor, **more: object
) -> tuple[Tensor, ...]:
    """One step of torch's own optimiser from a given state: the weight and the new state."""
    parameter = torch.nn.Parameter(w.clone())
    parameter.grad = g
    judge = optimizer([parameter], lr=lr.item(), **more)  # type: ignore[call-arg]
    judge.state[parameter] = {name: value.clone() for name, value in state.items()}
    judge.step()
    return parameter, *(judge.state[parameter][name] for name in state if name != "step")


def momentum(w: Tensor, g: Tensor, u: Tensor, lr: Tensor, **more: object) -> tuple[Tensor, ...]:
    return stepped(torch.optim.SGD, w, g, {"momentum_buffer": u}, lr, momentum=0.9, **more)


def adam(optimizer: type[torch.optim.Optimizer], **more: object) -> object:
    def step(w: Tensor, g: Tensor, m: Tensor, v: Tensor, lr: Tensor) -> tuple[Tensor, ...]:
        state = {"step": torch.tensor(float(STEP - 1)), "exp_avg": m, "exp_avg_sq": v}
        return stepped(optimizer, w, g, state, lr, **more)

    return step


def weights(shape: tuple[int, ...], *more: str) -> dict[str, tuple[int, ...]]:
    return {**dict.fromkeys(("w", "g", *more), shape), "lr": (1,) * len(shape)}


def rate(generator: object, shape: tuple[int, ...]) -> object:
    return torch.full(shape, 0.01).numpy()


def classes(shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
    return {"x": shape, "t": shape}


CORRECTIONS = f"1 / (1 - 0.9 ** {STEP}), 1 / (1 - 0.999 ** {STEP})"
TARGETS = {"t": one_hot(1)}

LOSSES = [
    *(
        case
        for shape in ((1, 10, 1, 7), (2, 33, 3, 5))
        for case in (
            Case(
                "losses", f"each-{shape}", "y = cross_entropy_each(x, t)", classes(shape),
                lambda x, t: cross_entropy(x, t, mean=False), makes=TARGETS,
            ),
            Case("losses", f"mean-{shape}", "y = cross_entropy(x, t)", classes(shape), cross_entropy, makes=TARGETS),
            Case("losses", f"bwd-{shape}", "y = cross_entropy_bwd(x, t)", classes(shape), loss_gradient, makes=TARGETS),
            Case(
                "losses", f"smooth-{shape}", "y = cross_entropy(x, t, smoothing = 0.1)", classes(shape),
                lambda x, t: cross_entropy(x, t, smoothing=0.1), makes=TARGETS,
            ),
            Case(
                "losses", f"smooth-bwd-{shape}", "y = cross_entropy_bwd(x, t, smoothing = 0.1, scale = 256)", classes(shape),
                lambda x, t: loss_gradient(x, t, smoothing=0.1, scale=256.0), 4e-3, makes=TARGETS,
            ),
            Case("losses", f"mse-{shape}", "y = mse(x, t)", classes(shape), lambda x, t: F.mse_loss(x, t).reshape(1, 1, 1, 1)),
        )
    ),
    Case(
        "losses", "last-axis", "y = cross_entropy_each(x, t, axis = -1)", classes((6, 12)),
        lambda x, t: cross_entropy(x, t, -1, mean=False), makes={"t": one_hot(1)},
    ),
    Case(
        "losses", "last-axis-bwd", "y = cross_entropy_bwd(x, t, axis = -1)", classes((6, 12)),
        lambda x, t: loss_gradient(x, t, -1), makes={"t": one_hot(1)},
    ),
    Case(
        "losses", "bce-each", "y = bce_with_logits_each(x, t)", classes((1, 3, 1, 9)),
        lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"), makes={"t": probability},
    ),
    Case(
        "losses", "bce", "y = bce_with_logits(x, t)", classes((4, 9)),
        lambda x, t: F.binary_cross_entropy_with_logits(x, t).reshape(1, 1), makes={"t": probability},
    ),
    Case(
        "losses", "bce-one-target", "y = bce_with_logits(x, t)", {"x": (1, 3, 1, 9), "t": (1, 1, 1, 1)},
        lambda x, t: F.binary_cross_entropy_with_logits(x, t.expand_as(x)).reshape(1, 1, 1, 1), makes={"t": probability},
    ),
    Case(
        "losses", "mse-channels", "y = mse(x, t)", {"x": (1, 3, 1, 9), "t": (1, 3, 1, 1)},
        lambda x, t: F.mse_loss(x, t.expand_as(x)).reshape(1, 1, 1, 1),
    ),
    Case(
        "losses", "embedding", "y = embedding(t, table)", {"t": (1, 20, 1, 9), "table": (20, 6, 1, 1)},
        lambda t, table: F.embedding(t.argmax(1).reshape(9), table.reshape(20, 6)).T.reshape(1, 6, 1, 9), 0,
        makes={"t": one_hot(1)},
    ),
]  # fmt: skip

OPTIMIZERS = [
    case
    for shape in ((1, 6, 1, 8), (12, 5, 1, 1), (7, 9))
    for case in (
        Case("optim", f"sgd-{shape}", "y = sgd(w, g, lr)", weights(shape), lambda w, g, lr: w - lr * g, makes={"lr": rate}),
        Case(
            "optim", f"sgd-decay-{shape}", "y = sgd(w, g, lr, weight_decay = 0.1)", weights(shape),
            lambda w, g, lr: stepped(torch.optim.SGD, w, g, {}, lr, weight_decay=0.1), makes={"lr": rate},
        ),
        Case(
            "optim", f"momentum-{shape}", "w1, u1 = sgd_momentum(w, g, u, lr)", weights(shape, "u"), momentum, makes={"lr": rate},
        ),
        Case(
            "optim", f"nesterov-{shape}", "w1, u1 = sgd_momentum(w, g, u, lr, weight_decay = 0.1, nesterov = true)",
            weights(shape, "u"),
            lambda w, g, u, lr: momentum(w, g, u, lr, weight_decay=0.1, nesterov=True), makes={"lr": rate},
        ),
        *(
            Case(
                "optim", f"{name}-{decay}-{shape}", f"w1, m1, v1 = {name}(w, g, m, v, lr, {CORRECTIONS}, weight_decay = {decay})",
                weights(shape, "m", "v"), adam(optimizer, weight_decay=decay), makes={"lr": rate, "v": probability},  # type: ignore[arg-type]
            )
            for name, optimizer in (("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW))
            for decay in (0, 0.1)
        ),
    )
] + [
    Case(
        "optim", "sgd-channels", "y = sgd(w, g, lr)", {"w": (1, 6, 1, 8), "g": (1, 6, 1, 8), "lr": (1, 6, 1, 1)},
        lambda w, g, lr: w - lr * g,
    ),
    Case(
        "optim", "momentum-first", "w1, u1 = sgd_momentum(w, g, 0, lr)", weights((1, 6, 1, 8)),
        lambda w, g, lr: momentum(w, g, torch.zeros_like(w), lr), makes={"lr": rate},
    ),
    Case(
        "optim", "adam-first", "w1, m1, v1 = adam(w, g, 0, 0, lr, 10, 1000, eps = 0)", weights((1, 6, 1, 8)),
        lambda w, g, lr: stepped(
            torch.optim.Adam, w, g,
            {"step": torch.tensor(0.0), "exp_avg": torch.zeros_like(w), "exp_avg_sq": torch.zeros_like(w)}, lr, eps=0.0,
        ), makes={"lr": rate, "g": probability},
    ),
]  # fmt: skip

CASES = [*LOSSES, *OPTIMIZERS]
