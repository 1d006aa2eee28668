"""What the library compiles to: coremltools reads every package, and no chip refuses any of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from anedsl.rules import CHIPS, Target, check
from tests.std.all_cases import ALL
from tests.std.case import Case, kernel, ops

each_case = pytest.mark.parametrize("case", ALL, ids=[f"{case.module}-{case.id}" for case in ALL])


@each_case
def test_coremltools_reads_the_package(case: Case, tmp_path: Path, load_package: Callable[[Path], Any]) -> None:
    loaded = kernel(case.source("fp16"), tmp_path)
    artifact = loaded.compile(tmp_path)
    package = load_package(artifact.path / "case.mlpackage")
    emitted = [op.type for op in package.operations if op.type not in ("const", "identity")]
    assert emitted == ops(loaded)
    assert {output.name for output in package.spec.description.output} == set(case.outputs)


@each_case
def test_no_chip_refuses_it(case: Case, tmp_path: Path) -> None:
    graph = kernel(case.source("fp16"), tmp_path).graph
    assert graph.operations
    assert [(chip, d.headline) for chip in CHIPS for d in check(graph, Target(chip, "inmemory")) if d.severity == "error"] == []
