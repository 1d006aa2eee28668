"""A pretended Mac, and a kernel with packed inputs and outputs, compiled."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import anedsl
from tests.coreml.scenario import Mac

SOURCE = """\
# Sum and difference.
kernel pair(N = 4) {
    input  a, b: fp16[1, N, 1, 32]
    input  c:    fp16[1, N, 1, 32] in [-1, 1]
    output total, diff: fp16[1, N, 1, 32]
    pack   inp = (a, b) along 1
    pack   out = (total, diff) along 1

    total = a + b * c
    diff  = a - b
}
"""

COMPUTE = {"out": "np.concatenate([inp[:, :4] + inp[:, 4:] * c, inp[:, :4] - inp[:, 4:]], axis=1)"}
"""The same over the surfaces, for the fake."""


class Compiled(NamedTuple):
    """`source` is the `.ane` file, `artifact` what was compiled from it."""

    source: Path
    artifact: Path

    @property
    def package(self) -> Path:
        return self.artifact / "pair.mlpackage"


@pytest.fixture
def mac(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mac:
    found = Mac(tmp_path, monkeypatch)
    found.will(COMPUTE)
    return found


@pytest.fixture
def pair(tmp_path: Path) -> Compiled:
    source = tmp_path / "pair.ane"
    source.write_text(SOURCE, encoding="utf-8")
    return Compiled(source, anedsl.load(source).compile(tmp_path / "build").path)
