"""A folder with a file of two kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.variants.command import KERNELS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "k.ane").write_text(KERNELS, encoding="utf-8")
    return tmp_path
