"""Arrays in memory as a source: the `weights = {...}` and inputs of the Python API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from anedsl.data import Array, ArrayData, Data
from anedsl.diagnostics import Failure
from anedsl.tensors import as_array
from anedsl.weights import binding
from anedsl.weights.entry import Entry, shown, stored_as


class ArraySource:
    """Arrays, or what numpy makes arrays of, by name. Arrays are not copied unless their layout needs it.

    Raises ANE0413 for a value that is no array of numbers.
    """

    lone = False

    def __init__(self, arrays: Mapping[str, Any], name: str = "weights") -> None:
        self.name = name
        self._arrays = {key: _array(value, key, name) for key, value in arrays.items()}

    def keys(self) -> list[str]:
        return list(self._arrays)

    def entry(self, key: str) -> Entry:
        array = self._arrays[key]
        stored = stored_as(array.dtype)
        assert stored is not None  # `_array` has seen to it.
        return Entry(key, array.shape, stored.name)

    def data(self, key: str) -> Data:
        return ArrayData(self._arrays[key])


def bind(declared: Iterable[binding.Declared], arrays: Mapping[str, Any]) -> dict[str, Data]:
    """Finds the data of every declared weight among arrays in memory; raises as `anedsl.weights.bind`."""
    return binding.bind(declared, [ArraySource(arrays)])


def _array(value: Any, key: str, name: str) -> Array:
    """The value as an array in the machine's byte order."""
    from anedsl.diagnostics.weights import UnsupportedElements
    from anedsl.weights.npy import unsupported

    try:
        array = as_array(value)
    except Exception:  # Foreign array types raise what they like.
        found = f"a value of type {type(value).__name__} that numpy makes no array of"
        advice = "give an array of numpy, a dense tensor of torch, or nested lists whose rows are equally long"
        raise Failure(UnsupportedElements(file=name, array=shown(key), found=found, advice=advice)) from None
    stored = stored_as(array.dtype)
    if stored is None:
        raise Failure(unsupported(array.dtype, name, key))
    return array.astype(stored.result, copy=False)
