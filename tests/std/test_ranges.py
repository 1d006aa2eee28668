"""The library in fp16 where naive forms overflow, underflow or divide by zero."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.std.case import kernel

DIM = 768
HALF = np.float16
SUBNORMAL = 2.0**-24
"""The smallest fp16 number."""


def run(body: str, folder: Path, numerics: str = "fp16", **inputs: Any) -> Any:
    """`y` of a kernel in fp16, from arrays rounded to it."""
    rounded = {name: np.asarray(array).astype(HALF) for name, array in inputs.items()}
    lines = "".join(f"    input {name}: fp16{list(array.shape)}\n" for name, array in rounded.items())
    found = kernel(f"import std.nn\nkernel k {{\n{lines}    output y\n    {body}\n}}\n", folder).run(rounded, numerics=numerics)
    return found["y"].astype(np.float64)


def both(body: str, folder: Path, **inputs: Any) -> tuple[Any, Any]:
    """`y` in fp16 and in fp64."""
    return run(body, folder, **inputs), run(body, folder, "fp64", **inputs)


def ulps(found: Any, exact: Any, allowed: float = 0) -> float:
    """The largest error beyond an allowed one, in units of the last place of fp16."""
    spacing = np.spacing(np.minimum(np.abs(exact), 65472).astype(HALF)).astype(np.float64)
    return float((np.maximum(np.abs(found - exact) - allowed, 0) / spacing).max())


def gaussian(rms: float, *shape: int, seed: int = 0) -> Any:
    return rms * np.random.default_rng(seed).standard_normal(shape)


def spiky(rms: float) -> Any:
    """Small activations with one large outlier at every position."""
    x = gaussian(rms, 1, DIM, 1, 8)
    x[:, 7] = 60000
    return x


ACTIVATIONS = {f"rms {rms:g}": gaussian(rms, 1, DIM, 1, 8) for rms in (1e-4, 2.2e-3, 0.02, 1, 9.24, 100, 10000)} | {
    "spikes": spiky(0.5),
    "zero": np.zeros((1, DIM, 1, 8)),
    "subnormal": np.full((1, DIM, 1, 8), SUBNORMAL),
    "largest": np.full((1, DIM, 1, 8), -65504.0),
}
each_activation = pytest.mark.parametrize("x", ACTIVATIONS.values(), ids=ACTIVATIONS)


@each_activation
def test_rmsnorm_keeps_its_digits_for_every_input(x: Any, tmp_path: Path) -> None:
    found, exact = both("y = rmsnorm(x, 1)", tmp_path, x=x)
    # What is left of an element beside an outlier is a multiple of the smallest number, times at most sqrt(DIM).
    assert ulps(found, exact, SUBNORMAL * DIM**0.5) < 4


@each_activation
def test_rmsnorm_bwd_is_close_for_every_input(x: Any, tmp_path: Path) -> None:
    found, exact = both("y = rmsnorm_bwd(dy, x, 1)", tmp_path, x=x, dy=gaussian(1, *x.shape, seed=1))
    assert np.abs(found - exact).max() <= max(4e-3 * np.abs(exact).max(), 2 * SUBNORMAL)


@each_activation
def test_rmsnorm_bwd_gain_is_close_for_every_input(x: Any, tmp_path: Path) -> None:
    found, exact = both("y = rmsnorm_bwd_gain(dy, x)", tmp_path, x=x, dy=gaussian(1, *x.shape, seed=1))
    assert np.abs(found - exact).max() <= max(4e-3 * np.abs(exact).max(), 2 * SUBNORMAL)


@pytest.mark.parametrize("dim", [2048, 8192])
def test_rmsnorm_does_not_overflow_in_wide_layers(dim: int, tmp_path: Path) -> None:
    found, exact = both("y = rmsnorm(x, 1)", tmp_path, x=gaussian(100, 1, dim, 1, 4))
    assert ulps(found, exact) < 4


def test_the_narrow_rmsnorm_overflows_where_it_says(tmp_path: Path) -> None:
    x = np.full((1, DIM, 1, 1), 255.0)
    found, exact = both("y = rmsnorm(x, 1, wide = false)", tmp_path, x=x)
    assert ulps(found, exact) < 4
    assert not run("y = rmsnorm(x, 1, wide = false)", tmp_path, x=x + 1).any()


@pytest.mark.parametrize("rms", [1e-2, 1, 100, 10000])
def test_layernorm_keeps_its_digits(rms: float, tmp_path: Path) -> None:
    found, exact = both("y = layernorm(x)", tmp_path, x=gaussian(rms, 1, DIM, 1, 8))
    assert ulps(found, exact) < 2


def test_softplus_over_all_of_fp16(tmp_path: Path) -> None:
    x = np.arange(0, 0x7C00, dtype=np.uint16).view(HALF).astype(np.float64)
    x = np.concatenate([-x, x])
    found = run("y = softplus(x)", tmp_path, x=x)
    exact = np.logaddexp(0, x)
    assert ulps(found, exact) <= 2


@pytest.mark.parametrize("call", ["mish(x)", "log_sigmoid(x)", "swish(x)", "silu_grad(x)", "gelu_tanh(x)"])
def test_activations_are_finite_to_the_end_of_fp16(call: str, tmp_path: Path) -> None:
    x = np.array([-65504, -1000, -20, 0, 20, 1000, 65504.0])
    found, exact = both(f"y = {call}", tmp_path, x=x)
    np.testing.assert_allclose(found, exact, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("call", ["logsumexp(x)", "log_softmax(x)"])
@pytest.mark.parametrize("size", [1.0, 100.0, 30000.0])
def test_logarithms_of_softmax_do_not_overflow(call: str, size: float, tmp_path: Path) -> None:
    found, exact = both(f"y = {call}", tmp_path, x=np.linspace(-size, size, 40).reshape(2, 20))
    assert np.abs(exact).max() > 1
    np.testing.assert_allclose(found, exact, rtol=2e-3, atol=2e-3)


def test_cross_entropy_of_a_large_vocabulary(tmp_path: Path) -> None:
    logits, targets = gaussian(4, 1, 32000, 1, 2), np.zeros((1, 32000, 1, 2))
    logits[0, 5], targets[0, 5] = 40, 1
    targets[0, 5, 0, 1], targets[0, 9, 0, 1] = 0, 1
    found, exact = both("y = cross_entropy_each(x, t)", tmp_path, x=logits, t=targets)
    np.testing.assert_allclose(found, exact, rtol=2e-3, atol=1e-3)


def test_a_loss_scale_keeps_small_gradients(tmp_path: Path) -> None:
    x, t = gaussian(2, 1, 4000, 1, 256), np.zeros((1, 4000, 1, 256))
    t[:, 0] = 1
    lost = run("y = cross_entropy_bwd(x, t)", tmp_path, x=x, t=t)
    kept, exact = both("y = cross_entropy_bwd(x, t, scale = 256)", tmp_path, x=x, t=t)
    assert (lost == 0).mean() > 0.1
    assert (kept == 0).mean() < 0.001
    assert np.abs(kept - exact).max() < 2e-3 * np.abs(exact).max()


@pytest.mark.parametrize("call", ["attention(q, k, v)", "causal_attention(q, k, v)"])
def test_attention_of_large_queries_and_keys(call: str, tmp_path: Path) -> None:
    """q k^T itself would overflow."""
    q, k, v = (gaussian(32, 1, 2, 64, 64, seed=seed) for seed in range(3))
    q[..., :2, :], k[..., :2, :] = 40, 40
    assert (q @ k.swapaxes(2, 3)).max() > 65504
    found, exact = both(f"y = {call}", tmp_path, q=q, k=k, v=v)
    assert np.isfinite(found).all()
    assert np.abs(found - exact).max() <= 0.02 * np.abs(exact).max() * (32 * 32 * 8) ** 0.5
    assert np.median(np.abs(found - exact)) <= 2e-3 * np.abs(exact).max()


ADAM = "y, _m, _v = {}(w, g, m, v, lr, c1, c2)"


def adam_inputs(**more: Any) -> dict[str, Any]:
    one = np.ones((1, 1, 1, 1))
    return {"w": one * 0.5, "g": one, "m": one * 0, "v": one * 0, "lr": one * 0.01, "c1": one * 10, "c2": one * 1000, **more}


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_adam_stands_still_without_a_gradient(name: str, tmp_path: Path) -> None:
    """eps vanishes in fp16: 0 / 0 would be NaN."""
    [found] = run(ADAM.format(name), tmp_path, **adam_inputs(g=np.zeros((1, 1, 1, 1)))).ravel()
    assert found == pytest.approx(0.5, abs=5e-4)


@pytest.mark.parametrize("size", [1e-6, 1e-4, 3e-3, 5e-3, 6e-3, 8e-3, 0.1, 1, 200])
def test_the_first_step_of_adam_is_at_most_the_learning_rate(size: float, tmp_path: Path) -> None:
    [found] = run(ADAM.format("adam"), tmp_path, **adam_inputs(g=np.full((1, 1, 1, 1), size))).ravel()
    # Squares near the smallest number have one or two bits.
    assert 0.5 - 0.013 < found <= 0.5
    if size >= 0.1:
        assert found == pytest.approx(0.49, abs=5e-4)


def test_the_average_of_squares_settles_at_the_square(tmp_path: Path) -> None:
    """With 0.999 rounded to fp16 it would settle 2% too high."""
    w = np.full((1, 1, 1, 1), 1.0)
    found = run("_w, _m, y = adam(w, g, m, v, lr, c1, c2)", tmp_path, **adam_inputs(g=w, v=w))
    assert found == 1
