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

`run` is `check kernel.ane` where it is left out. A block may name any file; `arrays` makes files of zeros.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.errors.command import Result, anedsl, words

_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ARRAY = re.compile(r"(\w+)=(\w+)\[([\d, ]*)\]")


class Page(NamedTuple):
    path: Path
    head: str
    run: str
    arrays: list[str]
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
        for line in self.arrays:
            name, _, rest = line.partition(" ")
            found = {
                key: np.zeros([int(n) for n in dims.split(",") if n.strip()], dtype) for key, dtype, dims in _ARRAY.findall(rest)
            }
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".npy"):
                np.save(folder / name, next(iter(found.values())))
            else:
                np.savez(folder / name, **found)  # type: ignore[arg-type]
        return anedsl(*words(self.run), folder=folder)

    def write(self, printed: str) -> None:
        """The page with another printed text."""
        self.path.write_text(f"{self.head}```text\n{printed}```\n", encoding="utf-8")


def read(path: Path) -> Page:
    """A page. Fails where it has no text block, or front matter that is not understood."""
    text = path.read_text(encoding="utf-8")
    head, fence, tail = text.rpartition("```text\n")
    assert fence, f"{path.name} has no text block"
    run, arrays = "check kernel.ane", []
    if text.startswith("---\n"):
        for line in text[4 : text.index("\n---\n", 3)].split("\n"):
            key, _, value = line.partition(": ")
            assert key in ("run", "arrays"), f"{path.name}: unknown key {key!r}"
            if key == "run":
                run = value
            else:
                arrays.append(value)
    files = {name or "kernel.ane": body for language, name, body in _BLOCK.findall(head) if language != "text"}
    return Page(path, head, run, arrays, files, tail.removesuffix("```\n"))
