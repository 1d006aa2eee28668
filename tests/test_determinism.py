"""The same source gives the same bytes: nothing in an artifact depends on hash order or on the process."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

COMPILES = {
    "dynamic.ane": [],
    "sdpa_fwd.ane": ["--random", "0"],
    "int8_conv.ane": ["--random", "0", "-D", "H=8"],
    "ffn_bwd.ane": ["--random", "0"],
}
"""Files of examples/, and the options with which they are compiled."""

KERNELS = {"dynamic.ane": 5, "sdpa_fwd.ane": 1, "int8_conv.ane": 2, "ffn_bwd.ane": 1}


def compiled(file: str, hash_seed: str, out: Path) -> dict[str, str]:
    """The hash of each file that a process of its own leaves below `out`."""
    command = [sys.executable, "-m", "anedsl", "compile", f"examples/{file}", *COMPILES[file]]
    emit = ["--emit", "mil,mlpackage,header", "-o", str(out)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    subprocess.run([*command, *emit], cwd=ROOT, env=environment, check=True, capture_output=True)
    files = sorted(path for path in out.rglob("*") if path.is_file())
    return {path.relative_to(out).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("file", COMPILES)
def test_two_processes_write_the_same_tree(file: str, tmp_path: Path) -> None:
    first, second = compiled(file, "1", tmp_path / "first"), compiled(file, "2", tmp_path / "a folder of another name")
    assert first == second
    endings = [Path(name).name for name in first]
    for ending in ("kernel.json", "model.mil", "model.mlmodel", "Manifest.json"):
        assert endings.count(ending) == KERNELS[file]
    assert sum(name.endswith(".h") for name in endings) == KERNELS[file]
