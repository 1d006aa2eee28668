"""Consts whose numbers stand in a weight file: opened when they are loaded, and only inside of the model's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NoReturn

from anedsl.codegen.program import InFile
from anedsl.data import Array
from anedsl.diagnostics import Failure
from anedsl.source import Span
from anedsl.types import Shape, TensorType

if TYPE_CHECKING:
    from anedsl.codegen.reader.blob_reader import BlobData, Chunk, WeightFile

ROOT = "@model_path/"
"""What a path in a program begins with: it stands for the model's folder."""


class Declared:
    """What a manifest says of a weight: the author's name, and whether the author declared it at all.

    Of a compressed one also how it is stored, and the largest error relative to the largest magnitude.
    """

    __slots__ = ("declared", "error", "name", "stored")

    def __init__(self, name: str, declared: bool, stored: str | None = None, error: float | None = None) -> None:
        self.name = name
        self.declared = declared
        self.stored = stored
        self.error = error


class Weights:
    """The weights of one model. `folder` is what `@model_path` stands for; None for a text alone."""

    def __init__(self, folder: Path | None, declared: Mapping[InFile, Declared] | None = None) -> None:
        self.folder = folder
        self.declared = declared or {}
        self._known: dict[tuple[InFile, TensorType], FileData] = {}

    def data(self, place: InFile, type: TensorType, span: Span) -> FileData:
        """The numbers at a place; the same object each time. Raises ANE0478 for a path outside of the folder."""
        key = place, type
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = FileData(self.folder, relative(place.path, span), place.offset, type, span)
        return found

    def files(self) -> list[Path]:
        """The files that the program names, whether they exist or not."""
        paths = dict.fromkeys(data.path for data in self._known.values())
        return [self.folder.joinpath(*PurePosixPath(path).parts) for path in paths] if self.folder is not None else []


def relative(path: str, span: Span) -> str:
    """The path below the model's folder. Raises ANE0478 for one that leads out of it, or that is written in another way."""
    inner = path.removeprefix(ROOT)
    parts = inner.split("/")
    if inner == path:
        _refuse(path, span, "it must begin with `@model_path/`")
    if not path.isprintable() or "\\" in path or ":" in path:
        _refuse(path, span, "it has a backslash, a colon or a control character")
    if ".." in parts or inner.startswith("/"):
        _refuse(path, span, "it leads out of the model's folder")
    if parts[-1] in ("", "."):
        _refuse(path, span, "it names no file")
    if {"", "."} & set(parts):
        _refuse(path, span, "it has a folder without a name, or `.`")
    return inner


def _refuse(path: str, span: Span, reason: str) -> NoReturn:
    from anedsl.diagnostics.artifacts import WeightPath

    raise Failure(WeightPath(span=span, path=path[:200], reason=reason))


class FileData:
    """The numbers of a const in a weight file. Loading raises ANE0478 to ANE0481."""

    __slots__ = ("folder", "offset", "path", "shape", "span", "type")

    def __init__(self, folder: Path | None, path: str, offset: int, type: TensorType, span: Span) -> None:
        self.folder = folder
        self.path = path
        self.offset = offset
        self.type = type
        self.shape: Shape = type.shape
        self.span = span

    def load(self) -> Array:
        return self._open().load()

    def chunks(self) -> Iterator[Array]:
        return self._open().chunks()

    def located(self) -> Path:
        """The file, which must exist and stand in the model's folder. Raises ANE0478 and ANE0479."""
        from anedsl.diagnostics.artifacts import MissingWeightFile

        if self.folder is None:
            raise Failure(MissingWeightFile(span=self.span, path=self.path, reason="the text was read without a folder"))
        path = self.folder.joinpath(*PurePosixPath(self.path).parts)
        try:
            real = path.resolve(strict=True)
            inside = real.is_relative_to(self.folder.resolve(strict=True))
        except (OSError, RuntimeError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise Failure(MissingWeightFile(span=self.span, path=self.path, reason=reason.lower())) from None
        if not inside:
            _refuse(ROOT + self.path, self.span, "a link on its way leads out of the model's folder")
        return real

    def opened(self) -> tuple[WeightFile, Chunk]:
        """The file and the chunk in it, which is of the const's type. Raises ANE0478 to ANE0481."""
        from anedsl.codegen.reader.blob_reader import WeightFile

        file = WeightFile(self.located(), self.span, self.path)
        chunk = file.chunk(self.offset)
        if chunk.dtype != self.type.dtype.name or chunk.elements != self.type.size:
            from anedsl.diagnostics.artifacts import WeightMismatch

            found = f"{chunk.elements} elements of {chunk.dtype}"
            raise Failure(WeightMismatch(span=self.span, path=self.path, offset=self.offset, type=str(self.type), found=found))
        return file, chunk

    def _open(self) -> BlobData:
        file, chunk = self.opened()
        return file.data(chunk, self.shape)
