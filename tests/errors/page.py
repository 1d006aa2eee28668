"""The pages of this folder: a source, the command that reads it, and exactly what is printed.

    ---
    run: compile kernel.ane --weights w.npz
    arrays: w.npz w=float32[3, 4]
    ---
    # Title

    Why this is wrong.

    ```ane kernel.ane
    kernel ...
    ```

    ```text
    error[...]: ...
    ```

`run` is `check kernel.ane` where it is left out. A block may name any file. Files that a page cannot show are made by lines
of the front matter, in their order:

- `arrays: FILE NAME=DTYPE[SIZES] ...` zeros, or one number everywhere: `w=float32[3, 4]*1e9`; `bzip2: ...` the same in an
  archive that is compressed in another way than numpy's;
- `repeat: FILE TIMES "TEXT"` a text, many times, at the end of a file;
- `before: ARGS` what `anedsl ARGS` leaves behind.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.errors.command import Result, anedsl, words

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ARRAY = re.compile(r"([\w.]+)=(\w+)\[([\d, ]*)\](?:\*(\S+))?")


class Page(NamedTuple):
    path: Path
    head: str
    run: str
    setup: list[tuple[str, str]]
    files: dict[str, str]
    expected: str

    @property
    def code(self) -> str:
        return self.path.name.partition("-")[0]

    def result(self, folder: Path) -> Result:
        """Lays the files in a folder and runs the command there."""
        folder = folder / "kernels"
        folder.mkdir()
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        for key, line in self.setup:
            SETUP[key](folder, line)
        return anedsl(*words(self.run), folder=folder)

    def write(self, printed: str) -> None:
        """The page with another printed text."""
        self.path.write_text(f"{self.head}```text\n{printed}```\n", encoding="utf-8")


def _arrays(folder: Path, line: str) -> None:
    name, _, rest = line.partition(" ")
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {
        key: np.full([int(n) for n in dims.split(",") if n.strip()], float(value or 0), dtype)
        for key, dtype, dims, value in _ARRAY.findall(rest)
    }
    if name.endswith(".npy"):
        np.save(path, next(iter(found.values())))
    elif name.endswith(".safetensors"):
        _write_safetensors(path, found)
    else:
        np.savez(path, **found)  # type: ignore[arg-type]


def _write_safetensors(path: Path, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    """Half numbers only."""
    header, end = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F16", "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays.values()))


def _bzip2(folder: Path, line: str) -> None:
    _arrays(folder, line)
    path = folder / line.partition(" ")[0]
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def _repeat(folder: Path, line: str) -> None:
    name, times, text = line.split(" ", 2)
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write(json.loads(text) * int(times))


def _before(folder: Path, line: str) -> None:
    result = anedsl(*words(line), folder=folder)
    assert result.code == 0, result.err


SETUP: dict[str, Callable[[Path, str], None]] = {"arrays": _arrays, "bzip2": _bzip2, "repeat": _repeat, "before": _before}
"""What the lines of the front matter do, by their key."""


def read(path: Path) -> Page:
    """A page. Fails where it has no text block, or front matter that is not understood."""
    text = path.read_text(encoding="utf-8")
    head, fence, tail = text.rpartition("```text\n")
    assert fence, f"{path.name} has no text block"
    run, setup = "check kernel.ane", []
    if text.startswith("---\n"):
        for line in text[4 : text.index("\n---\n", 3)].split("\n"):
            key, _, value = line.partition(": ")
            assert key == "run" or key in SETUP, f"{path.name}: unknown key {key!r}"
            if key == "run":
                run = value
            else:
                setup.append((key, value))
    files = {name or "kernel.ane": body for language, name, body in _BLOCK.findall(head) if language != "text"}
    return Page(path, head, run, setup, files, tail.removesuffix("```\n"))
