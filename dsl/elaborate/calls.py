"""Calls of ops, short names and functions: arguments are bound, numbers take the element type of the tensors they meet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from anedsl.diagnostics import Failure, nearest
from anedsl.elaborate import arithmetic
from anedsl.elaborate.builder import check_fits
from anedsl.elaborate.frame import Frame
from anedsl.elaborate.values import Builtin, ConstTensor, Family, Function, describe, is_integer, is_number
from anedsl.graph import Operands, Value
from anedsl.ops.call import Call, infer
from anedsl.ops.record import REQUIRED, Attribute, Op, Operand
from anedsl.source import Span
from anedsl.types import BOOL, DTYPES, FP16, FP32, FP64, INT32, DType, TensorType


class Argument(NamedTuple):
    """An evaluated argument; `name` is None for one given by its place."""

    name: str | None
    value: Any
    span: Span
    name_span: Span | None = None


def call(function: Any, arguments: list[Argument], span: Span, function_span: Span, frame: Frame) -> Any:
    """Calls an op, a short name or a function."""
    if isinstance(function, Op):
        return call_op(function, arguments, span, frame)
    if isinstance(function, Builtin):
        bound = _bind_builtin(function, arguments, span)
        spans = {name: argument.span for name, argument in bound.items()}
        if function.variadic:
            spans |= {f"{function.variadic}[{i}]": a.span for i, a in enumerate(a for a in arguments if a.name is None)}
        return function.run(Site(function.name, span, spans, frame), **_values(bound))
    if isinstance(function, Function):
        from anedsl.elaborate.functions import inline

        return inline(function, arguments, span, frame)
    from anedsl.diagnostics.names import NotCallable

    advice = "write `*` to multiply" if isinstance(function, (Value, ConstTensor)) or is_number(function) else None
    raise Failure(NotCallable(span=function_span, what=describe(function), advice=advice))


class Site(NamedTuple):
    """Where a short name is called: for the ops that it becomes and the diagnostics that it gives."""

    name: str
    span: Span
    spans: Mapping[str, Span]
    frame: Frame

    def op(self, op: Op, *positional: Any, **named: Any) -> Any:
        """Calls an op with values, keeping the author's places: a parameter's place is that of the same name here."""
        arguments = [Argument(None, value, self.span) for value in positional]
        arguments += [Argument(name, value, self.spans.get(name, self.span)) for name, value in named.items()]
        return call_op(op, arguments, self.span, self.frame, self.spans)

    def span_of(self, name: str) -> Span:
        return self.spans.get(name, self.span)


# ---- ops ----


def call_op(op: Op, arguments: Sequence[Argument], span: Span, frame: Frame, places: Mapping[str, Span] | None = None) -> Any:
    """One op on tensors, or its value where all operands are known at compile time.

    Returns the result, or a tuple of them where the op has several. `places` are more of the author's places, such as
    those of `values[0]`, `values[1]`, ... of a variadic operand.
    """
    bound = _bind_op(op, arguments, span)
    operands = {operand.name: _operand(op, operand, bound[operand.name]) for operand in op.operands if operand.name in bound}
    spans = {**(places or {}), **{name: argument.span for name, argument in bound.items()}}
    if not _has_value(operands.values()):
        if operands:
            return _compute(op, operands, bound, spans, span)
        raise _misses(op, span)
    dtypes = _domain_dtypes(op, operands)
    placed: dict[str, Operands] = {}
    for operand in op.operands:
        value = operands.get(operand.name)
        if value is None:
            continue
        dtype = dtypes.get(operand.domain.name) or operand.domain.dtypes[0]
        at = spans[operand.name]
        if isinstance(value, tuple):
            placed[operand.name] = tuple(_place(part, dtype, at, frame) for part in value)
        else:
            placed[operand.name] = _place(value, dtype, at, frame)
        if operand.const:
            _check_const(op, operand, placed[operand.name], at, frame)
    attributes = _attributes(op, bound, dtypes)
    results = frame.builder.apply(op, placed, attributes, span, spans)
    return results[0] if len(results) == 1 else results


def _bind_op(op: Op, arguments: Sequence[Argument], span: Span) -> dict[str, Argument]:
    """Arguments by parameter: operands in their order, then attributes."""
    names = (*op.operand_index, *op.attribute_index)
    bound: dict[str, Argument] = {}
    place = 0
    for argument in arguments:
        name = argument.name
        if name is None:
            if place == len(names):
                from anedsl.diagnostics.names import TooManyArguments

                found = sum(1 for a in arguments if a.name is None)
                raise Failure(
                    TooManyArguments(
                        span=argument.span, op=op.name, expected=_count(len(names)), found=found, signature=signature(op)
                    )
                )
            name = names[place]
            place += 1
        elif name not in op.operand_index and name not in op.attribute_index:
            raise unknown_argument(op.name, argument, names, signature(op))
        if name in bound:
            raise _twice(op.name, name, argument.span)
        bound[name] = argument
    needed = [o.name for o in op.operands if not o.optional] + [a.name for a in op.attributes if a.default is REQUIRED]
    for name in needed:
        if name not in bound:
            from anedsl.diagnostics.names import MissingArgument

            raise Failure(MissingArgument(span=span, op=op.name, name=name, signature=signature(op)))
    return bound


def _operand(op: Op, operand: Operand, argument: Argument) -> Any:
    value = argument.value
    if operand.variadic:
        if isinstance(value, Family):
            value = value.members
        parts = value if isinstance(value, tuple) else (value,)
        return tuple(_tensor_like(op, operand, part, argument.span) for part in parts)
    return _tensor_like(op, operand, value, argument.span)


def _tensor_like(op: Op, operand: Operand, value: Any, span: Span) -> Any:
    """A tensor, number or boolean; a list of numbers becomes a compile-time tensor."""
    if isinstance(value, (Value, ConstTensor, bool, int, float)):
        return value
    if isinstance(value, (tuple, range)):
        return list_tensor(value, span)
    advice = f"use one of its members: `{value.name}[0]`" if isinstance(value, Family) else None
    raise wrong_kind(span, "a tensor", value, use=f"`{operand.name}` of `{op.name}`", advice=advice)


def _has_value(operands: Any) -> bool:
    return any(isinstance(value, Value) or (isinstance(value, tuple) and _has_value(value)) for value in operands)


def _domain_dtypes(op: Op, operands: Mapping[str, Any]) -> dict[str, DType]:
    """The element type of each domain: that of its first tensor, or what its compile-time values suggest."""
    found: dict[str, DType] = {}
    for operand in op.operands:
        value = operands.get(operand.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Value) and operand.domain.name not in found:
                found[operand.domain.name] = part.type.dtype
    for operand in op.operands:
        if operand.name in operands and operand.domain.name not in found:
            value = operands[operand.name]
            found[operand.domain.name] = _suggested(operand, value[0] if isinstance(value, tuple) and value else value)
    return found


def _suggested(operand: Operand, value: Any) -> DType:
    allowed = operand.domain.dtypes
    is_bool = isinstance(value, bool) or (isinstance(value, ConstTensor) and value.array.dtype == np.bool_)
    wanted = BOOL if is_bool else FP16
    return wanted if wanted in allowed else allowed[0]


def _place(value: Any, dtype: DType, span: Span, frame: Frame) -> Value:
    return value if isinstance(value, Value) else frame.builder.constant(value, dtype, span)


def _check_const(op: Op, operand: Operand, value: Operands, span: Span, frame: Frame) -> None:
    if not all(frame.builder.is_constant(part) for part in (value if isinstance(value, tuple) else (value,))):
        from anedsl.diagnostics.names import NotCompileTime

        advice = "use `matmul` for weights that arrive with the activations" if op.name in ("linear", "conv") else None
        raise Failure(NotCompileTime(span=span, use=f"`{operand.name}` of `{op.name}`", advice=advice))


# ---- attributes ----


def _attributes(op: Op, bound: Mapping[str, Argument], dtypes: Mapping[str, DType]) -> dict[str, Any]:
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


# ---- compile-time values ----


def _compute(op: Op, operands: Mapping[str, Any], bound: Mapping[str, Argument], spans: Mapping[str, Span], span: Span) -> Any:
    """The op's value on compile-time operands, in float64 and int64."""
    arrays: dict[str, Any] = {}
    types: dict[str, Any] = {}
    dtypes: dict[str, DType] = {}
    integral = _integral_domains(op, operands)
    for operand in op.operands:
        if operand.name not in operands:
            continue
        value = operands[operand.name]
        parts = value if isinstance(value, tuple) else (value,)
        made = tuple(_const_array(part, operand.domain.name in integral, spans[operand.name]) for part in parts)
        typed = tuple(TensorType(_stand_in(array), array.shape) for array in made)
        arrays[operand.name] = made if operand.variadic else made[0]
        types[operand.name] = typed if operand.variadic else typed[0]
        dtypes[operand.domain.name] = FP64  # no bound of fp16 applies to numbers
    call = Call(op, types, _attributes(op, bound, dtypes), span, spans)
    for type in infer(call):
        arithmetic.check_size(type.shape, span)
    ordered = [arrays.get(operand.name) for operand in op.operands]
    with np.errstate(all="ignore"):
        results = op.reference(*ordered, **call.attributes)
    scalars = not any(
        isinstance(part, ConstTensor) for value in operands.values() for part in (value if isinstance(value, tuple) else (value,))
    )
    values = tuple(_const_value(r, scalars, op, span) for r in (results if isinstance(results, tuple) else (results,)))
    return values[0] if len(values) == 1 else values


