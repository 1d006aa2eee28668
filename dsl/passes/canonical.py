"""Canonical forms: ops that do nothing go, and equal things are written one way.

One function a rewrite; the table says which ops it looks at. A rewrite returns the value that takes the result's place, or
None where it does not apply.
"""

from __future__ import annotations

from typing import Any

from anedsl.graph import Graph, Node, Value, is_op
from anedsl.passes.rewriter import Rewrite, Rewriter, number_of, rewrite


def canonicalize(graph: Graph) -> Graph:
    """Arithmetic in one form, without ops that do nothing.

    y = pow(x, 2)         ->    y = mul(x, x)
    z = reshape(y, [4])   ->    # y has shape [4]: uses of z become uses of y
    """
    return rewrite(graph, REWRITES)


def power_to_product(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`pow(x, 2)` -> `mul(x, x)`, `pow(x, 1)` -> `x`, `pow(x, 0.5)` -> `sqrt(x)`."""
    x: Value = operands["x"]
    exponent = number_of(operands["y"], rewriter)
    if exponent is None or x.type != node.result.type:
        return None
    if exponent == 1:
        return x
    if exponent == 2:
        return rewriter.emit("mul", {"x": x, "y": x}, node)
    if exponent == 0.5 and x.type.dtype.is_float:
        return rewriter.emit("sqrt", {"x": x}, node)
    return None


def neutral_right(neutral: float) -> Rewrite:
    """`sub(x, 0)` -> `x`, `real_div(x, 1)` -> `x`, where the result has x's type."""

    def drop_right(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
        x: Value = operands["x"]
        return x if x.type == node.result.type and number_of(operands["y"], rewriter) == neutral else None

    return drop_right


def neutral_left(neutral: float) -> Rewrite:
    """`add(0, x)` -> `x`, `mul(1, x)` -> `x`, where the result has x's type."""

    def drop_left(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
        y: Value = operands["y"]
        return y if y.type == node.result.type and number_of(operands["x"], rewriter) == neutral else None

    return drop_left


def constant_second(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`mul(2, x)` -> `mul(x, 2)`: a number stands second, so that equal products look equal."""
    x, y = operands["x"], operands["y"]
    if number_of(x, rewriter) is None or number_of(y, rewriter) is not None:
        return None
    return rewriter.emit(node.op.name, {"x": y, "y": x}, node)


def add_negated(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`add(x, mul(y, -1))` -> `sub(x, y)`: what `x + -y` is written as."""
    x, y = operands["x"], operands["y"]
    negated = _negated(y, rewriter)
    if negated is not None and negated.type == y.type:
        return rewriter.emit("sub", {"x": x, "y": negated}, node)
    return None


def subtract_negated(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`sub(x, mul(y, -1))` -> `add(x, y)`."""
    negated = _negated(operands["y"], rewriter)
    if negated is not None and negated.type == operands["y"].type:
        return rewriter.emit("add", {"x": operands["x"], "y": negated}, node)
    return None


def double_negation(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`mul(mul(x, -1), -1)` -> `x`."""
    if number_of(operands["y"], rewriter) != -1:
        return None
    negated = _negated(operands["x"], rewriter)
    return negated if negated is not None and negated.type == node.result.type else None


def _negated(value: Value, rewriter: Rewriter) -> Value | None:
    """`x` where the value is `mul(x, -1)`."""
    node = rewriter.producers.get(value)
    if node is None or not is_op(node, "mul") or number_of(rewriter.now(node.operands["y"]), rewriter) != -1:  # type: ignore[arg-type]
        return None
    x = node.operands["x"]
    assert isinstance(x, Value)
    return x


def same_type(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`reshape(x, [4])` -> `x` where x has that type already; the same for `cast` and slices of everything."""
    x: Value = operands["x"]
    return x if x.type == node.result.type else None


def same_order(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`transpose(x, [0, 1, 2])` -> `x`."""
    x: Value = operands["x"]
    return x if tuple(node.attributes["perm"]) == tuple(range(x.type.rank)) else None


def whole_slice(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`slice_by_index(x, ...)` -> `x` where it keeps everything in its order."""
    x: Value = operands["x"]
    return x if x.type == node.result.type and all(step > 0 for step in node.attributes["stride"]) else None


def single_part(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`concat((x))` -> `x`."""
    values: tuple[Value, ...] = operands["values"]
    return values[0] if len(values) == 1 else None


def square_to_product(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`square(x)` -> `mul(x, x)`: the ANE refuses the op in places (rule O26)."""
    return rewriter.emit("mul", {"x": operands["x"], "y": operands["x"]}, node)


REWRITES: dict[str, tuple[Rewrite, ...]] = {
    "square": (square_to_product,),
    "pow": (power_to_product,),
    "add": (neutral_right(0), neutral_left(0), add_negated, constant_second),
    "sub": (neutral_right(0), subtract_negated),
    "mul": (neutral_right(1), neutral_left(1), double_negation, constant_second),
    "real_div": (neutral_right(1),),
    "reshape": (same_type,),
    "cast": (same_type,),
    "identity": (same_type,),
    "slice_by_size": (same_type,),
    "slice_by_index": (whole_slice,),
    "transpose": (same_order,),
    "concat": (single_part,),
}
"""The rewrites of each op, in the order they are tried."""
