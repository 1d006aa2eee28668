"""Comparisons of two tensors, and logic of booleans."""

from __future__ import annotations

import numpy as np

from anedsl.ops.record import BOOLS, NUMBER, Array, Domain, Op, Operand
from anedsl.ops.rules import compared, same_as_x
from anedsl.ops.special import Reference


def _as_arrays(function: Reference) -> Reference:
    """numpy gives rank 0 as a scalar; a reference gives an array."""

    def reference(*operands: Array) -> Array:
        return np.asarray(function(*operands))

    return reference


def comparison(name: str, reference: Reference, doc: str, example: str, domain: Domain = NUMBER) -> Op:
    """An op of `x` and `y` that broadcasts and gives bool."""
    return Op(
        name,
        doc,
        operands=(Operand("x", domain), Operand("y", domain)),
        infer=compared,
        reference=_as_arrays(reference),
        example=example,
        family="comparison",
    )


OPS = (
    comparison("equal", np.equal, "Whether `x == y`.", "z = x == y"),
    comparison("not_equal", np.not_equal, "Whether `x != y`.", "z = x != y"),
    comparison("less", np.less, "Whether `x < y`.", "z = x < y"),
    comparison("less_equal", np.less_equal, "Whether `x <= y`.", "z = x <= y"),
    comparison("greater", np.greater, "Whether `x > y`.", "z = x > y"),
    comparison("greater_equal", np.greater_equal, "Whether `x >= y`.", "z = x >= y"),
    comparison("logical_and", np.logical_and, "Whether both are true.", "z = x and y", BOOLS),
    comparison("logical_or", np.logical_or, "Whether one or both are true.", "z = x or y", BOOLS),
    comparison("logical_xor", np.logical_xor, "Whether exactly one is true.", "z = logical_xor(x, y)", BOOLS),
    Op(
        "logical_not",
        "Whether `x` is false.",
        operands=(Operand("x", BOOLS),),
        infer=same_as_x,
        reference=_as_arrays(np.logical_not),
        example="y = not x",
        family="comparison",
    ),
)
