"""The numbers of an array that stands in a file, and windows on them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from anedsl.data import Array, ArrayData, Data
from anedsl.diagnostics import Failure
from anedsl.types import Shape
from anedsl.weights.entry import Stored, decoded
from anedsl.weights.files import Region

PIECE_ELEMENTS = 1 << 20
"""How many elements are read at a time: at most 8 MB."""


class StoredData:
    """An array in a file in row-major order, from its element `start` on."""

    __slots__ = ("region", "shape", "start", "stored")

    def __init__(self, region: Region, stored: Stored, shape: Shape, start: int = 0) -> None:
        self.region = region
        self.stored = stored
        self.shape = shape
        self.start = start

    def load(self) -> Array:
        size = math.prod(self.shape)
        try:
            whole = np.empty(size, self.stored.result)
        except MemoryError:
            from anedsl.diagnostics.weights import TooLarge

            needed = size * self.stored.result.itemsize
            raise Failure(TooLarge(file=self.region.place.name, bytes=needed, reason="there is not so much memory")) from None
        at = 0
        for chunk in self.chunks():
            whole[at : at + chunk.size] = chunk
            at += chunk.size
        return whole.reshape(self.shape)

    def chunks(self) -> Iterator[Array]:
        width = self.stored.raw.itemsize
        for piece in self.region.pieces(self.start * width, math.prod(self.shape) * width, PIECE_ELEMENTS * width):
            yield decoded(piece, self.stored)

    def window(self, start: int, shape: Shape) -> StoredData:
        return StoredData(self.region, self.stored, shape, self.start + start)


class FortranData:
    """An array in a file in column-major order.

    It is loaded as a whole to be brought into row-major order: `chunks` takes as much memory as the array, `load` twice that.
    """

    __slots__ = ("reverse", "shape", "start")

    def __init__(self, reverse: StoredData, shape: Shape, start: int = 0) -> None:
        self.reverse = reverse
        self.shape = shape
        self.start = start

    def load(self) -> Array:
        size = math.prod(self.shape)
        return self.reverse.load().T.flat[self.start : self.start + size].reshape(self.shape)

    def chunks(self) -> Iterator[Array]:
        flat = self.reverse.load().T.flat
        end = self.start + math.prod(self.shape)
        for at in range(self.start, end, PIECE_ELEMENTS):
            yield flat[at : min(at + PIECE_ELEMENTS, end)]

    def window(self, start: int, shape: Shape) -> FortranData:
        return FortranData(self.reverse, shape, self.start + start)


def window(data: Data, start: int, shape: Shape) -> Data:
    """The elements of `data` from `start` on, counted in row-major order, as an array of `shape`.

    Axes of size 1 come and go this way (start 0), and one part of a stacked array is read without the others.
    """
    if isinstance(data, StoredData | FortranData):
        return data.window(start, shape)
    flat = data.load().reshape(-1)
    return ArrayData(flat[start : start + math.prod(shape)].reshape(shape))
