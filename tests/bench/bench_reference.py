"""The reference executor in fp16, rounding after every op, against the same formulas in numpy and torch. In one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch

import anedsl
from anedsl.reference.executor import execute
from tests.bench.timing import judge

ROUNDS = 15
DIM, HIDDEN, SEQ = 768, 2048, 256

Array = np.ndarray[Any, np.dtype[Any]]


def rmsnorm_bwd(dy: Any, x: Any, w: Any, mean: Callable[[Any], Any], eps: Any, power: Any) -> Any:
    """The kernel's equations, for arrays of either library."""
    rrms = (mean(x * x) + eps) ** power
    dyw = dy * w
    coeff = mean(dyw * x) * rrms * rrms
    return (dyw - x * coeff) * rrms


def against(ours: Callable[[], Any], theirs: dict[str, Callable[[], Any]], limits: dict[str, float]) -> None:
    """Measures in turn, and judges the median of the ratios of neighbours."""
    rounds = [{name: _seconds(side) for name, side in {"ours": ours, **theirs}.items()} for _ in range(ROUNDS + 1)][1:]
    for name in rounds[0]:
        times = [one[name] * 1e3 for one in rounds]
        print(f"  {name:<14} {median(times):8.3f} ms ({min(times):.3f} to {max(times):.3f})")
    for name, limit in limits.items():
        judge(f"against {name}", median(one["ours"] / one[name] for one in rounds), limit)


def _seconds(side: Callable[[], Any]) -> float:
    start = time.perf_counter()
    side()
    return time.perf_counter() - start


def small(random: np.random.Generator) -> None:
    kernel = anedsl.load("examples/rmsnorm_bwd.ane")
    x, dy = (random.uniform(-0.5, 0.5, (1, DIM, 1, SEQ)).astype(np.float16) for _ in range(2))
    kernel(x=x, dy=dy)  # binds the weights
    w = np.ones((1, DIM, 1, 1), np.float16)
    tensors = [torch.from_numpy(array) for array in (dy, x, w)]
    half = np.float16
    against(
        lambda: execute(kernel.graph, {"x": x, "dy": dy}),
        {
            "numpy float16": lambda: rmsnorm_bwd(dy, x, w, lambda a: a.mean(1, keepdims=True), half(1e-5), half(-0.5)),
            "torch float16": lambda: rmsnorm_bwd(*tensors, lambda a: a.mean(1, keepdim=True), 1e-5, -0.5),
        },
        {"numpy float16": 1 / 4, "torch float16": 3.0},
    )


def large(random: np.random.Generator) -> None:
    kernel = anedsl.load("examples/ffn_fwd.ane")
    shapes = {"rms2": (DIM, 1), "w1": (HIDDEN, DIM), "w3": (HIDDEN, DIM), "w2": (DIM, HIDDEN)}
    weights = {name: random.standard_normal(shape).astype(np.float32) / shape[1] ** 0.5 for name, shape in shapes.items()}
    x = random.standard_normal((1, DIM, 1, SEQ)).astype(np.float16)
    kernel(x=x, weights=weights)
    t = {name: torch.from_numpy(array) for name, array in weights.items()}
    tx = torch.from_numpy(x.astype(np.float32))[0, :, 0, :]

    def ffn() -> Any:
        xn = tx * (tx.square().mean(0, keepdim=True) + 1e-5) ** -0.5 * t["rms2"]
        h1, h3 = t["w1"] @ xn, t["w3"] @ xn
        gate = torch.nn.functional.silu(h1) * h3
        return torch.cat([t["w2"] @ gate, h1, h3, gate, xn])

    against(lambda: execute(kernel.graph, {"x": x}), {"torch float32": ffn}, {"torch float32": 1.5})


def main() -> None:
    random = np.random.default_rng(0)
    print(f"rmsnorm_bwd, {DIM} x {SEQ}, rounding after every op")
    small(random)
    print(f"ffn_fwd, {DIM}, {HIDDEN}, {SEQ}")
    large(random)


if __name__ == "__main__":
    main()
