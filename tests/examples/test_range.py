"""Magnitudes at which kernels written without care overflow fp16, or divide zero by zero."""

from __future__ import annotations

import numpy as np
import pytest

from anedsl.statistics import errors
from tests.examples.kernels import EXAMPLE, Array


def _normal(shape: tuple[int, ...], rms: float, seed: int = 0) -> Array:
    return (rms * np.random.default_rng(seed).standard_normal(shape)).astype(np.float16).astype(np.float64)


def _close(kernel: str, bound: float, **inputs: Array) -> None:
    """fp16 is finite, and within a relative error of fp64."""
    loaded = EXAMPLE[kernel].load({})
    exact, half = loaded(numerics="fp64", **inputs), loaded(numerics="fp16", **inputs)
    assert not loaded.diagnostics
    for name, wanted in exact.items():
        error = errors(half[name], wanted)["max_rel"]
        assert error is not None
        assert error < bound


@pytest.mark.parametrize("rms", [0.01, 1, 9.5, 50])
def test_rmsnorm_takes_what_a_sum_of_squares_would_not(rms: float) -> None:
    x = _normal((1, 768, 1, 256), rms)
    _close("rmsnorm", 0.01, x=x)
    _close("rmsnorm_bwd", 0.01, x=x, dy=_normal(x.shape, 1, seed=1))


def test_the_gradient_of_rmsnorm_at_zero_is_finite() -> None:
    kernel = EXAMPLE["rmsnorm_bwd"].load({})
    shape = (1, 768, 1, 256)
    dx = kernel(numerics="fp16", x=np.zeros(shape), dy=_normal(shape, 1))["dx"]
    assert np.isfinite(dx).all()


def test_scores_of_large_queries_and_keys_stay_finite() -> None:
    """At rms 32 with 64 channels a head, q k^T reaches 65536 on its own."""
    shape = (1, 768, 1, 256)
    q = k = _normal(shape, 32)
    v, da = _normal(shape, 1, seed=1), _normal(shape, 1, seed=2)
    kernel = EXAMPLE["sdpa_bwd1_dynamic"].load({})
    outputs = kernel(numerics="fp16", q=q, k=k, v=v, da=da)
    assert not kernel.diagnostics
    assert all(np.isfinite(array).all() for array in outputs.values())
