"""Calls that are valid and seldom meant: what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anedsl.diagnostics import Failure
from anedsl.elaborate.arguments import wrong_kind
from anedsl.elaborate.builder import GraphBuilder, Reduced
from anedsl.elaborate.frame import Frame
from anedsl.elaborate.values import is_integer
from anedsl.graph import Node, Value
from anedsl.ops.call import written_at
from anedsl.ops.record import Op
from anedsl.ops.rules import broadcast, compared, same_as_x
from anedsl.source import Span
from anedsl.types import TensorType

if TYPE_CHECKING:
    from anedsl.elaborate.calls import Site

ELEMENTWISE = {"max": ("larger", "maximum"), "min": ("smaller", "minimum")}
"""The reductions that are taken for functions of two values, what those tell, and their names."""


def reduction(site: Site, x: Any, axis: Any) -> None:
    """`max(x, 0)` is the reduction over axis 0, and seldom meant as such.

    Raises ANE0215, ANE0216 or ANE0244 where there is no reduction at all, as in `max(1, 2)`, `max(x, y)` and `min(x, 6)`;
    warns (ANE0286) of a number that is written as an axis without its name, if it is 0 or the axis has size 1.
    """
    advice = None
    if site.name in ELEMENTWISE and axis is not None:
        which, op = ELEMENTWISE[site.name]
        given = ", ".join(written_at(site.span_of(name), name) for name in ("x", "axis"))
        advice = f"the {which} of two values is `{op}({given})`"
    if isinstance(x, (bool, int, float)):
        raise wrong_kind(site.span_of("x"), "a tensor", x, use=f"`{site.name}` is taken over axes", advice=advice)
    if advice is None:
        return
    if isinstance(axis, Value):
        from anedsl.diagnostics.names import NotCompileTime

        raise Failure(NotCompileTime(span=site.span_of("axis"), use=f"`axis` of `{site.name}`", advice=advice))
    if isinstance(axis, float):
        raise wrong_kind(site.span_of("axis"), "an integer", axis, use=f"`axis` of `{site.name}`", advice=advice)
    # Only a literal is doubted: a parameter has a name that says what it is.
    if isinstance(x, Value) and is_integer(axis) and "axis" in site.by_place and site.span_of("axis").text.isdecimal():
        _doubt_axis(site, x.type, axis, advice)


def _doubt_axis(site: Site, type: TensorType, axis: int, advice: str) -> None:
    span = site.span_of("axis")
    if axis >= type.rank:
        from anedsl.diagnostics.shapes import AxisOutOfRange

        rank = type.rank
        raise Failure(
            AxisOutOfRange(span=span, axis=axis, rank=rank, type=str(type), lowest=-rank, highest=rank - 1, advice=advice)
        )
    if axis != 0 and type.shape[axis] != 1:
        return
    from anedsl.diagnostics.names import ReducesInstead

    written = written_at(site.span_of("x"), "x")
    alone = f"axis {axis} of `{type}` has size 1: the reduction changes nothing" if type.shape[axis] == 1 else None
    relu = f"; with 0 it is `relu({written})`" if site.name == "max" and axis == 0 else ""
    site.frame.elaboration.sink.add(
        ReducesInstead(span=span, op=site.name, axis=axis, alone=alone, instead=advice + relu, written=written)
    )


def alignment(op: Op, operands: Mapping[str, Any], spans: Mapping[str, Span], frame: Frame) -> None:
    """Warns (ANE0287) of a weight of rank 1 that goes along the last axis of an activation, and would fit its channels too."""
    if op.infer not in (broadcast, compared):
        return
    x, y = operands["x"], operands["y"]
    if not (isinstance(x, Value) and isinstance(y, Value)):
        return
    for name, weight, other in (("x", x, y), ("y", y, x)):
        shape = other.type.shape
        if len(weight.type.shape) != 1 or len(shape) != 4 or not weight.type.size == shape[1] == shape[3] != 1:
            continue
        if frame.builder.is_constant(weight) and not frame.builder.is_constant(other):
            from anedsl.diagnostics.names import AlignedAtLast

            frame.elaboration.sink.add(
                AlignedAtLast(
                    span=spans[name],
                    op=op.name,
                    written=written_at(spans[name], name),
                    type=str(weight.type),
                    other=str(other.type),
                    size=shape[1],
                )
            )


def dropped_axes(node: Node, spans: Mapping[str, Span], builder: GraphBuilder) -> None:
    """Warns (ANE0277) of a reduced tensor without its axis that meets what it was reduced from at another axis than its own.

    `x - mean(x, axis = 2, keep_dims = false)` fits a square `x`, and subtracts the means of rows from columns.
    """
    if node.attributes.get("keep_dims") is False:
        x = node.values[0]
        gone = node.attributes.get("axes") or (node.attributes.get("axis"),)
        builder.reduced[node.result] = Reduced(x, tuple(axis for axis in range(x.type.rank) if axis not in gone))
    elif builder.reduced and _is_elementwise(node):
        for value in node.values:
            found = builder.reduced.get(value)
            if found is not None and value.type.shape == node.result.type.shape:
                builder.reduced[node.result] = found
            elif found is not None:
                _check_axes(node, value, found, spans, builder)


def _is_elementwise(node: Node) -> bool:
    return node.op.infer in (broadcast, compared, same_as_x) or node.op.name == "cast"


def _check_axes(node: Node, value: Value, reduced: Reduced, spans: Mapping[str, Span], builder: GraphBuilder) -> None:
    [(name, other)] = [(name, other) for name, other in zip("yx", node.values, strict=True) if other is not value]
    shape, rank = other.type.shape, reduced.source.type.rank
    places = range(rank - len(reduced.kept), rank)
    moved = [
        (axis, place)
        for axis, place, size in zip(reduced.kept, places, value.type.shape, strict=True)
        if axis != place and other.type.rank == rank and shape[place] == size != 1
    ]
    span = spans.get(name, node.span)
    # The turns of a loop are one place: the first tells.
    if not moved or span in builder.compared:
        return
    builder.compared.add(span)
    if not _share_a_source(reduced.source, other, builder):
        return
    from anedsl.diagnostics.shapes import DroppedAxis

    axis, place = moved[-1]
    builder.warn(
        DroppedAxis(
            span=span,
            op=node.op.name,
            axis=axis,
            place=place,
            type=str(value.type),
            other=str(other.type),
        )
    )


def _share_a_source(first: Value, second: Value, builder: GraphBuilder) -> bool:
    """Whether two tensors are computed element by element from one of their shape: a table of pairs is none."""
    producers = {result: node for node in builder.nodes for result in node.results}
    found = []
    for start in (first, second):
        seen, waiting = {start}, [start]
        while waiting:
            node = producers.get(waiting.pop())
            if node is not None and _is_elementwise(node):
                new = {value for value in node.values if value.type.shape == start.type.shape} - seen
                seen |= new
                waiting.extend(new)
        found.append(seen)
    return not found[0].isdisjoint(found[1])
