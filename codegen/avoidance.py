"""Forms that the ANE computes wrong or refuses, written another way. Each rewrite cites its rule (docs/ane-rules.md)."""

from __future__ import annotations

from typing import Any

from anedsl.data import FillData
from anedsl.graph import CONST, Graph, Node, Value, make_const
from anedsl.passes import tidy
from anedsl.passes.common import eliminate_common_subexpressions
from anedsl.passes.rewriter import Rewrite, Rewriter, number_of, rewrite
from anedsl.types import FP16

NEW_CHIPS = (None, "m4", "m5")
"""The chips of rules that hold for M4 and M5; without a chip, those of all chips apply."""

REDUCTIONS = (
    *("reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod", "reduce_sum_square"),
    *("reduce_l1_norm", "reduce_l2_norm", "reduce_log_sum", "reduce_log_sum_exp"),
)


def avoid(graph: Graph, chip: str | None) -> Graph:
    """Applies the rewrites that a chip needs.

    y = reduce_sum(x, axes = [1])    ->    s = reduce_sum(x, axes = [1], keep_dims = true)
                                           y = squeeze(s, axes = [1])
    """
    rewrites: dict[str, tuple[Rewrite, ...]] = dict.fromkeys(REDUCTIONS, (keep_reduced_axes,))
    if chip in NEW_CHIPS:
        rewrites |= {"softplus": (small_softplus,), "mul": (wide_factor,)}
    if not any(node.op.name in rewrites for node in graph.nodes):
        return graph
    avoided = rewrite(graph, rewrites)
    if len(avoided.nodes) == len(graph.nodes):
        return graph  # each rewrite makes more ops of one
    return eliminate_common_subexpressions(tidy(avoided))


def keep_reduced_axes(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """A reduction keeps its axes, and a squeeze takes them away (rule O24)."""
    axes = node.attributes["axes"]
    x: Value = operands["x"]
    if node.attributes["keep_dims"] or len(axes) == x.type.rank:
        return None
    kept = rewriter.emit(node.op.name, operands, node, axes=axes, keep_dims=True)
    kept.name = ""
    return rewriter.emit("squeeze", {"x": kept}, node, axes=axes)


def small_softplus(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`softplus(x)` -> `relu(x) + softplus(-abs(x))`: the op returns 0 from x = 11.09 on (rule N7)."""
    x: Value = operands["x"]
    if x.type.dtype is not FP16 or _is_negative(x, rewriter):
        return None
    size = rewriter.emit("abs", {"x": x}, node)
    below = rewriter.emit("mul", {"x": size, "y": rewriter.number(-1, x, node)}, node)
    rest = rewriter.emit("softplus", {"x": below}, node)
    above = rewriter.emit("relu", {"x": x}, node)
    for value in (size, below, rest, above):
        value.name = ""
    return rewriter.emit("add", {"x": above, "y": rest}, node)


POSITIVE = ("abs", "relu", "relu6", "exp", "exp2", "sigmoid", "softmax", "sqrt", "square")
"""Ops whose results are never negative."""


def _is_positive(value: Value, rewriter: Rewriter) -> bool:
    """Whether a value is known not to be negative: from such an op, and perhaps scaled."""
    product = rewriter.producer(value, "mul")
    if product is None:
        return rewriter.producer(value, *POSITIVE) is not None
    x, factor = _scaled(product, rewriter)
    return factor is not None and factor >= 0 and _is_positive(x, rewriter)


def _is_negative(value: Value, rewriter: Rewriter) -> bool:
    """Whether a value is known not to be above 0: `-abs(...)` or the like."""
    product = rewriter.producer(value, "mul")
    if product is None:
        return False
    x, factor = _scaled(product, rewriter)
    if factor is None:
        return False
    return _is_positive(x, rewriter) if factor <= 0 else _is_negative(x, rewriter)


def _scaled(product: Node, rewriter: Rewriter) -> tuple[Value, float | None]:
    x, y = product.operands["x"], product.operands["y"]
    assert isinstance(x, Value)
    assert isinstance(y, Value)
    return x, number_of(y, rewriter)


def wide_factor(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`floor(x) * 0.5` -> the same with a factor of full shape: with a scalar it is lost (rule O27)."""
    x, y = operands["x"], operands["y"]
    factor = rewriter.producers.get(y)
    if rewriter.producer(x, "floor", "ceil", "round") is None or factor is None or factor.op is not CONST or y.type.size != 1:
        return None
    number = number_of(y, rewriter)
    if number is None:
        return None
    type = node.result.type
    wide = rewriter.add(make_const(FillData(number, type.shape), type, span=node.span))
    return rewriter.emit("mul", {"x": x, "y": wide}, node)
