"""A folder of `.npy` files as a source."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from anedsl.data import Data
from anedsl.diagnostics import Failure
from anedsl.diagnostics.weights import UnreadableFile, UnsafeName
from anedsl.weights.entry import Entry, shown
from anedsl.weights.files import FileRegion, Place, reason
from anedsl.weights.npy import Header, header_of

MANIFEST = "kernel.json"
"""The file that makes a folder an artifact."""
MAX_DEPTH = 8
"""How many folders deep `.npy` files are looked for."""

MAX_FILES = 200_000
"""How many files and folders are looked at."""


class FolderSource:
    """The `.npy` files of a folder and the folders in it; the key of `a/b.npy` is `a/b`.

    Symbolic links to folders are not followed, and a link that leads out of the folder is refused (ANE0415).
    """

    lone = False

    def __init__(self, path: Path) -> None:
        self.name = shown(str(path))
        self._root = os.path.realpath(path)
        self._seen = 0
        try:
            self._paths = dict(sorted(self._files(self._root, "", 1)))
        except OSError as error:
            raise Failure(UnreadableFile(file=self.name, reason=reason(error))) from None
        if not self._paths:
            missing = "the folder holds no `.npy` and no `.safetensors` file"
            raise Failure(UnreadableFile(file=self.name, reason=missing, advice=self._advice(path)))
        self._headers: dict[str, tuple[Header, Place]] = {}

    def keys(self) -> list[str]:
        return list(self._paths)

    def entry(self, key: str) -> Entry:
        header, _ = self._header(key)
        return Entry(key, header.shape, header.stored.name)

    def data(self, key: str) -> Data:
        header, place = self._header(key)
        return header.data(FileRegion(place, header.offset))

    def _header(self, key: str) -> tuple[Header, Place]:
        if key not in self._headers:
            path = self._paths[key]
            self._headers[key] = header_of(path, f"{self.name}/{shown(key)}.npy", key)
        return self._headers[key]

    def _files(self, folder: str, prefix: str, depth: int) -> Iterator[tuple[str, Path]]:
        with os.scandir(folder) as entries:
            for entry in entries:
                self._seen += 1
                if self._seen > MAX_FILES:
                    raise Failure(UnreadableFile(file=self.name, reason=f"the folder holds more than {MAX_FILES} files"))
                name = prefix + entry.name
                if entry.is_dir(follow_symlinks=False):
                    if depth == MAX_DEPTH:
                        raise Failure(UnreadableFile(file=self.name, reason=f"its folders are more than {MAX_DEPTH} deep"))
                    yield from self._files(entry.path, f"{name}/", depth + 1)
                elif entry.is_symlink():
                    yield from self._link(entry, name)
                elif name.endswith(".npy"):
                    yield name.removesuffix(".npy"), Path(entry.path)

    def _link(self, entry: os.DirEntry[str], name: str) -> Iterator[tuple[str, Path]]:
        """A link to a file within the folder stands for that file; other links are of no use or refused."""
        target = os.path.realpath(entry.path)
        if not name.endswith(".npy") and not os.path.isdir(target):
            return
        if os.path.commonpath([target, self._root]) != self._root:
            why = "it is a symbolic link to a place outside of the folder"
            advice = "copy the file into the folder"
            raise Failure(UnsafeName(name=shown(name), file=self.name, reason=why, advice=advice))
        if not os.path.isdir(target):
            yield name.removesuffix(".npy"), Path(target)

    def _advice(self, path: Path) -> str | None:
        files = sorted(name for name in os.listdir(self._root) if name.endswith(".npz"))
        if files:
            return f"give the file itself: `{self.name}/{shown(files[0])}` (the option may be repeated)"
        for folder in (path, path.parent):
            if (folder / MANIFEST).is_file():
                target = shown(str(folder))
                return f"the weights of an artifact are compiled: `anedsl inspect {target}` and `anedsl run {target}` read them"
        return None
