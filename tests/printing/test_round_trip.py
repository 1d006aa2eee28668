"""What is printed elaborates to the same graph, and optimises to the same one again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings

from anedsl import frontend
from anedsl.diagnostics import Sink
from anedsl.elaborate.kernel import elaborate
from anedsl.passes import optimize
from anedsl.passes.fold import fold_sources
from tests.language.kernels import graph_of
from tests.ops.all_cases import ALL
from tests.ops.case import Case
from tests.passes.graphs import kernels
from tests.printing.printing import built, lost, lost_when_optimized
from tests.reader.emitting import one_op
from tests.reader.test_round_trip import EXAMPLES, SMALL, kernels_of
from tests.std.all_cases import ALL as STD
from tests.std.case import Case as StdCase


@pytest.mark.parametrize(("path", "kernel"), [(path, kernel) for path in EXAMPLES for kernel in kernels_of(path)], ids=str)
def test_every_example(path: Path, kernel: str) -> None:
    module = frontend.load_file(path)
    names = {parameter.name.text for parameter in module.kernels[kernel].parameters}  # type: ignore[union-attr]
    sizes = {name: size for name, size in SMALL.items() if name in names}
    assert lost(elaborate(module, kernel, sizes, Sink())) is None
    assert lost_when_optimized(frontend.build(module, kernel, sizes, Sink()).graph) is None


@pytest.mark.parametrize("case", ALL, ids=[case.id for case in ALL])
def test_every_case_of_every_op(case: Case) -> None:
    # What takes no tensor is computed by the language: it is a const there.
    assert lost(fold_sources(one_op(case))) is None


@pytest.mark.parametrize("case", STD, ids=lambda case: f"{case.module}-{case.id}")
def test_the_library(case: StdCase) -> None:
    text = case.source("fp16")
    assert lost(graph_of(text)) is None
    assert lost_when_optimized(built(text)) is None


@settings(max_examples=120, deadline=None)
@given(text=kernels())
def test_random_kernels(text: str) -> None:
    graph = graph_of(text)
    assert lost(graph) is None
    assert lost_when_optimized(optimize(graph)) is None
