"""Uses of the ops that reorder, join, cut and repeat."""

import torch

from tests.ops.case import Case, T

A = T((2, 3, 4))
INT = T((2, 3), "int32", -9, 9)
BOOL = T((2, 3), "bool")

CASES = [
    Case("reshape", {"x": A}, {"shape": (6, 4)}, lambda x: x.reshape(6, 4)),
    Case("reshape", {"x": A}, {"shape": (-1,)}, lambda x: x.reshape(24)),
    Case("reshape", {"x": T((1, 12, 1, 5))}, {"shape": (1, 3, -1, 5)}, lambda x: x.reshape(1, 3, 4, 5)),
    Case("reshape", {"x": A}, {"shape": (0, -1, 2)}, lambda x: x.reshape(2, 6, 2)),
    Case("reshape", {"x": INT}, {"shape": (1, 3, 2, 1, 1)}, lambda x: x.reshape(1, 3, 2, 1, 1)),
    Case("reshape", {"x": BOOL}, {"shape": (3, 2)}, lambda x: x.reshape(3, 2)),
    Case("transpose", {"x": A}, {"perm": (2, 0, 1)}, lambda x: x.permute(2, 0, 1)),
    Case("transpose", {"x": T((2, 3, 4, 5))}, {"perm": (0, -1, -2, 1)}, lambda x: x.permute(0, 3, 2, 1)),
    Case("transpose", {"x": T((5,))}, {"perm": (0,)}, lambda x: x),
    Case("transpose", {"x": INT}, {"perm": (1, 0)}, lambda x: x.T),
    Case("transpose", {"x": T((2, 1, 3, 2, 4))}, {"perm": (4, 3, 2, 1, 0)}, lambda x: x.permute(4, 3, 2, 1, 0)),
    Case("expand_dims", {"x": T((2, 3))}, {"axes": (0,)}, lambda x: x[None]),
    Case("expand_dims", {"x": T((2, 3))}, {"axes": (-1, 1)}, lambda x: x[:, None, :, None]),
    Case("expand_dims", {"x": T((4,), "bool")}, {"axes": (-2,)}, lambda x: x[None]),
    Case("squeeze", {"x": T((1, 4, 1, 3))}, {}, lambda x: x.reshape(4, 3)),
    Case("squeeze", {"x": T((1, 4, 1, 3))}, {"axes": (-2,)}, lambda x: x.reshape(1, 4, 3)),
    Case("squeeze", {"x": T((1, 1, 5), "int32", -9, 9)}, {"axes": (1, 0)}, lambda x: x.reshape(5)),
    Case("flatten2d", {"x": A}, {}, lambda x: x.reshape(2, 12)),
    Case("flatten2d", {"x": A}, {"axis": -1}, lambda x: x.reshape(6, 4)),
    Case("flatten2d", {"x": T((3,))}, {"axis": 1}, lambda x: x.reshape(3, 1)),
    Case("flatten2d", {"x": T((3,), "int32", -9, 9)}, {"axis": -1}, lambda x: x.reshape(1, 3)),
    Case("reverse", {"x": A}, {}, lambda x: x.flip(0, 1, 2)),
    Case("reverse", {"x": A}, {"axes": (-1, 0)}, lambda x: x.flip(2, 0)),
    Case("reverse", {"x": BOOL}, {"axes": (1,)}, lambda x: x.flip(1)),
    Case("tile", {"x": T((2, 1, 3))}, {"reps": (1, 4, 2)}, lambda x: x.repeat(1, 4, 2)),
    Case("tile", {"x": INT}, {"reps": (2, 1)}, lambda x: x.repeat(2, 1)),
    Case("band_part", {"x": T((2, 4, 5))}, {"lower": 0}, lambda x: x.triu()),
    Case("band_part", {"x": T((5, 4))}, {"upper": 0}, lambda x: x.tril()),
    Case("band_part", {"x": T((4, 4))}, {"lower": 1, "upper": 2}, lambda x: x.triu(-1).tril(2)),
    Case("band_part", {"x": T((3, 3), "int32", 1, 9)}, {}, lambda x: x),
    Case("concat", {"values": (A, A)}, {"axis": 0}, lambda v: torch.cat(v, 0)),
    Case("concat", {"values": (T((1, 4, 1, 5)), T((1, 2, 1, 5)), T((1, 1, 1, 5)))}, {"axis": 1}, lambda v: torch.cat(v, 1)),
    Case("concat", {"values": (T((2, 3)), T((2, 5)))}, {"axis": -1}, lambda v: torch.cat(v, 1)),
    Case("concat", {"values": (INT, INT)}, {"axis": 1}, lambda v: torch.cat(v, 1)),
    Case("concat", {"values": (BOOL,)}, {"axis": 0}, lambda v: v[0]),
    Case("stack", {"values": (A, A, A)}, {"axis": 1}, lambda v: torch.stack(v, 1)),
    Case("stack", {"values": (INT, INT)}, {"axis": -1}, lambda v: torch.stack(v, -1)),
    Case("stack", {"values": (T((3,)), T((3,)))}, {"axis": 0}, lambda v: torch.stack(v, 0)),
    Case("split", {"x": T((2, 6, 3))}, {"num_splits": 3, "axis": 1}, lambda x: x.split(2, 1)),
    Case("split", {"x": T((2, 6, 3))}, {"split_sizes": (1, 5), "axis": -2}, lambda x: x.split((1, 5), 1)),
    Case("split", {"x": T((2, 6), "int32", -9, 9)}, {"split_sizes": (3, 3), "axis": 1}, lambda x: x.split(3, 1)),
    Case("split", {"x": T((6, 2))}, {"num_splits": 2, "split_sizes": (2, 4), "axis": 0}, lambda x: x.split((2, 4), 0)),
    Case("fill", {"value": T((), const=True)}, {"shape": (2, 1, 3)}, lambda v: v.expand(2, 1, 3)),
    Case("fill", {"value": T((), "int32", -9, 9, const=True)}, {"shape": (4,)}, lambda v: v.expand(4)),
    Case("fill", {}, {"shape": (2, 3)}, lambda: torch.zeros(2, 3)),
    Case("fill_like", {"ref_tensor": A, "value": T((), "fp32", const=True)}, {}, lambda r, v: v.expand(2, 3, 4)),
    Case("fill_like", {"ref_tensor": INT, "value": T((), const=True)}, {}, lambda r, v: v.expand(2, 3)),
    Case("range_1d", {}, {"end": 7, "start": 1, "step": 2}, lambda: torch.arange(1, 7, 2)),
    Case("range_1d", {}, {"end": -1, "start": 5, "step": -3}, lambda: torch.arange(5, -1, -3)),
]

# Interleaving takes one slice of each operand in turn.
CASES += [
    Case(
        "concat",
        {"values": (T((1, 3, 2)), T((1, 3, 2)))},
        {"axis": axis, "interleave": True},
        lambda v, axis=axis: torch.stack(v, axis + 1).flatten(axis, axis + 1),
    )
    for axis in (0, 1, 2)
]
