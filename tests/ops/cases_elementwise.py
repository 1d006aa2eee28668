"""Uses of elementwise arithmetic and mathematical functions."""

from __future__ import annotations

import torch

from tests.ops.case import Case, T

A = T((1, 6, 1, 5))
INT = T((4, 5), "int32", -9, 9)
INT_POSITIVE = T((4, 5), "int32", 1, 9)
POSITIVE = T((3, 7), low=0.01, high=8.0)


def two(op: str, formula: object, *pairs: tuple[T, T]) -> list[Case]:
    return [Case(op, {"x": x, "y": y}, torch=formula) for x, y in pairs]


def one(op: str, formula: object, *operands: T) -> list[Case]:
    return [Case(op, {"x": x}, torch=formula) for x in operands]


BROADCAST = [
    (A, A),
    (T((2, 3, 4)), T((4,))),
    (T((2, 1, 4), "fp32"), T((3, 1), "fp32")),
    (T((5,)), T(())),
    (T((1, 2, 3, 2, 2)), T((2, 1, 2, 1))),
]

ARITHMETIC = [
    *two("add", torch.add, *BROADCAST, (INT, INT)),
    *two("sub", torch.sub, *BROADCAST, (INT, INT)),
    *two("mul", torch.mul, *BROADCAST, (INT, INT)),
    *two("real_div", torch.div, (A, T((1, 6, 1, 1), low=0.5)), (T((4,)), T((), low=1.0))),
    *two("real_div", lambda x, y: torch.div(x, y, rounding_mode="trunc"), (INT, INT_POSITIVE)),
    *two("floor_div", torch.floor_divide, (A, T((5,), low=0.5)), (INT, INT_POSITIVE), (INT, T((5,), "int32", -3, -1))),
    *two("mod", torch.remainder, (A, T((5,), low=0.5)), (A, T((5,), low=-2.0, high=-0.5)), (INT, INT_POSITIVE)),
    *two("pow", torch.pow, (POSITIVE, T((3, 7))), (POSITIVE, T(())), (INT, T((5,), "int32", 0, 4))),
    *two("pow", torch.pow, (T((4, 5), "int32", -2, 2), T((5,), "int32", -4, 4))),
    *two("maximum", torch.maximum, *BROADCAST, (INT, INT)),
    *two("minimum", torch.minimum, *BROADCAST, (INT, INT)),
]

WIDE = T((4, 33), low=-20.0, high=20.0)

ROUNDING = [
    *one("abs", torch.abs, A, T(()), INT),
    *one("sign", torch.sign, A, INT),
    *one("ceil", torch.ceil, WIDE),
    *one("floor", torch.floor, WIDE),
    *one("round", torch.round, WIDE),
]

UNIT = T((2, 3, 5), low=-0.98, high=0.98)

FUNCTIONS = [
    *one("square", torch.square, A, INT),
    *one("sqrt", torch.sqrt, POSITIVE),
    *one("exp", torch.exp, A, T(()), T((40,), low=-80.0, high=80.0)),
    *one("exp2", torch.exp2, A),
    *one("exp2", lambda x: torch.exp2(x.double()).to(torch.int32), INT),
    *one("log", lambda x: torch.log(x + 1e-45), POSITIVE),
    *one("rsqrt", lambda x: torch.rsqrt(x + 1e-12), POSITIVE),
    *one("inverse", lambda x: torch.reciprocal(x + 1e-4), POSITIVE, T((3, 7), "fp32", -4, -1)),
    Case("log", {"x": POSITIVE}, {"epsilon": 0.25}, lambda x: torch.log(x + 0.25)),
    Case("rsqrt", {"x": POSITIVE}, {"epsilon": 0.25}, lambda x: torch.rsqrt(x + 0.25)),
    Case("inverse", {"x": POSITIVE}, {"epsilon": 0.25}, lambda x: torch.reciprocal(x + 0.25)),
    *one("erf", torch.erf, A, T((200,), low=-7.0, high=7.0)),
    *one("sin", torch.sin, A, WIDE),
    *one("cos", torch.cos, A, WIDE),
    *one("tan", torch.tan, UNIT),
    *one("asin", torch.asin, UNIT),
    *one("acos", torch.acos, UNIT),
    *one("atan", torch.atan, A, WIDE),
    *one("sinh", torch.sinh, A),
    *one("cosh", torch.cosh, A),
    *one("tanh", torch.tanh, A, WIDE),
    *one("atanh", torch.atanh, UNIT),
]

CASES = [*ARITHMETIC, *ROUNDING, *FUNCTIONS]
