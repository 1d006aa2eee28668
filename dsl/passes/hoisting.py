"""Reshapes move past slices and concats, where one then serves for several."""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import Any, NamedTuple

from anedsl.graph import Graph, Node, Value, is_op
from anedsl.passes.rewriter import Rewrite, Rewriter, rewrite
from anedsl.types import Shape


def hoist_reshapes(graph: Graph) -> Graph:
    """One reshape of a packed tensor instead of one for each part, and one of a concat instead of one for each part.

    a = slice(inp, ...)                    r  = reshape(inp, ...)
    b = slice(inp, ...)                    a1 = slice(r, ...)
    a1 = reshape(a, ...)          ->       b1 = slice(r, ...)
    b1 = reshape(b, ...)
    """
    return rewrite(_before_slices(graph), REWRITES)


class _Place(NamedTuple):
    """A reshape of a slice: where the cut axis stands in the new shape, how many of its elements are one there, and the
    rest of that shape."""

    node: Node
    cut: Node
    axis: int
    factor: int
    rest: Shape


def _before_slices(graph: Graph) -> Graph:
    makers = {result: node for node in graph.nodes for result in node.results}
    groups: dict[tuple[Value, int, int, Shape], list[_Place]] = {}
    for node in graph.nodes:
        place = _place(node, makers) if is_op(node, "reshape") else None
        if place is not None:
            source = place.cut.operands["x"]
            assert isinstance(source, Value)
            groups.setdefault((source, place.axis, place.factor, place.rest), []).append(place)
    if all(len(places) < 2 for places in groups.values()):
        return graph
    # Each reshape takes a slice with it: that is no gain where the slice stays for another reader.
    counts = Counter(value for node in graph.nodes for value in node.values)
    counts.update(port.value for port in graph.outputs)
    shared = {
        id(place.node): key
        for key, places in groups.items()
        if sum(counts[place.cut.result] == 1 for place in places) > 1
        for place in places
    }
    if not shared:
        return graph
    by_node = {id(place.node): place for places in groups.values() for place in places}
    rewriter = Rewriter(graph)
    hoisted: dict[Any, Value] = {}
    for node in graph.nodes:
        key = shared.get(id(node))
        if key is None:
            rewriter.keep(node)
            continue
        source, axis, factor, rest = key
        if key not in hoisted:
            cut_axis = _cut_axis(by_node[id(node)].cut)
            shape = (*rest[:axis], source.type.shape[cut_axis] // factor, *rest[axis:])
            hoisted[key] = rewriter.emit("reshape", {"x": rewriter.now(source)}, by_node[id(node)].cut, shape=shape)
            hoisted[key].name = ""
        rewriter.replace(node.result, _cut_of(hoisted[key], by_node[id(node)], rewriter))
    return rewriter.finish()


def _place(node: Node, makers: dict[Value, Node]) -> _Place | None:
    x = node.operands["x"]
    assert isinstance(x, Value)
    cut = makers.get(x)
    if cut is None or not is_op(cut, "slice_by_size"):
        return None
    axis = _cut_axis(cut)
    if axis < 0:
        return None
    shape = node.result.type.shape
    found = kept_axis(x.type.shape, axis, shape)
    whole = cut.operands["x"]
    assert isinstance(whole, Value)
    if found is None or whole.type.shape[axis] % found.factor or cut.attributes["begin"][axis] % found.factor:
        return None
    return _Place(node, cut, found.axis, found.factor, _without(shape, found.axis))


def _cut_axis(cut: Node) -> int:
    """The one axis that a slice shortens, or -1."""
    x = cut.operands["x"]
    assert isinstance(x, Value)
    axes = [axis for axis, (a, b) in enumerate(zip(x.type.shape, cut.result.type.shape, strict=True)) if a != b]
    return axes[0] if len(axes) == 1 else -1


class Kept(NamedTuple):
    """Where an axis stands after a reshape, each of its elements there being `factor` of those before."""

    axis: int
    factor: int


def kept_axis(before: Shape, axis: int, after: Shape) -> Kept | None:
    """An axis that a reshape leaves whole or splits: with as many elements before it, and its own or a divisor's size.

    `[1, 8 * 64, 1, S]` to `[1, 8, 64, S]` keeps axis 1 with a factor of 64.
    """
    fits = [
        Kept(place, before[axis] // size)
        for place, size in enumerate(after)
        if before[axis] % size == 0 and prod(after[:place]) == prod(before[:axis])
    ]
    return min(fits, key=lambda kept: kept.factor, default=None)


def _cut_of(value: Value, place: _Place, rewriter: Rewriter) -> Value:
    begin = [0] * value.type.rank
    begin[place.axis] = place.cut.attributes["begin"][_cut_axis(place.cut)] // place.factor
    attributes = {"begin": tuple(begin), "size": place.node.result.type.shape}
    return rewriter.emit("slice_by_size", {"x": value}, place.node, **attributes)


def _after_concat(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`concat(reshape(a), reshape(b))` -> `reshape(concat(a, b))`, where the axis is an axis of `a` and `b` as well."""
    parts: tuple[Value, ...] = operands["values"]
    if len(parts) < 2 or node.attributes["interleave"]:
        return None
    axis = node.attributes["axis"] % node.result.type.rank
    sources: list[Value] = []
    for part in parts:
        made = rewriter.producer(part, "reshape")
        if made is None or not rewriter.used_once(part):
            return None
        source = made.operands["x"]
        assert isinstance(source, Value)
        sources.append(source)
    first = sources[0].type.shape
    places = {kept_axis(part.type.shape, axis, source.type.shape) for source, part in zip(sources, parts, strict=True)}
    kept = places.pop() if len(places) == 1 else None
    place = kept.axis if kept is not None else -1
    if kept is None or any(_without(source.type.shape, place) != _without(first, place) for source in sources):
        return None
    joined = rewriter.emit("concat", {"values": tuple(sources)}, node, axis=place, interleave=False)
    joined.name = ""
    return rewriter.emit("reshape", {"x": joined}, node, shape=node.result.type.shape)


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], *shape[axis + 1 :])


REWRITES: dict[str, tuple[Rewrite, ...]] = {"concat": (_after_concat,)}
