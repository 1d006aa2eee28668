"""Constant folding: what depends on consts only is computed at compile time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anedsl.compression import StoredData
from anedsl.data import Array, ArrayData, Data, DerivedData, FillData
from anedsl.graph import CONST, Graph, Node, Value, make_const
from anedsl.ops.call import MAX_CONST_ELEMENTS
from anedsl.passes.common import call_key
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
    seen: dict[Any, list[Value]] = {}
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
            continue
        # The same part of a weight is one const, and one file.
        key = call_key(node, rewriter)
        if key in seen:
            for old, new in zip(node.results, seen[key], strict=True):
                rewriter.replace(old, new)
        else:
            _fold(node, rewriter)
            seen[key] = [rewriter.now(result) for result in node.results]
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
        for array, result in zip(_evaluated(node, {}), node.results, strict=True):
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

        def compute(arrays: Sequence[Array], index: int = index, shape: tuple[int, ...] = result.type.shape) -> Array:
            return _evaluated(node, dict(zip(data, arrays, strict=True)))[index].reshape(shape)

        # A compressed weight that does not stay one is not to lose anything either.
        inputs = [item.source if isinstance(item, StoredData) else item for item in data.values()]
        folded: Data
        if lost:
            folded = UnstoredData(result.type.shape, inputs, compute, lost)
        else:
            folded = DerivedData(result.type.shape, inputs, compute)
            folded = ArrayData(folded.load()) if eager else folded
        const = make_const(folded, result.type, name=result.name or _derived_name(node), span=node.span)
        rewriter.replace(result, rewriter.add(const))


def _derived_name(node: Node) -> str:
    """`wo_transpose` for a transposed weight `wo`."""
    named = [value.name for value in node.values if value.name]
    return f"{named[0]}_{node.op.name}" if len(named) == 1 else ""


def _evaluated(node: Node, numbers: Mapping[Value, Array]) -> tuple[Array, ...]:
    """The results of a node on the numbers of its operands; an op that only moves data keeps their type."""
    moves = node.op.moves_data
    ordered: list[Any] = []
    for operand in node.op.operands:
        given = node.operands.get(operand.name)
        if isinstance(given, tuple):
            ordered.append(tuple(_held(numbers[value], value, moves) for value in given))
        else:
            ordered.append(None if given is None else _held(numbers[given], given, moves))
    with np.errstate(all="ignore"):
        results = node.op.reference(*ordered, **node.attributes)
    return results if isinstance(results, tuple) else (np.asarray(results),)


def _held(array: Array, value: Value, moves: bool) -> Array:
    if moves:
        return array
    dtype = value.type.dtype
    # Integers are computed in int32, as the program would.
    return array.astype(np.float64 if dtype.is_float else np.bool_ if dtype.kind == "bool" else np.int32, copy=False)
