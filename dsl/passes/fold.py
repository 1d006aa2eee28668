"""Constant folding: what depends on consts only is computed at compile time."""

from __future__ import annotations

from typing import Any

import numpy as np

from anedsl.compression import StoredData
from anedsl.data import Array, ArrayData, Data, DerivedData, FillData
from anedsl.graph import CONST, Graph, Node, Value, make_const
from anedsl.ops.call import MAX_CONST_ELEMENTS
from anedsl.passes.rewriter import Rewriter
from anedsl.passes.stored import UnstoredData, lost_storage, moved_storage

EAGER = 1024
"""Results of at most so many elements are computed at once, so that other passes see their numbers."""


def fold_constants(graph: Graph) -> Graph:
    """Replaces ops on consts by consts.

        w: const                               wt: const  # the transposed weight
        wt = transpose(w, [1, 0, 2, 3])  ->    y = conv(x, wt)
        y = conv(x, wt)

    Large results are computed only when they are emitted, one at a time. The arithmetic is float64, without rounding
    between ops: a folded weight is rounded once. Of a compressed weight, what only moves numbers moves its parts; all else
    is computed from the numbers that it was given.
    """
    rewriter = Rewriter(graph)
    for node in graph.nodes:
        values = node.values
        producers = [rewriter.producers.get(rewriter.now(value)) for value in values]
        if (
            node.op is CONST
            or node.op.constexpr
            or node.op.opaque
            or not all(p is not None and p.op is CONST for p in producers)
            or any(result.type.size > MAX_CONST_ELEMENTS for result in node.results)
        ):
            rewriter.keep(node)
        else:
            _fold(node, rewriter)
    return rewriter.finish()


def fold_sources(graph: Graph) -> Graph:
    """Replaces ops that take no tensor at all, such as `range_1d`, by consts."""
    rewriter = Rewriter(graph)
    for node in graph.nodes:
        if (
            node.operands
            or node.op is CONST
            or node.op.opaque
            or any(result.type.size > MAX_CONST_ELEMENTS for result in node.results)
        ):
            rewriter.keep(node)
            continue
        for array, result in zip(evaluate(node, {}), node.results, strict=True):
            const = make_const(ArrayData(array), result.type, name=result.name, span=node.span)
            rewriter.replace(result, rewriter.add(const))
    return rewriter.finish()


def _fold(node: Node, rewriter: Rewriter) -> None:
    data = {value: rewriter.producers[rewriter.now(value)].attributes["val"] for value in node.values}
    lost = lost_storage(node, data)
    eager = all(isinstance(d, (ArrayData, FillData)) for d in data.values()) and all(r.type.size <= EAGER for r in node.results)
    for index, result in enumerate(node.results):
        stored = moved_storage(node, index, data)
        if stored is not None:
            # All of a weight keeps its name.
            source = rewriter.producers[rewriter.now(node.values[0])]
            whole = result.type.size == node.values[0].type.size
            declared = source.attributes.get("weight") if whole else None
            const = make_const(stored, result.type, name=result.name or _derived_name(node), span=node.span, weight=declared)
            rewriter.replace(result, rewriter.add(const))
            continue

        def compute(index: int = index, shape: tuple[int, ...] = result.type.shape) -> Array:
            return evaluate(node, data)[index].reshape(shape)

        folded: Data
        if lost:
            folded = UnstoredData(result.type.shape, compute, lost)
        else:
            folded = ArrayData(compute()) if eager else DerivedData(result.type.shape, compute)
        const = make_const(folded, result.type, name=result.name or _derived_name(node), span=node.span)
        rewriter.replace(result, rewriter.add(const))


def _derived_name(node: Node) -> str:
    """`wo_transpose` for a transposed weight `wo`."""
    named = [value.name for value in node.values if value.name]
    return f"{named[0]}_{node.op.name}" if len(named) == 1 else ""


def evaluate(node: Node, data: dict[Value, Data]) -> tuple[Array, ...]:
    """The results of a node on the numbers of its operands; an op that only moves data keeps their type."""
    moves = node.op.moves_data
    ordered: list[Any] = []
    for operand in node.op.operands:
        given = node.operands.get(operand.name)
        if isinstance(given, tuple):
            ordered.append(tuple(_load(data[value], value, moves) for value in given))
        else:
            ordered.append(None if given is None else _load(data[given], given, moves))
    with np.errstate(all="ignore"):
        results = node.op.reference(*ordered, **node.attributes)
    return results if isinstance(results, tuple) else (np.asarray(results),)


def _load(data: Data, value: Value, moves: bool) -> Array:
    # A compressed weight that does not stay one is not to lose anything either.
    array = (data.source if isinstance(data, StoredData) else data).load()
    if moves:
        return array
    dtype = value.type.dtype
    # Integers are computed in int32, as the program would.
    return array.astype(np.float64 if dtype.is_float else np.bool_ if dtype.kind == "bool" else np.int32, copy=False)
