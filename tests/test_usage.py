"""Options that mean nothing in a combination: refused with exit code 2, because what is ignored seems to have worked."""

from __future__ import annotations

import subprocess
import sys
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
TWICE = "it is given more than once"
OWN = "belongs to the program that is read"
SEVERAL = (
    "N=64,128 has several values, which only `compile` and `check` take, for a variant of each; "
    "a list stands in brackets: N=[64,128]"
)

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
    *((f"{line} -D N=64,128", "-D", SEVERAL) for line in ("run k.ane --random 0", "bench k.ane", "diff k.ane build/k")),
    ("run k.ane --random 0 --random 1", "--random", TWICE),
    ("run k.ane --inputs a.npz --random 0 --inputs b.npz", "--inputs", TWICE),
    ("run k.ane --random 0 -o a.npz --out b.npz", "--out", TWICE),
    ("compile k.ane --dialect 1.0 --dialect 1.0", "--dialect", TWICE),
    ("diff k.ane build/k --format text --format=json", "--format", TWICE),
    ("run k.ane --random 0 -o out.txt", "-o", "an .npz file is written: out.txt has another ending"),
    ("import build/k --weights-out w.x", "--weights-out", "an .npz file is written: w.x has another ending"),
    ("import build/k/model.mil -o build/k/model.mil", "-o", f"build/k/model.mil {OWN}"),
    ("import build/k/model.mil -o build/k/../k/weights/w.bin", "-o", f"build/k/../k/weights/w.bin {OWN}"),
    ("import build/k -o build/k/kernel.json", "-o", f"build/k/kernel.json {OWN}"),
    ("import build/k -o new.npz --weights-out new", "--weights-out", "the text is written to new.npz"),
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
    "run k.ane --random 0 -o out.NPZ",
    "import build/k -o build/k/again.ane --weights-out build/k/again.npz",
]


@pytest.mark.parametrize("line", ALLOWED)
def test_it_means_something(line: str, folder: Path) -> None:
    assert anedsl(*words(line), folder=folder).code == 0


def test_the_ending_of_a_file_of_arrays_may_be_left_out(folder: Path) -> None:
    assert anedsl(*words("run k.ane --random 0 -o out"), folder=folder).out.endswith("saved to out.npz\n")
    found = anedsl(*words("import build/k -o again.ane --weights-out again"), folder=folder)
    assert found.err == "again.ane: k\ncompile it with: anedsl compile again.ane --weights again.npz\n"
    with np.load(folder / "again.npz") as arrays:
        assert list(arrays) == ["w"]


def test_a_program_that_is_imported_over_itself_is_left_as_it_was(folder: Path) -> None:
    model = folder / "build" / "k" / "model.mil"
    before = model.read_bytes()
    (folder / "link.ane").hardlink_to(model)
    assert anedsl(*words("import build/k/model.mil -o link.ane"), folder=folder).code == 2
    assert model.read_bytes() == before


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("line", ["ops", "--help", "explain ANE0203"])
def test_a_full_disk_behind_the_output_is_no_internal_error(line: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "anedsl", *line.split()], stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "anedsl: cannot write to the standard output: no space left on device\n")
