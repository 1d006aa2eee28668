"""Multiplications by constants: merged, moved to the smaller side of a product, or folded into a weight.

The mathematics stays the same; in fp16 a rounding moves with the multiplication.
"""

from __future__ import annotations

from math import frexp
from typing import Any

from anedsl.compression import StoredData
from anedsl.graph import CONST, Graph, Node, Value
from anedsl.passes.products import in_range, one_scale_after, one_scale_before, scale_of
from anedsl.passes.rewriter import Rewrite, Rewriter, number_of, rewrite

SMALLEST_FOLDED = 1 / 64
"""A weight or an operand is scaled down by at most so much: farther, fp16 would lose its small numbers. It is never scaled
up: the product may be in range where the scaled operand is not."""


def move_scales(graph: Graph) -> Graph:
    """Multiplies where it costs least.

    c = conv(x, W)            ->    W1: const  # W * 0.125
    y = mul(c, 0.125)               y = conv(x, W1)
    s = matmul(q, k)          ->    q1 = mul(q, 0.125)    # q is smaller than s
    t = mul(s, 0.125)               t = matmul(q1, k)
    """
    return rewrite(graph, REWRITES)


def merged_scales(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`mul(mul(x, 2), 3)` -> `mul(x, 6)`, `real_div(mul(x, 3), 2)` -> `mul(x, 1.5)`: one rounding instead of two."""
    outer = scale_of(node, rewriter)
    inner = scale_of(rewriter.producers.get(operands["x"]), rewriter)
    if outer is None or inner is None or not rewriter.used_once(operands["x"]):
        return None
    product = inner.factor * outer.factor
    if not in_range(product, node):
        return None
    return rewriter.emit("mul", {"x": inner.x, "y": rewriter.number(product, inner.x, node)}, node)


def exact_division(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`real_div(x, 8)` -> `mul(x, 0.125)`: by a power of two, where both are the same number."""
    scaled = scale_of(node, rewriter)
    if scaled is None or not 2**-14 <= abs(scaled.factor) <= 2**14 or abs(frexp(scaled.factor)[0]) != 0.5:
        return None
    return rewriter.emit("mul", {"x": scaled.x, "y": rewriter.number(scaled.factor, scaled.x, node)}, node)


def scale_into_conv(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`mul(conv(x, W), c)` -> `conv(x, W * c)`, where W is a const, c at most 1, and nothing else reads the conv."""
    factor = number_of(operands["y"], rewriter)
    inner = rewriter.producer(operands["x"], "conv")
    if factor is None or inner is None or not _is_scalar(operands["y"]) or not SMALLEST_FOLDED <= abs(factor) <= 1:
        return None
    weight = inner.operands["weight"]
    assert isinstance(weight, Value)
    source = rewriter.producers.get(weight)
    if source is not None and source.op is CONST and isinstance(source.attributes["val"], StoredData):
        return None  # arithmetic would undo its compression
    if source is None or source.op is not CONST or "bias" in inner.operands or not rewriter.used_once(inner.result):
        return None
    scaled = rewriter.emit("mul", {"x": weight, "y": rewriter.number(factor, weight, node)}, source)
    return rewriter.emit("conv", {**inner.operands, "weight": scaled}, node, **inner.attributes)


def scale_into_matmul(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`mul(matmul(x, y), c)` -> `matmul(mul(x, c), y)`, where x or y is smaller than the product.

    Only for factors of at most 1: the scaled operand is then in range, and large products no longer overflow.
    """
    factor = number_of(operands["y"], rewriter)
    inner = rewriter.producer(operands["x"], "matmul")
    if factor is None or inner is None or not _is_scalar(operands["y"]) or not SMALLEST_FOLDED <= abs(factor) <= 1:
        return None
    if not rewriter.used_once(inner.result):
        return None
    x, y = inner.operands["x"], inner.operands["y"]
    assert isinstance(x, Value)
    assert isinstance(y, Value)
    side, smaller = min(("x", x), ("y", y), key=lambda item: item[1].type.size)
    if smaller.type.size >= inner.result.type.size:
        return None
    scaled = rewriter.emit("mul", {"x": smaller, "y": rewriter.number(factor, smaller, node)}, inner)
    return rewriter.emit("matmul", {**inner.operands, side: scaled}, node, **inner.attributes)


def _is_scalar(value: Value) -> bool:
    return value.type.size == 1 and value.type.rank == 0


REWRITES: dict[str, tuple[Rewrite, ...]] = {
    "mul": (merged_scales, one_scale_after, scale_into_conv, scale_into_matmul),
    "real_div": (merged_scales, one_scale_after, exact_division),
    "matmul": (one_scale_before,),
}
