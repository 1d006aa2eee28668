"""The numbers of a palette: optimal quantization in one dimension, on counts of the different fp16 numbers.

A weight of any size has at most 65536 different fp16 numbers, so that only counting them depends on its size. Neighbouring
numbers are joined to at most `CELLS` cells. Dynamic programming finds the groups of cells with the least squared error,
Lloyd's method then moves the borders between single numbers. With no more than `CELLS` different numbers the result is the
optimum; with more it is that of the cells or better.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from anedsl.data import Array

CELLS = 2048
"""How many places a border between two entries may have at first: 8 for each entry of the largest palette."""

ROUNDS = 200
"""How often Lloyd's method moves the entries at most."""


class Histogram(NamedTuple):
    """Different numbers in ascending order, and how often each is there."""

    values: Array
    counts: Array


class Sums(NamedTuple):
    """Running counts, sums and sums of squares of numbers, from which `middle` was subtracted."""

    counts: Array
    totals: Array
    squares: Array
    middle: float

    def at(self, borders: Array) -> Sums:
        return Sums(self.counts[borders], self.totals[borders], self.squares[borders], self.middle)

    def half(self, means: Array) -> Array:
        """The nearest numbers that fp16 has."""
        rounded: Array = (means + self.middle).astype(np.float16).astype(np.float64) - self.middle
        return rounded


def histogram(halves: Array) -> Histogram:
    """The different numbers of an fp16 array, in float64."""
    found = np.bincount(halves.reshape(-1).view(np.uint16), minlength=1 << 16)
    bits = np.flatnonzero(found)
    # The two zeros are one number.
    values, places = np.unique(bits.astype(np.uint16).view(np.float16).astype(np.float64), return_inverse=True)
    return Histogram(values, np.bincount(places, found[bits]))


def palette(numbers: Histogram, count: int) -> Array:
    """`count` numbers in ascending order, of those that fp16 has, with the least squared distance to all; deterministic."""
    values, counts = numbers
    if values.size <= count:
        # Nothing is lost. The table is filled up with its last entry.
        return np.pad(values, (0, count - values.size), mode="edge")
    # Without the median, and summed up from there, sums of squares keep the digits that differ, whatever lies far out.
    at = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
    middle = float(values[at])
    values = values - middle
    totals, squares = counts * values, counts * np.square(values)
    sums = Sums(_running(counts, at), _running(totals, at), _running(squares, at), middle)
    borders = _cells(values, counts, max(CELLS, count))
    entries = _entries(sums, borders[_groups(sums.at(borders), count)])
    for _ in range(ROUNDS):
        edges = np.searchsorted(values, (entries[1:] + entries[:-1]) / 2)
        moved = _entries(sums, np.concatenate([[0], edges, [values.size]]), entries)
        if np.array_equal(moved, entries):
            break
        entries = moved
    assert entries.size == count
    return np.sort((entries + middle).astype(np.float16)).astype(np.float64)


def nearest_entry(array: Array, entries: Array) -> Array:
    """The index of the nearest of the ascending entries, for every element."""
    indices: Array = np.searchsorted((entries[1:] + entries[:-1]) / 2, array)
    return indices


def nearest_entries(array: Array, halves: Array, entries: Array) -> Array:
    """As `nearest_entry` in uint8, for an array that was rounded to `halves`: most elements are looked up by their bits."""
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    known = np.nan_to_num(every.astype(np.float64))
    table = nearest_entry(known, entries).astype(np.uint8)
    with np.errstate(over="ignore"):
        ends = [nearest_entry(np.nan_to_num(np.nextafter(every, end).astype(np.float64)), entries) for end in _ENDS]
    # What was rounded to a half lies between its neighbours. A border there leaves open on which side.
    crossed = ends[0] != ends[1]
    bits = halves.reshape(-1).view(np.uint16)
    indices: Array = table[bits]
    unclear = np.flatnonzero(crossed[bits])
    indices[unclear] = nearest_entry(array.reshape(-1)[unclear], entries)
    return indices.reshape(array.shape)


_ENDS = (np.float16(-np.inf), np.float16(np.inf))


