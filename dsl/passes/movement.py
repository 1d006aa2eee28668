"""Rewrites of ops that only move data: chains become one op, or none. They change no number."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from anedsl.graph import Graph, Node, Value
from anedsl.passes.rewriter import Rewrite, Rewriter, rewrite
from anedsl.passes.slices import merged_slice

RESHAPES = ("reshape", "squeeze", "expand_dims")


def simplify_movement(graph: Graph) -> Graph:
    """Merges chains of transposes, reshapes, slices and concats, and gives a transpose to the matmul that reads or makes it.

    t = transpose(q, [0, 1, 3, 2])   ->   s = matmul(q, k, transpose_x = true)
    s = matmul(t, k)
    a = reshape(s, [1, 64, 4])       ->   b = reshape(s, [8, 32])
    b = reshape(a, [8, 32])
    """
    return rewrite(graph, REWRITES)


def merged_reshape(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`reshape(reshape(x, a), b)` -> `reshape(x, b)`; squeeze and expand_dims are reshapes here."""
    inner = rewriter.producer(operands["x"], *RESHAPES)
    if inner is None:
        return None
    x = inner.operands["x"]
    assert isinstance(x, Value)
    shape = node.result.type.shape
    if x.type.shape == shape:
        return x
    if not shape:
        return rewriter.emit("squeeze", {"x": x}, node, axes=tuple(range(x.type.rank)))
    return rewriter.emit("reshape", {"x": x}, node, shape=shape)


