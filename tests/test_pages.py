"""README.md and CONTRIBUTING.md: the commands work, and what is quoted or named is there."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")

COMMANDS = [shlex.split(line, comments=True) for line in re.findall(r"^anedsl .*$", README, re.MULTILINE)]
QUOTES = re.findall(r"^```python file=(\S+)\n(.*?)^```$", CONTRIBUTING, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the examples, and the reader's own files that the page speaks of."""
    folder = tmp_path_factory.mktemp("readme")
    (folder / "examples").symlink_to(ROOT / "examples")
    rng = np.random.default_rng(0)
    np.save(folder / "x.npy", rng.standard_normal((1, 768, 1, 256)))
    np.savez(folder / "w.npz", rms_w=rng.standard_normal(768))
    tensors = {f"mlp.{name}_proj.weight": np.zeros((2048, 768), np.float16) for name in ("gate", "up")}
    safetensors_numpy.save_file(tensors, folder / "model.safetensors")
    return folder


def test_the_commands_of_the_page_are_many() -> None:
    assert {command[1] for command in COMMANDS} >= {"check", "compile", "run", "inspect", "ops", "explain"}


def test_the_commands_work_in_their_order(folder: Path) -> None:
    for command in COMMANDS:
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert done.stdout
    assert (folder / "exact.npz").exists()
    assert (folder / "build" / "rmsnorm" / "rmsnorm.h").exists()


def test_links_lead_to_pages_and_every_page_is_linked() -> None:
    links = [link for text in (README, CONTRIBUTING) for link in re.findall(r"\]\(([^)#:]+)\)", text)]
    assert [link for link in links if not (ROOT / link).exists()] == []
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= set(links)


def test_files_that_are_named_exist() -> None:
    named = re.findall(r"`((?:dsl|codegen|grammar|docs|tests|examples)/[\w./*-]*)`", README + CONTRIBUTING)
    assert len(named) > 10
    assert [name for name in named if not list(ROOT.glob(name))] == []


@pytest.mark.parametrize(("file", "code"), QUOTES, ids=[f"{file}-{at}" for at, (file, _) in enumerate(QUOTES)])
def test_what_is_quoted_is_there(file: str, code: str) -> None:
    assert code in (ROOT / file).read_text(encoding="utf-8")


def test_something_is_quoted() -> None:
    assert len(QUOTES) >= 5
