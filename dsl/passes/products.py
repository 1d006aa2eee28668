"""Numbers around a matrix product: several become one, on the smallest tensor that may have it."""

from __future__ import annotations

from typing import Any, NamedTuple

from anedsl.compression import StoredData
from anedsl.graph import CONST, Node, Value
from anedsl.passes.rewriter import Rewriter, number_of

SMALLEST_MOVED = 1 / 64
"""An operand is scaled down by at most so much: farther, fp16 would lose its small numbers."""


class _Scaled(NamedTuple):
    """A tensor times a number."""

    x: Value
    factor: float


def scale_of(node: Node | None, rewriter: Rewriter) -> _Scaled | None:
    """What a `mul` or `real_div` by a number multiplies, and by what."""
    if node is None or node.op.opaque or node.op.name not in ("mul", "real_div") or not node.result.type.dtype.is_float:
        return None
    x, y = rewriter.operands(node)["x"], rewriter.operands(node)["y"]
    assert isinstance(x, Value)
    assert isinstance(y, Value)
    number = number_of(y, rewriter)
    if number is None or y.type.rank != 0 or (number == 0 and node.op.name == "real_div"):
        return None
    return _Scaled(x, number if node.op.name == "mul" else 1 / number)


def in_range(factor: float, node: Node) -> bool:
    """Whether a number is a normal one where it multiplies a node's result: neither infinite nor short of digits."""
    return 2**-14 <= abs(factor) <= node.result.type.dtype.largest


def one_scale_after(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`mul(matmul(mul(x, a), y), b)` -> `matmul(mul(x, a * b), y)`, or the `mul` at y or at the product."""
    outer = scale_of(node, rewriter)
    inner = rewriter.producer(operands["x"], "matmul")
    if outer is None or inner is None or not rewriter.used_once(operands["x"]):
        return None
    return _one_scale(inner, outer.factor, node, rewriter, fewest=1)


def one_scale_before(node: Node, operands: Any, rewriter: Rewriter) -> Value | None:
    """`matmul(mul(x, a), mul(y, b))` -> `matmul(mul(x, a * b), y)`, or the `mul` at y."""
    return _one_scale(node, 1.0, node, rewriter, fewest=2)


def _one_scale(product: Node, outer: float, place: Node, rewriter: Rewriter, *, fewest: int) -> Value | None:
    """The product with one number for those of its operands, `fewest` at least, and the outer one.

    An operand takes a number of at most 1: nothing that is stored is then larger than before, x or the result. The result
    takes it only where the operands had no more than a sign: without their numbers the product might overflow.
    """
    sides = {side: _side(rewriter.operands(product)[side], rewriter) for side in ("x", "y")}
    if sum(side.factor != 1 for side in sides.values()) < fewest:
        return None
    inner = sides["x"].factor * sides["y"].factor
    total = inner * outer
    attributes = product.attributes
    plain = {side: scaled.x for side, scaled in sides.items()}
    if total == 1:
        return rewriter.emit("matmul", plain, place, **attributes)
    choices: dict[str, int] = {}
    if SMALLEST_MOVED <= abs(total) <= 1:
        choices = {side: x.type.size for side, x in plain.items() if not _is_stored(x, rewriter)}
    if abs(inner) == 1 and in_range(total, product):
        choices["result"] = product.result.type.size
    if not choices:
        return None
    chosen = min(choices, key=choices.__getitem__)
    if chosen == "result":
        result = rewriter.emit("matmul", plain, product, **attributes)
        return rewriter.emit("mul", {"x": result, "y": rewriter.number(total, result, place)}, place)
    x = plain[chosen]
    scaled = rewriter.emit("mul", {"x": x, "y": rewriter.number(total, x, place)}, product)
    return rewriter.emit("matmul", {**plain, chosen: scaled}, place, **attributes)


def _side(operand: Any, rewriter: Rewriter) -> _Scaled:
    """An operand without its number, unless something else reads it with the number."""
    scaled = scale_of(rewriter.producers.get(operand), rewriter)
    return scaled if scaled is not None and rewriter.used_once(operand) else _Scaled(operand, 1.0)


def _is_stored(value: Value, rewriter: Rewriter) -> bool:
    """Whether arithmetic would undo the compression of a weight."""
    source = rewriter.producers.get(value)
    return source is not None and source.op is CONST and isinstance(source.attributes["val"], StoredData)
