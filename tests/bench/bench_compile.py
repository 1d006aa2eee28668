"""One small kernel, from start to end of the process: `anedsl compile` against coremltools' builder; and `--help`.

`ANEDSL_BENCH_PYTHON` names a second Python to measure with, whose environment has anedsl and coremltools but no torch:
where torch is installed coremltools imports it, which takes longer.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from tests.bench.timing import anedsl, compare, run, show

COMPILE_LIMIT = 0.1
HELP_LIMIT = 3.0


def compile_against_builder(python: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        command = [*anedsl(python), "compile", "examples/rmsnorm_bwd.ane", "--emit", "mil,mlpackage,header", "-o", folder]
        builder = [python, "-m", "tests.bench.rmsnorm_builder", Path(folder, "rmsnorm_bwd.mlpackage")]
        found = compare(lambda: run(command), lambda: run(builder))
    show(("anedsl compile", "coremltools' builder"), found, COMPILE_LIMIT)


def help_against_import(python: str) -> None:
    found = compare(lambda: run([*anedsl(python), "--help"]), lambda: run([python, "-c", "import typer"]), rounds=9)
    show(("anedsl --help", "import typer"), found, HELP_LIMIT)


def main() -> None:
    for python in filter(None, (sys.executable, os.environ.get("ANEDSL_BENCH_PYTHON"))):
        print(f"examples/rmsnorm_bwd.ane with {python}")
        compile_against_builder(python)
        print(f"help with {python}")
        help_against_import(python)


if __name__ == "__main__":
    main()
