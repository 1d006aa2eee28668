"""What rounding to a smaller element type does to numbers that it cannot hold, counted on the way."""

from __future__ import annotations

import numpy as np

from anedsl.data import Array

WORTH_SAYING = 1e-3
"""The share of the nonzero numbers from which on their vanishing is reported: a few tiny values are ordinary."""


class Losses:
    """Counts of the numbers of one tensor.

    `overflowed` were finite and are infinite, `vanished` were not zero and are; `largest_overflowed` and
    `largest_vanished` are their greatest magnitudes as they were given. `zeros` were zero before, `not_finite` were
    infinite or NaN.
    """

    __slots__ = ("largest_overflowed", "largest_vanished", "not_finite", "overflowed", "vanished", "zeros")

    def __init__(self) -> None:
        self.not_finite = 0
        self.overflowed = 0
        self.largest_overflowed = 0.0
        self.vanished = 0
        self.largest_vanished = 0.0
        self.zeros = 0

    def add(self, given: Array, made: Array) -> None:
        """Takes in numbers and what became of them. Those that are neither zero nor infinite afterwards may be left out."""
        if not made.size:
            return
        bits = _bits(made)
        if bits.max() >= _INFINITE[made.dtype.itemsize]:
            finite = np.isfinite(given)
            self.not_finite += given.size - int(np.count_nonzero(finite))
            lost = _magnitudes(given[finite & ~np.isfinite(made)])
            self.overflowed += lost.size
            self.largest_overflowed = max(self.largest_overflowed, float(lost.max(initial=0.0)))
        if bits.min() > 0:
            return
        after = made.size - int(np.count_nonzero(bits))
        before = given.size - int(np.count_nonzero(_bits(given)))
        self.zeros += before
        if after > before:
            lost = _magnitudes(given[(made == 0) & (given != 0)])
            self.vanished += lost.size
            self.largest_vanished = max(self.largest_vanished, float(lost.max()))

    def share_vanished(self, size: int) -> float:
        """Of `size` numbers, the part of those that were not zero."""
        return self.vanished / (size - self.zeros) if self.vanished else 0.0


_INFINITE = {2: 0x7C00, 4: 0x7F800000, 8: 0x7FF0000000000000}
"""The bits of infinity by the size of a float in bytes; NaN's are more."""


def _bits(values: Array) -> Array:
    """The bits of floats without their signs: numpy is several times as fast with them as with float16."""
    if values.dtype.kind != "f":
        return values
    unsigned = np.dtype(f"{values.dtype.byteorder}u{values.dtype.itemsize}")
    found: Array = values.view(unsigned) & unsigned.type(np.iinfo(unsigned).max >> 1)
    return found


def _magnitudes(values: Array) -> Array:
    # The magnitude of the least integer of a type is no integer of that type.
    found: Array = np.abs(values.astype(np.float64))
    return found
