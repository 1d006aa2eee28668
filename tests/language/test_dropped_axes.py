"""A reduced tensor that has lost its axis, beside what it was reduced from (ANE0277)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import anedsl
from anedsl.diagnostics import Sink
from anedsl.elaborate.kernel import elaborate
from anedsl.elaborate.modules import load_text


def warnings(sizes: str, *equations: str) -> list[tuple[str, str]]:
    body = "\n".join(equations)
    sink = Sink()
    elaborate(load_text(f"kernel k {{\ninput x: fp16[{sizes}]\noutput y\n{body}\n}}\n"), "k", {}, sink)
    return [(found.code, found.span.text) for found in sink.diagnostics]


@pytest.mark.parametrize(
    ("sizes", "equations", "span"),
    [
        ("1, 64, 64", ["y = x - mean(x, axis = 2, keep_dims = false)"], "mean(x, axis = 2, keep_dims = false)"),
        ("1, 64, 64", ["m = reduce_mean(x, axes = [2])", "y = x - m"], "m"),
        ("1, 64, 64", ["m = reduce_mean(x * x, axes = [-1])", "y = x * (m + 1e-5) ** -0.5"], "(m + 1e-5) ** -0.5"),
        ("64, 64", ["y = exp(x) / sum(exp(x), axis = 1, keep_dims = false)"], "sum(exp(x), axis = 1, keep_dims = false)"),
        ("1, 8, 8, 8", ["m = max(x, axis = 2, keep_dims = false)", "y = where(x == m, 1.0, 0.0)"], "m"),
    ],
)
def test_it_meets_an_axis_it_was_not(sizes: str, equations: list[str], span: str) -> None:
    assert warnings(sizes, *equations) == [("ANE0277", span)]


@pytest.mark.parametrize(
    ("sizes", "equations"),
    [
        ("1, 64, 64", ["y = x - mean(x, axis = 2)"]),
        ("1, 64, 64", ["y = x - reduce_mean(x, axes = [2], keep_dims = true)"]),
        # The axes that are left stand where they stood.
        ("1, 64, 64", ["y = x - mean(x, axis = 0, keep_dims = false)"]),
        ("1, 64, 64", ["y = x - mean(x, axis = 1, keep_dims = false)"]),
        ("64, 64", ["y = x - sum(x, axis = 0, keep_dims = false)"]),
        # It was given its axis again.
        ("1, 64, 64", ["m = mean(x, axis = 2, keep_dims = false)", "y = x - reshape(m, [1, 64, 1])"]),
        # A table of pairs is not what was reduced.
        (
            "64, 64",
            ["s = sum(x * x, axis = 1, keep_dims = false)", "y = x @ transpose(x, [1, 0]) * -2 + s + reshape(s, [64, 1])"],
        ),
        ("64, 64", ["s = sum(x, axis = 1, keep_dims = false)", "y = reshape(s, [64, 1]) - s"]),
        # Two that are reduced alike.
        ("1, 64, 64", ["y = mean(x, axis = 2, keep_dims = false) * sum(x, axis = 2, keep_dims = false)"]),
        ("1, 64, 64", ["y = x * sum(x, keep_dims = false)"]),
    ],
)
def test_it_stands_where_it_belongs(sizes: str, equations: list[str]) -> None:
    assert warnings(sizes, *equations) == []


def test_the_help_gives_what_was_meant(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((1, 8, 8))

    def computed(keep: str) -> np.ndarray:
        source = f"kernel k {{\ninput x: fp16[1, 8, 8]\noutput y\ny = x - mean(x, axis = 2, keep_dims = {keep})\n}}\n"
        path = tmp_path / f"{keep}.ane"
        path.write_text(source, encoding="utf-8")
        return np.asarray(anedsl.load(path)(x=x, numerics="fp64").y)

    np.testing.assert_allclose(computed("true"), x - x.mean(2, keepdims=True), rtol=1e-12)
    assert not np.allclose(computed("false"), computed("true"))
