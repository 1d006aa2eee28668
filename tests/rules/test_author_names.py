"""A rule names what the author wrote, and not the op that it has become."""

from __future__ import annotations

import pytest

from anedsl.graph import Value, make_node
from anedsl.ops import OPS
from anedsl.rules.scope import author_name
from anedsl.source import Source, Span
from anedsl.types import FP16, TensorType


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("transpose(x, [0, 2, 1, 3])", "transpose"),
        ("mean(f(x), axis = (1))", "mean"),
        ("transpose (\n    x)", "transpose"),
        ("x[:, 0:64]", "x[:, 0:64]"),
        # An operator between two calls is neither of them.
        ("f(x) + g(x)", "relu"),
        ("f(x)[0:2]", "relu"),
        ("x[0:2] + y[0:2]", "relu"),
        ("-x", "relu"),
        ("f(x", "relu"),
        ("x_is_too_long_to_be_repeated[:, 0:64, 0:64]", "relu"),
        ("", "relu"),
    ],
)
def test_the_name_of_an_op(written: str, name: str) -> None:
    span = Span(Source("k.ane", written), 0, len(written))
    node = make_node(OPS["relu"], {"x": Value(TensorType(FP16, (4,)))}, span=span)
    assert author_name(node) == name
