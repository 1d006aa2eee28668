"""Writes weight files: a header, and for each chunk its metadata and data, all on 64-byte boundaries, little-endian.

Numbers stream through in pieces: they are converted, hashed and written, each piece once. Writing happens in a thread
beside the other two; all three let other threads run.
"""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

import hashlib
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import BinaryIO, NamedTuple, Self

import numpy as np

from anedsl.codegen.losses import Losses
from anedsl.data import Array, Data, rounded
from anedsl.types import DType, TensorType

ALIGNMENT = 64
VERSION = 2
SENTINEL = 0xDEADBEEF

ALL_CODES = {
    "fp16": 1, "fp32": 2, "uint8": 3, "int8": 4, "bf16": 5, "int16": 6, "uint16": 7, "int4": 8, "uint1": 9, "uint2": 10,
    "uint4": 11, "uint3": 12, "uint6": 13, "int32": 14, "uint32": 15,
}  # fmt: skip
"""The file format's number of each element type."""

CODES = {name: code for name, code in ALL_CODES.items() if name != "bf16"}
"""Element types that are written into weight files from opset ios18 on."""

OLD_CODES = {name: ALL_CODES[name] for name in ("fp16", "fp32", "int8", "uint8")}
"""The same before ios18."""

PIECE = 1 << 18
"""Elements converted at a time: what one conversion makes stays in the processor's cache for the hash."""

IN_FLIGHT = 8
"""Converted pieces that may wait for the writer: the bound on memory."""


THREAD_FROM = 1 << 20
"""Bytes from where on a tensor is written by a thread."""


class Written(NamedTuple):
    """What became of one weight.

    `overflows` counts finite numbers that are infinite in the weight's element type, `largest` is their greatest
    magnitude. `vanished` counts nonzero numbers that are zero there, `largest_vanished` is the greatest magnitude among
    them, `share_vanished` their part of all nonzero numbers. `not_finite` counts those that were infinite or NaN as given.
    """

    bytes: int
    sha256: str
    overflows: int = 0
    largest: float = 0.0
    vanished: int = 0
    largest_vanished: float = 0.0
    share_vanished: float = 0.0
    not_finite: int = 0


def aligned(position: int) -> int:
    """The next position that is a multiple of 64."""
    return (position + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def offsets(types: Sequence[TensorType]) -> list[int]:
    """The positions of the chunks' metadata in a file that holds tensors of these types: 64 for the first."""
    found = []
    position = ALIGNMENT
    for type in types:
        found.append(position)
        position = aligned(position + ALIGNMENT + type.bytes)
    return found


class BlobFile:
    """A weight file that is being written, chunk after chunk."""

    def __init__(self, path: Path, count: int) -> None:
        self._file: BinaryIO = path.open("wb", buffering=0)
        self._position = 0
        self._put(struct.pack("<II", count, VERSION).ljust(ALIGNMENT, b"\0"))

    def begin(self, type: TensorType) -> int:
        """Begins a chunk; returns the position of its metadata."""
        start = aligned(self._position)
        self._put(bytes(start - self._position))
        data = start + ALIGNMENT
        metadata = struct.pack("<IIQQQ", SENTINEL, ALL_CODES[type.dtype.name], type.bytes, data, -type.size * type.dtype.bits % 8)
        self._put(metadata.ljust(ALIGNMENT, b"\0"))
        return start

    def write(self, piece: memoryview) -> None:
        self._put(piece)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def _put(self, data: bytes | memoryview) -> None:
        self._position += len(data)
        while len(data):
            data = data[self._file.write(data) :]


def write_blob(type: TensorType, data: Data, files: Sequence[BlobFile]) -> Written:
    """Appends one tensor to each of the files: converted and hashed once."""
    for file in files:
        file.begin(type)
    sink = _Sink(files)
    losses = Losses()
    try:
        for piece in _converted(type, data, sink, losses):
            sink.put(piece)
    finally:
        sink.close()
    sink.check()
    assert sink.bytes == type.bytes, f"{sink.bytes} bytes of data for {type}"
    return Written(
        sink.bytes,
        sink.hash.hexdigest(),
        losses.overflowed,
        losses.largest_overflowed,
        losses.vanished,
        losses.largest_vanished,
        losses.share_vanished(type.size),
        losses.not_finite,
    )


def _converted(type: TensorType, data: Data, sink: "_Sink", losses: Losses) -> Iterator[Array]:
    for chunk in data.chunks():
        for start in range(0, chunk.size, PIECE):
            yield np.ascontiguousarray(converted(chunk[start : start + PIECE], type.dtype, losses))
        if chunk.dtype == type.dtype.numpy:
            # The pieces are views, and whoever gave the chunk may use its memory again.
            sink.drain()


def converted(given: Array, dtype: DType, losses: Losses) -> Array:
    """Numbers as the file holds them. What is lost is added to `losses`."""
    made = rounded(given, dtype)
    if dtype.is_float:
        losses.add(given, made)
    return made if dtype.bits >= 8 else packed(made, dtype.bits)


def packed(numbers: Array, bits: int) -> Array:
    """Numbers of less than 8 bits one behind the other, the first in the lowest bits of the first byte."""
    planes = np.unpackbits(numbers.reshape(-1, 1).view(np.uint8), axis=1, count=bits, bitorder="little")
    return np.packbits(planes.reshape(-1), bitorder="little")


class _Sink:
    """Hashes and writes pieces; writes in a thread once there are many. An error of the thread is raised by `check`."""

    def __init__(self, files: Sequence[BlobFile]) -> None:
        self.files = files
        self.hash = hashlib.sha256()
        self.bytes = 0
        self._queue: SimpleQueue[memoryview | None] = SimpleQueue()
        self._room = Semaphore(IN_FLIGHT)
        self._thread: Thread | None = None
        self._error: BaseException | None = None

    def put(self, piece: Array) -> None:
        view = piece.view(np.uint8).data
        self.bytes += len(view)
        if self._thread is None and self.bytes <= THREAD_FROM:
            self._write(view)
            self.hash.update(view)
            return
        if self._thread is None:
            thread = Thread(target=self._run, daemon=True)
            thread.start()
            # Not before it runs: an interruption in between would make `close` wait for a thread that never started.
            self._thread = thread
        self.check()
        self._room.acquire()
        self._queue.put(view)
        self.hash.update(view)

    def drain(self) -> None:
        """Waits until everything is written."""
        if self._thread is not None:
            for _ in range(IN_FLIGHT):
                self._room.acquire()
            self._room.release(IN_FLIGHT)

    def close(self) -> None:
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (view := self._queue.get()) is not None:
            if self._error is None:
                try:
                    self._write(view)
                except BaseException as error:
                    self._error = error
            self._room.release()

    def _write(self, view: memoryview) -> None:
        for file in self.files:
            file.write(view)
