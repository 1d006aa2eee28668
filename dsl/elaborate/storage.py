"""`stored int8(axis = 0)`: how the author wants a weight to be kept."""

from __future__ import annotations

from typing import Any

from anedsl.compression import PALETTE_TYPES, PARAMETERS, Storage
from anedsl.diagnostics import Failure, nearest
from anedsl.elaborate.arguments import wrong_kind
from anedsl.elaborate.expressions import evaluate, integer
from anedsl.elaborate.frame import Frame
from anedsl.elaborate.values import is_number
from anedsl.source import Span
from anedsl.syntax import tree
from anedsl.types import FP16, TensorType


def stored_as(expression: tree.Expression, type: TensorType, frame: Frame) -> Storage:
    """The storage that an author writes, checked against the weight's type (0211, 0213, 0244, 0280, 0281)."""
    call = expression if isinstance(expression, tree.Call) else tree.Call(expression, (), expression.span)
    name = call.function
    if not isinstance(name, tree.Name) or name.text not in PARAMETERS:
        from anedsl.diagnostics.names import UnknownStorage

        close = nearest(name.text, PARAMETERS) if isinstance(name, tree.Name) else None
        known = ", ".join(f"`{kind}`" for kind in PARAMETERS)
        raise Failure(UnknownStorage(span=frame.at(name.span), name=name.span.text, nearest=close, known=known))
    if type.dtype is not FP16:
        raise _invalid(frame.at(expression.span), name.text, f"the weight is `{type}`", "only fp16 weights are compressed")
    given: dict[str, Any] = {}
    spans: dict[str, Span] = {}
    for argument in call.arguments:
        key, value = _argument(name.text, argument, frame)
        if key in given:
            from anedsl.diagnostics.names import GivenTwice

            raise Failure(GivenTwice(span=frame.at(argument.span), op=name.text, name=key))
        given[key], spans[key] = value, frame.at(argument.span)
    if name.text == "blockwise":
        given.setdefault("axis", min(1, type.rank - 1))
    return _checked(Storage(name.text, **given), type, frame.at(expression.span), spans)


def _argument(kind: str, argument: tree.Expression | tree.Keyword, frame: Frame) -> tuple[str, Any]:
    known = PARAMETERS[kind]
    if not isinstance(argument, tree.Keyword) or argument.name not in known:
        from anedsl.diagnostics.names import UnknownArgument

        name = argument.name if isinstance(argument, tree.Keyword) else argument.span.text
        shown = f"{kind}({', '.join(f'{parameter} = ...' for parameter in known)})"
        raise Failure(
            UnknownArgument(span=frame.at(argument.span), op=kind, name=name, nearest=nearest(name, known), signature=shown)
        )
    if argument.name == "prune":
        value = evaluate(argument.value, frame)
        if not is_number(value) or not 0 <= value < 1:
            expected = "a number of at least 0 and below 1"
            raise wrong_kind(frame.at(argument.value.span), expected, value, use="the share that is made 0")
        return argument.name, float(value)
    return argument.name, integer(argument.value, frame, f"`{argument.name}`", bits=32)


def _checked(storage: Storage, type: TensorType, span: Span, spans: dict[str, Span]) -> Storage:
    """The storage with its axis counted from 0."""
    if type.rank == 0:
        raise _invalid(span, storage.kind, "the weight is a single number", "leave `stored` out")
    if storage.axis is not None:
        if not -type.rank <= storage.axis < type.rank:
            from anedsl.diagnostics.shapes import AxisOutOfRange

            at = spans.get("axis", span)
            low, high = -type.rank, type.rank - 1
            raise Failure(AxisOutOfRange(span=at, axis=storage.axis, rank=type.rank, type=str(type), lowest=low, highest=high))
        storage = storage._replace(axis=storage.axis % type.rank)
    at = spans.get("bits", span)
    if storage.kind == "palette" and storage.bits not in PALETTE_TYPES:
        known = ", ".join(map(str, PALETTE_TYPES))
        raise _invalid(at, storage.kind, f"`bits` is {storage.bits}", f"a palette takes {known} bits")
    if storage.kind == "blockwise":
        if storage.bits not in (4, 8):
            raise _invalid(at, storage.kind, f"`bits` is {storage.bits}", "blocks take 4 or 8 bits")
        size = type.shape[storage.axis or 0]
        if storage.block < 1:
            problem = f"`block` is {storage.block}"
            raise _invalid(spans.get("block", span), storage.kind, problem, "`block` must be at least 1")
        if size % storage.block:
            problem = f"blocks of {storage.block} do not divide axis {storage.axis} of size {size}"
            raise _invalid(spans.get("block", span), storage.kind, problem, "choose a divisor of the axis")
    return storage


def _invalid(span: Span, kind: str, problem: str, advice: str) -> Failure:
    from anedsl.diagnostics.names import InvalidStorage

    return Failure(InvalidStorage(span=span, kind=kind, problem=problem, advice=advice))
