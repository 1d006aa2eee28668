"""Common subexpression elimination."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from anedsl.data import ArrayData, FillData
from anedsl.graph import CONST, Graph, Node
from anedsl.passes.rewriter import Rewriter

COMMUTATIVE = frozenset(("add", "mul", "maximum", "minimum", "equal", "not_equal", "logical_and", "logical_or", "logical_xor"))
SMALL = 64
"""Consts of more elements are compared by their hash. Weights are never merged: each has its own file and name."""


def eliminate_common_subexpressions(graph: Graph) -> Graph:
    """Computes equal things once.

    a = mul(x, x)                  a = mul(x, x)
    b = mul(x, x)        ->        c = add(a, a)
    c = add(a, b)
    """
    rewriter = Rewriter(graph)
    seen: dict[Any, Node] = {}
    for node in graph.nodes:
        key = _const_key(node) if node.op is CONST else call_key(node, rewriter)
        earlier = seen.get(key) if key is not None else None
        if earlier is not None:
            for old, new in zip(node.results, earlier.results, strict=True):
                rewriter.replace(old, new)
            continue
        kept = rewriter.keep(node)
        if key is not None:
            seen[key] = kept
    return rewriter.finish()


def call_key(node: Node, rewriter: Rewriter) -> Any:
    """Equal for ops that compute the same of the same values; None where that is not known."""
    if node.op.opaque:
        return None  # nobody knows whether it gives the same twice
    operands: list[Any] = [
        tuple(map(rewriter.now, operand)) if isinstance(operand, tuple) else rewriter.now(operand)
        for operand in node.operands.values()
    ]
    if node.op.name in COMMUTATIVE and len(operands) == 2:
        operands.sort(key=id)
    return (node.op, tuple(node.operands), tuple(operands), tuple(node.attributes.items()))


def _const_key(node: Node) -> Any:
    data = node.attributes["val"]
    if "weight" in node.attributes:
        return None
    type = node.result.type
    if isinstance(data, FillData):
        # 1 and 1.0 are equal in Python, and both become the same element; 0.0 and -0.0 are not the same.
        return (type, "fill", float(data.value).hex() if type.dtype.is_float else data.value)
    if isinstance(data, ArrayData):
        numbers = np.ascontiguousarray(data.array, np.float64).tobytes()
        return (type, "array", numbers if type.size <= SMALL else hashlib.sha256(numbers).digest())
    return None
