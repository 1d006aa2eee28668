"""Plain reads from regular files, in pieces.

Files are never mapped into memory, since mapped pages count as the process's own, and never kept open between reads.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from anedsl.diagnostics import Failure
from anedsl.diagnostics.weights import FileChanged, UnreadableFile
from anedsl.weights.entry import Piece, shown


class Stamp(NamedTuple):
    """What tells that a file is still the one whose header was read: bytes, and time of the last write in ns."""

    size: int
    written: int


class Place(NamedTuple):
    """A file that was seen before: where it is, the name it is shown under, and its stamp then."""

    path: Path
    name: str
    stamp: Stamp


class Region(Protocol):
    """Bytes that stand together in a file."""

    @property
    def place(self) -> Place: ...

    def pieces(self, start: int, length: int, size: int) -> Iterator[Piece]:
        """The bytes `[start, start + length)` in pieces of `size` (the last may be shorter).

        A piece may be overwritten when the next one is asked for.

        Raises ANE0416 if the file changed, ANE0410 if it cannot be read.
        """
        ...


def open_file(path: Path, name: str | None = None) -> tuple[BinaryIO, Place]:
    """Opens a regular file for unbuffered reading. Raises ANE0410 for all else: reading a pipe or device could hang."""
    name = shown(str(path)) if name is None else name
    try:
        # Without O_NONBLOCK the opening of a pipe waits for a writer.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError) as error:
        raise Failure(UnreadableFile(file=name, reason=reason(error))) from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise Failure(UnreadableFile(file=name, reason="it is no regular file"))
    return open(handle, "rb", buffering=0), Place(path, name, Stamp(status.st_size, status.st_mtime_ns))


def reopen(place: Place) -> BinaryIO:
    """Opens a file again. Raises ANE0416 if it is another one by now."""
    file, now = open_file(place.path, place.name)
    if now.stamp != place.stamp:
        file.close()
        raise Failure(FileChanged(file=place.name))
    return file


def read(file: BinaryIO, length: int, place: Place) -> bytearray:
    """The next bytes of a file, all of them. Raises ANE0416 if it ends before."""
    buffer = bytearray(length)
    _fill(memoryview(buffer), file, place)
    return buffer


def _fill(view: memoryview, file: BinaryIO, place: Place) -> None:
    filled = 0
    try:
        while filled < len(view):
            count = file.readinto(view[filled:])  # type: ignore[attr-defined]
            if not count:
                raise Failure(FileChanged(file=place.name))
            filled += count
    except OSError as error:
        raise Failure(UnreadableFile(file=place.name, reason=reason(error))) from None


def reason(error: OSError | ValueError) -> str:
    """Why the operating system refused, in lower case."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:1].lower() + text[1:]


class FileRegion:
    """The bytes of a file from an offset on."""

    __slots__ = ("offset", "place")

    def __init__(self, place: Place, offset: int) -> None:
        self.place = place
        self.offset = offset

    def pieces(self, start: int, length: int, size: int) -> Iterator[Piece]:
        buffer = memoryview(bytearray(min(size, length)))
        with reopen(self.place) as file:
            file.seek(self.offset + start)
            for at in range(0, length, size):
                piece = buffer[: length - at]
                _fill(piece, file, self.place)
                yield piece
