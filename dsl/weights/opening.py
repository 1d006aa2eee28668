"""Opening what `--weights` and `--inputs` name."""

from __future__ import annotations

import math
import os
from pathlib import Path

from anedsl.data import Array
from anedsl.diagnostics import Failure
from anedsl.diagnostics.weights import TooLarge, UnknownFileKind, UnreadableFile
from anedsl.weights.entry import STORED, Source, shown
from anedsl.weights.files import reason

MAX_LOADED = 8 << 30
"""How many bytes `read_arrays` loads at most."""

_ADVICE = {
    ".pt": "save the tensors with `safetensors.torch.save_file`",
    ".pth": "save the tensors with `safetensors.torch.save_file`",
    ".bin": "save the tensors with `safetensors.torch.save_file`",
    ".ckpt": "save the tensors with `safetensors.torch.save_file`",
    ".json": "the index of a checkpoint is called `NAME.safetensors.index.json`",
    ".gguf": "convert it to `.safetensors`",
}


def open_source(path: Path) -> Source:
    """Opens a file or folder, and reads what it holds, but no numbers.

    A file is a `.npz`, `.safetensors` or `.npy`, or the index of a checkpoint (`.safetensors.index.json`); a folder holds
    `.npy` files, or a checkpoint. Raises ANE0410 to ANE0415, and ANE0418, ANE0419 and ANE0422 to ANE0424 for a checkpoint.
    """
    path = Path(path)
    try:
        if path.is_dir():
            return _open_folder(path)
        exists = path.exists()
    except (OSError, ValueError):
        exists = False
    suffix = path.suffix.lower()
    if not exists:
        raise Failure(UnreadableFile(file=shown(str(path)), reason="there is no such file or folder"))
    if suffix == ".safetensors":
        from anedsl.weights.safetensors import SafetensorsSource

        return SafetensorsSource(path)
    if suffix == ".npz":
        from anedsl.weights.npz import NpzSource

        return NpzSource(path)
    if suffix == ".npy":
        from anedsl.weights.npy import NpySource

        return NpySource(path)
    if path.name.endswith(".safetensors.index.json"):
        from anedsl.weights.sharded import open_index

        return open_index(path)
    raise Failure(UnknownFileKind(file=shown(str(path)), advice=_ADVICE.get(suffix)))


def _open_folder(path: Path) -> Source:
    from anedsl.weights.sharded import holds_tensors, open_folder

    try:
        names = os.listdir(path)
    except OSError as error:
        raise Failure(UnreadableFile(file=shown(str(path)), reason=reason(error))) from None
    if holds_tensors(names):
        return open_folder(path, names)
    from anedsl.weights.folder import FolderSource

    return FolderSource(path)


def read_arrays(path: Path) -> dict[str, Array]:
    """All arrays of a file or folder by their keys; the one of a `.npy` file under the file's name without `.npy`.

    Raises ANE0410 to ANE0416, and ANE0417 before anything is loaded if the arrays need more than 8 GiB together.
    """
    source = open_source(path)
    keys = source.keys()
    entries = [source.entry(key) for key in keys]
    needed = sum(math.prod(entry.shape) * STORED[entry.dtype].result.itemsize for entry in entries)
    if needed > MAX_LOADED:
        raise Failure(TooLarge(file=source.name, bytes=needed, reason=f"at most {MAX_LOADED} bytes are loaded at once"))
    return {entry.key: source.data(entry.key).load() for entry in entries}
