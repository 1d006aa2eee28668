"""Files made by hand, and the diagnostics that reading them ends with."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anedsl.diagnostics import Diagnostic, Failure
from anedsl.weights import open_source, read_arrays


def failures(action: Callable[..., Any], *arguments: Any, **options: Any) -> list[Diagnostic]:
    """The diagnostics that a call must end with."""
    with pytest.raises(Failure) as caught:
        action(*arguments, **options)
    assert caught.value.diagnostics
    return caught.value.diagnostics


def failure(action: Callable[..., Any], *arguments: Any, **options: Any) -> Diagnostic:
    """The only diagnostic that a call must end with."""
    found = failures(action, *arguments, **options)
    assert len(found) == 1, [each.headline for each in found]
    return found[0]


def attempt(path: Path) -> tuple[dict[str, np.ndarray], set[str]]:
    """The arrays of a file, or none and the codes that reading it ends with."""
    try:
        return read_arrays(path), set()
    except Failure as failed:
        return {}, {each.code for each in failed.diagnostics}


def text(diagnostic: Diagnostic, *names: object) -> str:
    """All that a diagnostic says, a line each; each of `names` is left out, with the slash before or behind it."""
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.headline}"]
    if diagnostic.label_text:
        lines.append(f"^ {diagnostic.label_text}")
    lines += [f"note: {each}" for each in diagnostic.note_texts] + [f"help: {each}" for each in diagnostic.help_texts]
    said = "\n".join(lines)
    for name in names:
        said = said.replace(f"{name}/", "").replace(str(name), "DIR")
    return said


def everything(path: Path) -> dict[str, np.ndarray]:
    """Every array of a source, loaded whole; the same numbers in pieces; and shapes as the headers say."""
    source = open_source(path)
    arrays = {}
    for key in source.keys():  # noqa: SIM118 - a source is no dict
        entry, data = source.entry(key), source.data(key)
        arrays[key] = data.load()
        assert entry.key == key
        assert entry.shape == data.shape == arrays[key].shape
        pieces = list(data.chunks())
        assert all(piece.ndim == 1 for piece in pieces)
        flat = np.concatenate([np.zeros(0, arrays[key].dtype), *pieces])
        np.testing.assert_array_equal(flat, arrays[key].reshape(-1))
        assert flat.dtype == arrays[key].dtype
    return arrays


def safetensors(path: Path, header: object, data: bytes = b"", length: int | None = None) -> Path:
    """A `.safetensors` file with any header, as an object or as bytes."""
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(raw) if length is None else length).to_bytes(8, "little") + raw + data)
    return path


def tensor(begin: Any, end: Any, dtype: Any = "F32", shape: Any = (1,)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape if not isinstance(shape, tuple) else list(shape), "data_offsets": [begin, end]}


def npy(shape: str = "(2, 2)", descr: str = "'<f4'", order: str = "False", data: bytes = bytes(16), version: int = 1) -> bytes:
    """`.npy` data with any header."""
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY" + bytes([version, 0]) + len(header).to_bytes(2 if version == 1 else 4, "little") + header + data


def npz(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    """A zip archive with any members."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path
