"""Uses of the ops that take a part of a tensor, pick from it, or put a margin around it."""

import torch
from torch.nn import functional

from tests.ops.case import Case, T

A = T((4, 5, 6))
INT = T((4, 6), "int32", -9, 9)
X = T((1, 8, 1, 6))


def indices(*shape, below):
    """Positions from 0 to `below`, exclusive."""
    return T(shape, "int32", 0, below - 1)


def index(begin, end, **more):
    return {"begin": begin, "end": end, **more}


ALL = (True, True, True)
END = (False, False, True)

CASES = [
    Case("slice_by_size", {"x": X}, {"begin": (0, 2, 0, 0), "size": (1, 3, 1, 6)}, lambda x: x[:, 2:5]),
    Case("slice_by_size", {"x": A}, {"begin": (1, 0, 2), "size": (-1, 2, -1)}, lambda x: x[1:, :2, 2:]),
    Case("slice_by_size", {"x": A}, {"begin": (-3, -1, 0), "size": (2, 1, 6)}, lambda x: x[1:3, 4:, :]),
    Case("slice_by_size", {"x": INT}, {"begin": (0, 3), "size": (4, 2)}, lambda x: x[:, 3:5]),
    Case("slice_by_index", {"x": A}, index((1, 0, 2), (3, 5, 6)), lambda x: x[1:3, :, 2:]),
    Case("slice_by_index", {"x": A}, index((0, -4, 1), (4, -1, 6), stride=(2, 1, 3)), lambda x: x[::2, 1:4, 1::3]),
    Case(
        "slice_by_index",
        {"x": A},
        index((0, 0, 0), (0, 0, 0), stride=(-1, 2, -2), begin_mask=ALL, end_mask=ALL),
        lambda x: x.flip(0, 2)[:, ::2, ::2],
    ),
    Case(
        "slice_by_index",
        {"x": A},
        index((3, 0, 4), (0, 5, 0), stride=(-2, 1, -1), end_mask=END),
        lambda x: x[[3, 1]][:, :, [4, 3, 2, 1, 0]],
    ),
    Case(
        "slice_by_index",
        {"x": A},
        index((-1, 4, -2), (-3, 1, -6), stride=(-1, -1, -3)),
        lambda x: x[[3, 2]][:, [4, 3, 2]][..., [4, 1]],
    ),
    Case("slice_by_index", {"x": A}, index((1, -2, 0), (0, 0, 3), squeeze_mask=(True, True, False)), lambda x: x[1, 3, :3]),
    Case("slice_by_index", {"x": INT}, index((0, 2), (2, 5)), lambda x: x[:2, 2:5]),
    Case("slice_by_index", {"x": T((1, 4), "bool")}, index((0, 1), (1, 3)), lambda x: x[:, 1:3]),
    Case("slice_by_index", {"x": T((9,))}, index((1,), (8,), stride=(4,)), lambda x: x[1:8:4]),
    Case("pad", {"x": X}, {"pad": (0, 0, 1, 2)}, lambda x: functional.pad(x, (1, 2))),
    Case(
        "pad", {"x": T((2, 3))}, {"pad": (1, 0, 0, 3), "constant_val": 1.5}, lambda x: functional.pad(x, (0, 3, 1, 0), value=1.5)
    ),
    Case(
        "pad",
        {"x": T((1, 2, 4, 5))},
        {"pad": (1, 2, 3, 0), "mode": "reflect"},
        lambda x: functional.pad(x, (3, 0, 1, 2), "reflect"),
    ),
    Case(
        "pad",
        {"x": T((1, 2, 3, 4))},
        {"pad": (3, 2, 0, 4), "mode": "replicate"},
        lambda x: functional.pad(x, (0, 4, 3, 2), "replicate"),
    ),
    Case("pad", {"x": T((3,))}, {"pad": (1, 1)}, lambda x: functional.pad(x, (1, 1))),
    Case("crop", {"x": T((1, 2, 5, 7))}, {"crop_height": (1, 2), "crop_width": (0, 3)}, lambda x: x[..., 1:3, :4]),
    Case("crop", {"x": T((4, 5, 6))}, {"crop_height": (0, 0), "crop_width": (2, 1)}, lambda x: x[..., 2:5]),
    Case("gather", {"x": T((7, 3)), "indices": indices(5, below=7)}, {}, lambda x, i: x[i]),
    Case("gather", {"x": A, "indices": indices(2, 3, below=5)}, {"axis": 1}, lambda x, i: x[:, i]),
    Case("gather", {"x": A, "indices": indices(below=6)}, {"axis": -1}, lambda x, i: x[:, :, i]),
    Case(
        "gather",
        {"x": T((2, 5, 3)), "indices": indices(2, 4, below=5)},
        {"axis": 1, "batch_dims": 1},
        lambda x, i: torch.stack([one[at] for one, at in zip(x, i, strict=True)]),
    ),
    Case(
        "gather",
        {"x": T((2, 3, 4, 5)), "indices": indices(2, 3, 2, 2, below=5)},
        {"axis": 3, "batch_dims": 2},
        lambda x, i: torch.stack([torch.stack([x[a, b][:, i[a, b]] for b in range(3)]) for a in range(2)]),
    ),
    Case("gather", {"x": INT, "indices": T((3,), "uint8", 0, 3)}, {"axis": 0}, lambda x, i: x[i.long()]),
    Case("gather_along_axis", {"x": T((4, 3)), "indices": indices(2, 3, below=4)}, {}, lambda x, i: x.gather(0, i.long())),
    Case("gather_along_axis", {"x": A, "indices": indices(4, 5, 2, below=6)}, {"axis": -1}, lambda x, i: x.gather(2, i.long())),
    Case("gather_along_axis", {"x": INT, "indices": T((4, 9), "uint16", 0, 5)}, {"axis": 1}, lambda x, i: x.gather(1, i.long())),
]
