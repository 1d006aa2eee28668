"""What a source of arrays is, and the element types that arrays in files have."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol

import numpy as np

from anedsl.data import Array, Data
from anedsl.types import DTYPES, Shape

MAX_RANK = 32
"""The most axes an array may have: the limit of numpy 1."""

MAX_BYTES = 1 << 60
"""The most bytes an array may claim, so that sizes stay within 64 bits."""


Piece = bytes | bytearray | memoryview
"""Some of a file's bytes."""


class Entry(NamedTuple):
    """An array of a source, as its header describes it; `dtype` is a name in `STORED`."""

    key: str
    shape: Shape
    dtype: str


class Source(Protocol):
    """Named arrays. `lone` says that it is one array without a name of its own: its key is the name of the file."""

    @property
    def name(self) -> str:
        """The name that diagnostics show."""
        ...

    @property
    def lone(self) -> bool: ...

    def keys(self) -> list[str]: ...

    def entry(self, key: str) -> Entry:
        """Reads the header of an array, not its numbers. Raises `KeyError` for a key that is not in `keys()`."""
        ...

    def data(self, key: str) -> Data:
        """The numbers, read from the file each time they are asked for. Raises `KeyError` as `entry` does."""
        ...


class Stored(NamedTuple):
    """An element type in a file: `raw` is how numpy sees its bytes, `result` the type of the numbers that are handed out."""

    name: str
    raw: np.dtype[np.generic]
    result: np.dtype[np.generic]

    @property
    def kind(self) -> str:
        return "float" if self.name == "bf16" else DTYPES[self.name].kind


STORED: dict[str, Stored] = {
    **{name: Stored(name, dtype.numpy, dtype.numpy) for name, dtype in DTYPES.items()},
    "bf16": Stored("bf16", np.dtype("<u2"), np.dtype("<f4")),
}

_BY_NUMPY = {dtype.numpy.str: name for name, dtype in DTYPES.items()}


def stored_as(dtype: np.dtype[np.generic]) -> Stored | None:
    """The element type with the bytes of a numpy type, of either byte order; None for one that is not supported."""
    name = _BY_NUMPY.get(dtype.newbyteorder("<").str) if dtype.kind in "biuf" else None
    return STORED[name]._replace(raw=dtype) if name else None


def decoded(piece: Piece, stored: Stored) -> Array:
    """The numbers in a piece of a file, flat; a bfloat16 becomes the float32 that it is the upper half of."""
    raw = np.frombuffer(piece, np.uint8 if stored.kind == "bool" else stored.raw)
    if stored.name == "bf16":
        return (raw.astype(np.uint32) << 16).view(np.float32)
    if stored.kind == "bool":
        return raw.astype(np.bool_)
    numbers: Array = raw.astype(stored.result, copy=False)
    return numbers


def sound_shape(dims: object) -> Shape | None:
    """The shape that a list or tuple from a header is, or None if it is none."""
    if not isinstance(dims, list | tuple) or len(dims) > MAX_RANK:
        return None
    if not all(type(dim) is int and 0 <= dim <= MAX_BYTES for dim in dims):
        return None
    # An axis of size 0 makes the size 0, but numpy still refuses the array when the other axes overflow.
    return tuple(dims) if math.prod(max(dim, 1) for dim in dims) <= MAX_BYTES // 8 else None


def shown(name: str) -> str:
    """A name from a file, fit for a terminal: unprintable characters escaped, cut at 120."""
    short = name if len(name) <= 120 else f"{name[:117]}..."
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in short)
