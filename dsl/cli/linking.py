"""Equal weight files of many artifacts become one file with several names (hard links)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anedsl.codegen.artifact import Artifact

Chunk = tuple[str, str, int, int]
Contents = tuple[Chunk, ...]
"""What a weight file holds, chunk by chunk: SHA-256, element type, bytes, elements. All else in it follows from these."""


class Links:
    """The weight files that are there already.

    A file is replaced by a link in one step and by equal bytes, so an artifact is whole at every moment. Where the file
    system has no links, or no more of them, the file stays as it is.
    """

    def __init__(self) -> None:
        self._first: dict[Contents, Path] = {}

    def add(self, artifact: Artifact) -> None:
        """Links the weight files of a new artifact to equal ones of earlier artifacts."""
        for path, contents in weight_files(artifact):
            first = self._first.setdefault(contents, path)
            if first != path and not _linked(first, path):
                # The next equal files may still be linked to this one.
                self._first[contents] = path


def weight_files(artifact: Artifact) -> Iterator[tuple[Path, Contents]]:
    """Every weight file of an artifact, and what it holds."""
    weights: list[dict[str, Any]] = artifact.manifest["weights"]
    chunks = [(weight["sha256"], weight["dtype"], weight["bytes"], prod(weight["shape"])) for weight in weights]
    by_file: dict[str, list[Chunk]] = {}
    for weight, chunk in zip(weights, chunks, strict=True):
        if weight["file"] is not None:
            by_file.setdefault(weight["file"], []).append(chunk)
    for file, held in by_file.items():
        yield artifact.path / file, tuple(held)
    package = artifact.manifest["files"]["mlpackage"]
    if package and chunks:
        from anedsl.codegen.mlpackage import DATA, WEIGHTS_PATH

        yield artifact.path / package / DATA / WEIGHTS_PATH, tuple(chunks)


def _linked(first: Path, path: Path) -> bool:
    beside = path.with_name(f".{path.name}.link-{os.getpid()}")
    try:
        if first.stat().st_size != path.stat().st_size:
            return False
        os.link(first, beside)
        try:
            os.replace(beside, path)
        finally:
            # Replacing a name by another name of the same file leaves both.
            beside.unlink(missing_ok=True)
    except OSError:
        return False
    return True
