"""Headers of `.npy` data, and a single `.npy` file as a source."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from anedsl.data import Data
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.types import Shape
from anedsl.weights.entry import Entry, Stored, shown, sound_shape, stored_as
from anedsl.weights.files import FileRegion, Place, Region, open_file, read
from anedsl.weights.stored import FortranData, StoredData

MAX_HEADER = 10_000
"""The most bytes of a header, numpy's own limit. One array's header has about 120."""

LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
"""For each version of the format, how many bytes give the header's length."""


class Header(NamedTuple):
    """A checked header; the numbers stand `offset` bytes from the start."""

    shape: Shape
    stored: Stored
    fortran: bool
    offset: int

    def data(self, region: Region) -> Data:
        """The numbers in a region that begins behind the header."""
        if self.fortran and sum(dim > 1 for dim in self.shape) > 1:
            return FortranData(StoredData(region, self.stored, self.shape[::-1]), self.shape)
        return StoredData(region, self.stored, self.shape)


def read_header(next_bytes: Callable[[int], bytes], file: str, key: str, size: int) -> Header:
    """Reads the header of `.npy` data of `size` bytes in all.

    `next_bytes(n)` gives the next n bytes, or fewer at the end. Raises ANE0412, or ANE0413 for elements other than numbers.
    """

    def fail(problem: str, detail: str | None = None) -> NoReturn:
        from anedsl.diagnostics.weights import MalformedFile

        raise Failure(MalformedFile(file=file, problem=f"{problem} of `{shown(key)}`", detail=detail))

    magic = next_bytes(8)
    if magic[:6] != b"\x93NUMPY" or len(magic) < 8:
        fail("no `.npy` header stands at the start")
    if (magic[6], magic[7]) not in LENGTH_BYTES:
        fail(f"version {magic[6]}.{magic[7]} is unknown in the header")
    length = next_bytes(LENGTH_BYTES[magic[6], magic[7]])
    count = int.from_bytes(length, "little")
    if count > MAX_HEADER:
        fail(f"{count} bytes are claimed for the header", f"a header has at most {MAX_HEADER}")
    text = next_bytes(count)
    if len(text) < count:
        fail("the data ends within the header")
    parsed = _parse(length, text)
    shape = sound_shape(parsed[0]) if parsed else None
    if parsed is None or shape is None:
        fail("numpy cannot read the header" if parsed is None else "the shape is invalid in the header")
    _, fortran, dtype = parsed
    stored = stored_as(dtype)
    if stored is None:
        raise Failure(unsupported(dtype, file, key))
    header = Header(shape, stored, fortran, 8 + len(length) + count)
    needed = header.offset + math.prod(shape) * stored.raw.itemsize
    if needed != size:
        fail("the size is not the one in the header", f"header and numbers need {needed} bytes, and there are {size}")
    return header


def _parse(length: bytes, text: bytes) -> tuple[object, bool, np.dtype[np.generic]] | None:
    """Shape, order and type in a header, by numpy's own reader; None if it cannot read it."""
    from numpy.lib import format

    # Version 3 differs from 2 only in the encoding of field names, and structured types are refused anyway.
    reader: Any = format.read_array_header_1_0 if len(length) == 2 else format.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            shape, fortran, dtype = reader(io.BytesIO(length + text))
        except Exception:  # numpy evaluates the header as Python; nothing bounds what a broken one raises.
            return None
    return shape, bool(fortran), dtype


def unsupported(dtype: np.dtype[np.generic], file: str, key: str) -> Diagnostic:
    """ANE0413 for a numpy type: what it is, why it is refused, what to do."""
    from anedsl.diagnostics.weights import UnsupportedElements

    reason, advice = None, "convert it to float32 before it is saved"
    found = f"elements of type {dtype}"
    if dtype.hasobject:
        found, reason = "Python objects", "they are never unpickled: that would run code from the file"
        advice = "give a plain array: `numpy.asarray(x, dtype = numpy.float32)`"
    elif dtype.names is not None or dtype.subdtype is not None:
        found, advice = "records of several fields", "give one array for each field"
    elif dtype.kind == "V":
        found, reason = f"elements of {dtype.itemsize} unnamed bytes", "numpy's files have no bfloat16"
        advice = "save bfloat16 as float32, or in a `.safetensors` file"
    return UnsupportedElements(file=file, array=shown(key), found=found, reason=reason, advice=advice)


def header_of(path: Path, name: str, key: str) -> tuple[Header, Place]:
    """Reads the header of a `.npy` file."""
    file, place = open_file(path, name)
    with file:
        left = place.stamp.size

        def next_bytes(count: int) -> bytes:
            nonlocal left
            count = min(count, left)
            left -= count
            return bytes(read(file, count, place))

        return read_header(next_bytes, name, key, place.stamp.size), place


class NpySource:
    """One `.npy` file; its key is the file's name without `.npy`. Raises ANE0410, ANE0412 and ANE0413 when opened."""

    lone = True

    def __init__(self, path: Path) -> None:
        self.name = shown(str(path))
        self._key = path.stem
        self._header, self._place = header_of(path, self.name, self._key)

    def keys(self) -> list[str]:
        return [self._key]

    def entry(self, key: str) -> Entry:
        self._check(key)
        return Entry(key, self._header.shape, self._header.stored.name)

    def data(self, key: str) -> Data:
        self._check(key)
        return self._header.data(FileRegion(self._place, self._header.offset))

    def _check(self, key: str) -> None:
        if key != self._key:
            raise KeyError(key)
