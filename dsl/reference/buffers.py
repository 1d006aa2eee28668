"""Memory of values that are not needed any more: taking fresh memory for a large array takes as long as computing it."""

from __future__ import annotations

import sys
from functools import cache
from threading import local
from typing import Any

import numpy as np

from anedsl.half import FEW

Array = np.ndarray[Any, np.dtype[Any]]

KEPT = 4
"""How many arrays wait to be written again: a chain of elementwise ops needs no more."""

ALONE = 2
"""The references to an array that only this module still knows: the variable, and the argument of the count itself."""


MOST_BYTES = 1 << 22
"""The size up to which an array is kept for the next run."""


class Buffers(local):
    """Arrays that nothing else refers to. Each thread has its own."""

    def __init__(self) -> None:
        self._free: list[Array] = []

    def trim(self) -> None:
        """Forgets what is too large to be held between two runs."""
        self._free = [array for array in self._free if array.nbytes <= MOST_BYTES]

    def give(self, environment: dict[Any, Array], value: Any) -> None:
        """Removes a value. Its array is kept if it has memory of its own, and neither a view nor the caller refers to it."""
        array = environment.pop(value)
        if array.size < FEW or array.base is not None or not array.flags.writeable or not array.flags.c_contiguous:
            return
        if hasattr(sys, "getrefcount") and sys.getrefcount(array) == ALONE:
            self._free = [*self._free[1 - KEPT :], array]

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
        """An array of this kind, to be overwritten."""
        for index, array in enumerate(self._free):
            if array.shape == shape and array.dtype == dtype:
                return self._free.pop(index)
        return None


@cache
def buffers() -> Buffers:
    """The memory that this thread's runs hand on."""
    return Buffers()
