"""Literals of lists, dicts and tuples, and of tensors that the graph cannot hold."""

from __future__ import annotations

from math import prod
from typing import Any

from anedsl.codegen.mil_types import ELEMENTS, STRING, UNKNOWN, Compound, compound
from anedsl.codegen.program import Constant
from anedsl.codegen.reader.literals import (
    ElementReader,
    constant_of,
    flat_items,
    own_tokens,
    resolve_as,
    texts,
    wrong_literal,
)
from anedsl.codegen.reader.places import Places
from anedsl.codegen.reader.written import Entries, Grouped, Listed, Literal, Numbers, Texts
from anedsl.diagnostics import Failure
from anedsl.types import FP32, TensorType

_WANTED = {"list": "a list", "tuple": "a tuple", "dict": "a dict", "state": "no value: a state has none"}


def compound_value(type: TensorType, payload: Any, places: Places, literal: Any) -> Any:
    """The value of a literal, as `Resolved` says. Raises ANE0469, ANE0470 and what its parts raise."""
    known = compound(type.dtype)
    if known.kind == "tensor":
        return _elements(type, known, payload, places, literal)
    items = _items(known, payload)
    if items is None:
        raise Failure(wrong_literal(payload, _WANTED[known.kind], type, places, literal))
    types = known.parts * (len(items) if known.kind == "list" else len(items) // 2 if known.kind == "dict" else 1)
    expected = len(known.parts) if known.kind == "tuple" else len(items)
    if known.kind == "list" and known.sizes[0] != UNKNOWN:
        expected = int(known.sizes[0])
    _check_count(len(items), expected, type, places, literal)
    return tuple([_part(item, part, places) for item, part in zip(items, types, strict=True)])


def _items(known: Compound, payload: Any) -> list[Any] | None:
    """The parts of a literal of this kind, keys and values in turn; None for one of another kind."""
    if known.kind == "dict":
        return [part for pair in payload.items for part in pair] if isinstance(payload, Entries) else None
    if known.kind not in ("list", "tuple"):
        return None
    if payload is None:
        return []
    if isinstance(payload, (Listed, Grouped)):
        return list(payload.items)
    return list(own_tokens(payload)) if getattr(payload, "type", "") == "NUMBERS" else None


def _part(item: Any, type: TensorType, places: Places) -> Constant:
    payload = item
    if isinstance(item, Literal):
        if item.type is not None and places.type(item.type) != type:
            raise Failure(wrong_literal(item, f"`{type}`", type, places, item))
        payload = item.payload
    return constant_of(resolve_as(type, payload, places, item))


def _elements(type: TensorType, known: Compound, payload: Any, places: Places, literal: Any) -> Any:
    """The elements, flat: of a tensor of unknown sizes, or of an element type that the graph does not have (bf16)."""
    element = ELEMENTS.get(known.element, FP32)
    if isinstance(payload, Texts):
        found: Any = tuple(payload.items)
    elif isinstance(payload, Numbers):
        found = payload.array.reshape(-1)
    elif element is STRING:
        found = tuple(texts(item, TensorType(STRING, ()), places, literal) for item in flat_items(payload))
    else:
        found = ElementReader(TensorType(element, ()), places).flat(payload)
    if UNKNOWN not in known.sizes:
        _check_count(len(found), prod(map(int, known.sizes)), type, places, literal)
    return found


def _check_count(found: int, expected: int, type: TensorType, places: Places, literal: Any) -> None:
    if found != expected:
        from anedsl.diagnostics.artifacts import LiteralCount

        raise Failure(LiteralCount(span=places.span(literal), type=str(type), expected=expected, found=found))
