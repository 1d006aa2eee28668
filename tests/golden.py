"""Golden files: the expected text stands in a file, `pytest --update-goldens` writes it anew."""

from __future__ import annotations

from pathlib import Path


class Golden:
    """Compares texts with the files of a test's `goldens/` folder."""

    def __init__(self, folder: Path, update: bool) -> None:
        self.folder = folder
        self.update = update

    def check(self, name: str, text: str) -> None:
        """Fails unless the file holds the text; with `--update-goldens` writes it and passes."""
        path = self.folder / name
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no golden {path}: run `pytest --update-goldens` and read what it writes"
        assert text == path.read_text(encoding="utf-8")
