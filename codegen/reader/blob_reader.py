"""Reads weight files: a header, and chunks of metadata and data, each on a 64-byte boundary.

Numbers are read when they are asked for, in pieces, with plain reads.
"""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from anedsl.codegen.blob import ALIGNMENT, ALL_CODES, SENTINEL, VERSION, aligned
from anedsl.data import CHUNK_ELEMENTS, Array
from anedsl.diagnostics import Failure, counted
from anedsl.source import NOWHERE, Span
from anedsl.types import DTYPES, Shape
from anedsl.weights.files import FileRegion, open_file, read

NAMES = {code: name for name, code in ALL_CODES.items()}
"""Element types by the file format's number."""

BITS = {name: 16 if name == "bf16" else DTYPES[name].bits for name in ALL_CODES}

MAX_CHUNKS = 1 << 16
"""The most chunks that a file is searched for."""


class Chunk(NamedTuple):
    """One tensor of a weight file, flat: where its metadata and its data stand, in bytes.

    `elements` counts those that the data holds; padding bits are left out.
    """

    offset: int
    dtype: str
    data_offset: int
    bytes: int
    elements: int


_COUNT = "number of chunks (bytes 0 to 3)"
_SENTINEL = "sentinel (bytes 0 to 3)"
_SIZE = "size in bytes (bytes 8 to 15)"


class Wrong(NamedTuple):
    """A field that is not as it should be."""

    field: str
    reason: str

    def of(self, offset: int) -> "Wrong":
        """The same, as a field of the chunk at a position."""
        return self._replace(field=f"chunk at {offset}, {self.field}")

    def __str__(self) -> str:
        return f"{self.field}: {self.reason}"


def _wrong(field: str, expected: str, found: str) -> Wrong:
    return Wrong(field, f"expected {expected}, found {found}")


