"""One use of an op, as its type rule sees it; and the checks that every op shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from anedsl.diagnostics import Diagnostic, Failure, Label
from anedsl.ops.record import ANY, REQUIRED, AttributeValue, Op, Operand
from anedsl.source import NOWHERE, Span
from anedsl.types import FP16, FP32, DType, TensorType

MAX_RANK = 16
"""The most axes of a tensor: numpy 1 has no more than 32, Core ML and the ANE have 5."""
SHORT = 24
"""Characters of an operand that a diagnostic repeats."""

MAX_ELEMENTS = 2**31 - 1
"""The most elements one tensor may have: MIL counts them in int32."""

MAX_CONST_ELEMENTS = 2**27
"""The most elements of a tensor that is computed at compile time, or from consts alone: 1 GB in float64."""


class Call:
    """One use of an op: operand types, attributes, and the author's places of each.

    `types[name]` is the type of an operand, or a tuple of types for a variadic one. `spans` says where the author wrote
    an operand or attribute; what has no place of its own has `span`, the place of the whole call.
    """

    __slots__ = ("attributes", "op", "span", "spans", "types")

    def __init__(
        self,
        op: Op,
        types: dict[str, Any],
        attributes: dict[str, AttributeValue],
        span: Span = NOWHERE,
        spans: Mapping[str, Span] | None = None,
    ) -> None:
        self.op = op
        self.types = types
        self.attributes = attributes
        self.span = span
        self.spans = spans or {}

    def __getitem__(self, name: str) -> Any:
        """The type of an operand, or the value of an attribute; None for one that is absent."""
        if name in self.types:
            return self.types[name]
        return self.attributes.get(name)

    def span_of(self, name: str) -> Span:
        """The place of an operand or attribute; that of `values` where the place of `values[1]` is not known."""
        return self.spans.get(name) or self.spans.get(name.partition("[")[0], self.span)

    def written(self, name: str) -> str:
        """An operand as the author wrote it, if that is short; else its name."""
        span = self.spans.get(name)
        return name if span is None or span == self.span else written_at(span, name)

    def said(self, name: str) -> str:
        """An operand in a sentence: as the author wrote it, in backquotes, or on which side of the operator it stands."""
        written = self.written(name)
        return self.named(name) if written == name != self.span_of(name).text else f"`{written}`"

    def named(self, name: str) -> str:
        """An operand as a headline names it: by its parameter, which nobody wrote who wrote an operator."""
        if self.is_operator and name in ("x", "y"):
            return f"its {'left' if name == 'x' else 'right'} operand"
        return f"`{name}`"

    @property
    def is_operator(self) -> bool:
        """Whether this is written `a @ b` and not as a call."""
        x, y = self.spans.get("x"), self.spans.get("y")
        if x is None or y is None or x.source is not y.source:
            return False
        between = x.source.text[x.end : y.start]
        return "," not in between and between.strip("() \t\r\n") != ""

    def _typed(self, name: str) -> Label:
        operand, bracket, position = name.partition("[")
        types = self.types[operand][int(position[:-1])] if bracket else self.types[operand]
        shown = ", ".join(
            f"`{type}`" for type in (types if isinstance(types, tuple) and not isinstance(types, TensorType) else (types,))
        )
        text = self.spans[name].text
        return Label(self.spans[name], f"`{text}` has type {shown}" if self.written(name) == text else f"has type {shown}")

    def fail(self, at: str, diagnostic: Callable[..., Diagnostic], *, show: tuple[str, ...] = (), **fields: Any) -> NoReturn:
        """Ends with a diagnostic at an operand or attribute; `show` labels other operands with their types."""
        related = tuple(
            self._typed(name)
            for name in show
            if self.spans.get(name, self.span) != self.span and name.partition("[")[0] in self.types
        )
        raise Failure(diagnostic(span=self.span_of(at), related=related, **fields))


def written_at(span: Span, name: str) -> str:
    """The text of a place, if it is short; else the name that is given."""
    text = span.text
    return text if 0 < len(text) <= SHORT and "\n" not in text else name


def infer(call: Call) -> tuple[TensorType, ...]:
    """Checks a call against its record and returns the result types.

    Fills in the defaults of attributes, checks element types, then asks the op's own rule.
    """
    _check_dtypes(call)
    _fill_defaults(call)
    types = call.op.infer(call)
    results = (types,) if isinstance(types, TensorType) else types
    for type in results:
        _check_size(call, type)
    return results


def _fill_defaults(call: Call) -> None:
    attributes = call.attributes
    for attribute in call.op.attributes:
        if attribute.name not in attributes:
            default = attribute.default
            if default is REQUIRED:
                _fail_missing(call, attribute.name)
            if callable(default):
                default = default(call)
            if default is not None:
                attributes[attribute.name] = default


def _check_size(call: Call, type: TensorType) -> None:
    if type.rank > MAX_RANK:
        from anedsl.diagnostics.names import InvalidDimension

        call.fail(call.op.name, InvalidDimension, problem=f"a tensor has at most {MAX_RANK} axes", found=f"`{type}`")
    if type.size > MAX_ELEMENTS:
        from anedsl.diagnostics.shapes import TensorTooLarge

        call.fail(call.op.name, TensorTooLarge, type=str(type), count=type.size, limit=MAX_ELEMENTS)


def _check_dtypes(call: Call) -> None:
    """Each operand has an element type of its domain, and operands of one domain have the same."""
    types = call.types
    first: dict[str, tuple[str, DType]] = {}
    for operand in call.op.operands:
        found = types.get(operand.name)
        if found is None:
            if not operand.optional:
                _fail_missing(call, operand.name)
            continue
        domain = operand.domain
        for position, type in enumerate(found if operand.variadic else (found,)):
            name = f"{operand.name}[{position}]" if operand.variadic else operand.name
            if type.dtype not in domain.dtypes:
                _fail_dtype(call, name, operand, type)
            other, expected = first.setdefault(domain.name, (name, type.dtype))
            if type.dtype is not expected:
                fail_mixed(call, name, type.dtype, other, expected)


def _fail_missing(call: Call, name: str) -> NoReturn:
    from anedsl.diagnostics.names import MissingArgument

    call.fail(call.op.name, MissingArgument, op=call.op.name, name=name)


def _fail_dtype(call: Call, name: str, operand: Operand, type: TensorType) -> NoReturn:
    from anedsl.diagnostics.shapes import WrongDType

    castable = type.dtype in ANY.dtypes
    call.fail(
        name,
        WrongDType,
        op=call.op.name,
        operand=call.named(operand.name),
        expected=str(operand.domain),
        found=type.dtype.name,
        type=str(type),
        written=call.written(name),
        first=operand.domain.dtypes[0].name if castable else None,
        advice=None if castable else f"MIL converts no {type.dtype}: declare it with another element type, such as int32",
    )


def fail_mixed(call: Call, name: str, found: DType, other: str, expected: DType) -> NoReturn:
    """Ends with ANE0243 at the second of two operands that should have one element type; suggests `_common` for both."""
    from anedsl.diagnostics.shapes import MixedDTypes

    target = _common(found, expected)
    call.fail(
        name,
        MixedDTypes,
        show=(other,),
        op=call.op.name,
        subject="" if name in call.spans or "[" not in name else f"`{name}` ",
        other=call.written(other),
        found=found.name,
        expected=expected.name,
        converted=call.written(name if target is expected else other),
        target=target.name,
        reason="the ANE computes in fp16 only (rule Q1)" if {found, expected} == {FP16, FP32} else None,
    )


def _common(found: DType, expected: DType) -> DType:
    """The element type to convert the other one to: fp16, which the ANE computes in, else a float, else a number."""
    for dtype in (FP16, FP32):
        if dtype in (found, expected):
            return dtype
    return found if expected.kind == "bool" else expected


def normal_axis(call: Call, at: str, axis: int, type: TensorType) -> int:
    """An axis counted from 0; a diagnostic at `at` for one that the type does not have."""
    rank = type.rank
    if not -rank <= axis < rank:
        from anedsl.diagnostics.shapes import AxisOutOfRange

        call.fail(at, AxisOutOfRange, axis=axis, rank=rank, type=str(type), lowest=-rank, highest=rank - 1)
    return axis % rank


def normal_axes(call: Call, at: str, axes: tuple[int, ...], type: TensorType) -> tuple[int, ...]:
    """Axes counted from 0, in the order given; each may stand once."""
    found = [normal_axis(call, at, axis, type) for axis in axes]
    for position, axis in enumerate(found):
        if axis in found[:position]:
            from anedsl.diagnostics.shapes import RepeatedAxis

            call.fail(at, RepeatedAxis, axis=axes[position])
    return tuple(found)
