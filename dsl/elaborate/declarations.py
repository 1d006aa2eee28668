"""Inputs, weights, outputs and packs of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from anedsl.compression import Storage, StoredData
from anedsl.data import ArrayData, Data, FillData, WeightData
from anedsl.diagnostics import Failure, Label, nearest
from anedsl.elaborate import arithmetic
from anedsl.elaborate.arguments import wrong_kind
from anedsl.elaborate.builder import check_array_fits, check_fits
from anedsl.elaborate.expressions import evaluate, integer
from anedsl.elaborate.frame import Frame
from anedsl.elaborate.functions import define
from anedsl.elaborate.scope import Scope
from anedsl.elaborate.storage import stored_as
from anedsl.elaborate.values import Builtin, ConstTensor, Family, is_number
from anedsl.graph import Pack, Port, Value, Weight
from anedsl.ops.call import MAX_ELEMENTS
from anedsl.source import Span
from anedsl.syntax import tree
from anedsl.types import DTYPES, FP16, FP64, INT32, INT64, UINT64, DType, TensorType

MAX_FAMILY = 10_000


class Declarations:
    """What a kernel declares, in order."""

    def __init__(self) -> None:
        self.inputs: dict[str, Port] = {}
        self.outputs: dict[str, tuple[TensorType | None, Span]] = {}
        self.packs: list[tuple[tree.Pack, int]] = []
        self.weights: list[tuple[str, Span, tuple[Value, ...]]] = []

    def output_type(self, name: str) -> TensorType | None:
        return self.outputs[name][0]


def _of(frame: Frame, what: str, span: Span) -> Declarations:
    """The declarations of the kernel; a 0231 diagnostic in functions and loops."""
    where = "in a function" if frame.declarations is None else "in a loop" if frame.scope.parent is not None else None
    if where is not None or frame.declarations is None:
        from anedsl.diagnostics.names import Misplaced

        advice = "declare a family: `weight W[N]: ...`" if what == "a weight" and where == "in a loop" else None
        raise Failure(Misplaced(span=frame.at(span), what=what, where=where or "here", advice=advice))
    return frame.declarations


def dtype_of(name: tree.Identifier, frame: Frame) -> DType:
    """The element type of a name; those of more than 32 bits exist in MIL for attributes only."""
    dtype = DTYPES.get(name.text)
    if dtype is None or dtype in (FP64, INT64, UINT64):
        from anedsl.diagnostics.names import UnknownDType
        from anedsl.elaborate import foreign

        known = [known for known in DTYPES if known not in ("fp64", "int64", "uint64")]
        close = foreign.DTYPES.get(name.text) or nearest(name.text, known)
        raise Failure(UnknownDType(span=frame.at(name.span), name=name.text, nearest=close))
    return dtype


def tensor_type(type: tree.Type, frame: Frame) -> TensorType:
    """The type that a declaration writes."""
    assert type.dtype is not None
    dtype = dtype_of(type.dtype, frame)
    shape = tuple(_dimension(dimension, frame) for dimension in type.dimensions or ())
    found = TensorType(dtype, shape)
    arithmetic.check_rank(found.rank, frame.at(type.span))
    if found.size > MAX_ELEMENTS:
        from anedsl.diagnostics.shapes import TensorTooLarge

        raise Failure(TensorTooLarge(span=frame.at(type.span), type=str(found), count=found.size, limit=MAX_ELEMENTS))
    return found


def _dimension(expression: tree.Expression, frame: Frame) -> int:
    value = evaluate(expression, frame)
    span = frame.at(expression.span)
    if isinstance(value, float):
        from anedsl.diagnostics.names import InvalidDimension

        advice = "use `//` for a whole-number division" if "/" in span.text else None
        raise Failure(InvalidDimension(span=span, problem="not an integer", found=repr(value), advice=advice))
    size = integer(expression, frame, "a dimension", bits=64)
    if size < 1:
        from anedsl.diagnostics.names import InvalidDimension

        raise Failure(InvalidDimension(span=span, problem="a dimension is at least 1", found=str(size)))
    return size


def declare_inputs(statement: tree.Input, frame: Frame) -> None:
    """`input a, b: type in [low, high]`."""
    declarations = _of(frame, "an input", statement.span)
    type = tensor_type(statement.type, frame)
    bounds = _range(statement.range, type.dtype, frame) if statement.range is not None else None
    for name in statement.names:
        value = Value(type, name.text, name.span)
        define(frame.scope, name.text, value, name.span, "input")
        declarations.inputs[name.text] = Port(name.text, value, name.span, bounds)


def _range(expression: tree.Expression, dtype: DType, frame: Frame) -> tuple[float, float]:
    """What an input promises: two numbers that its element type can hold, in order."""
    value = evaluate(expression, frame)
    span = frame.at(expression.span)
    if isinstance(value, tuple) and len(value) == 2 and is_number(value[0]) and is_number(value[1]) and value[0] <= value[1]:
        for bound in value:
            if dtype.kind != "bool":
                check_fits(bound, dtype, span)
        return arithmetic.finite(value[0], span), arithmetic.finite(value[1], span)
    advice = None
    if isinstance(value, tuple) and len(value) == 2 and is_number(value[0]) and is_number(value[1]):
        advice = f"the lower bound comes first: `[{value[1]}, {value[0]}]`"
    raise wrong_kind(span, "a range `[low, high]`", value, use="the range of an input", advice=advice)


def declare_weights(statement: tree.Weight, frame: Frame) -> None:
    """`weight W: type = initialiser` and families `W[COUNT]`."""
    declarations = _of(frame, "a weight", statement.span)
    type = tensor_type(statement.type, frame)
    storage = None if statement.stored is None else stored_as(statement.stored, type, frame)
    initial = None if statement.initialiser is None else _initialiser(statement.initialiser, type, frame)
    for item in statement.names:
        name, span = item.name.text, item.name.span
        if item.size is None:
            value = _weight(name, name, type, initial, storage, span, frame)
            define(frame.scope, name, value, span, "weight")
            declarations.weights.append((name, span, (value,)))
            continue
        count = integer(item.size, frame, "the size of a family", bits=64)
        if not 1 <= count <= MAX_FAMILY:
            from anedsl.diagnostics.names import InvalidDimension

            problem = f"a family has 1 to {MAX_FAMILY} members"
            raise Failure(InvalidDimension(span=frame.at(item.size.span), problem=problem, found=str(count)))
        members = tuple(_weight(f"{name}[{i}]", f"{name}{i}", type, initial, storage, span, frame) for i in range(count))
        define(frame.scope, name, Family(name, members), span, "weight")
        declarations.weights.append((name, span, members))


def _weight(
    name: str, hint: str, type: TensorType, initial: Data | None, storage: Storage | None, span: Span, frame: Frame
) -> Value:
    data: Data = WeightData(name, type, initial, span)
    weight = Weight(name, span)
    if storage is not None:
        data = StoredData(data, storage, weight)
    return frame.builder.data(data, type, name=hint, span=span, weight=weight)


def _initialiser(expression: tree.Expression, type: TensorType, frame: Frame) -> Data:
    """`ones`, `zeros`, a number, or a compile-time tensor that broadcasts to the weight's shape."""
    value = evaluate(expression, frame)
    span = frame.at(expression.span)
    if isinstance(value, Builtin) and value.name in ("ones", "zeros"):
        value = 1 if value.name == "ones" else 0
        return FillData(bool(value) if type.dtype.kind == "bool" else value, type.shape)
    if isinstance(value, (bool, int, float)):
        check_fits(value, type.dtype, span)
        return FillData(value, type.shape)
    if isinstance(value, tuple):
        from anedsl.elaborate.calls import list_tensor

        value = list_tensor(value, span)
    if isinstance(value, ConstTensor):
        check_array_fits(value, type.dtype, span)
        try:
            return ArrayData(np.broadcast_to(value.array, type.shape))
        except ValueError:
            from anedsl.diagnostics.shapes import ShapeMismatch

            problem = f"the initialiser has shape {list(value.shape)}, the weight {list(type.shape)}"
            raise Failure(ShapeMismatch(span=span, problem=problem, detail="does not broadcast to the weight's shape")) from None
    if isinstance(value, Value):
        from anedsl.diagnostics.names import NotCompileTime

        raise Failure(
            NotCompileTime(
                span=span,
                use="an initialiser",
                advice="an initialiser cannot use another weight: use a number or a compile-time tensor",
            )
        )
    raise wrong_kind(span, "`ones`, `zeros`, a number or a compile-time tensor", value, use="the initialiser of a weight")


