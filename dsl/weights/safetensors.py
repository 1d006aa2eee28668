"""A strict reader of `.safetensors` files.

The format: the header's length in 8 bytes (little-endian), the header as a JSON object, then the tensors' bytes. The
header gives each tensor's `dtype`, `shape` and `data_offsets` (begin and end, from the end of the header), and under
`__metadata__` an object of texts.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from anedsl.data import Data
from anedsl.diagnostics import Failure
from anedsl.types import Shape
from anedsl.weights.entry import STORED, Entry, Stored, shown, sound_shape
from anedsl.weights.files import FileRegion, Place, open_file, read
from anedsl.weights.stored import StoredData

MAX_HEADER = 100_000_000
"""The most bytes of a header, a limit of the format."""

MAX_MARKS = 4_000_000
"""The most brackets and commas in a header, so that a small file cannot become gigabytes of Python objects."""

MAX_KEY = 1000
"""The most characters of a tensor's name."""

DTYPES = {
    "F64": "fp64",
    "F32": "fp32",
    "F16": "fp16",
    "BF16": "bf16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U64": "uint64",
    "U32": "uint32",
    "U16": "uint16",
    "U8": "uint8",
    "BOOL": "bool",
}
"""The element types that are read, and their names here."""


class Tensor(NamedTuple):
    """A checked line of the header; `stored` is None for an element type that is not read."""

    dtype: str
    stored: Stored | None
    shape: Shape
    begin: int
    end: int


class SafetensorsSource:
    """The tensors of a `.safetensors` file. Raises ANE0410 and ANE0412 when opened, ANE0413 for a tensor of an unknown type."""

    lone = False

    def __init__(self, path: Path) -> None:
        file, self.place = open_file(path)
        self.name = self.place.name
        with file:
            size = self.place.stamp.size
            length = int.from_bytes(read(file, 8, self.place), "little") if size >= 8 else self._fail("it has no header")
            if length > MAX_HEADER:
                self._fail(f"its header claims {length} bytes", f"a header has at most {MAX_HEADER} bytes")
            if length > size - 8:
                self._fail("it ends within its header", f"the header claims {length} bytes, and {size - 8} follow")
            self._data_start = 8 + length
            self._tensors = self._checked(_parse(bytes(read(file, length, self.place)), self.place))
        self._check_ranges(size - self._data_start)

    def keys(self) -> list[str]:
        return list(self._tensors)

    def entry(self, key: str) -> Entry:
        tensor = self._tensors[key]
        return Entry(key, tensor.shape, self._stored(key, tensor).name)

    def data(self, key: str) -> Data:
        tensor = self._tensors[key]
        region = FileRegion(self.place, self._data_start + tensor.begin)
        return StoredData(region, self._stored(key, tensor), tensor.shape)

    def _stored(self, key: str, tensor: Tensor) -> Stored:
        if tensor.stored is None:
            from anedsl.diagnostics.weights import UnsupportedElements

            found = f"elements of type {shown(tensor.dtype)}"
            advice = "convert it to F16, BF16 or F32 before it is saved"
            raise Failure(UnsupportedElements(file=self.name, array=shown(key), found=found, advice=advice))
        return tensor.stored

    def _checked(self, header: dict[str, Any]) -> dict[str, Tensor]:
        metadata = header.pop("__metadata__", {})
        if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
            self._fail("its `__metadata__` is no object of texts")
        return {key: self._tensor(key, value) for key, value in header.items()}

    def _tensor(self, key: str, value: Any) -> Tensor:
        """One tensor of the header: the types of its fields, and its byte range against its size."""
        if len(key) > MAX_KEY:
            self._fail(f"a tensor has a name of {len(key)} characters", f"a name has at most {MAX_KEY}")
        name = shown(key)
        if not isinstance(value, dict) or value.keys() != {"dtype", "shape", "data_offsets"}:
            self._fail(f"tensor `{name}` is not described by `dtype`, `shape` and `data_offsets`")
        dtype, offsets = value["dtype"], value["data_offsets"]
        shape = sound_shape(value["shape"])
        if shape is None:
            self._fail(f"tensor `{name}` has an invalid shape")
        if not isinstance(dtype, str):
            self._fail(f"tensor `{name}` has an invalid dtype")
        if not isinstance(offsets, list) or len(offsets) != 2 or not all(type(offset) is int for offset in offsets):
            self._fail(f"tensor `{name}` has invalid data offsets")
        begin, end = offsets
        stored = STORED[DTYPES[dtype]] if dtype in DTYPES else None
        if not 0 <= begin <= end:
            self._fail(f"tensor `{name}` has the byte range {begin} to {end}")
        if stored is not None and end - begin != math.prod(shape) * stored.raw.itemsize:
            needed = math.prod(shape) * stored.raw.itemsize
            self._fail(
                f"tensor `{name}` needs {needed} bytes and has {end - begin}", f"its type is {dtype}, its shape {list(shape)}"
            )
        return Tensor(dtype, stored, shape, begin, end)

    def _check_ranges(self, size: int) -> None:
        """The tensors' bytes cover the data without gap or overlap."""
        at = 0
        for key, tensor in sorted(self._tensors.items(), key=lambda item: (item[1].begin, item[1].end)):
            if tensor.begin != at:
                what = "overlaps the one before it" if tensor.begin < at else "does not begin where the one before it ends"
                self._fail(f"tensor `{shown(key)}` {what}", f"it begins at byte {tensor.begin} of the data, expected {at}")
            at = tensor.end
        if at != size:
            self._fail(f"its tensors need {at} bytes and {size} follow the header")

    def _fail(self, problem: str, detail: str | None = None) -> NoReturn:
        _fail(self.place, problem, detail)


def _fail(place: Place, problem: str, detail: str | None = None) -> NoReturn:
    from anedsl.diagnostics.weights import MalformedFile

    raise Failure(MalformedFile(file=place.name, problem=problem, detail=detail))


def _parse(header: bytes, place: Place) -> dict[str, Any]:
    """The JSON object of a header; no name may stand twice, and there are no numbers but integers."""
    import json

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            _fail(place, f"its header names `{shown(twice)}` twice")
        return found

    def no_number(text: str) -> NoReturn:
        _fail(place, f"its header has the number {shown(text)}")

    if sum(map(header.count, (b"[", b"{", b","))) > MAX_MARKS:
        _fail(place, "its header describes too much", f"a header has at most {MAX_MARKS} brackets and commas")
    if not header.startswith(b"{"):
        _fail(place, "its header does not begin with `{`")
    try:
        parsed = json.loads(header.decode("utf-8"), object_pairs_hook=unique, parse_float=no_number, parse_constant=no_number)
    except RecursionError:
        _fail(place, "its header is nested too deeply")
    except ValueError:
        _fail(place, "its header is no valid JSON")
    assert isinstance(parsed, dict)  # It begins with `{`.
    return parsed
