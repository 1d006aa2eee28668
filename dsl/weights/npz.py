"""A `.npz` file as a source: a zip archive with one `.npy` member for each array."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from struct import error as StructError  # noqa: N812
from typing import IO, NoReturn

from anedsl.data import Data
from anedsl.diagnostics import Failure
from anedsl.diagnostics.weights import MalformedFile, UnsupportedMember
from anedsl.weights.entry import Entry, Piece, shown
from anedsl.weights.files import FileRegion, Place, open_file, reopen
from anedsl.weights.names import check_name
from anedsl.weights.npy import Header, read_header

MAX_RATIO = 1100
"""Deflate makes data at most 1032 times smaller; an archive that claims more lies."""

BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    StructError,
    OSError,
    EOFError,
    ValueError,
    LookupError,
    OverflowError,
    RuntimeError,
    MemoryError,
)
"""What `zipfile` raises for damaged archives."""


class NpzSource:
    """The arrays of a `.npz` file, by their members' names without `.npy`; members of other names are not seen.

    Raises ANE0410, ANE0412 and ANE0415 when opened; ANE0412 to ANE0414 for a member that cannot be read.
    """

    lone = False

    def __init__(self, path: Path) -> None:
        file, self.place = open_file(path)
        self.name = self.place.name
        self._members: dict[str, zipfile.ZipInfo] = {}
        self._headers: dict[str, Header] = {}
        with file, _archive(file, self.place) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
        for member in members:
            check_name(member.filename, self.name)
            key = member.filename.removesuffix(".npy")
            if key in self._members:
                _fail(self.place, f"it has two members `{shown(member.filename)}`")
            self._members[key] = member

    def keys(self) -> list[str]:
        return list(self._members)

    def entry(self, key: str) -> Entry:
        header = self._header(key)
        return Entry(key, header.shape, header.stored.name)

    def data(self, key: str) -> Data:
        header = self._header(key)
        return header.data(MemberRegion(self.place, self._members[key], header.offset))

    def _header(self, key: str) -> Header:
        if key not in self._headers:
            member = self._members[key]
            self._check(member)
            with _opened(self.place, member) as stream:

                def next_bytes(count: int) -> bytes:
                    return _read(stream, count, self.place, member)

                self._headers[key] = read_header(next_bytes, self.name, key, member.file_size)
        return self._headers[key]

    def _check(self, member: zipfile.ZipInfo) -> None:
        """A member is stored or deflated, lies within the archive, and can have the size it claims."""
        name = shown(member.filename)
        if member.flag_bits & 0x41:
            raise Failure(UnsupportedMember(file=self.name, member=name, how="encrypted"))
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            how = f"compressed with method {member.compress_type}, which is not read"
            raise Failure(UnsupportedMember(file=self.name, member=name, how=how))
        claim = f"{member.compress_size} bytes in the archive, {member.file_size} unpacked"
        if member.header_offset + member.compress_size > self.place.stamp.size:
            _fail(self.place, f"its member `{name}` reaches beyond the end of the file", claim)
        stored = member.compress_type == zipfile.ZIP_STORED
        if member.file_size > member.compress_size * MAX_RATIO + MAX_RATIO or (
            stored and member.file_size != member.compress_size
        ):
            _fail(self.place, f"its member `{name}` cannot have the size it claims", claim)


class MemberRegion:
    """The bytes of a member of an archive from an offset on. Reading up to the member's end checks its CRC-32."""

    __slots__ = ("member", "offset", "place")

    def __init__(self, place: Place, member: zipfile.ZipInfo, offset: int) -> None:
        self.place = place
        self.member = member
        self.offset = offset

    def pieces(self, start: int, length: int, size: int) -> Iterator[Piece]:
        start += self.offset
        if self.member.compress_type == zipfile.ZIP_STORED and start > self.offset:
            # A part of a stacked weight: what stands before it need not be read.
            yield from FileRegion(self.place, self._data_start()).pieces(start, length, size)
            return
        with _opened(self.place, self.member) as stream:
            for at in range(0, start, size):
                self._next(stream, min(size, start - at))
            for at in range(0, length, size):
                yield self._next(stream, min(size, length - at))

    def _next(self, stream: IO[bytes], count: int) -> bytes:
        piece = _read(stream, count, self.place, self.member)
        if len(piece) < count:
            _fail(self.place, f"its member `{shown(self.member.filename)}` cannot be unpacked", "it is shorter than it claims")
        return piece

    def _data_start(self) -> int:
        """Where a member's bytes begin: behind its local header, whose name and extra field may differ from the directory's."""
        header = next(FileRegion(self.place, self.member.header_offset).pieces(0, 30, 30))
        if header[:4] != b"PK\x03\x04":
            _fail(self.place, f"its member `{shown(self.member.filename)}` has no header")
        name, extra = header[26:28], header[28:30]
        return self.member.header_offset + 30 + int.from_bytes(name, "little") + int.from_bytes(extra, "little")


@contextmanager
def _archive(file: IO[bytes], place: Place) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(file)
    except BROKEN:
        _fail(place, "it is no whole zip archive", "a `.npz` file is written by `numpy.savez`")
    with archive:
        yield archive


@contextmanager
def _opened(place: Place, member: zipfile.ZipInfo) -> Iterator[IO[bytes]]:
    with reopen(place) as file, _archive(file, place) as archive:
        try:
            stream = archive.open(member)
        except BROKEN:
            _fail(place, f"its member `{shown(member.filename)}` cannot be opened")
        with stream:
            yield stream


def _read(stream: IO[bytes], count: int, place: Place, member: zipfile.ZipInfo) -> bytes:
    """The next bytes of a member, fewer only at its end."""
    try:
        return stream.read(count)
    except BROKEN:
        _fail(place, f"its member `{shown(member.filename)}` cannot be unpacked")


def _fail(place: Place, problem: str, detail: str | None = None) -> NoReturn:
    raise Failure(MalformedFile(file=place.name, problem=problem, detail=detail))
