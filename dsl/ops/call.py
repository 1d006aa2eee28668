"""One use of an op, as its type rule sees it; and the checks that every op shares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from anedsl.diagnostics import Diagnostic, Failure, Label
from anedsl.ops.record import REQUIRED, AttributeValue, Op
from anedsl.source import NOWHERE, Span
from anedsl.types import TensorType

MAX_RANK = 16
"""The most axes of a tensor: numpy 1 has no more than 32, Core ML and the ANE have 5."""
SHORT = 24
"""Characters of an operand that a diagnostic repeats."""

MAX_ELEMENTS = 2**31 - 1
"""The most elements one tensor may have: MIL counts them in int32."""


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
        return self.spans.get(name, self.span)

    def written(self, name: str) -> str:
        """An operand as the author wrote it, if that is short; else its name."""
        text = self.spans[name].text if name in self.spans else ""
        return text if 0 < len(text) <= SHORT and "\n" not in text else name

    def _typed(self, name: str) -> Label:
        types = self.types[name]
        shown = ", ".join(
            f"`{type}`" for type in (types if isinstance(types, tuple) and not isinstance(types, TensorType) else (types,))
        )
        text = self.spans[name].text
        return Label(self.spans[name], f"`{text}` has type {shown}" if self.written(name) == text else f"has type {shown}")

    def fail(self, at: str, diagnostic: Callable[..., Diagnostic], *, show: tuple[str, ...] = (), **fields: Any) -> NoReturn:
        """Ends with a diagnostic at an operand or attribute; `show` labels other operands with their types."""
        related = tuple(self._typed(name) for name in show if name in self.spans and name in self.types)
        raise Failure(diagnostic(span=self.span_of(at), related=related, **fields))


def infer(call: Call) -> tuple[TensorType, ...]:
    """Checks a call against its record and returns the result types.

    Fills in the defaults of attributes, checks element types, then asks the op's own rule.
    """
    op = call.op
    _check_dtypes(call)
    attributes = call.attributes
    for attribute in op.attributes:
        if attribute.name not in attributes:
            default = attribute.default
            if default is REQUIRED:
                from anedsl.diagnostics.names import MissingArgument

                call.fail(op.name, MissingArgument, op=op.name, name=attribute.name)
            if callable(default):
                default = default(call)
            if default is not None:
                attributes[attribute.name] = default
    types = op.infer(call)
    results = (types,) if isinstance(types, TensorType) else types
    for type in results:
        if type.rank > MAX_RANK:
            from anedsl.diagnostics.names import InvalidDimension

            call.fail(op.name, InvalidDimension, problem=f"a tensor has at most {MAX_RANK} axes", found=f"`{type}`")
        if type.size > MAX_ELEMENTS:
            from anedsl.diagnostics.shapes import TensorTooLarge

            call.fail(op.name, TensorTooLarge, type=str(type), count=type.size, limit=MAX_ELEMENTS)
    return results


def _check_dtypes(call: Call) -> None:
    """Each operand has an element type of its domain, and operands of one domain have the same."""
    op = call.op
    types = call.types
    first: dict[str, tuple[str, Any]] = {}
    for operand in op.operands:
        found = types.get(operand.name)
        if found is None:
            if not operand.optional:
                from anedsl.diagnostics.names import MissingArgument

                call.fail(op.name, MissingArgument, op=op.name, name=operand.name)
            continue
        domain = operand.domain
        for type in found if operand.variadic else (found,):
            dtype = type.dtype
            if dtype not in domain.dtypes:
                from anedsl.diagnostics.shapes import WrongDType

                call.fail(
                    operand.name,
                    WrongDType,
                    op=op.name,
                    operand=operand.name,
                    expected=str(domain),
                    found=dtype.name,
                    type=str(type),
                    written=call.written(operand.name),
                    first=domain.dtypes[0].name,
                )
            other, expected = first.setdefault(domain.name, (operand.name, dtype))
            if dtype is not expected:
                from anedsl.diagnostics.shapes import MixedDTypes

                call.fail(
                    operand.name,
                    MixedDTypes,
                    show=(other,),
                    op=op.name,
                    written=call.written(operand.name),
                    other=call.written(other),
                    found=dtype.name,
                    expected=expected.name,
                )


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