def declare_outputs(statement: tree.Output, frame: Frame) -> None:
    """`output a, b: type`; a value comes by an equation. An input that is named as an output passes through."""
    declarations = _of(frame, "an output", statement.span)
    type = None if statement.type is None else tensor_type(statement.type, frame)
    for name in statement.names:
        earlier = frame.scope.names.get(name.text)
        if earlier is not None and earlier.kind == "value" and name.text not in declarations.outputs:
            earlier.kind = "output"  # declared below its equation
            earlier.used = True
        elif earlier is not None and earlier.kind == "input" and name.text not in declarations.outputs:
            earlier.used = True
        else:
            define(frame.scope, name.text, None, name.span, "output").used = True
        declarations.outputs[name.text] = (type, name.span)


def declare_pack(statement: tree.Pack, frame: Frame) -> None:
    """`pack NAME = (a, b) along AXIS`: checked when all declarations are known."""
    declarations = _of(frame, "a pack", statement.span)
    declarations.packs.append((statement, integer(statement.axis, frame, "the axis of a pack", bits=32)))


def constant_output(value: Any, declared: TensorType | None, span: Span, frame: Frame) -> Value:
    """An output whose value is known at compile time."""
    dtype = declared.dtype if declared is not None else FP16
    if not isinstance(value, ConstTensor):
        array = arithmetic.number_array(value, span)
        value = ConstTensor(np.broadcast_to(array, declared.shape if declared is not None else ()))
    return frame.builder.constant(value, dtype, span)


