"""Reads a model from where it lies: a `.mil` file, an artifact's folder, or an mlpackage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

from anedsl.codegen.manifest import FILE
from anedsl.codegen.reader.module import MAX_TEXT, Module, module, read_text
from anedsl.codegen.reader.ports import Manifest
from anedsl.codegen.reader.weights import Weights
from anedsl.diagnostics import Failure
from anedsl.source import Source
from anedsl.weights.files import open_file
from anedsl.weights.files import read as read_bytes

MAX_MANIFEST = 64 << 20


def read(path: str | Path) -> Module:
    """The program at a path. Raises 0410, 0460 to 0492 and 02xx; weight files are opened when they are loaded."""
    path = Path(path)
    if path.is_dir():
        if (path / FILE).exists():
            return _artifact(path)
        if path.suffix.lower() == ".mlpackage" or (path / "Manifest.json").exists():
            return _package(path, None)
        text = text_in(path)
        advice = None if text is None else f"give `{text}`"
        _fail(path, f"the folder has neither `{FILE}` nor `Manifest.json`", advice)
    if path.suffix.lower() == ".mil":
        return read_text(_text(path, MAX_TEXT), str(path), path.parent)
    _fail(path, "it is no model" if path.exists() else "there is no such file or folder")


def text_in(folder: Path) -> Path | None:
    """The MIL text in a folder that is no artifact, as far as there is only one to mean."""
    texts = [path for path in sorted(folder.glob("*.mil")) if path.is_file()]
    return texts[0] if len(texts) == 1 else next((path for path in texts if path.name == "model.mil"), None)


def _artifact(folder: Path) -> Module:
    manifest = _manifest(folder / FILE)
    text, package = manifest.file("mil"), manifest.file("mlpackage")
    if text is not None:
        path = folder / text
        found = read_text(_text(path, MAX_TEXT), str(path), folder, manifest.declared(package=False))
    elif package is not None:
        found = _package(folder / package, manifest)
    else:
        manifest.fail("it names neither a MIL text nor a package")
    inputs, outputs = manifest.surfaces("inputs", found.main), manifest.surfaces("outputs", found.main)
    return found.renamed(manifest.kernel)._replace(inputs=inputs, outputs=outputs)


def _manifest(path: Path) -> Manifest:
    text = _text(path, MAX_MANIFEST)
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        _no_json(path, f"{error.msg[:1].lower()}{error.msg[1:]} at {error.lineno}:{error.colno}")
    except (ValueError, RecursionError):
        _no_json(path, "a number or the nesting is too large")
    return Manifest(content, str(path))


def _no_json(path: Path, reason: str) -> NoReturn:
    from anedsl.diagnostics.artifacts import MalformedManifest

    raise Failure(MalformedManifest(path=str(path), reason=f"it is no valid JSON ({reason})"))


def _package(path: Path, manifest: Manifest | None) -> Module:
    from anedsl.codegen.reader.package import read_package

    written, folder = read_package(path)
    weights = Weights(folder, manifest.declared(package=True) if manifest else None)
    return module(written, Source(str(path), ""), path.stem, weights)


def _text(path: Path, limit: int) -> str:
    """A file of UTF-8 text, which may begin with a byte order mark. Raises ANE0410, ANE0483 and ANE0484."""
    file, place = open_file(path)
    with file:
        if place.stamp.size > limit:
            from anedsl.diagnostics.artifacts import TextTooLarge

            raise Failure(TextTooLarge(path=str(path), size=place.stamp.size, limit=limit))
        content = read_bytes(file, place.stamp.size, place)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = error.start + len(content) - len(error.object)  # counted without the mark
        _fail(path, f"it is not UTF-8 text (byte {content[at]:#04x} at {at})")


def _fail(path: Path, reason: str, advice: str | None = None) -> NoReturn:
    from anedsl.diagnostics.artifacts import UnreadableModel

    advice = advice or "give a `.mil` file, an artifact's folder or an `.mlpackage`"
    raise Failure(UnreadableModel(path=str(path), reason=reason, advice=advice))
