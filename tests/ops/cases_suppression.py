"""Uses of the op that picks boxes of a detector."""

import torch

from tests.ops.case import Case, T


def shared(boxes):
    """Intersection over union of each box with each, from the corners."""
    low, high = boxes[:2] - boxes[2:] / 2, boxes[:2] + boxes[2:] / 2
    sides = torch.minimum(high[:, :, None], high[:, None]) - torch.maximum(low[:, :, None], low[:, None])
    common = sides.clamp(min=0).prod(0)
    area = boxes[2] * boxes[3]
    return common / (area[:, None] + area - common)


def picked(threshold, most, per_class=False):
    """Each box in its turn: it is kept if it goes with all that are kept already."""

    def one(boxes, scores):
        best, label = scores.max(0)
        rivals = shared(boxes) > threshold
        if per_class:
            rivals &= label[:, None] == label
        kept = []
        for at in torch.argsort(best, descending=True, stable=True).tolist():
            if not any(rivals[at, other] for other in kept):
                kept.append(at)
        kept = kept[:most]
        room = (0, most - len(kept))
        pad = torch.nn.functional.pad
        return pad(boxes[:, kept], room), pad(scores[:, kept], room), pad(torch.tensor(kept, dtype=torch.int32), room, value=-1)

    return lambda boxes, scores: [torch.stack(part) for part in zip(*map(one, boxes, scores), strict=True)]


def case(boxes, classes, threshold, most, batch=1, dtype="fp16", **more):
    return Case(
        "non_maximum_suppression",
        {"boxes": T((batch, 4, boxes), dtype, low=0.25, high=4), "scores": T((batch, classes, boxes), dtype)},
        {"iou_threshold": threshold, "max_boxes": most, **more},
        picked(threshold, most, more.get("per_class_suppression", False)),
    )


PER_CLASS = {"per_class_suppression": True}

CASES = [
    case(12, 1, 0.25, 12),
    case(12, 3, 0.0, 20),
    case(12, 3, 0.0, 20, **PER_CLASS),
    case(40, 4, 0.5, 10, batch=3),
    case(40, 4, 0.5, 10, batch=3, **PER_CLASS),
    case(200, 2, 0.125, 5, dtype="fp32", per_class_suppression=False),
    case(9, 2, 1.0, 9),
    case(1, 1, 0.5, 3),
]