def packs(declarations: Declarations, outputs: dict[str, Port], scope: Scope) -> tuple[list[Pack], list[Pack]]:
    """The packs of inputs and of outputs, checked against their members (0225) and against other names (0202)."""
    found: tuple[list[Pack], list[Pack]] = ([], [])
    owners: tuple[dict[str, Span], dict[str, Span]] = ({}, {})
    places: dict[str, Span] = {}
    for statement, axis in declarations.packs:
        _check_new(statement.name, scope, places)
        sides = (declarations.inputs, outputs)
        side = _side(statement, declarations, outputs)
        kind = ("inputs", "outputs")[side]
        found[side].append(_pack(statement, axis, sides[side], kind, {*sides[0], *sides[1]}, owners[side]))
    return found


def _check_new(name: tree.Identifier, scope: Scope, packs: dict[str, Span]) -> None:
    """The name of a pack becomes that of an input or output of the program: no other may have to give way."""
    known = scope.find(name.text)
    earlier = packs.get(name.text) if known is None else known.span
    if earlier is not None:
        from anedsl.diagnostics.names import DefinedTwice

        raise Failure(DefinedTwice(span=name.span, related=(Label(earlier, "first defined here"),), name=name.text))
    packs[name.text] = name.span


def _side(statement: tree.Pack, declarations: Declarations, outputs: dict[str, Port]) -> int:
    """0 for a pack of inputs, 1 for one of outputs: its first member says which, unless it is an input that passes through."""
    names = [member.text for member in statement.members]
    if names[0] not in declarations.inputs:
        return 1
    return 1 if names[0] in outputs and any(name not in declarations.inputs for name in names) else 0


def _pack(statement: tree.Pack, axis: int, ports: dict[str, Port], kind: str, known: set[str], owner: dict[str, Span]) -> Pack:
    from anedsl.diagnostics.names import InvalidPack

    name = statement.name.text

    def invalid(span: Span, problem: str, detail: str, advice: str | None = None) -> Failure:
        return Failure(InvalidPack(span=span, name=name, problem=problem, detail=detail, advice=advice))

    for member in statement.members:
        if member.text not in ports:
            if member.text in known:
                raise invalid(member.span, "it mixes inputs and outputs", f"is not among the {kind}")
            close = nearest(member.text, known)
            advice = f"did you mean `{close}`?" if close else None
            raise invalid(member.span, f"`{member.text}` is neither an input nor an output", "unknown", advice)
        if member.text in owner:
            raise invalid(member.span, f"`{member.text}` is packed twice", "packed again here")
        owner[member.text] = member.span
    first = ports[statement.members[0].text].value.type
    if not -first.rank <= axis < first.rank:
        raise invalid(statement.axis.span, f"axis {axis} is out of range", f"`{first}` has {first.rank} axes")
    axis %= first.rank
    for member in statement.members[1:]:
        type = ports[member.text].value.type
        same = type.rank == first.rank and all(
            a == b for i, (a, b) in enumerate(zip(type.shape, first.shape, strict=True)) if i != axis
        )
        if type.dtype is not first.dtype or not same:
            detail = f"is `{type}`, but `{statement.members[0].text}` is `{first}`"
            if same:
                advice = "declare both with one element type, or leave it out of the pack"
                raise invalid(member.span, "its members have different element types", detail, advice)
            raise invalid(member.span, f"its members differ in more than axis {axis}", detail)
    return Pack(name, tuple(member.text for member in statement.members), axis, statement.name.span)


def _converted(declared: TensorType, found: TensorType) -> str | None:
    """How to convert an output; between int32 and fp16 by way of int16, because the ANE has no such cast (rule Q2)."""
    if declared.shape != found.shape:
        return None
    inner = "cast(..., int16)" if {declared.dtype, found.dtype} == {FP16, INT32} else "..."
    return f"convert it: `cast({inner}, {declared.dtype})`"


def outputs(declarations: Declarations, frame: Frame) -> dict[str, Port]:
    """The outputs with their values; a 0204 or 0224 diagnostic for one that has none, or one of another type."""
    found: dict[str, Port] = {}
    sink = frame.elaboration.sink
    for name, (declared, span) in declarations.outputs.items():
        value = frame.scope.names[name].value
        if value is None:
            from anedsl.diagnostics.names import OutputUndefined

            sink.add(OutputUndefined(span=span, name=name))
        elif not isinstance(value, (Value, ConstTensor, int, float)):
            continue  # poisoned: reported where it failed
        else:
            if not isinstance(value, Value):
                value = constant_output(value, declared, span, frame)
            if declared is not None and declared != value.type:
                from anedsl.diagnostics.names import OutputType

                advice = _converted(declared, value.type)
                related = (Label(value.span, "its value"),) if value.span.source is span.source else ()
                sink.add(
                    OutputType(
                        span=span, related=related, name=name, declared=str(declared), found=str(value.type), advice=advice
                    )
                )
            found[name] = Port(name, value, span)
    return found
