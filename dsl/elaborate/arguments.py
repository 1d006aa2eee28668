"""The arguments of a call: each goes to its parameter, and an attribute of an op gets a value of its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from anedsl.diagnostics import Failure, counted, nearest
from anedsl.elaborate import arithmetic
from anedsl.elaborate.builder import check_fits
from anedsl.elaborate.values import Builtin, ConstTensor, describe, is_integer, is_number
from anedsl.graph import Value
from anedsl.ops.record import REQUIRED, Attribute, Op, Operand
from anedsl.source import Span
from anedsl.types import DTYPES, FP32, DType


class Argument(NamedTuple):
    """An evaluated argument; `name` is None for one given by its place."""

    name: str | None
    value: Any
    span: Span
    name_span: Span | None = None


def bind(function: str, names: Sequence[str], arguments: Sequence[Argument], shown: Callable[[], str]) -> dict[str, Argument]:
    """Arguments by parameter: those without a name in the order of `names`. `shown` tells how the function is called."""
    bound: dict[str, Argument] = {}
    place = 0
    for argument in arguments:
        name = argument.name
        if name is None:
            if place == len(names):
                raise _too_many(function, len(names), arguments, argument.span, shown())
            name = names[place]
            place += 1
        elif name not in names:
            raise _unknown(function, argument, names, shown())
        if name in bound:
            raise given_twice(function, name, argument.span)
        bound[name] = argument
    return bound


def bind_op(op: Op, arguments: Sequence[Argument], span: Span) -> dict[str, Argument]:
    """Without names, arguments come in the order of the signature. Raises ANE0210 to ANE0213."""
    required, optional = parameters(op)
    bound = bind(op.name, [slot.name for slot in (*required, *optional)], arguments, lambda: signature(op))
    for name in (slot.name for slot in required):
        if name not in bound:
            raise missing(op.name, name, span, signature(op))
    return bound


def bind_builtin(function: Builtin, arguments: Sequence[Argument], span: Span) -> dict[str, Argument]:
    """As `bind_op`, for a short name; one that is variadic takes all arguments without a name as one list."""
    positional = [argument for argument in arguments if argument.name is None]
    if function.variadic and positional:
        whole = positional[0].span.to(positional[-1].span)
        joined = Argument(function.variadic, tuple(argument.value for argument in positional), whole)
        arguments = [joined, *(argument for argument in arguments if argument.name is not None)]
    names = [name for name, _ in function.parameters]
    bound = bind(function.name, names, arguments, lambda: signature(function))
    for name, default in function.parameters:
        if name not in bound and default is REQUIRED:
            raise missing(function.name, name, span, signature(function))
    return bound


# ---- attributes ----


def attributes(op: Op, bound: Mapping[str, Argument], dtypes: Mapping[str, DType]) -> dict[str, Any]:
    """The attributes of a call that are given, each in its kind."""
    return {
        attribute.name: _attribute(op, attribute, bound[attribute.name], dtypes)
        for attribute in op.attributes
        if attribute.name in bound
    }


def _attribute(op: Op, attribute: Attribute, argument: Argument, dtypes: Mapping[str, DType]) -> Any:
    """The value of an attribute in its kind."""
    kind, value, span = attribute.kind, argument.value, argument.span
    if isinstance(value, Value):
        from anedsl.diagnostics.names import NotCompileTime

        raise Failure(NotCompileTime(span=span, use=f"`{attribute.name}` of `{op.name}`"))
    if isinstance(value, ConstTensor) and len(value.shape) <= 1:
        value = value.array.tolist() if value.shape == () else tuple(value.array.tolist())
    if kind.endswith("s"):
        parts = tuple(value) if isinstance(value, (tuple, range)) else (value,)
        return tuple(_single(op, attribute, kind[:-1], part, span, dtypes) for part in parts)
    return _single(op, attribute, kind, value, span, dtypes)


_KIND_WORDS = {
    "int": "an integer",
    "float": "a number",
    "bool": "`true` or `false`",
    "string": "a string",
    "dtype": "an element type",
}


def _single(op: Op, attribute: Attribute, kind: str, value: Any, span: Span, dtypes: Mapping[str, DType]) -> Any:
    if kind == "int" and is_integer(value):
        return arithmetic.check_integer(value, span, 32)
    if kind == "float" and is_number(value):
        dtype = FP32 if attribute.domain is None else dtypes.get(attribute.domain.name, FP32)
        check_fits(value, dtype, span)
        return float(value)
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "dtype" and (isinstance(value, DType) or (isinstance(value, str) and value in DTYPES)):
        return value if isinstance(value, DType) else DTYPES[value]
    if kind == "string" and isinstance(value, str):
        if attribute.choices and value not in attribute.choices:
            from anedsl.diagnostics.shapes import WrongAttribute

            reason = "expected " + " or ".join(f'"{choice}"' for choice in attribute.choices)
            raise Failure(WrongAttribute(span=span, op=op.name, attribute=attribute.name, reason=reason, found=f'is "{value}"'))
        return value
    raise wrong_kind(span, _KIND_WORDS[kind], value, use=f"`{attribute.name}` of `{op.name}`")


# ---- how a function is called ----


def signature(function: Op | Builtin) -> str:
    """How a function is called: `softmax(x, axis = -1)`."""
    if isinstance(function, Builtin):
        parts = [_parameter(name, default) for name, default in function.parameters]
        return f"{function.name}({', '.join(parts)})"
    required, optional = parameters(function)
    parts = [f"{slot.name}, ..." if isinstance(slot, Operand) and slot.variadic else slot.name for slot in required]
    parts += [_parameter(slot.name, slot.default if isinstance(slot, Attribute) else None) for slot in optional]
    return f"{function.name}({', '.join(parts)})"


def parameters(op: Op) -> tuple[list[Operand | Attribute], list[Operand | Attribute]]:
    """What an op must be given and what it may be given, each with operands before attributes."""
    required: list[Operand | Attribute] = [operand for operand in op.operands if not operand.optional]
    required += [attribute for attribute in op.attributes if attribute.default is REQUIRED]
    optional: list[Operand | Attribute] = [operand for operand in op.operands if operand.optional]
    optional += [attribute for attribute in op.attributes if attribute.default is not REQUIRED]
    return required, optional


def _parameter(name: str, default: Any) -> str:
    if default is REQUIRED:
        return name
    if default is None or callable(default):
        return f"{name} = ..."
    return f"{name} = {literal(default)}"


def literal(value: Any) -> str:
    """A compile-time value as the language writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, tuple):
        return f"[{', '.join(map(literal, value))}]"
    return str(value)


