"""In fp16 no kernel is less accurate than the text that was written for it by hand.

`rmsnorm_bwd` is compared with the template's own text. The texts under `data/` were reconstructed from a description of
the other templates, with as many ops: constants printed with `%f`, a sum of squares times 1/DIM, scores scaled after their
product, and every transpose written out. Both sides get the same numbers and run in the same executor.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from anedsl.codegen.blob import BlobFile, write_blob
from anedsl.codegen.reader import read
from anedsl.data import ArrayData
from anedsl.graph import Graph
from anedsl.reference.executor import execute
from anedsl.types import DTYPES, TensorType
from tests.examples.kernels import EXAMPLE, LLAMA, Array, Case

TESTS = Path(__file__).resolve().parents[1]
SEED_TEXT = TESTS / "reader" / "data" / "seed_rmsnorm_bwd.mil"

EQUAL = 1.02
"""Where both sides compute the same, the order of their sums still differs."""

PACKED = {"rmsnorm_bwd": 1, "sdpa_fwd": 1, "ffn_fwd": 1, "sdpa_bwd2": 1, "dyn_matmul": 3}
"""The kernels, and the axis along which their inputs travel as one."""


class Error(NamedTuple):
    """Absolute errors over all outputs, each relative to the greatest magnitude of its own output."""

    largest: float
    mean: float


def error(found: dict[str, Array], exact: dict[str, Array]) -> Error:
    assert found.keys() == exact.keys()
    each = [np.abs(found[name] - wanted).ravel() / np.abs(wanted).max() for name, wanted in exact.items()]
    together = np.concatenate(each)
    return Error(float(together.max()), float(together.mean()))


def as_in_the_seed(case: Case) -> None:
    """Numbers of the magnitude that the template was tried with."""
    rng = np.random.default_rng(0)
    bounds = {"x": (-0.5, 0.5), "dy": (-0.1, 0.1), "rms_w": (0.75, 1.25)}
    for arrays in (case.inputs, case.weights):
        for name, array in arrays.items():
            arrays[name] = rng.uniform(*bounds[name], array.shape).astype(np.float16).astype(np.float64)
    case.exact = case.run("fp64")


def causal_mask(length: int) -> Array:
    return np.triu(np.full((1, 1, length, length), -65504.0), 1)


def program(case: Case, text: Path, folder: Path) -> Graph:
    """The hand-written text, read beside weight files that hold the case's weights."""
    weights = dict(case.weights)
    if "mask" in text.read_text(encoding="utf-8"):
        weights["mask"] = causal_mask(case.parameters.SEQ)
    (folder / "weights").mkdir()
    for name, array in weights.items():
        with BlobFile(folder / "weights" / f"{name}.bin", 1) as file:
            write_blob(TensorType(DTYPES["fp16"], array.shape), ArrayData(array), [file])
    (folder / "model.mil").write_text(text.read_text(encoding="utf-8"), encoding="utf-8")
    return read(folder / "model.mil").main


def by_hand(graph: Graph, case: Case, axis: int) -> dict[str, Array]:
    """What the text computes in fp16, its output cut into those of the kernel."""
    [surface] = graph.inputs
    packed = np.concatenate(list(case.inputs.values()), axis)
    [found] = execute(graph, {surface.name: packed}, "fp16").values()
    ends = np.cumsum([array.shape[1] for array in case.exact.values()])
    assert found.shape[1] == ends[-1]
    return dict(zip(case.exact, np.split(found, ends[:-1], axis=1), strict=True))


@pytest.mark.parametrize("kernel", PACKED)
def test_fp16_is_as_exact_as_by_hand(kernel: str, tmp_path: Path, record_property: Any) -> None:
    case = Case(EXAMPLE[kernel], LLAMA)
    text = TESTS / "examples" / "data" / f"{kernel}.mil"
    if kernel == "rmsnorm_bwd":
        as_in_the_seed(case)
        text = SEED_TEXT
    graph = program(case, text, tmp_path)
    assert len(graph.operations) == EXAMPLE[kernel].seed_ops

    ours = error(case.run("fp16"), case.exact)
    theirs = error(by_hand(graph, case, PACKED[kernel]), case.exact)
    # As text: the processes of a parallel run hand on plain values only.
    record_property("errors", f"ours {ours}, by hand {theirs}")
    assert 0 < ours.largest <= EQUAL * theirs.largest
    assert 0 < ours.mean <= EQUAL * theirs.mean
    assert theirs.largest < 0.01, "the text computes something else"
