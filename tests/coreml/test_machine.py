"""What is missing is said before anything is written or imported, and what can be done instead."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import anedsl
from anedsl.codegen.coreml import machine
from anedsl.codegen.coreml.machine import NATIVE, Machine
from anedsl.codegen.coreml.runner import execute
from anedsl.diagnostics import Diagnostic, Failure
from tests.coreml.conftest import Compiled
from tests.coreml.scenario import MAC, Mac

INPUTS = {name: np.ones((1, 4, 1, 32)) for name in "abc"}
LINUX = Machine("linux", (), "x86_64", "9.0", frozenset(NATIVE[1:]))


def failure_of(target: Path) -> Diagnostic:
    with pytest.raises(Failure) as failure:
        execute(target, INPUTS)
    (diagnostic,) = failure.value.diagnostics
    return diagnostic


@pytest.mark.parametrize(
    ("facts", "reason", "advice"),
    [
        (LINUX, "it needs macOS 13 or later, and this is linux", 1),
        (MAC._replace(macos=(12, 6)), "it needs macOS 13 or later, and this is macOS 12.6", 1),
        (MAC._replace(coremltools=None, libraries=frozenset()), "coremltools is not installed", 2),
        (MAC._replace(libraries=frozenset()), "coremltools 9.0 is installed without its native library `libcoremlpython`", 2),
    ],
)
def test_what_is_missing(mac: Mac, pair: Compiled, facts: Machine, reason: str, advice: int) -> None:
    mac.become(facts)
    found = failure_of(pair.artifact)
    assert (found.code, found.headline) == ("ANE0520", f"Core ML cannot run here: {reason}")
    assert len(found.help_texts) == advice
    assert "--backend reference" in found.help_texts[-1]
    assert mac.calls == []
    assert not mac.cache.exists()


def test_a_mac_that_has_all_of_it_misses_nothing() -> None:
    assert machine.missing(MAC) == []


def test_the_target_is_not_even_looked_at_elsewhere(mac: Mac, tmp_path: Path) -> None:
    mac.become(LINUX)
    assert failure_of(tmp_path / "nothing").code == "ANE0520"


def test_the_check_imports_no_coremltools() -> None:
    code = (
        "import sys; from anedsl.codegen.coreml import machine\n"
        "machine.missing(machine.this_machine()); sys.exit('coremltools' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(sys.platform == "darwin", reason="this is about other machines")
def test_this_machine_is_told_the_truth() -> None:
    here = machine.this_machine()
    assert here.system == sys.platform
    assert here.macos == ()
    assert here.coremltools is not None
    assert machine.missing(here) == [f"it needs macOS 13 or later, and this is {sys.platform}"]


def test_a_program_for_a_later_macos(mac: Mac, pair: Compiled) -> None:
    mac.become(MAC._replace(macos=(14, 5)))
    for target in (pair.artifact, pair.package):
        found = failure_of(target)
        assert (found.code, found.headline) == ("ANE0521", f"`{target}` needs macOS 15, and this is macOS 14.5")
        assert "--dialect 1.0" in found.help_texts[0]
    artifact = anedsl.load(pair.source).compile(pair.artifact.parent / "old", dialect="1.0").path
    assert set(execute(artifact, INPUTS).outputs) == {"total", "diff"}


def test_a_package_alone_says_which_macos_it_needs(mac: Mac, pair: Compiled, tmp_path: Path) -> None:
    alone = tmp_path / "alone.mlpackage"
    pair.package.rename(alone)
    mac.become(MAC._replace(macos=(14, 5)))
    assert failure_of(alone).code == "ANE0521"


def test_targets_that_hold_no_program(mac: Mac, pair: Compiled, tmp_path: Path) -> None:
    empty = tmp_path / "empty.mlpackage"
    empty.mkdir()
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "kernel.json").write_text("{")
    without = anedsl.load(pair.source).compile(tmp_path / "mil", emit=("mil",)).path
    reasons = {
        tmp_path / "none": "it is neither an `.mlpackage` nor a folder with a `kernel.json`",
        tmp_path / "none.mlpackage": "there is no such package",
        empty: "its manifest or its model cannot be read",
        bad: "its `kernel.json` is damaged or of another version of anedsl",
        without: "it was compiled without an `.mlpackage`",
    }
    for target, reason in reasons.items():
        found = failure_of(target)
        assert (found.code, found.headline) == ("ANE0522", f"`{target}` cannot be run by Core ML: {reason}")


@pytest.mark.parametrize("key", ["kernel", "surfaces", "inputs", "files", "target"])
def test_a_manifest_with_a_part_missing(mac: Mac, pair: Compiled, key: str) -> None:
    path = pair.artifact / "kernel.json"
    content = json.loads(path.read_text())
    del content[key]
    path.write_text(json.dumps(content))
    assert failure_of(pair.artifact).headline.endswith("its `kernel.json` is damaged")


def test_a_model_that_is_not_one(mac: Mac, pair: Compiled, tmp_path: Path) -> None:
    alone = tmp_path / "alone.mlpackage"
    pair.package.rename(alone)
    model = alone / "Data" / "com.apple.CoreML" / "model.mlmodel"
    for content, reason in ((b"\xff\xff\xff", "its manifest or its model cannot be read"), (b"", "it holds no ML program")):
        model.write_bytes(content)
        assert failure_of(alone).headline.endswith(reason)
