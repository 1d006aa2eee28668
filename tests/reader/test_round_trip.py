"""What is emitted reads back to a graph that is emitted as the same text, and that computes the same numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import anedsl
from anedsl.codegen.artifact import prepare, write
from anedsl.codegen.comparison import compare
from anedsl.codegen.options import Options
from anedsl.codegen.reader import read, read_text
from anedsl.diagnostics import Failure
from anedsl.frontend import bind_weights, load_file
from anedsl.graph import Graph
from anedsl.passes.verify import verify
from anedsl.reference.executor import execute
from anedsl.running import random_inputs
from anedsl.weights.arrays import ArraySource
from tests.codegen import kernels
from tests.ops.all_cases import ALL
from tests.ops.case import Case
from tests.reader.emitting import emitted, one_op, with_written_attributes

DIALECTS = ("1.0", "1.3")
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.ane"))
UNCOMPUTED = {"constexpr_sparse_to_dense", "constexpr_lut_to_sparse", "constexpr_sparse_blockwise_shift_scale"}
"""Ops whose operands depend on each other's numbers: those of a case, all ones, need not fit."""

met: set[str] = set()
"""Dialects in which a case was written."""


def written(
    graph: Graph, dialect: str, folder: Path, emit: frozenset[str] = frozenset({"mil"}), single: bool = False
) -> Path | None:
    """The artifact's folder; None where the dialect does not have the op."""
    options = Options(dialect=dialect, route="coreml", emit=frozenset({"mil"}))
    try:
        return write(graph, "", options, folder).path
    except Failure as failure:
        if {found.code for found in failure.diagnostics} == {"ANE0430"} and dialect == "1.0":
            return None
        raise


@pytest.mark.parametrize("case", ALL, ids=[case.id for case in ALL])
def test_every_case_of_every_op(case: Case, tmp_path: Path) -> None:
    graph = one_op(case)
    for dialect in DIALECTS:
        folder = written(graph, dialect, tmp_path / dialect)
        if folder is None:
            continue
        met.add(dialect)
        found = read(folder / "model.mil").main
        verify(found)
        assert emitted(found, dialect) == (folder / "model.mil").read_text()
        check_other_dialect(found, dialect)
        if case.op not in UNCOMPUTED:
            check_numbers(graph, found)


def check_other_dialect(found: Graph, dialect: str) -> None:
    """What was read in one dialect is the same program in the other, where that has its ops."""
    other = next(name for name in DIALECTS if name != dialect)
    try:
        legal = prepare(found, Options(dialect=other, route="coreml", emit=frozenset({"mil"}))).graph
    except Failure as failure:
        codes = {problem.code for problem in failure.diagnostics}
    else:
        assert compare(legal, read_text(emitted(found, other)).main).difference is None
        return
    assert (other, codes) == ("1.0", {"ANE0430"})


def check_numbers(graph: Graph, found: Graph) -> None:
    inputs = random_inputs(graph, 0)
    expected = execute(with_written_attributes(graph), inputs, "fp64")
    results = execute(found, inputs, "fp64")
    assert results.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(results[name], array)


def test_both_dialects_were_written() -> None:
    if met:
        assert met == set(DIALECTS)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("make", [kernels.rmsnorm_bwd, kernels.everything], ids=["rmsnorm_bwd", "everything"])
@pytest.mark.parametrize("route", ["coreml", "inmemory"])
@pytest.mark.parametrize("single", [False, True], ids=["own files", "one file"])
def test_packed_kernels(make: object, dialect: str, route: str, single: bool, tmp_path: Path) -> None:
    graph = make()  # type: ignore[operator]
    options = Options(dialect=dialect, route=route, emit=frozenset({"mil"}), single_weight_file=single)
    folder = write(graph, "", options, tmp_path).path
    for path in (folder, folder / "model.mil"):
        assert emitted(read(path).main, dialect, single, route) == (folder / "model.mil").read_text()


SMALL = {"DIM": 64, "SEQ": 32, "HIDDEN": 128, "HEADS": 4, "VOCAB": 512, "DEPTH": 3, "C": 32, "H": 16, "IC": 64, "OC": 96}
"""Sizes at which the examples run in no time."""


def kernels_of(path: Path) -> list[str]:
    return list(load_file(path).kernels)


@pytest.mark.parametrize(("path", "kernel"), [(path, kernel) for path in EXAMPLES for kernel in kernels_of(path)], ids=str)
def test_every_example(path: Path, kernel: str, tmp_path: Path) -> None:
    loaded = small(path, kernel)
    weights = {name: np.full(type.shape, 0.125) for name, type in loaded.weights.items()}
    bind_weights(loaded._program, [ArraySource(weights)])
    for dialect in DIALECTS:
        folder = written(loaded.graph, dialect, tmp_path / dialect)
        if folder is None:
            continue
        module = read(folder)
        verify(module.main)
        assert emitted(module.main, dialect) == (folder / "model.mil").read_text()


def small(path: Path, kernel: str) -> anedsl.Kernel:
    parameters = load_file(path).kernels[kernel].parameters  # type: ignore[union-attr]
    names = {parameter.name.text for parameter in parameters}
    return anedsl.load(path, kernel, **{name: value for name, value in SMALL.items() if name in names})


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_artifact_computes_what_its_kernel_does(dialect: str, tmp_path: Path) -> None:
    from anedsl.codegen.reader.ports import packed, unpacked

    kernel = anedsl.load(EXAMPLES[0].parent / "rmsnorm_bwd.ane", DIM=64, SEQ=32)
    weights = {"rms_w": np.linspace(0.5, 1.5, 64).astype(np.float16).reshape(1, 64, 1, 1)}
    module = read(kernel.compile(tmp_path, weights=weights, dialect=dialect).path)
    assert module.inputs is not None
    assert module.outputs is not None
    assert [(place.name, place.start) for place in module.inputs[0].places] == [("dy", 0), ("x", 64)]
    inputs = random_inputs(kernel.graph, 3)
    results = unpacked(module.outputs, execute(module.main, packed(module.inputs, inputs), "fp16"))
    np.testing.assert_array_equal(results["dx"], kernel.run(inputs, weights=weights)["dx"])


def test_weights_keep_their_names(tmp_path: Path) -> None:
    folder = written(kernels.everything(), "1.3", tmp_path)
    assert folder is not None
    by_text = {
        node.attributes["weight"].name for node in read(folder / "model.mil").main.constants if "weight" in node.attributes
    }
    by_manifest = {node.attributes["weight"].name for node in read(folder).main.constants if "weight" in node.attributes}
    assert by_text == {"W_0", "b", "table"}
    assert by_manifest == {"W[0]", "b"}
