"""From arguments as they are written to the operands and attributes of an op's record."""

from __future__ import annotations

import math
from typing import Any

from anedsl.codegen.mil_types import is_tensor
from anedsl.codegen.program import InFile
from anedsl.codegen.reader.literals import Resolved, out_of_range, resolve
from anedsl.codegen.reader.scope import Broken, Constant, Scope
from anedsl.codegen.reader.written import Literal, Several
from anedsl.diagnostics import Failure, nearest
from anedsl.graph import Value
from anedsl.ops.record import Attribute, Operand
from anedsl.types import DTYPES, INT32

_BARE = frozenset(("INTEGER", "FLOAT", "TRUE", "FALSE", "STRING"))

_WANTED = {
    "int": "a scalar of integers", "ints": "a list of integers", "float": "a scalar number", "floats": "a list of numbers",
    "bool": "a scalar bool", "bools": "a list of bools", "string": "a string", "dtype": "a string that names an element type",
}  # fmt: skip
_KINDS = {
    "int": ("int", "uint"), "ints": ("int", "uint"), "float": ("float", "int", "uint"), "floats": ("float", "int", "uint"),
    "bool": ("bool",), "bools": ("bool",), "string": ("string",), "dtype": ("string",),
}  # fmt: skip


_PAIRS = frozenset({"paddings", "crops"})
"""Attributes of two axes: a row with the positions before and after for each spatial axis."""


class StopStatement(Exception):
    """The statement uses what could not be read: it has been reported already."""


def is_reference(item: Any) -> bool:
    return isinstance(item, str) and getattr(item, "type", "NAME") not in _BARE


def operand(scope: Scope, item: Any, slot: Operand) -> Value | tuple[Value, ...]:
    """The value or values of an operand. Raises ANE0474 for several values where one is taken."""
    if isinstance(item, Several):
        if slot.variadic:
            return tuple([one(scope, part) for part in item.items])
        if len(item.items) != 1:
            from anedsl.diagnostics.artifacts import SeveralValues

            raise Failure(SeveralValues(span=scope.places.span(item), name=slot.name, found=len(item.items)))
        return one(scope, item.items[0])
    value = one(scope, item)
    return (value,) if slot.variadic else value


def one(scope: Scope, item: Any) -> Value:
    """The value that a name or a literal stands for."""
    if is_reference(item):
        entry = scope.entries.get(item) or scope.find(item)
        if isinstance(entry, Value):
            return entry
        if isinstance(entry, Broken):
            raise StopStatement
        return scope.as_value(entry, item)
    return scope.as_value(literal(scope, item), item)


def literal(scope: Scope, item: Any) -> Constant:
    """A const without a name."""
    wrapped = item if isinstance(item, Literal) else Literal(None, item)
    return Constant("", resolve(wrapped, scope.places), scope.places.span(item))


def constant(scope: Scope, item: Any, name: str, op: str) -> tuple[Constant, bool]:
    """The const that an attribute is set to, and whether it is written in place. Raises ANE0473 for a value."""
    if isinstance(item, Several) and len(item.items) == 1:
        item = item.items[0]
    if isinstance(item, Several):
        from anedsl.diagnostics.artifacts import SeveralValues

        raise Failure(SeveralValues(span=scope.places.span(item), name=name, found=len(item.items)))
    if not is_reference(item):
        return literal(scope, item), not isinstance(item, Literal)
    entry = scope.find(item)
    if isinstance(entry, Broken):
        raise StopStatement
    if isinstance(entry, Value):
        from anedsl.diagnostics.artifacts import NotConstant

        raise Failure(NotConstant(span=scope.places.span(item), op=op, name=name, value=str(item)))
    return entry, False


def attribute(scope: Scope, item: Any, slot: Attribute, op: str) -> Any:
    """The value of an attribute in the record's terms. Raises ANE0473, ANE0475 and ANE0472."""
    found, _ = constant(scope, item, slot.name, op)
    type, value = found.resolved
    wants_list = slot.kind.endswith("s")
    rank = int(wants_list) + (slot.name in _PAIRS)
    if type.dtype.kind not in _KINDS[slot.kind] or type.rank != rank:
        _wrong(scope, item, slot, op, str(type))
    if slot.kind == "string":
        return value
    if slot.kind == "dtype":
        return _dtype(scope, item, slot, op, value)
    if isinstance(value, InFile):
        value = scope.weights.data(value, type, found.span).load()
    numbers = value.reshape(-1).tolist()
    for number in numbers:
        _check(scope, item, slot, op, number)
    if slot.kind in ("float", "floats"):
        numbers = [float(number) for number in numbers]
    if rank == 2:
        width = type.shape[1]
        return tuple(tuple(numbers[start : start + width]) for start in range(0, len(numbers), width))
    return tuple(numbers) if wants_list else numbers[0]


def _check(scope: Scope, item: Any, slot: Attribute, op: str, number: Any) -> None:
    """Integers are int32. A number is finite, or an infinity where that means something."""
    if slot.kind in ("int", "ints"):
        if not INT32.smallest <= number <= INT32.largest:
            raise Failure(out_of_range(item, str(number), INT32, scope.places))
    elif not math.isfinite(number) and (math.isnan(number) or not slot.infinite):
        expected = "a number or an infinity" if slot.infinite else "a finite number"
        _wrong(scope, item, slot, op, str(number), expected=expected)


def _dtype(scope: Scope, item: Any, slot: Attribute, op: str, text: str) -> Any:
    dtype = DTYPES.get(text)
    if dtype is None:
        close = nearest(text, DTYPES)
        _wrong(scope, item, slot, op, f'"{text[:40]}"', f'did you mean "{close}"?' if close else None)
    return dtype


def _wrong(
    scope: Scope, item: Any, slot: Attribute, op: str, found: str, advice: str | None = None, expected: str | None = None
) -> None:
    from anedsl.diagnostics.artifacts import WrongArgument

    span = scope.places.span(item)
    wanted = expected or _WANTED[slot.kind]
    raise Failure(WrongArgument(span=span, op=op, name=slot.name, expected=wanted, found=found, advice=advice))


def opaque_argument(scope: Scope, item: Any) -> Value | tuple[Value, ...] | Resolved:
    """What an op without a record is given: the value or values of an operand, or what an attribute is set to."""
    if isinstance(item, Several):
        return tuple([one(scope, part) for part in item.items])
    entry = scope.find(item) if is_reference(item) else literal(scope, item)
    if isinstance(entry, Constant) and not is_tensor(entry.resolved.type):
        return entry.resolved
    return one(scope, item)
