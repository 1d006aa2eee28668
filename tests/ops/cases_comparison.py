"""Uses of comparisons and logic. The int32 operands are small, so that equal ones are met."""

from __future__ import annotations

import torch

from tests.ops.case import Case, T

INT = T((6, 7), "int32", -2, 2)
BOOL = T((6, 7), "bool")


def two(op: str, formula: object, *pairs: tuple[T, T]) -> list[Case]:
    return [Case(op, {"x": x, "y": y}, torch=formula) for x, y in pairs]


NUMBERS = [
    (T((1, 6, 1, 5)), T((1, 6, 1, 5))),
    (T((3, 4), "fp32"), T((4,), "fp32")),
    (INT, INT),
    (INT, T((7,), "int32")),
    (T(()), T(())),
]
BOOLS = [(BOOL, BOOL), (BOOL, T((1, 7), "bool"))]

CASES = [
    *two("equal", torch.eq, *NUMBERS),
    *two("not_equal", torch.ne, *NUMBERS),
    *two("less", torch.lt, *NUMBERS),
    *two("less_equal", torch.le, *NUMBERS),
    *two("greater", torch.gt, *NUMBERS),
    *two("greater_equal", torch.ge, *NUMBERS),
    *two("logical_and", torch.logical_and, *BOOLS),
    *two("logical_or", torch.logical_or, *BOOLS),
    *two("logical_xor", torch.logical_xor, *BOOLS),
    Case("logical_not", {"x": BOOL}, torch=torch.logical_not),
    Case("logical_not", {"x": T((), "bool")}, torch=torch.logical_not),
]
