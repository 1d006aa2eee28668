"""Compressed weights that are cut, reordered and reshaped: their parts are, and no number changes.

A weight of a fused layer is declared once and cut into its parts. Each part then has codes and scales of its own files, cut
from those of the whole: the numbers are the same as those of the whole weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from anedsl.compression import Compressed, Layout, Part, StoredData, part_types
from anedsl.data import Array, DerivedData
from anedsl.types import Shape

Change = Callable[[Array], Array]


class Move(NamedTuple):
    """What happens to a weight, where its compressed form allows it: to its numbers, and to the grid of its scales."""

    numbers: Change
    grid: Change
    layout: Layout


class Positions(NamedTuple):
    """What a slice takes of one axis: `size` positions from `begin` on, in steps of `stride`."""

    begin: int
    stride: int
    size: int

    @property
    def last(self) -> int:
        return self.begin + (self.size - 1) * self.stride

    def slice(self) -> slice:
        end = self.last + (1 if self.stride > 0 else -1)
        return slice(self.begin, end if end >= 0 else None, self.stride)


class MovedData(StoredData):
    """A compressed weight after a move: the same numbers in other places."""

    __slots__ = ("move", "whole")

    def __init__(self, whole: StoredData, move: Move) -> None:

        def moved(arrays: Sequence[Array]) -> Array:
            return np.ascontiguousarray(move.numbers(arrays[0].reshape(whole.shape)))

        super().__init__(DerivedData(move.layout.shape, [whole.source], moved), whole.storage, whole.weight, move.layout)
        self.whole = whole
        self.move = move

    def compressed(self) -> Compressed:
        found = self.whole.compressed()
        known = part_types(self.storage, self.layout)
        parts = {name: self._part(name, part) for name, part in found.parts.items() if name != "nonzero_data"}
        if "mask" in parts:
            parts["nonzero_data"] = self._kept(found, parts["mask"].array)
        if known is not None:
            parts = {name: part._replace(array=part.array.reshape(known[name].shape)) for name, part in parts.items()}
        attributes = dict(found.attributes)
        if "axis" in attributes:
            attributes["axis"] = self.layout.axis or 0
        # The order of the parts is that of the files.
        return found._replace(parts={name: parts[name] for name in found.parts}, attributes=attributes)

    def _part(self, name: str, part: Part) -> Part:
        array = part.array
        if name in ("scale", "zero_point"):
            return part._replace(array=array if array.size == 1 else self.move.grid(array.reshape(self.whole.layout.scales)))
        return part if name == "lut" else part._replace(array=self.move.numbers(array.reshape(self.whole.shape)))

    def _kept(self, found: Compressed, mask: Array) -> Part:
        """The numbers of a sparse weight in their new order."""
        part, before = found.parts["nonzero_data"], found.parts["mask"].array
        dense = np.zeros(self.whole.shape, part.array.dtype)
        dense[before != 0] = part.array
        if not mask.any():
            mask.reshape(-1)[0] = 1  # a tensor of no elements has no place in a program
        return part._replace(array=self.move.numbers(dense)[mask != 0])


def transposed(layout: Layout, perm: tuple[int, ...]) -> Move:
    def order(array: Array) -> Array:
        return array.transpose(perm)

    axis = None if layout.axis is None else perm.index(layout.axis)
    shape, scales = (tuple(sizes[place] for place in perm) for sizes in (layout.shape, layout.scales))
    return Move(order, order, Layout(shape, scales, axis))


def cut(layout: Layout, positions: list[Positions]) -> Move | None:
    """A slice; None where it cuts through a block of numbers that share a scale and takes others as well."""
    grids: list[Positions] = []
    for size, scales, taken in zip(layout.shape, layout.scales, positions, strict=True):
        found = _cut_scales(size, scales, taken)
        if found is None:
            return None
        grids.append(found)
    numbers, grid = (tuple(taken.slice() for taken in all_taken) for all_taken in (positions, grids))
    shape, scales_shape = (tuple(taken.size for taken in all_taken) for all_taken in (positions, grids))
    return Move(lambda array: array[numbers].copy(), lambda array: array[grid], Layout(shape, scales_shape, layout.axis))


def _cut_scales(size: int, scales: int, taken: Positions) -> Positions | None:
    """The scales of the positions that are taken along one axis."""
    if scales == size and scales > 1:
        return taken
    block = size // scales
    first = taken.begin // block
    if first == taken.last // block:
        return Positions(first, 1, 1)
    whole = taken.stride == 1 and taken.begin % block == 0 and taken.size % block == 0
    return Positions(first, 1, taken.size // block) if whole else None


def reshaped(layout: Layout, shape: Shape) -> Move | None:
    """The same numbers in another shape; None where an axis with several scales is not an axis of that shape."""
    scales = [1] * len(shape)
    axis = None
    for place, count in enumerate(layout.scales):
        if count == 1:
            continue
        size, before = layout.shape[place], prod(layout.shape[:place])
        found = next((i for i, other in enumerate(shape) if other == size and prod(shape[:i]) == before), None)
        if found is None:
            return None
        scales[found] = count
        axis = found if place == layout.axis else axis
    grid = tuple(scales)
    return Move(lambda array: array.reshape(shape), lambda array: array.reshape(grid), Layout(shape, grid, axis))
