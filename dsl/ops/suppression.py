"""The op that picks boxes of a detector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anedsl.ops.call import Call
from anedsl.ops.checks import need_least, need_rank, need_shape, wrong_attribute
from anedsl.ops.record import FLOAT, Array, Attribute, Op, Operand
from anedsl.types import INT32, TensorType

FAMILY = "sorting"
BOXES = "`[batch, 4, boxes]`: x and y of the centre, width and height"
SCORES = "`[batch, classes, boxes]`"


def _suppression(call: Call) -> tuple[TensorType, ...]:
    boxes = need_rank(call, "boxes", 3, 3, advice=f"boxes are {BOXES}")
    scores = need_rank(call, "scores", 3, 3, advice=f"scores are {SCORES}")
    batch, classes, count = boxes.shape[0], scores.shape[1], boxes.shape[2]
    if boxes.shape[1] != 4 and count == 4:
        turned = f"`transpose({call.written('boxes')}, [0, 2, 1])` makes columns of rows, and so for the scores"
        need_shape(call, "boxes", (batch, 4, boxes.shape[1]), f"boxes are {BOXES}", advice=turned)
    need_shape(call, "boxes", (batch, 4, count), f"boxes are {BOXES}")
    need_shape(call, "scores", (batch, classes, count), f"scores are {SCORES}", show="boxes")
    threshold = call.attributes["iou_threshold"]
    if not 0 <= threshold <= 1:
        advice = "it is the area that two boxes share, over all that they cover"
        wrong_attribute(call, "iou_threshold", f"{threshold} is not in 0 to 1", advice=advice)
    need_least(call, "max_boxes", 1)
    most = call.attributes["max_boxes"]
    return (
        boxes.with_shape((batch, 4, most)),
        scores.with_shape((batch, classes, most)),
        TensorType(INT32, (batch, most)),
    )


def _overlap(box: Array, others: Array) -> Array:
    """Intersection over union of a box with each of several; 0 for those it does not meet, such as a box without an area."""
    (x, y, width, height), (xs, ys, widths, heights) = box, others
    across = np.minimum(x + width / 2, xs + widths / 2) - np.maximum(x - width / 2, xs - widths / 2)
    down = np.minimum(y + height / 2, ys + heights / 2) - np.maximum(y - height / 2, ys - heights / 2)
    common = np.maximum(across, 0) * np.maximum(down, 0)
    union = width * height + widths * heights - common
    return np.asarray(np.divide(common, union, out=np.zeros_like(common), where=common > 0))


def _kept(boxes: Array, scores: Array, threshold: float, most: int, per_class: bool) -> list[int]:
    """The positions of the boxes that stay, the highest score first."""
    best = scores.argmax(0)
    left = np.argsort(-scores.max(0), kind="stable")
    kept: list[int] = []
    while left.size and len(kept) < most:
        first, left = left[0], left[1:]
        kept.append(int(first))
        dropped = _overlap(boxes[:, first], boxes[:, left]) > threshold
        if per_class:
            dropped &= best[left] == best[first]
        left = left[~dropped]
    return kept


@np.errstate(all="ignore")
def _picked(
    boxes: Array, scores: Array, *, iou_threshold: float, max_boxes: int, per_class_suppression: bool
) -> tuple[Array, Array, Array]:
    batch = boxes.shape[0]
    coordinates = np.zeros((batch, 4, max_boxes), boxes.dtype)
    points = np.zeros((batch, scores.shape[1], max_boxes), scores.dtype)
    places = np.full((batch, max_boxes), -1, np.int32)
    for at in range(batch):
        kept = _kept(boxes[at], scores[at], iou_threshold, max_boxes, per_class_suppression)
        coordinates[at, :, : len(kept)] = boxes[at][:, kept]
        points[at, :, : len(kept)] = scores[at][:, kept]
        places[at, : len(kept)] = kept
    return coordinates, points, places


def _flops(call: Call, results: Sequence[TensorType]) -> int:
    """At most: each box is compared with each that stays, in 13 operations, 12 for the overlap."""
    batch, _, count = call.types["boxes"].shape
    return 13 * int(batch * count * min(count, call.attributes["max_boxes"]))


OPS = (
    Op(
        "non_maximum_suppression",
        "Picks boxes by their scores, the highest first, and leaves out each that overlaps one picked before by more than "
        "`iou_threshold`. Gives the boxes, their scores and their positions. A box scores what its best class does. Behind the "
        "last box picked, boxes and scores are 0, and positions -1. MIL does not say which of two equal scores comes first: the "
        "reference takes the lower position, and the lower class. There is no threshold for scores: boxes below one come last "
        "and leave out none above it, so compare the scores of the result.",
        operands=(Operand("boxes", FLOAT, BOXES), Operand("scores", FLOAT, SCORES)),
        infer=_suppression,
        reference=_picked,
        attributes=(
            Attribute("iou_threshold", "float", doc="The area that two boxes may share, over all that they cover.", domain=FLOAT),
            Attribute("max_boxes", "int", doc="How many boxes the result has room for."),
            Attribute("per_class_suppression", "bool", False, "Only a box of the same best class leaves a box out."),
        ),
        flops=_flops,
        since="ios17",
        example="picked, points, places = non_maximum_suppression(boxes, scores, iou_threshold = 0.5, max_boxes = 10)",
        family=FAMILY,
    ),
)
