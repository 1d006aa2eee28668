"""What is shipped: the package, its metadata, and the commands that the README promises."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

import anedsl

ROOT = Path(__file__).resolve().parent.parent
SOURCES = {"dsl": "anedsl", "codegen": "anedsl/codegen", "grammar": "anedsl/grammar"}
"""The folders that are shipped, and where each stands in the import package."""

FOLDERS = (".ci", "codegen", "docs", "dsl", "examples", "grammar", "tests")
ROOT_FILES = ("*.md", "*.toml", "*.yaml", "LICENSE", "Makefile")
MACHINE_PATH = re.compile(rb"(?<![\w.~-])/(?:work|root)/|/tmp/(?:venv|w)\b")
"""Absolute paths of the machines that this project was developed on."""


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def shipped_files() -> dict[str, Path]:
    """Every file that the wheel should hold, under its name there."""
    found = {}
    for folder, package in SOURCES.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
                found[f"{package}/{path.relative_to(ROOT / folder).as_posix()}"] = path
    return found


def make(*arguments: str) -> str:
    """What make prints. The suite itself may run under a make, whose flags are not meant for this one."""
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout


def test_every_package_of_the_tree_is_listed() -> None:
    packages = {name.rpartition("/")[0].replace("/", ".") for name in shipped_files() if name.endswith(".py")}
    assert {"anedsl", "anedsl.codegen", "anedsl.grammar"} < packages
    assert project()["tool"]["setuptools"]["packages"] == sorted(packages)


def test_the_standard_library_holds_language_only() -> None:
    suffixes = {path.suffix for name, path in shipped_files().items() if name.startswith("anedsl/std/")}
    assert suffixes == {".ane"}


def test_the_version_is_the_same_everywhere() -> None:
    assert project()["project"]["version"] == metadata.version("anedsl") == anedsl.__version__


def test_the_changelog_has_the_version() -> None:
    assert f"\n## {anedsl.__version__}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("module", ["coremltools", "torch", "typer"])
def test_importing_the_package_does_not_import(module: str) -> None:
    code = f"import sys, anedsl; sys.exit({module!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_the_wheel_holds_the_sources_and_nothing_else(tmp_path: Path) -> None:
    # A copy, because setuptools leaves a `build` folder where it works, and ships from there what was deleted since.
    copy = tmp_path / "copy"
    for folder in SOURCES:
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("LICENSE", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, copy / name)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(tmp_path)]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(copy)], check=True)

    (wheel,) = tmp_path.glob("anedsl-*.whl")
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == set(shipped_files())
    assert {"anedsl/py.typed", "anedsl/grammar/ane.lark", "anedsl/grammar/mil.lark"} < names
    assert any(name.startswith("anedsl/std/") for name in names)


def test_make_alone_lists_every_target() -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert {"run", "test"} < set(targets)
    assert re.findall(r"^  make ([a-z]+) +\w", make(), flags=re.MULTILINE) == targets


def test_make_run_installs_no_test_tools() -> None:
    steps = make("--dry-run", "--always-make", "run")
    assert "--editable ." in steps
    assert "anedsl compile examples/rmsnorm_bwd.ane" in steps
    assert "[" not in steps.partition("pip")[2].partition("\n")[0]


def test_make_test_installs_the_test_tools_and_uses_all_cores() -> None:
    steps = make("--dry-run", "--always-make", "test")
    assert "--editable '.[test]'" in steps
    assert "pytest -n auto" in steps


def test_torch_is_pinned_to_one_version() -> None:
    (torch,) = (name for name in project()["project"]["optional-dependencies"]["test"] if name.startswith("torch"))
    assert re.fullmatch(r"torch==[\d.]+", torch)


def test_no_file_mentions_a_machine_it_was_written_on() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [path for pattern in ROOT_FILES for path in ROOT.glob(pattern)]
    found = [str(path) for path in files if "__pycache__" not in path.parts and MACHINE_PATH.search(path.read_bytes())]
    assert Path(__file__) in files
    assert found == []


def test_a_machine_path_would_be_noticed() -> None:
    assert MACHINE_PATH.search(b"see " + b"/".join((b"", b"work", b"main")))
    assert not MACHINE_PATH.search(b"https://example.org/frame.work/root/x and ./work/x")
