"""What the type rules say of wrong ranks, shapes and attributes: one row a mistake."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from anedsl.diagnostics import Failure, names, shapes
from anedsl.graph import Value, make_node
from anedsl.ops import (
    OPS,
    attention,
    checks,
    constexpr,
    convolution,
    gathering,
    joining,
    linear,
    normalization,
    pooling,
    quantization,
    rearranging,
    reduction,
    resampling,
    sampling,
    scattering,
    shape,
    slicing,
    sorting,
    suppression,
    transposed,
)
from anedsl.source import Source, Span
from anedsl.types import DTYPES, TensorType
from tests.ops import mistakes_boxes, mistakes_images, mistakes_linear, mistakes_numbers, mistakes_shape, mistakes_slicing
from tests.ops.mistake import Mistake

RULES = (
    attention,
    checks,
    constexpr,
    convolution,
    gathering,
    joining,
    linear,
    normalization,
    pooling,
    quantization,
    rearranging,
    reduction,
    resampling,
    sampling,
    scattering,
    shape,
    slicing,
    sorting,
    suppression,
    transposed,
)


MISTAKES = [
    *mistakes_shape.MISTAKES,
    *mistakes_slicing.MISTAKES,
    *mistakes_linear.MISTAKES,
    *mistakes_images.MISTAKES,
    *mistakes_boxes.MISTAKES,
    *mistakes_numbers.MISTAKES,
]


def value(spec: Any) -> Value:
    """A value of a shape, in fp16, or of a shape and an element type."""
    sizes, dtype = spec if spec and isinstance(spec[-1], str) else (spec, "fp16")
    return Value(TensorType(DTYPES[dtype], tuple(sizes)))


def operand(name: str, spec: Any) -> Any:
    return tuple(map(value, spec)) if name == "values" else value(spec)


def spans_of(op: str, operands: dict[str, Any], attributes: dict[str, Any]) -> tuple[Span, dict[str, Span]]:
    """Places in a text that names each operand and attribute once: `conv(x, weight, pad)`."""
    given: list[str] = []
    for name, spec in operands.items():
        given += [f"values[{at}]" for at in range(len(spec))] or ["values"] if name == "values" else [name]
    given += attributes
    source = Source("mistake.ane", f"{op}({', '.join(given)})")
    spans = {
        name: Span(source, at.start(), at.end())
        for name in given
        if (at := re.search(rf"(?<=[ (]){re.escape(name)}(?=[,)])", source.text))
    }
    return Span(source, 0, len(source.text)), spans


def failure_of(mistake: Mistake) -> Any:
    operands = {name: operand(name, spec) for name, spec in mistake.operands.items()}
    whole, spans = spans_of(mistake.op, mistake.operands, mistake.attributes)
    with pytest.raises(Failure) as caught:
        make_node(OPS[mistake.op], operands, dict(mistake.attributes), span=whole, spans=spans)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic, whole


@pytest.mark.parametrize("mistake", MISTAKES, ids=[f"{m.op}-{m.diagnostic.__name__}-{at}" for at, m in enumerate(MISTAKES)])
def test_mistake_is_explained(mistake: Mistake) -> None:
    diagnostic, whole = failure_of(mistake)
    assert type(diagnostic) is mistake.diagnostic
    assert diagnostic.headline == mistake.headline
    assert diagnostic.label_text == mistake.label
    assert diagnostic.help_texts == ([mistake.help] if mistake.help else [])
    given = mistake.at in mistake.attributes or mistake.at.partition("[")[0] in mistake.operands
    assert diagnostic.span.text == (mistake.at if given else whole.text)


@pytest.mark.parametrize("mistake", MISTAKES, ids=[f"{m.op}-{m.diagnostic.__name__}-{at}" for at, m in enumerate(MISTAKES)])
def test_explanation_is_complete(mistake: Mistake) -> None:
    """Every template is filled, and nothing in it is an internal name."""
    diagnostic, _ = failure_of(mistake)
    for text in (diagnostic.headline, diagnostic.label_text, *diagnostic.note_texts, *diagnostic.help_texts):
        assert "{" not in text
        assert "None" not in text
        assert not text.endswith(".")
    assert mistake.diagnostic.__doc__


def test_the_other_operand_is_shown_with_its_type() -> None:
    (matmul,) = (m for m in MISTAKES if m.op == "matmul" and m.help and m.help.startswith("`transpose_y = true"))
    diagnostic, _ = failure_of(matmul)
    assert [(label.span.text, label.text) for label in diagnostic.related] == [("x", "`x` has type `fp16[1, 128]`")]
    assert diagnostic.note_texts == ["`matmul` contracts the last axis of `x` with the second last of `y`"]


def test_a_transposed_operand_is_explained() -> None:
    mistake = next(m for m in MISTAKES if m.attributes == {"transpose_y": True})
    diagnostic, _ = failure_of(mistake)
    assert diagnostic.note_texts == ["`matmul` contracts the last axis of `x` with the last of `y`, because of `transpose_y`"]


def test_every_diagnostic_of_these_rules_has_a_mistake() -> None:
    raised = set()
    for module in RULES:
        for found in re.findall(r"from anedsl\.diagnostics\.\w+ import (\w+)", Path(module.__file__ or "").read_text("utf-8")):
            raised.add(found)
    assert len(raised) > 10
    assert raised <= {mistake.diagnostic.__name__ for mistake in MISTAKES}


def test_codes_are_unique() -> None:
    codes = [c.code for m in (shapes, names) for c in vars(m).values() if isinstance(c, type) and getattr(c, "code", "")]
    assert len(codes) == len(set(codes))
    assert all(re.fullmatch(r"ANE02\d\d", code) for code in codes)
