"""The command line in a process of its own, and what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

KERNELS = """\
kernel lin(SEQ = 64, DIM = 16, MODE = "a", SIZES = [1, 2]) {
    input x: fp16[1, DIM, 1, SEQ]
    weight w: fp16[DIM, DIM, 1, 1] = 0.1
    output y
    assert SEQ <= 128, "SEQ is at most 128"
    y = conv(x, w)
}

kernel plain(DIM = 16) {
    input a: fp16[1, DIM, 1, 64]
    weight v: fp16[DIM, DIM, 1, 1] = 0.1
    output z
    z = conv(a, v)
}
"""


def arguments(values: Sequence[object]) -> list[str]:
    return [sys.executable, "-m", "anedsl", *map(str, values)]


def command(folder: Path, *values: object, seed: str = "0", code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs the command line in a folder; it must end with this exit code, and without a traceback."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        arguments(values), capture_output=True, text=True, cwd=folder, env=environment, timeout=120, check=False
    )
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done


def manifest(artifact: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((artifact / "kernel.json").read_text(encoding="utf-8"))
    return found


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones among them."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
