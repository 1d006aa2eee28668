"""Builds the graph of a kernel, op by op, while its statements are elaborated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from anedsl.data import ArrayData, Data, FillData
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.elaborate.arithmetic import check_integer
from anedsl.elaborate.values import ConstTensor, describe, shown
from anedsl.graph import CONST, Node, Operands, Value, Weight, make_const, make_node
from anedsl.ops.record import Op
from anedsl.source import NOWHERE, Span
from anedsl.types import DType, TensorType

MAX_NODES = 200_000


class Reduced(NamedTuple):
    """Where a tensor comes from that a reduction made without the reduced axes: `kept` are the axes of `source` that it has."""

    source: Value
    kept: tuple[int, ...]


class GraphBuilder:
    """The nodes so far, in order; equal numbers become one const."""

    def __init__(self, warn: Callable[[Diagnostic], None]) -> None:
        self.warn = warn
        self.nodes: list[Node] = []
        self.constant_values: set[Value] = set()
        self.reduced: dict[Value, Reduced] = {}
        self.compared: set[Span] = set()
        self._numbers: dict[tuple[DType, str], Value] = {}

    def apply(
        self,
        op: Op,
        operands: Mapping[str, Operands],
        attributes: dict[str, Any],
        span: Span,
        spans: Mapping[str, Span] | None = None,
    ) -> tuple[Value, ...]:
        """Adds a node and returns its results."""
        if len(self.nodes) >= MAX_NODES:
            from anedsl.diagnostics.names import ProgramTooLarge

            raise Failure(ProgramTooLarge(span=span, limit=MAX_NODES, what="ops"))
        try:
            node = make_node(op, operands, attributes, span=span, spans=spans)
        except Failure as failure:
            from anedsl.elaborate.advice import advise

            advise(failure, self, operands, spans or {})
            raise
        self.nodes.append(node)
        if self.constant_values.issuperset(node.values) and operands:
            self.constant_values.update(node.results)
        return node.results

    def constant(self, value: Any, dtype: DType, span: Span) -> Value:
        """A number or compile-time tensor in an element type, as a const of the graph."""
        if isinstance(value, ConstTensor):
            return self._tensor(value, dtype, span)
        key = (dtype, repr(value))
        found = self._numbers.get(key)
        if found is None:
            check_fits(value, dtype, span)
            self._check_vanishes(value, dtype, span)
            # A parameter gives the const its name.
            name = span.text if span.end - span.start < 32 and span.text.isidentifier() and not isinstance(value, bool) else ""
            found = self._numbers[key] = self.data(FillData(value, ()), TensorType(dtype, ()), name=name, span=span)
        return found

    def _check_vanishes(self, value: Any, dtype: DType, span: Span) -> None:
        """A number that is not 0 should not become 0: an epsilon that does protects from nothing."""
        if dtype.is_float and value and np.asarray(value, np.float64).astype(dtype.numpy) == 0:
            from anedsl.diagnostics.names import ConstantVanishes

            smallest = f"{float(np.finfo(dtype.numpy).smallest_subnormal):.3g}"
            self.warn(ConstantVanishes(span=span, number=shown(value), dtype=dtype.name, smallest=smallest))

    def _tensor(self, value: ConstTensor, dtype: DType, span: Span) -> Value:
        found = value.placed.get(dtype)
        if found is None:
            check_array_fits(value, dtype, span)
            data = ArrayData(value.array)
            found = value.placed[dtype] = self.data(data, TensorType(dtype, value.shape), name=value.name, span=span)
        return found

    def data(self, data: Data, type: TensorType, *, name: str = "", span: Span = NOWHERE, weight: Weight | None = None) -> Value:
        """Adds a const node."""
        node = make_const(data, type, name=name, span=span, weight=weight)
        self.nodes.append(node)
        self.constant_values.add(node.result)
        return node.result

    def is_constant(self, value: Value) -> bool:
        """Whether a value can be computed at compile time."""
        return value in self.constant_values

    def used_values(self, outputs: list[Value]) -> set[Value]:
        """Every value that the outputs depend on."""
        used = set(outputs)
        for node in reversed(self.nodes):
            if node.op is not CONST and any(result in used for result in node.results):
                used.update(node.values)
        return used


def check_fits(value: Any, dtype: DType, span: Span) -> None:
    """A number must have a finite value in the element type, and an integer type takes whole numbers only."""
    if dtype.kind == "bool":
        if not isinstance(value, bool):
            _wrong_number(value, dtype, span, "write `true` or `false`, or compare the tensor")
        return
    if isinstance(value, bool):
        _wrong_number(value, dtype, span, "write 1 or 0")
    if dtype.is_integer:
        if isinstance(value, float) and not value.is_integer():
            _wrong_number(value, dtype, span, "convert the tensor first: `cast(x, fp16)`")
        fits = dtype.smallest <= value <= dtype.largest
    else:
        if isinstance(value, int):
            check_integer(value, span)
        with np.errstate(over="ignore"):
            fits = bool(np.isfinite(np.asarray(value, np.float64).astype(dtype.numpy)))
    if not fits:
        _overflow(shown(value), dtype, span)


def check_array_fits(value: ConstTensor, dtype: DType, span: Span) -> None:
    """As `check_fits`, for every element."""
    array = value.array
    if (dtype.kind == "bool") != (array.dtype.kind == "b"):
        _wrong_number(value, dtype, span, None)
    if dtype.is_integer and array.dtype.kind == "f" and not (array == np.floor(array)).all():
        _wrong_number(value, dtype, span, "convert the tensor first: `cast(x, fp16)`")
    if array.size == 0 or array.dtype.kind == "b":
        return
    with np.errstate(over="ignore"):
        worst = array.min() if array.min() < dtype.smallest else array.max()
        fits = (
            np.isfinite(array.astype(dtype.numpy)).all()
            if dtype.is_float
            else array.min() >= dtype.smallest and array.max() <= dtype.largest
        )
    if not fits:
        _overflow(f"{worst} in a compile-time tensor", dtype, span)


def _overflow(number: str, dtype: DType, span: Span) -> None:
    from anedsl.diagnostics.names import ConstantOverflow

    advice = "write -65504 or 65504 for a mask, or rescale" if dtype.is_float else None
    raise Failure(
        ConstantOverflow(
            span=span,
            number=number,
            dtype=dtype.name,
            smallest=f"{dtype.smallest:.6g}",
            largest=f"{dtype.largest:.6g}",
            advice=advice,
        )
    )


def _wrong_number(value: Any, dtype: DType, span: Span, advice: str | None) -> None:
    from anedsl.diagnostics.names import WrongKind

    raise Failure(
        WrongKind(
            span=span, expected=f"{dtype.name} values", found=describe(value), use=f"meets a tensor of {dtype}", advice=advice
        )
    )
