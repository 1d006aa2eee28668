"""What elementwise ops, activations and conversions refuse, in the words of the diagnostics."""

from __future__ import annotations

from typing import Any

import pytest

from anedsl.diagnostics import Failure
from anedsl.graph import Value, make_node
from anedsl.ops import OPS
from anedsl.source import Source, Span
from anedsl.types import BOOL, FP16, FP32, FP64, INT32, TensorType

X = TensorType(FP16, (1, 4, 1, 8))
FOUR = TensorType(FP16, (4,))
THREE = TensorType(FP16, (3,))

REFUSED: list[tuple[str, dict[str, TensorType], dict[str, Any], str, str, str, str]] = [
    (
        "add", {"x": X, "y": THREE}, {}, "y", "ANE0241",
        "`add` cannot broadcast `[1, 4, 1, 8]` with `[3]`", "axis -1 is 3 here, 8 in the other operand",
    ),
    (
        "add", {"x": X, "y": TensorType(FP32, ())}, {}, "y", "ANE0243",
        "`add` operands have different element types", "is fp32, but `x` is fp16",
    ),
    (
        "exp", {"x": TensorType(INT32, (4,))}, {}, "x", "ANE0242",
        "`exp` takes fp16 or fp32 for `x`, found int32", "has type `int32[4]`",
    ),
    (
        "logical_and", {"x": FOUR, "y": FOUR}, {}, "x", "ANE0242",
        "`logical_and` takes bool for `x`, found fp16", "has type `fp16[4]`",
    ),
    (
        "leaky_relu", {"x": X}, {}, "leaky_relu", "ANE0210",
        "`leaky_relu` needs `alpha`", "`alpha` is missing here",
    ),
    (
        "prelu", {"x": FOUR, "alpha": FOUR}, {}, "x", "ANE0240",
        "`prelu` takes rank 3 to 5 for `x`, found rank 1", "has type `fp16[4]`",
    ),
    (
        "softplus_parametric", {"x": FOUR, "alpha": FOUR, "beta": FOUR}, {}, "x", "ANE0240",
        "`softplus_parametric` takes rank 3 or more for `x`, found rank 1", "has type `fp16[4]`",
    ),
    (
        "prelu", {"x": X, "alpha": THREE}, {}, "alpha", "ANE0258",
        "`prelu` takes `alpha` of shape `[4]`, found `[3]`", "has type `fp16[3]`",
    ),
    (
        "softplus_parametric", {"x": X, "alpha": FOUR, "beta": THREE}, {}, "beta", "ANE0258",
        "`softplus_parametric` takes `beta` of shape `[4]`, found `[3]`", "has type `fp16[3]`",
    ),
    (
        "gelu", {"x": X}, {"mode": "TANH"}, "mode", "ANE0246",
        'invalid `mode` of `gelu`: expected "EXACT" or "TANH_APPROXIMATION" or "SIGMOID_APPROXIMATION"', "",
    ),
    (
        "clip", {"x": X}, {"alpha": 1.0, "beta": 1.0}, "beta", "ANE0246",
        "invalid `beta` of `clip`: it must be above `alpha`", "1.0 in fp16, and `alpha` is 1.0",
    ),
    (
        "threshold", {"x": TensorType(INT32, (4,))}, {"alpha": 0.5}, "alpha", "ANE0246",
        "invalid `alpha` of `threshold`: it must be an integer where `x` is int32", "found 0.5",
    ),
    (
        "cast", {"x": X}, {"dtype": FP64}, "dtype", "ANE0246",
        "invalid `dtype` of `cast`: it is one of fp16, fp32, int32, bool, int8, uint8, int16 or uint16", "found fp64",
    ),
    (
        "select", {"cond": TensorType(BOOL, (4, 1)), "a": FOUR, "b": FOUR}, {}, "cond", "ANE0247",
        "the condition of `select` is larger than what it selects from",
        "has shape [4, 1], but `a` and `b` together have [4]",
    ),
]  # fmt: skip


def refusal(op: str, types: dict[str, TensorType], attributes: dict[str, Any]) -> Any:
    """The diagnostic of a call whose text names each operand and attribute once."""
    names = [op, *types, *attributes]
    source = Source("test.ane", " ".join(names))
    spans = {name: Span(source, start := source.text.index(name), start + len(name)) for name in names}
    with pytest.raises(Failure) as failure:
        make_node(OPS[op], {n: Value(t) for n, t in types.items()}, dict(attributes), span=spans[op], spans=spans)
    (diagnostic,) = failure.value.diagnostics
    return diagnostic


@pytest.mark.parametrize(("op", "types", "attributes", "at", "code", "headline", "label"), REFUSED)
def test_refused(op: str, types: Any, attributes: Any, at: str, code: str, headline: str, label: str) -> None:
    diagnostic = refusal(op, types, attributes)
    assert (diagnostic.code, diagnostic.headline, diagnostic.label_text) == (code, headline, label)
    assert diagnostic.span.source.name == "test.ane"
    assert all(text for text in diagnostic.help_texts + diagnostic.note_texts)


def test_bounds_that_meet_only_in_fp16_are_refused() -> None:
    assert refusal("clip", {"x": X}, {"alpha": 1.0, "beta": 1.0001}).label_text == "1.0 in fp16, and `alpha` is 1.0"
    precise = TensorType(FP32, (4,))
    assert make_node(OPS["clip"], {"x": Value(precise)}, {"alpha": 1.0, "beta": 1.0001}).result.type == precise


def test_select_says_what_would_fit() -> None:
    diagnostic = refusal("select", {"cond": TensorType(BOOL, (4, 1)), "a": FOUR, "b": FOUR}, {})
    assert diagnostic.help_texts == ["give `a` or `b` the shape [4, 4]"]


def test_a_gelu_mode_is_suggested() -> None:
    assert refusal("gelu", {"x": X}, {"mode": "TANH_APPROX"}).help_texts == ['did you mean "TANH_APPROXIMATION"?']
