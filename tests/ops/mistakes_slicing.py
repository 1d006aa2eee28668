"""Wrong slices, margins and positions."""

from __future__ import annotations

from typing import Any

from anedsl.diagnostics import shapes
from tests.ops.mistake import Mistake


def x(*sizes: int, **more: Any) -> dict[str, Any]:
    return {"x": sizes, **more}


def slice_of(begin: Any, end: Any, stride: Any = (1,), **more: Any) -> dict[str, Any]:
    return {"begin": begin, "end": end, "stride": stride, **more}


MISTAKES = [
    Mistake(
        shapes.SliceOutOfRange,
        "slice_by_size",
        x(4, 6),
        {"begin": (0, 4), "size": (4, 3)},
        "size",
        "slice of axis 1 is out of range",
        "`size` is 3, the axis has size 6",
        "2 positions are left after 4",
    ),
    Mistake(
        shapes.SliceOutOfRange,
        "slice_by_index",
        x(6),
        slice_of((6,), (7,)),
        "begin",
        "slice of axis 0 is out of range",
        "`begin` is 6, the axis has size 6",
    ),
    Mistake(
        shapes.SliceOutOfRange,
        "slice_by_index",
        x(6),
        slice_of((0,), (7,)),
        "end",
        "slice of axis 0 is out of range",
        "`end` is 7, the axis has size 6",
        "positions end at 6",
    ),
    Mistake(
        shapes.SliceOutOfRange,
        "slice_by_index",
        x(6),
        slice_of((5,), (-7,), (-1,)),
        "end",
        "slice of axis 0 is out of range",
        "`end` is -7, the axis has size 6",
        "leave the end out to reach position 0",
    ),
    Mistake(
        shapes.EmptySlice,
        "slice_by_index",
        x(6),
        slice_of((3,), (3,)),
        "end",
        "slice of axis 0 is empty",
        "from 3 to 3 in steps of 1",
    ),
    Mistake(
        shapes.EmptySlice,
        "slice_by_index",
        x(6),
        slice_of((1,), (4,), (-1,)),
        "end",
        "slice of axis 0 is empty",
        "from 1 to 4 in steps of -1",
        "a negative stride runs from a higher position to a lower",
    ),
    Mistake(
        shapes.WrongAttribute,
        "slice_by_size",
        x(4),
        {"begin": (1,), "size": (0,)},
        "size",
        "invalid `size` of `slice_by_size`: 0 at axis 0",
        "",
        "-1 takes all that is left",
    ),
    Mistake(
        shapes.WrongAttribute,
        "slice_by_index",
        x(4),
        slice_of((0,), (4,), (0,)),
        "stride",
        "invalid `stride` of `slice_by_index`: 0 at axis 0",
        "",
    ),
    Mistake(
        shapes.WrongAttribute,
        "pad",
        x(1, 2, 4),
        {"pad": (4, 0), "mode": "reflect"},
        "pad",
        "invalid `pad` of `pad`: 4 at axis 2; `reflect` takes at most 3 there",
        "",
    ),
    Mistake(
        shapes.WrongAttribute,
        "pad",
        x(4),
        {"pad": (1,)},
        "pad",
        "invalid `pad` of `pad`: expected 2 to 2 values, an even number, found 1",
        "",
    ),
    Mistake(
        shapes.WrongAttribute,
        "crop",
        x(1, 1, 4, 4),
        {"crop_height": (2, 2), "crop_width": (0, 0)},
        "crop_height",
        "invalid `crop_height` of `crop`: nothing is left of 4 positions",
        "",
    ),
    Mistake(
        shapes.WrongAttribute,
        "gather",
        {"x": (2, 3), "indices": ((2,), "int32")},
        {"axis": 0, "batch_dims": 1},
        "batch_dims",
        "invalid `batch_dims` of `gather`: 1 is not in 0 to 0",
        "",
        "batch axes stand before `axis`, in both operands",
    ),
]
