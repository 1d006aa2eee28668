"""Calls of ops, short names and functions: numbers take the element type of the tensors they meet.

Where all operands are known at compile time, an op has a value and becomes no node of the graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from anedsl.diagnostics import Failure
from anedsl.elaborate import arithmetic, remarks
from anedsl.elaborate.arguments import Argument, attributes, bind_builtin, bind_op, wrong_kind
from anedsl.elaborate.frame import Frame
from anedsl.elaborate.values import Builtin, ConstTensor, Family, Function, describe, is_number
from anedsl.graph import Operands, Value
from anedsl.ops.call import Call, infer
from anedsl.ops.record import Op, Operand
from anedsl.source import Span
from anedsl.types import BOOL, FP16, FP32, FP64, INT32, DType, TensorType


def call(function: Any, arguments: list[Argument], span: Span, function_span: Span, frame: Frame) -> Any:
    """Calls an op, a short name or a function."""
    if isinstance(function, Op):
        return call_op(function, arguments, span, frame)
    if isinstance(function, Builtin):
        bound = bind_builtin(function, arguments, span)
        spans = {name: argument.span for name, argument in bound.items()}
        if function.variadic:
            spans |= _part_spans(function.variadic, arguments)
        by_place = frozenset(name for name, argument in bound.items() if argument.name is None)
        site = Site(function.name, span, spans, frame, by_place)
        return function.run(site, **{name: argument.value for name, argument in bound.items()})
    if isinstance(function, Function):
        from anedsl.elaborate.functions import inline

        return inline(function, arguments, span, frame)
    from anedsl.diagnostics.names import NotCallable

    advice = "write `*` to multiply" if isinstance(function, (Value, ConstTensor)) or is_number(function) else None
    raise Failure(NotCallable(span=function_span, what=describe(function), advice=advice))


def _part_spans(variadic: str, arguments: Sequence[Argument]) -> dict[str, Span]:
    """The places of `values[0]`, `values[1]`, ...; the parts of a list have none of their own."""
    positional = [argument for argument in arguments if argument.name is None]
    return {f"{variadic}[{i}]": a.span for i, a in enumerate(positional) if not isinstance(a.value, (tuple, range))}


class Site(NamedTuple):
    """Where a short name is called: for the ops that it becomes and the diagnostics that it gives.

    `by_place` are the parameters that are given without their names.
    """

    name: str
    span: Span
    spans: Mapping[str, Span]
    frame: Frame
    by_place: frozenset[str] = frozenset()

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
    bound = bind_op(op, arguments, span)
    operands = {operand.name: _operand(op, operand, bound[operand.name]) for operand in op.operands if operand.name in bound}
    spans = {**(places or {}), **{name: argument.span for name, argument in bound.items()}}
    _check_positive(op, operands, spans)
    if not _has_value(operands.values()):
        return _compute(op, operands, bound, spans, span, frame)
    dtypes = _domain_dtypes(op, operands, bound)
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
    results = frame.builder.apply(op, placed, attributes(op, bound, dtypes), span, spans)
    remarks.alignment(op, operands, spans, frame)
    remarks.dropped_axes(frame.builder.nodes[-1], spans, frame.builder)
    return results[0] if len(results) == 1 else results


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


def _domain_dtypes(op: Op, operands: Mapping[str, Any], bound: Mapping[str, Argument]) -> dict[str, DType]:
    """The element type of each domain: that of its first tensor, else of the attribute it follows, or what its compile-time
    values suggest."""
    found: dict[str, DType] = {}
    for operand in op.operands:
        value = operands.get(operand.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Value) and operand.domain.name not in found:
                found[operand.domain.name] = part.type.dtype
    for operand in op.operands:
        if operand.name in operands and operand.domain.name not in found:
            value = operands[operand.name]
            first = value[0] if isinstance(value, tuple) and value else value
            found[operand.domain.name] = _followed(op, operand, bound) or _suggested(operand, first)
    return found


def _followed(op: Op, operand: Operand, bound: Mapping[str, Argument]) -> DType | None:
    """The element type that the attribute of a domain names, or None; ANE0246 for one that the domain does not have."""
    domain = operand.domain
    argument = bound.get(domain.follows)
    if argument is None:
        return None
    dtype: DType = attributes(op, {domain.follows: argument}, {})[domain.follows]
    if dtype not in domain.dtypes:
        from anedsl.diagnostics.shapes import WrongAttribute

        at, reason = argument.span, f"it is {domain}"
        raise Failure(WrongAttribute(span=at, op=op.name, attribute=domain.follows, reason=reason, found=f"found {dtype}"))
    return dtype


def _suggested(operand: Operand, value: Any) -> DType:
    allowed = operand.domain.dtypes
    is_bool = isinstance(value, bool) or (isinstance(value, ConstTensor) and value.array.dtype == np.bool_)
    wanted = BOOL if is_bool else FP16
    return wanted if wanted in allowed else allowed[0]


def _check_positive(op: Op, operands: Mapping[str, Any], spans: Mapping[str, Span]) -> None:
    for operand in op.operands:
        value = operands.get(operand.name)
        if not operand.positive or value is None or isinstance(value, Value):
            continue
        smallest = value.array.min() if isinstance(value, ConstTensor) else value
        if smallest <= 0:
            from anedsl.diagnostics.shapes import NotPositive

            among = " in a compile-time tensor" if isinstance(value, ConstTensor) else ""
            found = f"{smallest:g}{among}"
            raise Failure(NotPositive(span=spans[operand.name], op=op.name, operand=operand.name, found=found))


def _place(value: Any, dtype: DType, span: Span, frame: Frame) -> Value:
    return value if isinstance(value, Value) else frame.builder.constant(value, dtype, span)


def _check_const(op: Op, operand: Operand, value: Operands, span: Span, frame: Frame) -> None:
    if not all(frame.builder.is_constant(part) for part in (value if isinstance(value, tuple) else (value,))):
        from anedsl.diagnostics.names import NotCompileTime

        advice = "use `matmul` for weights that arrive with the activations" if op.name in ("linear", "conv") else None
        raise Failure(NotCompileTime(span=span, use=f"`{operand.name}` of `{op.name}`", advice=advice))


# ---- compile-time values ----


def _compute(
    op: Op, operands: Mapping[str, Any], bound: Mapping[str, Argument], spans: Mapping[str, Span], span: Span, frame: Frame
) -> Any:
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
        whole = INT32 if INT32 in operand.domain.dtypes else _followed(op, operand, bound) or operand.domain.dtypes[0]
        typed = tuple(TensorType(_stand_in(array, whole), array.shape) for array in made)
        arrays[operand.name] = made if operand.variadic else made[0]
        types[operand.name] = typed if operand.variadic else typed[0]
        dtypes[operand.domain.name] = FP64  # no bound of fp16 applies to numbers
    call = Call(op, types, attributes(op, bound, dtypes), span, spans)
    inferred = infer(call)
    for type in inferred:
        arithmetic.check_size(type.shape, span)
    cost = arithmetic.work(op.flops(call, inferred), integral=bool(integral))
    frame.elaboration.count_elements(sum(type.size for type in inferred) + cost, span)
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
    found = {operand.domain.name for operand in op.operands if any(dtype.is_integer for dtype in operand.domain.dtypes)}
    for operand in op.operands:
        value = operands.get(operand.name)
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, float) or (isinstance(part, ConstTensor) and part.array.dtype.kind == "f"):
                found.discard(operand.domain.name)
    return found


def _const_array(value: Any, integral: bool, span: Span) -> Any:
    array = value.array if isinstance(value, ConstTensor) else arithmetic.number_array(value, span)
    return array if integral or array.dtype.kind in "bf" else array.astype(np.float64)


def _stand_in(array: Any, whole: DType) -> DType:
    """The element type that stands for a compile-time array in a type rule, `whole` for whole numbers."""
    return {"b": BOOL, "i": whole}.get(array.dtype.kind, FP32)


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