class WeightFile:
    """A weight file whose header was read. Raises ANE0480 for one that is malformed, ANE0410 for one that cannot be read."""

    def __init__(self, path: Path, span: Span = NOWHERE, name: str | None = None) -> None:
        file, self.place = open_file(path, name)
        self.span = span
        with file:
            self.size = self.place.stamp.size
            header = bytes(read(file, min(self.size, ALIGNMENT), self.place))
            problems = _header_problems(header, self.size)
            if problems and self.size >= 2 * ALIGNMENT:
                # What is wrong with the first chunk belongs to the same story.
                metadata = bytes(read(file, ALIGNMENT, self.place))
                problems += _chunk_problems(metadata, ALIGNMENT, self.size)
        if problems:
            self._fail(problems)
        self.count: int = struct.unpack_from("<I", header)[0]

    def chunk(self, offset: int) -> Chunk:
        """The chunk whose metadata stands at a position. Raises ANE0480.

        Nothing else of the file is looked at: a const needs its own chunk only.
        """
        if offset < ALIGNMENT or offset % ALIGNMENT or offset + ALIGNMENT > self.size:
            limit = f"a multiple of 64 from 64 to {max(self.size // ALIGNMENT * ALIGNMENT - ALIGNMENT, ALIGNMENT)}"
            self._fail([_wrong("offset", limit, str(offset)).of(offset)])
        found = self._chunk(offset)
        if isinstance(found, list):
            self._fail(found)
        return found

    def _chunk(self, offset: int) -> "Chunk | list[Wrong]":
        """The chunk at a position in the file, or all that is wrong with its metadata."""
        if offset + ALIGNMENT > self.size:
            return [_wrong("metadata", f"{ALIGNMENT} bytes", f"{self.size - offset}").of(offset)]
        [raw] = FileRegion(self.place, offset).pieces(0, ALIGNMENT, ALIGNMENT)
        metadata = bytes(raw)
        problems = _chunk_problems(metadata, offset, self.size)
        if problems:
            return problems
        _, code, length, start, padding = struct.unpack_from("<IIQQQ", metadata)
        name = NAMES[code]
        return Chunk(offset, name, start, length, (length * 8 - padding) // BITS[name])

    def chunks(self) -> list[Chunk]:
        """All chunks in the order in which they stand, which must fill the file, and be as many as the header says.

        Raises ANE0480.
        """
        if self.count > MAX_CHUNKS:
            self._fail([_wrong(_COUNT, f"at most {MAX_CHUNKS} in a file of which all are shown", _number(self.count))])
        found: list[Chunk] = []
        position = ALIGNMENT
        # Chunks that the header does not count are counted here.
        while position < self.size and len(found) < MAX_CHUNKS:
            chunk = self._chunk(position)
            if isinstance(chunk, list):
                self._fail(self._stopped(found, chunk))
            found.append(chunk)
            position = aligned(chunk.data_offset + chunk.bytes)
        if len(found) != self.count:
            self._fail([self._count(len(found), " or more" if position < self.size else "")])
        return found

    def _count(self, held: int, more: str = "") -> Wrong:
        return Wrong(_COUNT, f"the file holds {held}{more}, the header says {self.count}")

    def _stopped(self, found: list[Chunk], problems: list[Wrong]) -> list[Wrong]:
        """What is wrong with a file in which some chunks, possibly none, are followed by something else."""
        if not found:
            return problems
        last = found[-1]
        end = last.data_offset + last.bytes
        if not last.bytes and _SENTINEL in problems[0].field:
            # A tensor of no elements has such a chunk, but then another chunk or the end follows.
            return [Wrong(_SIZE, f"0, but {_bytes(self.size - end)} follow that are no chunk").of(last.offset)]
        if len(found) < self.count:
            return problems
        rest = self.size - end
        problems = [Wrong("end of the file", f"{_bytes(rest)} follow{'s' * (rest == 1)} the last chunk, which ends at {end}")]
        return problems if len(found) == self.count else [self._count(len(found)), *problems]

    def data(self, chunk: Chunk, shape: Shape | None = None) -> "BlobData":
        """The numbers of a chunk; flat, if no shape is given."""
        return BlobData(FileRegion(self.place, chunk.data_offset), chunk, (chunk.elements,) if shape is None else shape)

    def _fail(self, problems: list[Wrong]) -> NoReturn:
        from anedsl.diagnostics.artifacts import MalformedWeightFile

        first, *others = map(str, problems)
        raise Failure(MalformedWeightFile(span=self.span, file=self.place.name, field=first, others=tuple(others)))


def _header_problems(header: bytes, size: int) -> list[Wrong]:
    """Everything that is wrong with the first 64 bytes."""
    if len(header) < ALIGNMENT:
        return [_wrong("size of the file", "at least 128 bytes", _bytes(size))]
    count, version = struct.unpack_from("<II", header)
    if count == SENTINEL:
        return [_wrong("header", "64 bytes before the first chunk", "a chunk at the beginning of the file")]
    found = []
    if size < 2 * ALIGNMENT:
        found.append(_wrong("size of the file", "at least 128 bytes", _bytes(size)))
    most = max(size // (2 * ALIGNMENT), 1)
    if not 0 < count <= most:
        found.append(_wrong(_COUNT, _up_to(most), _number(count)))
    if version != VERSION:
        found.append(_wrong("version (bytes 4 to 7)", str(VERSION), _number(version)))
    if any(header[8:]):
        found.append(_wrong("reserved (bytes 8 to 63)", "zeros", "other bytes"))
    return found


def _chunk_problems(metadata: bytes, offset: int, size: int) -> list[Wrong]:
    """Everything that is wrong with 64 bytes of metadata."""
    sentinel, code, length, start, padding = struct.unpack_from("<IIQQQ", metadata)
    found = []
    if sentinel != SENTINEL:
        found.append(_wrong(_SENTINEL, f"{SENTINEL:#x}", f"{sentinel:#x}"))
    if code not in NAMES:
        found.append(_wrong("element type (bytes 4 to 7)", "1 to 15", _number(code)))
    room = max(size - offset - ALIGNMENT, 0)
    # A chunk of no elements holds 0 bytes, and so does one whose size was never filled in; the latter has no position.
    if length > room or (length == 0 and start == 0):
        expected = f"{_up_to(room)}, which is left in the file" if room else "1 or more, but nothing is left in the file"
        found.append(_wrong(_SIZE, expected, _number(length)))
    if start % ALIGNMENT or start < offset + ALIGNMENT or start + min(length, room) > size:
        expected = f"{offset + ALIGNMENT}, behind the metadata"
        found.append(_wrong("position of the data (bytes 16 to 23)", expected, _number(start)))
    found += _length_problems(NAMES.get(code), length, padding)
    if any(metadata[32:]):
        found.append(_wrong("reserved (bytes 32 to 63)", "zeros", "other bytes"))
    return [item.of(offset) for item in found]


def _length_problems(name: str | None, length: int, padding: int) -> list[Wrong]:
    if name is None:
        return []
    bits = BITS[name]
    if bits >= 8:
        found = []
        if length * 8 % bits:
            found.append(_wrong(_SIZE, f"a multiple of {bits // 8} for {name}", _number(length)))
        if padding:
            found.append(_wrong("padding bits (bytes 24 to 31)", f"0 for {name}", _number(padding)))
        return found
    if padding >= 8 or padding > length * 8 or (length * 8 - padding) % bits:
        rule = f"less than 8, and a multiple of {bits} bits before them, for {name}"
        return [_wrong("padding bits (bytes 24 to 31)", rule, _number(padding))]
    return []


def _up_to(most: int) -> str:
    return "1" if most == 1 else f"1 to {most}"


def _bytes(count: int) -> str:
    return counted(count, "byte")


def _number(value: int) -> str:
    return str(value) if value < 1 << 31 else f"{value} ({value:#x})"


class BlobData:
    """The numbers of a chunk, read from the file each time they are asked for."""

    __slots__ = ("chunk", "region", "shape")

    def __init__(self, region: FileRegion, chunk: Chunk, shape: Shape) -> None:
        self.region = region
        self.chunk = chunk
        self.shape = shape

    def load(self) -> Array:
        parts = list(self.chunks())
        flat = np.concatenate(parts) if parts else np.zeros(0, _decoder(self.chunk.dtype)(b"").dtype)
        return flat.reshape(self.shape)

    def chunks(self) -> Iterator[Array]:
        """The numbers in row-major order, flat, a piece at a time."""
        decode = _decoder(self.chunk.dtype)
        # A multiple of 8 elements fills whole bytes in every element type.
        size = CHUNK_ELEMENTS * BITS[self.chunk.dtype] // 8
        left = self.chunk.elements
        for piece in self.region.pieces(0, self.chunk.bytes, size):
            numbers = decode(bytes(piece))[:left]
            left -= numbers.size
            yield numbers


def _decoder(name: str) -> Callable[[bytes], Array]:
    if name == "bf16":
        return _bfloat16
    dtype = DTYPES[name]
    if dtype.bits >= 8:
        return lambda piece: np.frombuffer(piece, dtype.numpy)
    return lambda piece: unpacked(piece, dtype.bits, dtype.kind == "int").astype(dtype.numpy)


def _bfloat16(piece: bytes) -> Array:
    """The float32 that each is the upper half of."""
    return (np.frombuffer(piece, "<u2").astype(np.uint32) << 16).view(np.float32)


def unpacked(piece: bytes, bits: int, signed: bool) -> Array:
    """Numbers of fewer than 8 bits, the lowest bits of a byte first."""
    stream = np.unpackbits(np.frombuffer(piece, np.uint8), bitorder="little")
    flags = stream[: stream.size // bits * bits].reshape(-1, bits)
    numbers: Array = flags @ (1 << np.arange(bits)).astype(np.uint8)
    if signed:
        numbers = (numbers.astype(np.int16) ^ (1 << (bits - 1))) - (1 << (bits - 1))
    return numbers
