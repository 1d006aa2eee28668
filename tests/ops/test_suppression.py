"""Boxes on squared paper: which are picked follows from counting squares, with ties, empty boxes and exact thresholds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from anedsl.graph import Value, call_of, make_node
from anedsl.ops import OPS
from anedsl.types import FP32, TensorType

SUPPRESSION = OPS["non_maximum_suppression"]
THRESHOLDS = [Fraction(0), Fraction(1, 7), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1)]


class Box(NamedTuple):
    left: int
    top: int
    width: int
    height: int

    @property
    def squares(self) -> set[tuple[int, int]]:
        return {(self.left + i, self.top + j) for i in range(self.width) for j in range(self.height)}

    @property
    def centred(self) -> tuple[float, float, int, int]:
        return self.left + self.width / 2, self.top + self.height / 2, self.width, self.height


def shared(a: Box, b: Box) -> Fraction:
    """The squares that two boxes share, of those that they cover."""
    covered = len(a.squares | b.squares)
    return Fraction(len(a.squares & b.squares), covered) if covered else Fraction(0)


def expected(boxes: list[Box], scores: Any, threshold: Fraction, per_class: bool) -> list[int]:
    """The positions of all boxes that are picked."""
    best = [max(column) for column in scores.T.tolist()]
    label = [column.index(score) for column, score in zip(scores.T.tolist(), best, strict=True)]
    picked: list[int] = []
    for at in sorted(range(len(boxes)), key=lambda at: (-best[at], at)):
        rivals = [other for other in picked if not per_class or label[other] == label[at]]
        if all(shared(boxes[at], boxes[other]) <= threshold for other in rivals):
            picked.append(at)
    return picked


def run(boxes: list[list[Box]], scores: Any, floats: type = np.float64, **attributes: Any) -> tuple[Any, Any, Any]:
    coordinates = np.array([[box.centred for box in row] for row in boxes], floats).transpose(0, 2, 1)
    given = {"per_class_suppression": False, **attributes}
    picked, points, places = SUPPRESSION.reference(coordinates, scores.astype(floats), **given)
    assert picked.dtype == points.dtype == floats
    # What is given back are the columns at the positions; 0 stands where no box is left.
    for row in range(len(boxes)):
        kept = places[row][places[row] >= 0]
        np.testing.assert_array_equal(picked[row][:, : len(kept)], coordinates[row][:, kept])
        np.testing.assert_array_equal(points[row][:, : len(kept)], scores[row][:, kept])
        assert not picked[row][:, len(kept) :].any()
        assert not points[row][:, len(kept) :].any()
    return picked, points, places


def drawn(numbers: np.random.Generator, count: int) -> list[Box]:
    """Many overlap; one in six sides is 0."""
    return [Box(*numbers.integers(-6, 6, 2).tolist(), *numbers.integers(0, 6, 2).tolist()) for _ in range(count)]


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("floats", [np.float64, np.float32])
def test_picks_what_counting_squares_picks(floats: type, per_class: bool) -> None:
    numbers = np.random.default_rng(8)
    filled = []
    for _ in range(400):
        batch, classes, count, most = (int(numbers.integers(1, high)) for high in (3, 4, 14, 18))
        threshold = THRESHOLDS[numbers.integers(len(THRESHOLDS))]
        boxes = [drawn(numbers, count) for _ in range(batch)]
        scores = numbers.integers(-4, 4, (batch, classes, count))
        _, _, places = run(boxes, scores, floats, iou_threshold=float(threshold), max_boxes=most, per_class_suppression=per_class)
        for row in range(batch):
            whole = expected(boxes[row], scores[row], threshold, per_class)
            assert places[row].tolist() == (whole + [-1] * most)[:most]
            filled.append(len(whole) - most)
    assert min(filled) < 0 < max(filled), "there are boxes to spare, and room to spare"


def test_what_overlaps_by_just_the_threshold_stays() -> None:
    boxes, scores = [[Box(0, 0, 2, 2), Box(1, 0, 2, 2)]], np.array([[[2, 1]]])
    assert shared(*boxes[0]) == Fraction(1, 3)
    assert run(boxes, scores, iou_threshold=1 / 3, max_boxes=2)[2].tolist() == [[0, 1]]
    assert run(boxes, scores, iou_threshold=0.333, max_boxes=2)[2].tolist() == [[0, -1]]


def test_what_is_left_out_leaves_nothing_out() -> None:
    boxes, scores = [[Box(0, 0, 4, 1), Box(2, 0, 4, 1), Box(4, 0, 4, 1)]], np.array([[[3, 2, 1]]])
    assert run(boxes, scores, iou_threshold=0.25, max_boxes=3)[2].tolist() == [[0, 2, -1]]


def test_of_equal_scores_the_lower_position_comes_first() -> None:
    boxes = [[Box(0, 0, 2, 2), Box(0, 0, 2, 2), Box(9, 9, 1, 1)]]
    assert run(boxes, np.array([[[1, 1, 1]]]), iou_threshold=0.5, max_boxes=2)[2].tolist() == [[0, 2]]


def test_boxes_without_an_area_leave_each_other_alone() -> None:
    boxes = [[Box(1, 1, 0, 0), Box(1, 1, 0, 0), Box(0, 0, 0, 3), Box(0, 0, 3, 3)]]
    assert run(boxes, np.array([[[4, 3, 2, 1]]]), iou_threshold=0.0, max_boxes=4)[2].tolist() == [[0, 1, 2, 3]]


def test_classes_are_the_best_of_each_box() -> None:
    """The second box is of the second class, though it scores more than the third in the first."""
    boxes, scores = [[Box(0, 0, 3, 3)] * 3], np.array([[[9, 6, 5], [1, 7, 2]]])
    assert run(boxes, scores, iou_threshold=0.5, max_boxes=3, per_class_suppression=True)[2].tolist() == [[0, 1, -1]]
    assert run(boxes, scores, iou_threshold=0.5, max_boxes=3)[2].tolist() == [[0, -1, -1]]


def test_the_example_of_coremltools() -> None:
    """Squares of side k around (k, k), with its scores; it wants two."""
    boxes = np.repeat(np.arange(4.0), 4).reshape(1, 4, 4).transpose(0, 2, 1)
    scores = np.array([[[-3.5, 9.4, 2.3, 0.7]]])
    picked, points, places = SUPPRESSION.reference(boxes, scores, iou_threshold=0.2, max_boxes=2, per_class_suppression=True)
    assert places.tolist() == [[1, 2]]
    assert points.tolist() == [[[9.4, 2.3]]]
    assert picked.tolist() == [[[1, 2]] * 4]


@pytest.mark.parametrize("per_class", [False, True])
def test_a_least_score_may_be_applied_to_the_result(per_class: bool) -> None:
    """As in ios15, where boxes below it were taken out before."""
    numbers = np.random.default_rng(3)
    for _ in range(100):
        boxes, scores = drawn(numbers, 10), numbers.integers(-4, 4, (2, 10))
        _, points, places = run([boxes], scores[None], iou_threshold=0.25, max_boxes=10, per_class_suppression=per_class)
        above = [at for at in range(10) if scores[:, at].max() >= 0]
        before = expected([boxes[at] for at in above], scores[:, above], Fraction(1, 4), per_class)
        kept = (points[0].max(0) >= 0) & (places[0] >= 0)
        assert places[0][kept].tolist() == [above[at] for at in before]


@pytest.mark.parametrize("floats", [np.float64, np.float32])
def test_numbers_out_of_range_are_silent(floats: type) -> None:
    large = np.finfo(floats).max
    boxes = np.array([[[0, 0, large, large], [0, 0, large, large], [np.nan] * 4, [np.inf, 0, -np.inf, 1]]], floats)
    scores = np.array([[[1, -np.inf, np.nan, np.inf]]], floats)
    attributes = {"iou_threshold": 0.5, "max_boxes": 5, "per_class_suppression": False}
    _, _, places = SUPPRESSION.reference(boxes.transpose(0, 2, 1), scores, **attributes)
    assert sorted(places[0].tolist()) == [-1, 0, 1, 2, 3]


def test_costs_a_comparison_with_each_box_that_stays() -> None:
    boxes, scores = Value(TensorType(FP32, (2, 4, 30))), Value(TensorType(FP32, (2, 7, 30)))
    for most, compared in ((10, 10), (50, 30)):
        node = make_node(SUPPRESSION, {"boxes": boxes, "scores": scores}, {"iou_threshold": 0.5, "max_boxes": most})
        assert SUPPRESSION.flops(call_of(node), [r.type for r in node.results]) == 2 * 30 * compared * 13