def _integral_domains(op: Op, operands: Mapping[str, Any]) -> set[str]:
    """The domains whose values are all integers and which take integers."""
    found = {operand.domain.name for operand in op.operands if INT32 in operand.domain.dtypes}
    for operand in op.operands:
        value = operands.get(operand.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, float) or (isinstance(part, ConstTensor) and part.array.dtype.kind == "f"):
                found.discard(operand.domain.name)
    return found


def _const_array(value: Any, integral: bool, span: Span) -> Any:
    array = value.array if isinstance(value, ConstTensor) else arithmetic.number_array(value, span)
    return array if integral or array.dtype.kind in "bf" else array.astype(np.float64)


def _stand_in(array: Any) -> DType:
    """The element type that stands for a compile-time array in a type rule."""
    return {"b": BOOL, "i": INT32}.get(array.dtype.kind, FP32)


def _const_value(result: Any, scalar: bool, op: Op, span: Span) -> Any:
    array = np.asarray(result)
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            from anedsl.diagnostics.names import InvalidOperation

            raise Failure(InvalidOperation(span=span, problem=f"`{op.name}` has no finite value here"))
    elif array.dtype.kind in "iu":
        array = array.astype(np.int64)
    return array.item() if scalar and array.ndim == 0 else ConstTensor(array)


