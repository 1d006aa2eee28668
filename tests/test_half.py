"""Conversions between float32 and float16 are numpy's own, bit for bit, whatever the numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anedsl.half import BLOCK, FEW, from_half, round_to_half, to_half, to_half_exactly

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def same(found: np.ndarray, expected: np.ndarray) -> bool:
    unsigned = f"u{expected.itemsize}"
    return found.dtype == expected.dtype and np.array_equal(found.view(unsigned), expected.view(unsigned))


def check(array: np.ndarray) -> None:
    """Rounding, to bits and to numbers; few numbers are left to numpy, so that there must be many."""
    assert array.size >= FEW
    with np.errstate(all="ignore"):
        expected = array.astype(np.float16)
        wide = expected.astype(np.float32)
    assert same(to_half(array), expected)
    rounded = round_to_half(array)
    assert same(np.where(np.isnan(wide), 0, rounded), np.where(np.isnan(wide), 0, wide))
    assert np.isnan(rounded[np.isnan(wide)]).all()


@given(st.lists(st.integers(0, 2**32 - 1), min_size=64, max_size=300))
@settings(max_examples=100, deadline=None)
def test_any_bits(bits: list[int]) -> None:
    check(np.resize(np.array(bits, np.uint32), FEW + 5).view(np.float32))


def test_every_half_every_tie_and_their_neighbours() -> None:
    start = HALVES.astype(np.float32).view(np.uint32)
    array = (start[:, None] + np.array([0, 1, 0xFFF, 0x1000, 0x1001, 0x1FFF], np.uint32)).reshape(-1).view(np.float32)
    check(array)
    # Without infinities and NaN no block takes the detour for large numbers.
    check(array[np.abs(array) < 32768])


def test_subnormals_and_their_ties() -> None:
    array = (np.arange(1 << 15, dtype=np.float64) * 2.0**-26).astype(np.float32)
    check(np.concatenate([array, -array, np.nextafter(array, np.float32(1)), np.nextafter(array, np.float32(-1))]))


def binades() -> Iterator[np.ndarray]:
    """Numbers of every exponent that float32 has, of both signs."""
    mantissas = np.arange(0, 1 << 23, 509, dtype=np.uint32)
    for exponent in range(256):
        bits = mantissas | np.uint32(exponent << 23)
        yield np.concatenate([bits, bits | np.uint32(1 << 31)]).view(np.float32)


def test_every_exponent() -> None:
    for array in binades():
        check(array)


def test_where_large_numbers_become_infinite() -> None:
    check(np.resize(np.array([65504, 65519.99, 65520, 1e38, -65520, np.inf, -np.inf, np.nan, -0.0], np.float32), FEW))


@pytest.mark.parametrize("size", [0, 1, FEW - 1, FEW, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + FEW])
def test_every_size(size: int) -> None:
    array = np.random.default_rng(0).standard_normal(size).astype(np.float32)
    expected = array.astype(np.float16)
    assert same(to_half(array), expected)
    assert same(round_to_half(array), expected.astype(np.float32))
    assert same(from_half(expected), expected.astype(np.float32))
    assert same(to_half_exactly(expected.astype(np.float32)), expected)


def test_the_shape_stays_and_strides_do_not_matter() -> None:
    array = np.random.default_rng(0).standard_normal((64, 3, 128)).astype(np.float32)[:, ::2].transpose(2, 0, 1)
    assert same(to_half(array), array.astype(np.float16))
    assert same(round_to_half(array), array.astype(np.float16).astype(np.float32))


def test_rounding_in_place_uses_the_array_s_memory() -> None:
    array = np.random.default_rng(0).standard_normal(FEW).astype(np.float32)
    expected = array.astype(np.float16).astype(np.float32)
    assert round_to_half(array, in_place=True) is array
    assert same(array, expected)


def test_conversions_of_halves_are_exact() -> None:
    assert same(from_half(HALVES), HALVES.astype(np.float32))
    for numbers in (HALVES[~np.isnan(HALVES)], HALVES[np.isfinite(HALVES)]):
        assert same(to_half_exactly(numbers.astype(np.float32)), numbers)
