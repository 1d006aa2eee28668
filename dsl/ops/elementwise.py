"""Elementwise arithmetic of two tensors, and mathematical functions of one."""

from __future__ import annotations

from typing import Any

import numpy as np

from anedsl.ops import special
from anedsl.ops.record import FLOAT, NUMBER, Array, Attribute, Domain, Op, Operand
from anedsl.ops.rules import broadcast, same_as_x
from anedsl.ops.special import Reference, keeping


def binary(name: str, reference: Reference, doc: str, example: str = "", domain: Domain = NUMBER) -> Op:
    """An elementwise op of `x` and `y` that broadcasts."""
    return Op(
        name,
        doc,
        operands=(Operand("x", domain), Operand("y", domain)),
        infer=broadcast,
        reference=keeping(reference),
        example=example or f"z = {name}(x, y)",
        family="elementwise",
    )


def unary(name: str, reference: Reference, doc: str, domain: Domain = FLOAT, **more: Any) -> Op:
    """An elementwise op of `x`; `more` are further fields of the record."""
    fields = {
        "infer": same_as_x,
        "example": f"y = {name}(x)",
        "family": "elementwise",
        **more,
    }
    return Op(name, doc, operands=(Operand("x", domain),), reference=keeping(reference), **fields)


def epsilon(default: float) -> tuple[Attribute, ...]:
    """The constant that `log`, `rsqrt` and `inverse` add to their operand first."""
    return (Attribute("epsilon", "float", default, "added to `x` first; 0 where it is too small for fp16", domain=FLOAT),)


def _is_integer(x: Array) -> bool:
    return x.dtype.kind == "i"


def _real_div(x: Array, y: Array) -> Array:
    if not _is_integer(x):
        return np.true_divide(x, y)
    return np.where(y == 0, 0, special.to_int32(np.true_divide(x, y)))


def _pow(x: Array, y: Array) -> Array:
    if not _is_integer(x):
        return np.power(x, y)
    # numpy refuses negative exponents of integers: 1 / x^n is -1, 0 or 1.
    inverse = np.where(np.abs(x) == 1, np.where(y % 2 == 0, 1, x), 0)
    return np.where(y < 0, inverse, np.power(x, np.maximum(y, 0)))


def _exp2(x: Array) -> Array:
    return special.to_int32(np.exp2(x.astype(np.float64))) if _is_integer(x) else np.exp2(x)


def _log(x: Array, *, epsilon: float) -> Array:
    return np.log(x + epsilon)


def _rsqrt(x: Array, *, epsilon: float) -> Array:
    return 1 / np.sqrt(x + epsilon)


def _inverse(x: Array, *, epsilon: float) -> Array:
    return 1 / (x + epsilon)


ARITHMETIC = (
    binary("add", np.add, "The sum `x + y`.", "z = x + y"),
    binary("sub", np.subtract, "The difference `x - y`.", "z = x - y"),
    binary("mul", np.multiply, "The product `x * y`.", "z = x * y"),
    binary("real_div", _real_div, "The quotient `x / y`. That of integers is an integer, rounded towards 0.", "z = x / y"),
    binary("floor_div", np.floor_divide, "The quotient rounded down: `floor(x / y)`.", "z = x // y"),
    binary("mod", np.mod, "The rest of the rounded-down division, with the sign of `y`: `x - y * floor(x / y)`.", "z = x % y"),
    binary("pow", _pow, "The power `x ** y`. That of integers is an integer, rounded towards 0.", "z = x ** y"),
    binary("maximum", np.maximum, "The larger of two: `x if x > y else y`."),
    binary("minimum", np.minimum, "The smaller of two: `y if x > y else x`."),
)

ROUNDING = (
    unary("abs", np.abs, "The magnitude `|x|`.", NUMBER),
    unary("sign", np.sign, "`-1`, `0` or `1`, as `x` is negative, zero or positive.", NUMBER),
    unary("ceil", np.ceil, "The smallest integer that is not below `x`."),
    unary("floor", np.floor, "The largest integer that is not above `x`."),
    unary("round", np.rint, "The nearest integer; of two equally near, the even one."),
)

FUNCTIONS = (
    unary("square", np.square, "The square `x * x`.", NUMBER),
    unary("sqrt", np.sqrt, "The square root of `x`; NaN for negative `x`."),
    unary("exp", np.exp, "The exponential `e ** x`."),
    unary("exp2", _exp2, "The power of two `2 ** x`. That of integers is an integer, rounded towards 0.", NUMBER),
    unary("log", _log, "The natural logarithm `log(x + epsilon)`.", attributes=epsilon(1e-45)),
    unary("rsqrt", _rsqrt, "The reciprocal square root `1 / sqrt(x + epsilon)`.", attributes=epsilon(1e-12)),
    unary("inverse", _inverse, "The reciprocal `1 / (x + epsilon)`.", attributes=epsilon(1e-4)),
    unary("erf", special.erf, "The error function `2 / sqrt(pi) * integral of exp(-t * t) for t from 0 to x`."),
    unary("sin", np.sin, "The sine of `x` radians."),
    unary("cos", np.cos, "The cosine of `x` radians."),
    unary("tan", np.tan, "The tangent of `x` radians: `sin(x) / cos(x)`."),
    unary("asin", np.arcsin, "The inverse sine in radians, from `-pi / 2` to `pi / 2`; NaN outside of [-1, 1]."),
    unary("acos", np.arccos, "The inverse cosine in radians, from 0 to `pi`; NaN outside of [-1, 1]."),
    unary("atan", np.arctan, "The inverse tangent in radians, between `-pi / 2` and `pi / 2`."),
    unary("sinh", np.sinh, "The hyperbolic sine `(exp(x) - exp(-x)) / 2`."),
    unary("cosh", np.cosh, "The hyperbolic cosine `(exp(x) + exp(-x)) / 2`."),
    unary("tanh", np.tanh, "The hyperbolic tangent `sinh(x) / cosh(x)`."),
    unary("atanh", np.arctanh, "The inverse hyperbolic tangent `log((1 + x) / (1 - x)) / 2`; NaN outside of [-1, 1]."),
)

OPS = (*ARITHMETIC, *ROUNDING, *FUNCTIONS)
