"""Compiled models, kept by content: the same package on the same system is compiled once.

An entry is a folder `KEY.mlmodelc` in the user's cache folder. It is made elsewhere and renamed into its place, so no
reader sees half of one. The entries together stay under `LIMIT`: those that were not used for longest go first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from anedsl.codegen.coreml.machine import Machine
from anedsl.syntax.tables import cache_folder

LIMIT = 4 << 30
"""Bytes that all entries may take together; one that is larger by itself stays until the next is made."""

STALE = 24 * 3600.0
"""Seconds after which the working folder of a process that was killed is removed."""

_SUFFIX = ".mlmodelc"
_JOB = ".job-"
_CHUNK = 1 << 20


def folder() -> Path | None:
    """Where compiled models are kept; None where the user wants no cache or it cannot be written."""
    parent = cache_folder()
    if parent is None:
        return None
    place = parent / "coreml"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return place if os.access(place, os.W_OK) else None


def key(package: Path, machine: Machine) -> str:
    """A name for a package's bytes on this version of macOS, with this version of coremltools."""
    digest = hashlib.sha256(f"{machine.macos_text}\n{machine.coremltools}\n{machine.processor}\n".encode())
    for path in sorted(path for path in package.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(package).as_posix()}\n{path.stat().st_size}\n".encode())
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()[:32]


def entry(place: Path, name: str) -> Path:
    """Where the compiled model of a key is or will be."""
    return place / f"{name}{_SUFFIX}"


def mark_used(found: Path) -> None:
    with suppress(OSError):
        os.utime(found)


def keep(fresh: Path, found: Path) -> None:
    """Puts a compiled model in its place; if another process was faster, its equal one stays."""
    with suppress(OSError):
        fresh.rename(found)
    if not found.is_dir():
        raise OSError(f"the compiled model could not be moved to {found}")
    shutil.rmtree(fresh, ignore_errors=True)


def forget(found: Path) -> None:
    """Removes an entry: renamed first, so that it is never there in part."""
    aside = found.with_name(f"{_JOB}{found.name}-{os.getpid()}")
    with suppress(OSError):
        found.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


def trim(place: Path, used: Path, limit: int = LIMIT) -> None:
    """Removes what was not used for longest until the entries fit; `used` stays."""
    others = [path for path in place.glob(f"*{_SUFFIX}") if path != used]
    total = size(used)
    for path in sorted(others, key=_last_use, reverse=True):
        total += size(path)
        if total > limit:
            forget(path)


def _last_use(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        # Another process removed it meanwhile.
        return 0.0


def size(path: Path) -> int:
    """The bytes of all files below a folder."""
    total = 0
    for parent, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


@contextmanager
def job_folder(place: Path | None) -> Iterator[Path]:
    """A private folder for one run, in the cache's file system so that renaming works; it vanishes at the end."""
    if place is not None:
        _clean(place)
    job = Path(tempfile.mkdtemp(prefix=_JOB, dir=place))
    try:
        yield job
    finally:
        shutil.rmtree(job, ignore_errors=True)


def _clean(place: Path) -> None:
    oldest = time.time() - STALE
    for left in place.glob(f"{_JOB}*"):
        with suppress(OSError):
            if left.stat().st_mtime < oldest:
                shutil.rmtree(left, ignore_errors=True)
