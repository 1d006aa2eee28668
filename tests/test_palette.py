"""The numbers of a palette, against brute force, against a uniform grid and against Lloyd's method from several starts."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anedsl.compression import Storage, compress, decompress
from anedsl.palette import CELLS, Histogram, _cells, histogram, nearest_entries, nearest_entry, palette

Array = np.ndarray[Any, np.dtype[Any]]

BITS = (1, 2, 3, 4, 6, 8)


def numbers(kind: str) -> Array:
    generator = np.random.default_rng(0)
    drawn = {
        "gauss": lambda: generator.standard_normal((64, 64)),
        "small gauss": lambda: generator.standard_normal((512, 512)) * 0.044,
        "rows of mixed scale": lambda: generator.standard_normal((64, 64)) * 10.0 ** np.linspace(-3, 1, 64)[:, None],
        "laplace": lambda: generator.laplace(size=(256, 256)),
        "heavy tails": lambda: generator.standard_t(3, (256, 256)),
        "uniform": lambda: generator.uniform(-0.3, 0.7, (256, 256)),
        "300 different": lambda: generator.choice(generator.standard_normal(300), 5000),
        "20 different": lambda: generator.choice(generator.standard_normal(20) * 10.0 ** generator.uniform(-3, 3, 20), 5000),
        "far from zero": lambda: 900 + generator.standard_normal((64, 64)),
        "two heaps": lambda: np.concatenate([generator.standard_normal(3000), 500 + generator.standard_normal(3000)]),
        "an outlier": lambda: with_outliers(4096, 0.02, 100),
        "an outlier among many": lambda: with_outliers(65536, 0.02, 1000),
        "the largest of all": lambda: with_outliers(4096, 0.01, 60000),
        "both signs": lambda: with_outliers(4096, 0.01, 60000, -60000),
        "many outliers": lambda: with_outliers(65536, 0.01, *[60000] * 500, *[-60000] * 700),
        "outliers all over": lambda: with_outliers(65536, 0.01, *generator.uniform(-6e4, 6e4, 30)),
        "all scales": lambda: generator.standard_normal(65536) * 10.0 ** generator.uniform(-6, 4, 65536),
        "tails without end": lambda: np.clip(generator.standard_t(1, 65536), -65504, 65504),
    }
    return drawn[kind]()


def with_outliers(size: int, scale: float, *outliers: float) -> Array:
    array = np.random.default_rng(0).standard_normal(size) * scale
    array[: len(outliers)] = outliers
    return array


KINDS = (
    "gauss",
    "small gauss",
    "rows of mixed scale",
    "laplace",
    "heavy tails",
    "uniform",
    "300 different",
    "20 different",
    "far from zero",
    "two heaps",
    "an outlier",
    "an outlier among many",
    "the largest of all",
    "both signs",
    "many outliers",
    "outliers all over",
    "all scales",
    "tails without end",
)


def rms(found: Histogram, entries: Array) -> float:
    distances = entries[nearest_entry(found.values, entries)] - found.values
    return float(np.sqrt(np.average(np.square(distances), weights=found.counts)))


def lloyd(found: Histogram, entries: Array) -> Array:
    for _ in range(500):
        groups = nearest_entry(found.values, entries)
        sizes = np.bincount(groups, found.counts, entries.size)
        totals = np.bincount(groups, found.counts * found.values, entries.size)
        moved = np.where(sizes > 0, totals / np.maximum(sizes, 1), entries)
        if np.array_equal(moved, entries):
            break
        entries = moved
    return entries


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_worse_than_a_uniform_grid_nor_than_several_starts(kind: str, bits: int) -> None:
    array, count = numbers(kind), 1 << bits
    found = histogram(array.astype(np.float16))
    entries = palette(found, count)
    assert entries.size == count
    made = rms(found, entries)
    grid = np.linspace(found.values[0], found.values[-1], count)
    assert made <= rms(found, grid)
    spread = np.cumsum(np.cbrt(found.counts * np.square(np.gradient(found.values))))
    even = (np.arange(count) + 0.5) / count
    starts = [grid, np.quantile(array, even), found.values[np.searchsorted(spread, even * spread[-1])]]
    # The entries are fp16 numbers, whatever the start.
    others = [np.sort(lloyd(found, start).astype(np.float16)).astype(np.float64) for start in starts]
    assert made <= 1.01 * min(rms(found, entries) for entries in others)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    heaps=st.lists(
        st.tuples(
            st.integers(1, 20_000), st.floats(-7, 4), st.sampled_from([-1, 0, 1]), st.floats(-4, 4.5), st.sampled_from([1, 3, 50])
        ),
        min_size=1,
        max_size=4,
    ),
    bits=st.sampled_from(BITS),
)
def test_any_mixture_has_all_entries_and_no_more_error_than_lloyd(
    seed: int, heaps: list[tuple[int, float, int, float, int]], bits: int
) -> None:
    """Heaps of any scale anywhere, with light and heavy tails."""
    generator, count = np.random.default_rng(seed), 1 << bits
    parts = [sign * 10.0**far + 10.0**scale * generator.standard_t(tails, size) for size, scale, sign, far, tails in heaps]
    array = np.clip(np.concatenate(parts), -65504, 65504)
    found = histogram(array.astype(np.float16))
    entries = palette(found, count)
    assert entries.size == count
    grid = np.linspace(found.values[0], found.values[-1], count)
    starts = [grid, np.quantile(array, (np.arange(count) + 0.5) / count)]
    others = [grid, *(np.sort(lloyd(found, start).astype(np.float16)).astype(np.float64) for start in starts)]
    assert rms(found, entries) <= 1.01 * min(rms(found, other) for other in others)


@pytest.mark.parametrize("kind", KINDS)
def test_cells_are_as_many_as_can_be_and_none_is_empty(kind: str) -> None:
    values, counts = histogram(numbers(kind).astype(np.float16))
    borders = _cells(values, counts, CELLS)
    assert borders.size == min(CELLS, values.size) + 1
    assert (borders[0], borders[-1]) == (0, values.size)
    assert (np.diff(borders) > 0).all()


def least_error(values: Array, count: int) -> float:
    """Over all ways to cut the sorted numbers into groups, each with the fp16 number nearest to its mean."""
    best = np.inf
    for cuts in combinations(range(1, values.size), count - 1):
        groups = np.split(values, cuts)
        best = min(best, sum(float(np.square(group - float(np.float16(group.mean()))).sum()) for group in groups))
    return best


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    size=st.integers(5, 11),
    count=st.sampled_from([2, 4]),
    far=st.booleans(),
    shift=st.sampled_from([0.0, 900.0]),
)
def test_the_least_error_of_all_is_found(seed: int, size: int, count: int, far: bool, shift: float) -> None:
    """Also where fp16 is coarse beside the distances of the numbers."""
    generator = np.random.default_rng(seed)
    array = shift + generator.standard_normal(size) * (10.0 ** generator.uniform(-2, 2, size) if far else 1)
    halves = np.sort(array.astype(np.float16))
    exact = halves.astype(np.float64)
    entries = palette(histogram(halves), count)
    lost = float(np.square(entries[nearest_entry(exact, entries)] - exact).sum())
    assert lost == pytest.approx(least_error(exact, count), rel=1e-9, abs=1e-18)


@pytest.mark.parametrize("bits", BITS)
def test_as_many_different_numbers_as_entries_come_back_exactly(bits: int) -> None:
    generator = np.random.default_rng(1)
    levels = generator.choice(np.arange(0x0001, 0x7BFF, dtype=np.uint16), 1 << bits, replace=False).view(np.float16)
    array = generator.choice(levels, (64, 32))
    np.testing.assert_array_equal(decompress(compress(array.astype(np.float64), Storage("palette", bits=bits))), array)


def test_both_zeros_are_one_entry() -> None:
    entries = palette(histogram(np.array([0.0, -0.0, 1.0, 0.0], np.float16)), 2)
    assert entries.tolist() == [0.0, 1.0]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), scale=st.sampled_from([1e-7, 1e-3, 1.0, 2e4]), bits=st.sampled_from([1, 4, 8]))
def test_each_number_goes_to_its_nearest_entry(seed: int, scale: float, bits: int) -> None:
    """Also numbers that a border divides from the fp16 number that they are rounded to."""
    generator = np.random.default_rng(seed)
    array = np.clip(generator.standard_normal((50, 20)) * scale, -65504, 65504)
    entries = palette(histogram(array.astype(np.float16)), 1 << bits)
    borders = (entries[1:] + entries[:-1]) / 2
    array = np.concatenate([array.reshape(-1), borders, np.nextafter(borders, np.inf), np.nextafter(borders, -np.inf)])
    np.testing.assert_array_equal(nearest_entries(array, array.astype(np.float16), entries), nearest_entry(array, entries))


def test_the_palette_is_the_same_every_time() -> None:
    found = histogram(numbers("heavy tails").astype(np.float16))
    assert np.array_equal(palette(found, 256), palette(found, 256))
