"""Wrong boxes of a detector."""

from __future__ import annotations

from typing import Any

from anedsl.diagnostics import shapes
from tests.ops.mistake import Mistake


def boxes(boxes: Any, scores: Any) -> dict[str, Any]:
    return {"boxes": boxes, "scores": scores}


FEW: dict[str, Any] = {"iou_threshold": 0.5, "max_boxes": 3}
FITTING = boxes((2, 4, 9), (2, 5, 9))

MISTAKES = [
    Mistake(
        shapes.WrongRank,
        "non_maximum_suppression",
        boxes((4, 9), (2, 5, 9)),
        FEW,
        "boxes",
        "`non_maximum_suppression` takes rank 3 for `boxes`, found rank 2",
        "has type `fp16[4, 9]`",
        "boxes are `[batch, 4, boxes]`: x and y of the centre, width and height",
    ),
    Mistake(
        shapes.WrongRank,
        "non_maximum_suppression",
        boxes((2, 4, 9), (2, 9)),
        FEW,
        "scores",
        "`non_maximum_suppression` takes rank 3 for `scores`, found rank 2",
        "has type `fp16[2, 9]`",
        "scores are `[batch, classes, boxes]`",
    ),
    Mistake(
        shapes.OperandShape,
        "non_maximum_suppression",
        boxes((2, 9, 4), (2, 9, 5)),
        FEW,
        "boxes",
        "`non_maximum_suppression` takes `boxes` of shape `[2, 4, 9]`, found `[2, 9, 4]`",
        "has type `fp16[2, 9, 4]`",
        "`transpose(boxes, [0, 2, 1])` makes columns of rows, and so for the scores",
    ),
    Mistake(
        shapes.OperandShape,
        "non_maximum_suppression",
        boxes((2, 5, 9), (2, 5, 9)),
        FEW,
        "boxes",
        "`non_maximum_suppression` takes `boxes` of shape `[2, 4, 9]`, found `[2, 5, 9]`",
        "has type `fp16[2, 5, 9]`",
    ),
    Mistake(
        shapes.OperandShape,
        "non_maximum_suppression",
        boxes((2, 4, 9), (1, 5, 8)),
        FEW,
        "scores",
        "`non_maximum_suppression` takes `scores` of shape `[2, 5, 9]`, found `[1, 5, 8]`",
        "has type `fp16[1, 5, 8]`",
    ),
    Mistake(
        shapes.WrongAttribute,
        "non_maximum_suppression",
        FITTING,
        FEW | {"iou_threshold": 50.0},
        "iou_threshold",
        "invalid `iou_threshold` of `non_maximum_suppression`: 50.0 is not in 0 to 1",
        "",
        "it is the area that two boxes share, over all that they cover",
    ),
    Mistake(
        shapes.WrongAttribute,
        "non_maximum_suppression",
        FITTING,
        FEW | {"max_boxes": 0},
        "max_boxes",
        "invalid `max_boxes` of `non_maximum_suppression`: 0 is less than 1",
        "",
    ),
]
