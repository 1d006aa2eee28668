"""Slices of slices: a slice takes evenly spaced positions, and so does a slice of it."""

from __future__ import annotations

from typing import Any

from anedsl.compressed_moves import Positions
from anedsl.graph import Node, Value
from anedsl.passes.rewriter import Rewriter

SLICES = ("slice_by_size", "slice_by_index")


def merged_slice(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """A slice of a slice is one slice, with the product of their steps.

    a = x[..., 1::2]    ->    b = x[..., 3::4]
    b = a[..., 1::2]
    """
    inner = rewriter.producer(operands["x"], *SLICES)
    if inner is None or any(_squeezed(inner)):
        return None
    x = inner.operands["x"]
    assert isinstance(x, Value)
    pairs = zip(positions(inner), positions(node), strict=True)
    parts = [
        # One position has no step.
        Positions(a.begin + b.begin * a.stride, a.stride * b.stride if b.size > 1 else 1, b.size)
        for a, b in pairs
    ]
    begin = tuple(part.begin for part in parts)
    if all(part.stride == 1 for part in parts) and not any(_squeezed(node)):
        return rewriter.emit("slice_by_size", {"x": x}, node, begin=begin, size=tuple(part.size for part in parts))
    ends = [part.begin + part.size * part.stride for part in parts]
    return rewriter.emit(
        "slice_by_index",
        {"x": x},
        node,
        begin=begin,
        end=tuple(min(max(end, 0), size) for end, size in zip(ends, x.type.shape, strict=True)),
        stride=tuple(part.stride for part in parts),
        # Before position 0 there is none to end at.
        end_mask=tuple(end < 0 for end in ends),
        squeeze_mask=_squeezed(node),
    )


def _squeezed(node: Node) -> tuple[bool, ...]:
    """The axes that a slice removes."""
    x = node.operands["x"]
    assert isinstance(x, Value)
    return tuple(node.attributes.get("squeeze_mask", (False,) * x.type.rank))


def positions(node: Node) -> list[Positions]:
    """What a slice takes of each axis of its operand."""
    begins = node.attributes["begin"]
    if node.op.name == "slice_by_size":
        return [Positions(begin, 1, count) for begin, count in zip(begins, node.attributes["size"], strict=True)]
    stops = [-1 if open else end for end, open in zip(node.attributes["end"], node.attributes["end_mask"], strict=True)]
    ranges = zip(begins, stops, node.attributes["stride"], strict=True)
    return [Positions(begin, stride, len(range(begin, stop, stride))) for begin, stop, stride in ranges]
