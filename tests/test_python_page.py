"""docs/python.md: its code runs from the top to the bottom and prints what the page shows."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "python.md").read_text(encoding="utf-8")
FILES = re.findall(r"^```ane file=(\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
CODE = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_code_prints_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES:
        Path(name).write_text(text, encoding="utf-8")
    known: dict[str, Any] = {}
    for code, shown in CODE:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(code, known)
        assert printed.getvalue() == shown
    assert len(CODE) == PAGE.count("```python\n")