def list_tensor(items: Any, span: Span) -> ConstTensor:
    """A compile-time tensor from nested lists of numbers."""
    arithmetic.check_size((len(items),), span)
    parts = []
    for item in items:
        if isinstance(item, (tuple, range)):
            parts.append(list_tensor(item, span).array)
        elif isinstance(item, (bool, int, float)):
            parts.append(arithmetic.number_array(item, span))
        elif isinstance(item, ConstTensor):
            parts.append(item.array)
        else:
            raise wrong_kind(span, "a list of numbers", item)
    if not parts or any(part.shape != parts[0].shape for part in parts):
        raise wrong_kind(span, "a list of numbers, its rows equally long", items)
    return ConstTensor(np.stack(parts))


# ---- short names ----


def _bind_builtin(function: Builtin, arguments: Sequence[Argument], span: Span) -> dict[str, Argument]:
    names = [name for name, _ in function.parameters]
    bound: dict[str, Argument] = {}
    positional = [argument for argument in arguments if argument.name is None]
    if function.variadic and positional:
        values = tuple(argument.value for argument in positional)
        bound[function.variadic] = Argument(None, values, positional[0].span.to(positional[-1].span))
        positional = []
    if len(positional) > len(names):
        from anedsl.diagnostics.names import TooManyArguments

        extra = positional[len(names)]
        raise Failure(
            TooManyArguments(
                span=extra.span,
                op=function.name,
                expected=_count(len(names)),
                found=len(positional),
                signature=signature(function),
            )
        )
    for name, argument in zip(names, positional, strict=False):
        bound[name] = argument
    for argument in arguments:
        if argument.name is None:
            continue
        if argument.name not in names:
            raise unknown_argument(function.name, argument, names, signature(function))
        if argument.name in bound:
            raise _twice(function.name, argument.name, argument.span)
        bound[argument.name] = argument
    for name, default in function.parameters:
        if name not in bound and default is REQUIRED:
            from anedsl.diagnostics.names import MissingArgument

            raise Failure(MissingArgument(span=span, op=function.name, name=name, signature=signature(function)))
    return bound


def _values(bound: Mapping[str, Argument]) -> dict[str, Any]:
    return {name: argument.value for name, argument in bound.items()}


# ---- diagnostics ----


def signature(function: Op | Builtin) -> str:
    """How a function is called: `softmax(x, axis = -1)`."""
    if isinstance(function, Builtin):
        parts = [_parameter(name, default) for name, default in function.parameters]
        return f"{function.name}({', '.join(parts)})"
    parts = [
        f"{operand.name}, ..." if operand.variadic else operand.name for operand in function.operands if not operand.optional
    ]
    parts += [_parameter(a.name, a.default) for a in function.attributes if a.default is REQUIRED]
    parts += [f"{operand.name} = ..." for operand in function.operands if operand.optional]
    parts += [_parameter(a.name, a.default) for a in function.attributes if a.default is not REQUIRED]
    return f"{function.name}({', '.join(parts)})"


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


def wrong_kind(span: Span, expected: str, value: Any, use: str | None = "", advice: str | None = None) -> Failure:
    from anedsl.diagnostics.names import WrongKind

    return Failure(WrongKind(span=span, expected=expected, found=describe(value), use=use, advice=advice))


def unknown_argument(function: str, argument: Argument, names: Sequence[str], shown: str) -> Failure:
    from anedsl.diagnostics.names import UnknownArgument

    name = argument.name or ""
    return Failure(
        UnknownArgument(
            span=argument.name_span or argument.span, op=function, name=name, nearest=nearest(name, names), signature=shown
        )
    )


def _twice(function: str, name: str, span: Span) -> Failure:
    from anedsl.diagnostics.names import GivenTwice

    return Failure(GivenTwice(span=span, op=function, name=name))


def _misses(op: Op, span: Span) -> Failure:
    from anedsl.diagnostics.names import MissingArgument

    name = op.operands[0].name if op.operands else ""
    return Failure(MissingArgument(span=span, op=op.name, name=name, signature=signature(op)))


def _count(number: int) -> str:
    return f"{number} argument{'' if number == 1 else 's'}"
