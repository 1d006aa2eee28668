"""Options that mean nothing in a combination: refused with exit code 2, because what is ignored seems to have worked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.errors.command import anedsl, words

KERNEL = """\
kernel k {
    input x: fp16[1, 64, 1, 64]
    weight w: fp16[1, 64, 1, 1] = ones
    output y
    y = x * w
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "k.ane").write_text(KERNEL)
    (tmp_path / "lib.ane").write_text("fn double(x) = x * 2\n")
    np.savez(tmp_path / "w.npz", v=np.full(64, 2.0))
    assert anedsl("compile", "k.ane", folder=tmp_path).code == 0
    return tmp_path


CORE_ML = "the reference executor has no use for it: add --backend coreml"
FILE = "it names keys of a file of weights: give the file with --weights"
COMPILED = "what is compiled already has its parameters and weights"

REFUSED = [
    ("run k.ane --random 0 --placement", "--placement", CORE_ML),
    ("run k.ane --random 0 --units cpu_only", "--units", CORE_ML),
    ("run k.ane --random 0 --units cpu_and_ne", "--units", CORE_ML),
    ("run build/k --random 0 --timeout 60", "--timeout", CORE_ML),
    ("bench k.ane --units all", "--units", CORE_ML),
    ("bench k.ane --timeout 600", "--timeout", CORE_ML),
    ("compile k.ane --map w=v", "--map", FILE),
    ("compile k.ane -D A=1,2 --map w=v", "--map", FILE),
    ("run k.ane --random 0 --map w=v", "--map", FILE),
    ("bench k.ane --map w=v", "--map", FILE),
    ("diff k.ane build/k --map w=v", "--map", FILE),
    ("run build/k --random 0 --map w=v", "--map", COMPILED),
    ("diff build/k build/k -D A=1", "-D", COMPILED),
    ("diff build/k build/k/model.mil --weights w.npz", "--weights", COMPILED),
    ("diff build/k build/k --map w=v", "--map", COMPILED),
    ("diff build/k build/k --dialect 1.0", "--dialect", "both sides are compiled already"),
    ("diff build/k build/k/k.mlpackage --route coreml", "--route", "both sides are compiled already"),
    (
        "compile k.ane --emit mlpackage --single-weight-file",
        "--single-weight-file",
        "an mlpackage always has one file of weights; this is for the MIL text",
    ),
    ("check lib.ane -D N=3", "-D", "lib.ane has no kernel, and so no parameter"),
]


@pytest.mark.parametrize(("line", "option", "reason"), REFUSED, ids=[line for line, _, _ in REFUSED])
def test_it_is_refused(line: str, option: str, reason: str, folder: Path) -> None:
    result = anedsl(*words(line), folder=folder)
    assert result.code == 2
    assert result.out == ""
    assert result.err.endswith(f"Error: Invalid value for {option}: {reason}\n")


ALLOWED = [
    "run k.ane --random 0 --weights w.npz --map w=v",
    "compile k.ane --emit mlpackage",
    "compile k.ane --emit mil --single-weight-file",
    "compile k.ane --emit header --single-weight-file",
    "diff k.ane build/k --dialect 1.3 --route inmemory",
    "check lib.ane",
    "compile k.ane -j 2",
]


@pytest.mark.parametrize("line", ALLOWED)
def test_it_means_something(line: str, folder: Path) -> None:
    assert anedsl(*words(line), folder=folder).code == 0
