"""Uses of the reductions and of `cumsum`."""

import torch

from tests.ops.case import Case, T

AXES = {
    "reduce_sum": torch.sum,
    "reduce_mean": torch.mean,
    "reduce_max": torch.amax,
    "reduce_min": torch.amin,
    "reduce_l1_norm": lambda x, dim, keepdim=False: x.abs().sum(dim, keepdim),
    "reduce_l2_norm": lambda x, dim, keepdim=False: (x * x).sum(dim, keepdim).sqrt(),
    "reduce_log_sum": lambda x, dim, keepdim=False: x.sum(dim, keepdim).log(),
    "reduce_log_sum_exp": torch.logsumexp,
    "reduce_sum_square": lambda x, dim, keepdim=False: (x * x).sum(dim, keepdim),
}


def prod(x, dim, keepdim=False):
    for axis in sorted((axis % x.ndim for axis in dim), reverse=True):
        x = x.prod(axis, keepdim)
    return x


AXES["reduce_prod"] = prod

# Where sums have a logarithm, the operands are positive.
POSITIVE = {"low": 0.25, "high": 2.0}


def over_axes(name, torch_op):
    def t(*shape):
        return {"x": T(shape, **POSITIVE)}

    yield Case(name, t(2, 3, 4), {}, lambda x: torch_op(x, (0, 1, 2)))
    yield Case(name, t(1, 6, 1, 5), {"axes": (1,), "keep_dims": True}, lambda x: torch_op(x, (1,), True))
    yield Case(name, t(2, 3, 4, 5), {"axes": (-1, -3)}, lambda x: torch_op(x, (1, 3)))
    yield Case(name, t(2, 2, 3, 2, 4), {"axes": (0, -2, 4), "keep_dims": True}, lambda x: torch_op(x, (0, 3, 4), True))
    yield Case(name, t(7), {"axes": (-1,)}, lambda x: torch_op(x, (0,)))


INT = {"x": T((3, 4), "int32", -9, 9)}

CASES = [case for name, op in AXES.items() for case in over_axes(name, op)]
CASES += [
    Case("reduce_sum", INT, {"axes": (1,)}, lambda x: x.sum(1)),
    Case("reduce_max", INT, {"axes": (0,)}, lambda x: x.amax(0)),
    Case("reduce_min", INT, {}, lambda x: x.amin()),
    Case("reduce_l1_norm", INT, {"axes": (-1,)}, lambda x: x.abs().sum(-1)),
    Case("reduce_sum_square", INT, {"axes": (0,)}, lambda x: (x * x).sum(0)),
    # The exponentials alone would overflow.
    Case("reduce_log_sum_exp", {"x": T((2, 5), "fp32", 800.0, 900.0)}, {"axes": (1,)}, lambda x: torch.logsumexp(x, 1)),
    Case("reduce_argmax", {"x": T((2, 3, 5))}, {}, lambda x: x.argmax(-1)),
    Case("reduce_argmax", {"x": T((2, 3, 5))}, {"axis": 0, "keep_dims": True}, lambda x: x.argmax(0, keepdim=True)),
    Case("reduce_argmax", {"x": T((9,), "int32", -50, 50)}, {"axis": -1}, lambda x: x.argmax(0)),
    Case("reduce_argmin", {"x": T((4, 3))}, {}, lambda x: x.argmin(-1)),
    Case("reduce_argmin", {"x": T((2, 3, 5))}, {"axis": -2}, lambda x: x.argmin(1)),
    Case("reduce_argmin", {"x": T((1, 8, 1, 4))}, {"axis": 1, "keep_dims": True}, lambda x: x.argmin(1, keepdim=True)),
    Case("cumsum", {"x": T((3, 4))}, {}, lambda x: x.cumsum(0)),
    Case("cumsum", {"x": T((2, 3, 4))}, {"axis": -1}, lambda x: x.cumsum(2)),
    Case("cumsum", {"x": T((2, 5), "int32", -9, 9)}, {"axis": 1, "reverse": True}, lambda x: x.flip(1).cumsum(1).flip(1)),
    Case("cumsum", {"x": T((2, 5))}, {"axis": 1, "exclusive": True}, lambda x: x.cumsum(1) - x),
    Case(
        "cumsum",
        {"x": T((4, 2))},
        {"axis": 0, "exclusive": True, "reverse": True},
        lambda x: x.flip(0).cumsum(0).flip(0) - x,
    ),
]
