"""Replaces a folder as a whole: what was there stays until everything new is written."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EBUSY, EEXIST, ENOENT, ENOTEMPTY
from pathlib import Path
from typing import NoReturn

from anedsl.codegen.exchange import exchange
from anedsl.codegen.manifest import FILE, FORMAT
from anedsl.diagnostics import Failure

LOOKS = 20
"""How often a path that looks foreign is looked at again, a millisecond apart."""

ATTEMPTS = 100
"""How often a compile tries to be the last of several that write the same artifact."""

_writing: set[tuple[Path, str]] = set()
"""What this process is replacing at this moment."""


@contextmanager
def replaced_folder(parent: Path, name: str) -> Iterator[Path]:
    """A new empty folder to write into; on success it becomes `parent / name`, on any error it vanishes.

    Raises ANE0434 where the system refuses, and ANE0435 where something else than an artifact has that name.
    """
    target = parent / name
    fresh = parent / f".{name}.tmp-{os.getpid()}"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _clean(parent, name)
        _refuse_foreign(target)
        _writing.add((parent, name))
        try:
            fresh.mkdir()
            yield fresh
            _swap(fresh, target)
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        finally:
            _writing.discard((parent, name))
    except OSError as error:
        _cannot_write(target, error)


def abandon() -> None:
    """Leaves every folder that this process is replacing as it was: for a process that ends in the middle of its work."""
    for parent, name in list(_writing):
        with suppress(OSError):
            _clean(parent, name)


def is_artifact(folder: Path) -> bool:
    """Whether a folder is the work of an earlier compile."""
    try:
        content = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def _swap(fresh: Path, target: Path) -> None:
    """Puts the new folder in the old one's place; if another compile does the same, the last one wins."""
    for _ in range(ATTEMPTS):
        try:
            if not os.path.lexists(target) or not exchange(fresh, target):
                _move(fresh, target)
        except OSError as error:
            # Another compile may be doing the same at this moment: the old one is gone, or a new one is there already.
            if error.errno in (ENOENT, ENOTEMPTY, EEXIST) and fresh.is_dir():
                continue
            raise
        # After an exchange the old one has the new one's former name.
        shutil.rmtree(fresh, ignore_errors=True)
        return
    raise OSError(EBUSY, "other compiles keep writing it")


def _move(fresh: Path, target: Path) -> None:
    """In two steps, where the system has no exchange: the old one goes aside, and comes back if the new one cannot follow."""
    aside = target.parent / f".{target.name}.old-{os.getpid()}"
    shutil.rmtree(aside, ignore_errors=True)
    with suppress(FileNotFoundError):
        target.rename(aside)
    try:
        fresh.rename(target)
    except BaseException as error:
        if not isinstance(error, OSError) or error.errno not in (ENOTEMPTY, EEXIST):
            with suppress(FileNotFoundError):
                aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _clean(parent: Path, name: str) -> None:
    """Removes what killed compiles left; an artifact that one had moved aside goes back to its place."""
    for kind in ("old", "tmp"):
        prefix = f".{name}.{kind}-"
        for entry in sorted(os.listdir(parent)):
            process = entry.removeprefix(prefix)
            if process == entry or not process.isdigit() or _is_alive(int(process)):
                continue
            left = parent / entry
            if kind == "old" and not os.path.lexists(parent / name):
                left.rename(parent / name)
            else:
                shutil.rmtree(left, ignore_errors=True)


def _is_alive(process: int) -> bool:
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _refuse_foreign(target: Path) -> None:
    """Raises ANE0435 for what is not an artifact; looks again, since another compile may be exchanging it at this moment."""
    found = _foreign(target)
    for _ in range(LOOKS):
        if found is None:
            return
        time.sleep(0.001)
        found = _foreign(target)
    if found is None:
        return
    from anedsl.diagnostics.artifacts import NotAnArtifact

    raise Failure(NotAnArtifact(path=str(target), found=found))


def _foreign(target: Path) -> str | None:
    """Why a path may not be replaced, or None."""
    try:
        if not os.path.lexists(target):
            return None
        if target.is_symlink() or not target.is_dir():
            return "it is not a folder"
        return None if is_artifact(target) or not os.listdir(target) else f"it has no `{FILE}` of anedsl"
    except FileNotFoundError:
        return None


def _cannot_write(target: Path, error: OSError) -> NoReturn:
    from anedsl.diagnostics.artifacts import CannotWrite

    raise Failure(CannotWrite(path=str(target), reason=(error.strerror or str(error)).lower())) from error
