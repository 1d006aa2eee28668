"""A kernel of 10,000 ops, from text to artifact, against coremltools' builder; and how the time grows with the ops."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tests.bench import large
from tests.bench.timing import ROUNDS, Usage, anedsl, compare, judge, run, show

OPS = 10_000
BUILDER_LIMIT = 1 / 3
GROWTH_LIMIT = 12.0
"""Ten times the ops may take so many times the time, of what comes on top of an empty run."""

TEXTS: dict[str, Callable[[int], str]] = {"equations": large.equations, "a loop": large.loop}


def against_builder(folder: Path, text: Callable[[int], str]) -> None:
    builder = [sys.executable, "-m", "tests.bench.large_builder", str(OPS), folder / "large.mlpackage"]
    found = compare(compile_of(folder, text(OPS), OPS), lambda: run(builder))
    show(("anedsl compile", "coremltools' builder"), found, BUILDER_LIMIT)


def growth(folder: Path, text: Callable[[int], str]) -> None:
    """Measures an empty run, a tenth of the ops and all of them in turn."""
    sides = [compile_of(folder, text(ops), ops) for ops in (0, OPS // 10, OPS)]
    for side in sides:
        side()
    rounds = [[side().seconds for side in sides] for _ in range(ROUNDS)]
    empty, small, whole = (median(times) for times in zip(*rounds, strict=True))
    print(f"  no ops {empty:.3f} s, {OPS // 10} ops {small:.3f} s, {OPS} ops {whole:.3f} s")
    judge("growth for ten times the ops", (whole - empty) / (small - empty), GROWTH_LIMIT)


def compile_of(folder: Path, text: str, ops: int) -> Callable[[], Usage]:
    """A compile of a text with the default artifacts; looks whether the artifact has as many ops as it should."""
    file, out = folder / f"large-{ops}.ane", folder / f"out-{ops}"
    file.write_text(text, encoding="utf-8")

    def measure() -> Usage:
        usage = run([*anedsl(), "compile", file, "-o", out])
        found = json.loads((out / "large" / "kernel.json").read_text(encoding="utf-8"))["ops"]["total"]
        if found != ops + large.ENDS:
            sys.exit(f"the artifact has {found} ops, expected {ops + large.ENDS}")
        return usage

    return measure


def main() -> None:
    for name, text in TEXTS.items():
        with tempfile.TemporaryDirectory() as folder:
            print(f"{OPS} ops as {name}")
            against_builder(Path(folder), text)
            growth(Path(folder), text)


if __name__ == "__main__":
    main()
