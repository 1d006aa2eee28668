"""Programs in the style of hand-written printf templates: they are read, run, and compute what they were written for."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import anedsl
from anedsl.codegen.reader import read, read_text
from anedsl.data import Array
from anedsl.diagnostics import Failure
from anedsl.reference.executor import execute
from anedsl.running import random_inputs

DATA = Path(__file__).parent / "data"
EXAMPLE = Path(__file__).parents[2] / "examples" / "rmsnorm_bwd.ane"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The program beside the weight of the compiled example."""
    weights = {"rms_w": np.linspace(0.5, 1.5, 768).reshape(1, 768, 1, 1)}
    anedsl.load(EXAMPLE).compile(tmp_path / "build", weights=weights, emit=("mil",))
    shutil.copytree(tmp_path / "build" / "rmsnorm_bwd" / "weights", tmp_path / "weights")
    shutil.copy(DATA / "seed_rmsnorm_bwd.mil", tmp_path / "model.mil")
    return tmp_path


def results(folder: Path, numerics: str = "fp64") -> tuple[Array, Array]:
    """What the program and the example give for the same inputs and weights."""
    program = read(folder / "model.mil").main
    example = read(folder / "build" / "rmsnorm_bwd").main
    inputs = random_inputs(example, 0)
    return execute(program, inputs, numerics)["out"], execute(example, inputs, numerics)["dx"]


def test_it_has_as_many_ops_as_the_template(folder: Path) -> None:
    graph = read(folder / "model.mil").main
    assert len(graph.operations) == 16
    assert [value.name for value in graph.operations[0].results] == ["dy"]


def test_it_differs_from_the_example_by_its_printed_constant(folder: Path) -> None:
    found, expected = results(folder)
    printed = abs(0.001302 * 768 - 1)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    assert printed / 10 < error < 3 * printed


def test_with_exact_constants_it_is_the_example(folder: Path) -> None:
    path = folder / "model.mil"
    eps = float(np.float16(1e-5)).hex()
    path.write_text(path.read_text().replace("0.001302", (1 / 768).hex()).replace("0.00001", eps))
    found, expected = results(folder)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_its_weight_may_be_missing_until_it_is_needed() -> None:
    module = read_text((DATA / "seed_rmsnorm_bwd.mil").read_text())
    assert [node.result.type.shape for node in module.main.constants if "weight" in node.attributes] == [(1, 768, 1, 1)]
    with pytest.raises(Failure) as failure:
        execute(module.main, {"inp": np.zeros((1, 1536, 1, 256))}, "fp64")
    assert [found.code for found in failure.value.diagnostics] == ["ANE0479"]


def test_masked_attention() -> None:
    graph = read(DATA / "masked_attention.mil").main
    inputs = random_inputs(graph, 1)
    q, k, v = (inputs[name] for name in "qkv")
    scores = q @ np.swapaxes(k, -1, -2) / 2 + np.where(np.tril(np.ones((8, 8))) > 0, 0, -65504)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ v
    np.testing.assert_allclose(execute(graph, inputs, "fp64")["o"], expected, rtol=0, atol=1e-14)