def _running(values: Array, start: int) -> Array:
    """The sums from `start` up to each border, negative before it."""
    return np.concatenate([-np.cumsum(values[:start][::-1])[::-1], [0.0], np.cumsum(values[start:])])


def _entries(sums: Sums, borders: Array, empty: Array | None = None) -> Array:
    """The best entry between each two borders, near the mean; that of `empty` where there is nothing."""
    sizes, totals = np.diff(sums.counts[borders]), np.diff(sums.totals[borders])
    means = sums.half(totals / np.maximum(sizes, 1))
    return means if empty is None else np.where(sizes > 0, means, empty)


def _cells(values: Array, counts: Array, most: int) -> Array:
    """The borders of so many cells, or one for each value: as dense as the best entries of a fine palette, by the cube root
    of the density, but no value takes more than one cell. An outlier would take those of all others.
    """
    if values.size <= most:
        return np.arange(values.size + 1)
    shares = _shares(np.cbrt(counts * np.square(np.gradient(values))), most - 0.5)
    # A share of at most 1 leaves out no whole number, rounded or not.
    cell = np.ceil(np.cumsum(shares))
    return np.concatenate([[0], np.flatnonzero(np.diff(cell)) + 1, [values.size]])


def _shares(wanted: Array, total: float) -> Array:
    """Shares in proportion to what is wanted, but at most 1, that make up `total`; there are more than `total`."""
    rising = np.sort(wanted)
    # So many of the largest are 1, as few as may be: the others share the rest.
    whole = np.arange(int(total) + 1)
    largest, rest = (row[::-1][: whole.size] for row in (rising, np.cumsum(rising)))
    scales = (total - whole) / rest
    scale = scales[np.argmax(scales * largest <= 1)]
    shares: Array = np.minimum(wanted * scale, 1)
    return shares


def _groups(sums: Sums, count: int) -> Array:
    """The borders of `count` groups of neighbouring cells with the least squared error; `sums` runs over the cells.

    Best borders of longer rows do not lie before those of shorter ones, so that each row needs to look only between the
    borders of its neighbours: divide and conquer, all rows of one step at once.
    """
    cells = sums.counts.size - 1
    least = _error(sums, np.zeros(cells + 1, np.int64), np.arange(cells + 1))
    chosen = np.zeros((count, cells + 1), np.int32)
    for group in range(1, count):
        least = _one_more(sums, least, chosen[group], group)
    borders = [cells]
    for group in range(count - 1, -1, -1):
        borders.append(int(chosen[group, borders[-1]]))
    return np.array(borders[::-1])


def _one_more(sums: Sums, least: Array, chosen: Array, group: int) -> Array:
    """The least errors of the first cells in one more group; its begin goes to `chosen`."""
    cells = least.size - 1
    found = np.full(cells + 1, np.inf)
    step = 1 << cells.bit_length()
    while step:
        ends = np.arange(step, cells + 1, 2 * step)
        ends = ends[ends > group]
        low = np.maximum(chosen[ends - step], group)
        after = ends + step
        high = np.minimum(np.where(after <= cells, chosen[np.minimum(after, cells)], cells), ends - 1)
        sizes = high - low + 1
        if ends.size:
            starts = np.cumsum(sizes) - sizes
            begins = np.arange(sizes.sum()) + np.repeat(low - starts, sizes)
            errors = least[begins] + _error(sums, begins, np.repeat(ends, sizes))
            best = np.minimum.reduceat(errors, starts)
            places = np.flatnonzero(errors == np.repeat(best, sizes))
            chosen[ends] = begins[places[np.searchsorted(places, starts)]]
            found[ends] = best
        step >>= 1
    return found


def _error(sums: Sums, begins: Array, ends: Array) -> Array:
    """The squared distances of the cells from `begins` to `ends` to their best entry."""
    sizes, totals, squares = (row[ends] - row[begins] for row in sums[:3])
    means = totals / np.maximum(sizes, 1)
    error: Array = np.maximum(squares - totals * means, 0) + sizes * np.square(sums.half(means) - means)
    return error
