"""MIL's types beyond those of the graph, and how each dialect spells a type.

A tensor of known sizes has its `TensorType`. What is no such tensor (a tensor with an unknown size, a list, dict, tuple or
state) is held as a scalar of an element type of its own, whose name is the type as dialect 1.3 writes it: ops without a
record may pass it on, and the emitters write it again.
"""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

import re
from functools import cache
from typing import NamedTuple

from anedsl.types import DTYPES, DType, TensorType

STRING = DType("string", "string", 0, "O")
"""The element type of text: only consts have it."""

ELEMENTS: dict[str, DType] = {**DTYPES, "string": STRING}
"""Every element type that a graph can hold numbers or text of."""

UNKNOWN = "?"
"""A size that only the running program knows."""

_NUMBERS = frozenset({"float", "int", "uint", "bool"})

_TENSOR = re.compile(r"tensor<(\w+), \[(.*)\]>")
_LONG_SCALAR = re.compile(r"tensor<(\w+), \[\]>")
_SHORT_SCALAR = re.compile(r"(?<!tensor<)\b(?:bool|string|bf16|fp\d+|u?int\d+)\b")


class Compound(NamedTuple):
    """A type that the graph has no numbers of.

    `kind` is tensor, list, dict, tuple or state. `parts` are the types in it: the element of a list, key and value of a
    dict, what a state holds. Those of a tensor are none: it has `element`, the name of an element type. `sizes` are a
    tensor's, or a list's length, each a number or `?`.
    """

    kind: str
    element: str
    parts: tuple[TensorType, ...]
    sizes: tuple[str, ...]


@cache
def other_dtype(text: str) -> DType:
    """The element type that stands for a type that is no tensor of known sizes."""
    return DType(text, "other", 0, "O")


def is_tensor(type: TensorType) -> bool:
    """Whether it is a tensor of numbers with known sizes."""
    return type.dtype.kind in _NUMBERS


def canonical(text: str) -> str:
    """A type as dialect 1.3 prints it: short scalars, one space after a comma."""
    return _LONG_SCALAR.sub(r"\1", "".join(text.split()).replace(",", ", "))


def spelled(type: TensorType, short: bool) -> str:
    """A type in dialect 1.3 (`short`) or 1.0, which has no scalars: `list<tensor<string, []>, 3>`."""
    name = type.dtype.name
    if type.dtype.kind == "other":
        return name if short else _SHORT_SCALAR.sub(lambda found: f"tensor<{found[0]}, []>", name)
    if short and not type.shape:
        return name
    return f"tensor<{name}, [{', '.join(map(str, type.shape))}]>"


def typed(text: str) -> TensorType:
    """The type of a canonical text, whose sizes are in range."""
    if text in ELEMENTS:
        return TensorType(ELEMENTS[text], ())
    found = _TENSOR.fullmatch(text)
    if found is None or found[1] not in ELEMENTS or UNKNOWN in found[2]:
        return TensorType(other_dtype(text), ())
    return TensorType(ELEMENTS[found[1]], tuple(map(int, _split(found[2]))))


@cache
def compound(dtype: DType) -> Compound:
    """What an element type of another kind stands for."""
    text = dtype.name
    found = _TENSOR.fullmatch(text)
    if found is not None:
        return Compound("tensor", found[1], (), tuple(_split(found[2])))
    kind, opening, rest = text.partition("<")
    if not opening:
        return Compound("tensor", text, (), ())
    parts = _split(rest.removesuffix(">"))
    sizes = (parts.pop(),) if kind == "list" else ()
    return Compound(kind, "", tuple(map(typed, parts)), sizes)


def is_state(type: TensorType) -> bool:
    return compound_kind(type) == "state"


def compound_kind(type: TensorType) -> str:
    """tensor, list, dict, tuple or state."""
    return compound(type.dtype).kind if type.dtype.kind == "other" else "tensor"


def element_of(type: TensorType) -> str:
    """The name of a tensor's element type; empty for what is no tensor."""
    return compound(type.dtype).element if type.dtype.kind == "other" else type.dtype.name


def sizes_of(type: TensorType) -> tuple[int | str, ...]:
    """The sizes of a tensor, `?` for those that are unknown."""
    return compound(type.dtype).sizes if type.dtype.kind == "other" else type.shape


def _split(text: str) -> list[str]:
    """What stands between the commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "<[") - (letter in ">]")
        if letter == "," and not depth:
            parts.append(text[start:at].strip())
            start = at + 1
    return [*parts, text[start:].strip()] if text else []