# ---- diagnostics ----


def wrong_kind(span: Span, expected: str, value: Any, use: str | None = "", advice: str | None = None) -> Failure:
    from anedsl.diagnostics.names import WrongKind

    return Failure(WrongKind(span=span, expected=expected, found=describe(value), use=use, advice=advice))


def missing(function: str, name: str, span: Span, shown: str) -> Failure:
    from anedsl.diagnostics.names import MissingArgument

    return Failure(MissingArgument(span=span, op=function, name=name, signature=shown))


def given_twice(function: str, name: str, span: Span) -> Failure:
    from anedsl.diagnostics.names import GivenTwice

    return Failure(GivenTwice(span=span, op=function, name=name))


def _too_many(function: str, most: int, arguments: Sequence[Argument], span: Span, shown: str) -> Failure:
    from anedsl.diagnostics.names import TooManyArguments

    found = sum(1 for argument in arguments if argument.name is None)
    expected = counted(most, "argument")
    return Failure(TooManyArguments(span=span, op=function, expected=expected, found=found, signature=shown))


def _unknown(function: str, argument: Argument, names: Sequence[str], shown: str) -> Failure:
    from anedsl.diagnostics.names import UnknownArgument
    from anedsl.elaborate import foreign

    name = argument.name or ""
    span = argument.name_span or argument.span
    close = foreign.parameter(name, names) or nearest(name, names)
    return Failure(UnknownArgument(span=span, op=function, name=name, nearest=close, signature=shown))
