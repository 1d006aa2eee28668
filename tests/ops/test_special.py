"""The numbers that random operands do not meet: accuracy, halves, extremes, division by zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from anedsl.ops import OPS
from anedsl.ops.special import erf, erfc
from anedsl.types import BOOL, FP16, INT8, INT32

GRID = np.concatenate([np.linspace(-30, 30, 6001), np.logspace(-300, 1, 600), -np.logspace(-300, 1, 600)])


def run(op: str, *operands: Any, **attributes: Any) -> list[Any]:
    return OPS[op].reference(*map(np.asarray, operands), **attributes).tolist()


def relative_error(found: Any, expected: Any) -> float:
    ordinary = np.abs(expected) > 1e-300
    return float((np.abs(found - expected)[ordinary] / np.abs(expected)[ordinary]).max())


def test_erf_is_accurate_to_the_last_bits() -> None:
    assert relative_error(erf(GRID), np.array([math.erf(x) for x in GRID])) < 5e-16


def test_erfc_keeps_its_relative_accuracy_far_out() -> None:
    expected = np.array([math.erfc(x) for x in GRID])
    assert relative_error(erfc(GRID), expected) < 5e-15
    assert np.abs(erfc(GRID) - expected).max() < 3e-16


def test_erf_at_the_ends() -> None:
    ends = np.array([0.0, math.inf, -math.inf, math.nan])
    np.testing.assert_equal(erf(ends), np.array([0, 1, -1, math.nan]))
    np.testing.assert_equal(erfc(ends), np.array([1, 0, 2, math.nan]))
    assert erf(np.float32(0.5).reshape(())).dtype == np.float32


def test_erf_of_more_than_one_piece() -> None:
    x = np.linspace(-3, 3, 40_000).reshape(100, 400)
    np.testing.assert_array_equal(erf(x)[57], erf(x[57]))


def test_exact_gelu_does_not_cancel() -> None:
    assert run("gelu", [-8.0], mode="EXACT")[0] == pytest.approx(-8 * math.erfc(8 / math.sqrt(2)) / 2, rel=1e-13)


def test_round_takes_the_even_one_of_two() -> None:
    assert run("round", [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]) == [-2, -2, 0, 0, 2, 2]


def test_integer_division_is_integer() -> None:
    x, y = np.int32([7, -7, 7, -7]), np.int32([2, 2, -2, -2])
    assert run("real_div", x, y) == [3, -3, -3, 3]
    assert run("floor_div", x, y) == [3, -4, -4, 3]
    assert run("mod", x, y) == [1, 1, -1, -1]


def test_integer_power_of_a_negative_exponent_is_cut_off() -> None:
    assert run("pow", np.int32([1, -1, -1, 2, 0]), np.int32([-3, -3, -2, -1, -1])) == [1, -1, 1, 0, 0]


@pytest.mark.parametrize("floats", [np.float32, np.float64])
def test_division_by_zero_is_infinite_and_silent(floats: type) -> None:
    x = np.array([1, -1, 0], floats)
    np.testing.assert_equal(run("real_div", x, floats(0)), [math.inf, -math.inf, math.nan])
    np.testing.assert_equal(run("inverse", x, epsilon=0.0), [1, -1, math.inf])
    np.testing.assert_equal(run("log", x, epsilon=0.0), [0, math.nan, -math.inf])
    np.testing.assert_equal(run("rsqrt", x, epsilon=0.0), [1, math.nan, math.inf])


@pytest.mark.parametrize("op", ["exp", "exp2", "cosh", "square"])
def test_overflow_is_infinite_and_silent(op: str) -> None:
    assert run(op, np.float32([1e30])) == [math.inf]


@pytest.mark.parametrize(
    ("name", "attributes", "low", "high"),
    [
        ("sigmoid", {}, 0, 1),
        ("tanh", {}, -1, 1),
        ("softplus", {}, 0, 1e4),
        ("silu", {}, 0, 1e4),
        ("elu", {"alpha": 0.5}, -0.5, 1e4),
        ("gelu", {"mode": "EXACT"}, 0, 1e4),
        ("gelu", {"mode": "TANH_APPROXIMATION"}, 0, 1e4),
        ("gelu", {"mode": "SIGMOID_APPROXIMATION"}, 0, 1e4),
    ],
)
def test_activations_saturate_silently(name: str, attributes: dict[str, Any], low: float, high: float) -> None:
    assert run(name, np.float32([-1e4, 1e4]), **attributes) == [low, high]


def test_cast_cuts_off_and_stays_in_range() -> None:
    floats = [2.9, -2.9, 1e10, -1e10, math.inf, math.nan]
    assert run("cast", floats, dtype=INT32) == [2, -2, 2**31 - 1, -(2**31), 2**31 - 1, 0]
    assert run("cast", floats, dtype=INT8) == [2, -2, 127, -128, 127, 0]
    assert run("cast", floats, dtype=BOOL) == [True] * 6
    assert run("cast", np.int32([300, -129]), dtype=INT8) == [44, 127]


def test_cast_to_a_float_type_does_not_round() -> None:
    assert run("cast", [1 / 3], dtype=FP16) == [1 / 3]
