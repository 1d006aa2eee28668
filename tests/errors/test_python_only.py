"""Diagnostics that only Python reaches, because the option parser of the command line refuses the word first."""

from __future__ import annotations

from pathlib import Path

import pytest

import anedsl
from anedsl.diagnostics import Failure
from anedsl.diagnostics.base import Sink
from anedsl.rules import Target, check
from anedsl.running import run

TEXT = "kernel {name} {{\n    input x: fp16[1, 64, 1, 64]\n    output y\n    y = x * 2\n}}\n"

CHIP = """
error[ANE0330]: unknown chip `m9`
  = note: the chips are m1, m2, m3, m4, m5
"""

ROUTE = """
error[ANE0330]: unknown route `memory`
  = note: the routes are inmemory, coreml
  = help: did you mean `inmemory`?
"""

NUMERICS = """
error[ANE0507]: unknown numerics `fp8`
  = help: choose `fp16` or `fp32` or `fp64`
"""

SEVERAL = """
error[ANE0513]: `k.ane` has several kernels
  = help: name one of `a`, `b`
"""


@pytest.fixture
def kernel(tmp_path: Path) -> anedsl.Kernel:
    (tmp_path / "k.ane").write_text(TEXT.format(name="k"))
    return anedsl.load(tmp_path / "k.ane")


@pytest.mark.parametrize(("target", "expected"), [(Target("m9"), CHIP), (Target(None, "memory"), ROUTE)], ids=["chip", "route"])
def test_an_unknown_target(target: Target, expected: str, kernel: anedsl.Kernel) -> None:
    with pytest.raises(Failure) as failure:
        check(kernel.graph, target)
    assert str(failure.value) == expected


def test_unknown_numerics(kernel: anedsl.Kernel) -> None:
    with pytest.raises(Failure) as failure:
        run(kernel.graph, {}, "fp8", Sink())
    assert str(failure.value) == NUMERICS


def test_several_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("k.ane").write_text(TEXT.format(name="a") + TEXT.format(name="b"))
    with pytest.raises(Failure) as failure:
        anedsl.load("k.ane")
    assert str(failure.value) == SEVERAL
