"""Checks of ranks, shapes and attributes that several ops' type rules share."""

from __future__ import annotations

from typing import NoReturn

from anedsl.ops.call import Call
from anedsl.types import Shape, TensorType


def shown(shape: Shape) -> str:
    """A shape as the author writes it."""
    return f"[{', '.join(map(str, shape))}]"


def need_rank(call: Call, operand: str, low: int, high: int | None = None, advice: str | None = None) -> TensorType:
    """The operand's type; ANE0240 unless its rank is in [low, high]."""
    type: TensorType = call.types[operand]
    if type.rank < low or (high is not None and type.rank > high):
        from anedsl.diagnostics.shapes import WrongRank

        expected = f"rank {low} or more" if high is None else f"rank {low}" if low == high else f"rank {low} to {high}"
        call.fail(
            operand,
            WrongRank,
            op=call.op.name,
            operand=call.named(operand),
            expected=expected,
            rank=type.rank,
            type=str(type),
            advice=advice,
        )
    return type


def need_shape(
    call: Call, operand: str, expected: Shape, rule: str | None = None, *, show: str = "x", advice: str | None = None
) -> None:
    """ANE0258 unless the operand, where it is given, has a shape; `show` is the operand that the shape follows from."""
    type: TensorType | None = call.types.get(operand)
    if type is not None and type.shape != expected:
        from anedsl.diagnostics.shapes import OperandShape

        call.fail(
            operand,
            OperandShape,
            show=(show,),
            op=call.op.name,
            operand=operand,
            expected=shown(expected),
            found=shown(type.shape),
            type=str(type),
            rule=rule,
            advice=advice,
        )


def need_length(call: Call, attribute: str, expected: int, rule: str | None = None) -> tuple[int, ...]:
    """A list attribute as a tuple; ANE0256 unless it has so many values."""
    values = tuple(call.attributes[attribute])
    if len(values) != expected:
        from anedsl.diagnostics.shapes import AttributeLength

        call.fail(
            attribute,
            AttributeLength,
            show=("x",),
            op=call.op.name,
            attribute=attribute,
            expected=expected,
            found=len(values),
            rule=rule,
        )
    call.attributes[attribute] = values
    return values


def need_least(call: Call, attribute: str, least: int) -> None:
    """ANE0246 unless an int attribute, or each value of a list attribute, is at least so large."""
    value = call.attributes[attribute]
    for number in value if isinstance(value, tuple) else (value,):
        if number < least:
            wrong_attribute(call, attribute, f"{number} is less than {least}")


def need_choice(call: Call, attribute: str) -> str:
    """A string attribute's value; ANE0246 unless it is one of the record's choices."""
    value: str = call.attributes[attribute]
    choices = call.op.attribute_index[attribute].choices
    if value not in choices:
        from anedsl.diagnostics import nearest

        close = nearest(value, choices) if isinstance(value, str) else None
        wrong_attribute(
            call,
            attribute,
            "expected " + " or ".join(f'"{choice}"' for choice in choices),
            advice=None if close is None else f'did you mean "{close}"?',
        )
    return value


def wrong_attribute(call: Call, attribute: str, reason: str, found: str = "", advice: str | None = None) -> NoReturn:
    """Ends with ANE0246 at an attribute."""
    from anedsl.diagnostics.shapes import WrongAttribute

    call.fail(attribute, WrongAttribute, op=call.op.name, attribute=attribute, reason=reason, found=found, advice=advice)