def merged_transpose(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`transpose(transpose(x, a), b)` -> `transpose(x, a[b])`, or `x`."""
    inner = rewriter.producer(operands["x"], "transpose")
    if inner is None:
        return None
    first, second = inner.attributes["perm"], node.attributes["perm"]
    perm = tuple(first[axis] for axis in second)
    x = inner.operands["x"]
    assert isinstance(x, Value)
    return x if perm == tuple(range(len(perm))) else rewriter.emit("transpose", {"x": x}, node, perm=perm)


def transpose_of_ones(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """A transpose that moves only axes of size 1 is a reshape, which merges with its neighbours."""
    x: Value = operands["x"]
    moved = [axis for axis in node.attributes["perm"] if x.type.shape[axis] != 1]
    if moved != sorted(moved):
        return None
    return rewriter.emit("reshape", {"x": x}, node, shape=node.result.type.shape)


def transpose_into_matmul(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`matmul(transpose(x, [..., n, m]), y)` -> `matmul(x, y, transpose_x = true)`, and the same for `y`."""
    new = dict(operands)
    flags = {name: node.attributes[name] for name in ("transpose_x", "transpose_y")}
    for side in ("x", "y"):
        inner = rewriter.producer(operands[side], "transpose")
        if inner is not None and _swaps_last_two(inner.attributes["perm"]):
            new[side] = inner.operands["x"]
            flags[f"transpose_{side}"] = not flags[f"transpose_{side}"]
    if all(new[side] is operands[side] for side in ("x", "y")):
        return None
    return rewriter.emit("matmul", new, node, **flags)


def transposed_product(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """The transpose of a product that nothing else reads is the product of the transposes, the other way round.

    s = matmul(x, y)                     ->    t = matmul(y, x, transpose_x = true, transpose_y = true)
    t = transpose(s, [..., n, m])
    """
    inner = rewriter.producer(operands["x"], "matmul")
    if inner is None or not _swaps_last_two(node.attributes["perm"]) or not rewriter.used_once(operands["x"]):
        return None
    x, y = inner.operands["x"], inner.operands["y"]
    assert isinstance(x, Value)
    assert isinstance(y, Value)
    if min(x.type.rank, y.type.rank) < 2:
        return None  # a vector has no transpose
    flags = {"transpose_x": not inner.attributes["transpose_y"], "transpose_y": not inner.attributes["transpose_x"]}
    return rewriter.emit("matmul", {"x": y, "y": x}, node, **flags)


def _swaps_last_two(perm: tuple[int, ...]) -> bool:
    rank = len(perm)
    return rank >= 2 and tuple(perm) == (*range(rank - 2), rank - 1, rank - 2)


def slice_of_concat(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """A slice of one part of a concat is a slice of that part, or the part itself; one of several whole parts is their concat."""
    joined = rewriter.producer(operands["x"], "concat")
    if joined is None or joined.attributes["interleave"]:
        return None
    axis = joined.attributes["axis"] % node.result.type.rank
    begin, size = list(node.attributes["begin"]), node.attributes["size"]
    parts = joined.operands["values"]
    assert isinstance(parts, tuple)
    start = 0
    for part in parts:
        length = part.type.shape[axis]
        if start <= begin[axis] and begin[axis] + size[axis] <= start + length:
            begin[axis] -= start
            if part.type == node.result.type:
                return part
            return rewriter.emit("slice_by_size", {"x": part}, node, begin=tuple(begin), size=size)
        start += length
    return _whole_parts(node, parts, axis, rewriter)


def _whole_parts(node: Node, parts: tuple[Value, ...], axis: int, rewriter: Rewriter) -> Value | None:
    """The concat of the parts that a slice takes, if it cuts through none of them."""
    begin, size = node.attributes["begin"], node.attributes["size"]
    x = node.operands["x"]
    assert isinstance(x, Value)
    if any(taken != whole for i, (taken, whole) in enumerate(zip(size, x.type.shape, strict=True)) if i != axis):
        return None
    borders = list(accumulate((part.type.shape[axis] for part in parts), initial=0))
    if begin[axis] not in borders or begin[axis] + size[axis] not in borders:
        return None
    taken = parts[borders.index(begin[axis]) : borders.index(begin[axis] + size[axis])]
    return rewriter.emit("concat", {"values": taken}, node, axis=axis, interleave=False)


def flat_concat(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`concat(concat(a, b), c)` -> `concat(a, b, c)`, and neighbouring slices of one tensor -> one slice."""
    if node.attributes["interleave"]:
        return None
    axis = node.attributes["axis"] % node.result.type.rank
    parts: list[Value] = []
    for value in operands["values"]:
        inner = rewriter.producer(value, "concat")
        if inner is not None and not inner.attributes["interleave"] and inner.attributes["axis"] % value.type.rank == axis:
            parts.extend(inner.operands["values"])  # type: ignore[arg-type]
        else:
            parts.append(value)
    merged = _joined_slices(parts, axis, node, rewriter)
    if len(merged) == 1:
        return merged[0]
    if len(merged) == len(operands["values"]):
        return None
    return rewriter.emit("concat", {"values": tuple(merged)}, node, axis=axis, interleave=False)


def _joined_slices(parts: list[Value], axis: int, node: Node, rewriter: Rewriter) -> list[Value]:
    """`x[0:2]` and `x[2:5]` one behind the other are `x[0:5]`."""
    merged: list[Value] = []
    for part in parts:
        joined = _join(merged[-1], part, axis, node, rewriter) if merged else None
        if joined is None:
            merged.append(part)
        else:
            merged[-1] = joined
    return merged


def _join(first: Value, second: Value, axis: int, node: Node, rewriter: Rewriter) -> Value | None:
    a, b = rewriter.producer(first, "slice_by_size"), rewriter.producer(second, "slice_by_size")
    if a is None or b is None or a.operands["x"] is not b.operands["x"]:
        return None
    x = a.operands["x"]
    assert isinstance(x, Value)
    begin, size = list(a.attributes["begin"]), list(a.attributes["size"])
    expected = begin.copy()
    expected[axis] += size[axis]
    others = [i for i in range(len(size)) if i != axis]
    if list(b.attributes["begin"]) != expected or any(b.attributes["size"][i] != size[i] for i in others):
        return None
    size[axis] += b.attributes["size"][axis]
    return (
        x if tuple(size) == x.type.shape else rewriter.emit("slice_by_size", {"x": x}, node, begin=tuple(begin), size=tuple(size))
    )


REWRITES: dict[str, tuple[Rewrite, ...]] = {
    "reshape": (merged_reshape,),
    "squeeze": (merged_reshape,),
    "expand_dims": (merged_reshape,),
    "transpose": (merged_transpose, transposed_product, transpose_of_ones),
    "matmul": (transpose_into_matmul,),
    "slice_by_size": (merged_slice, slice_of_concat),
    "slice_by_index": (merged_slice,),
    "concat": (flat_concat,),
}
