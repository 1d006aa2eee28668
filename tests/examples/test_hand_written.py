"""In fp16 no kernel is less accurate than the text that was written for it by hand.

`rmsnorm_bwd` is compared with the template's own text. The texts under `data/` were reconstructed from a description of
the other templates, with as many ops: constants printed with `%f`, a sum of squares times 1/DIM, scores scaled after their
product, and every transpose written out. Both sides get the same numbers and run in the same executor.

The largest error is that of a single number, and of one draw: other draws may favour either side where the two compute
differently. The mean hardly depends on the draw.
"""

from __future__ import annotations

import re
from collections import Counter
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
from tests.examples.formulas import Parameters
from tests.examples.kernels import DYNAMIC_LAYER, KERNELS, LLAMA, Array, Case, Example, marked

TESTS = Path(__file__).resolve().parents[1]
DATA = TESTS / "examples" / "data"
SEED_TEXT = TESTS / "reader" / "data" / "seed_rmsnorm_bwd.mil"

BY_HAND = [example for example in KERNELS if example.seed_ops is not None]
"""The kernels with a template, of which the number of ops is known. The text of `sdpa_fwd_dynamic` repeats key and value heads
by `tile`, the ops that its number leaves; that is the right order only where every query head has its own, as here."""

EQUAL = 1.02
"""Where both sides compute the same, the order of their sums still differs."""

SAME = 0.0025
"""Almost twice the largest error of a text, 0.00134 for `ffn_fwd`: a text with more computes something else."""

PACKED = {
    "rmsnorm_bwd": 1,
    "ffn_bwd": 1,
    "qkv_bwd": 1,
    "sdpa_bwd1": 1,
    "sdpa_bwd2": 1,
    "dyn_matmul": 3,
    "dyn_matmul_pair": 3,
    "sdpa_fwd_dynamic": 3,
    "ffn_fused_dynamic": 3,
    "sdpa_bwd1_dynamic": 1,
}
"""The kernels whose inputs travel as one, and the axis along which they do. The others have an input for each."""

MOVES = {"transpose": 39, "reshape": 60, "slice_by_size": 37}
"""The ops that only move numbers in the templates of a dynamic layer, its ten programs together."""


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


def text_of(kernel: str) -> Path:
    return SEED_TEXT if kernel == "rmsnorm_bwd" else DATA / f"{kernel}.mil"


def causal_mask(length: int) -> Array:
    return np.triu(np.full((1, 1, length, length), -65504.0), 1)


def rope_angles(p: Parameters) -> Array:
    """By position and channel of a head; two channels of a pair turn together."""
    pair = np.arange(p.HD) // 2
    return np.multiply.outer(np.arange(p.SEQ), p.ROPE_BASE ** (-2.0 * pair / p.HD))


def constants(case: Case, text: str) -> dict[str, Array]:
    """What the weight files hold that a text names: `w1t` is the weight w1 transposed, the others are tables."""
    weights = {**case.weights, **{f"{name}t": weight.swapaxes(0, 1) for name, weight in case.weights.items()}}
    named = set(re.findall(r"weights/(\w+)\.bin", text))
    if "mask" in named:
        weights["mask"] = causal_mask(case.parameters.SEQ)
    if "rope_cos" in named:
        angles = rope_angles(case.parameters)
        weights |= {"rope_cos": np.cos(angles), "rope_sin": np.sin(angles)}
    return {name: weights[name] for name in named}


def program(case: Case, path: Path, folder: Path) -> Graph:
    """The hand-written text, read beside weight files that hold the case's weights."""
    text = path.read_text(encoding="utf-8")
    (folder / "weights").mkdir()
    for name, array in constants(case, text).items():
        with BlobFile(folder / "weights" / f"{name}.bin", 1) as file:
            write_blob(TensorType(DTYPES["fp16"], array.shape), ArrayData(array), [file])
    (folder / "model.mil").write_text(text, encoding="utf-8")
    return read(folder / "model.mil").main


def by_hand(graph: Graph, case: Case, axis: int | None) -> dict[str, Array]:
    """What the text computes in fp16, its output cut into those of the kernel."""
    arrays = list(case.inputs.values())
    surfaces = arrays if axis is None else [np.concatenate(arrays, axis)]
    inputs = {port.name: array for port, array in zip(graph.inputs, surfaces, strict=True)}
    [found] = execute(graph, inputs, "fp16").values()
    ends = np.cumsum([array.shape[1] for array in case.exact.values()])
    assert found.shape[1] == ends[-1]
    return dict(zip(case.exact, np.split(found, ends[:-1], axis=1), strict=True))


def test_the_texts_move_numbers_as_often_as_the_templates() -> None:
    found = Counter[str]()
    for kernel, count in DYNAMIC_LAYER.items():
        text = text_of(kernel).read_text(encoding="utf-8")
        found.update({op: count * text.count(f" = {op}(") for op in MOVES})
    assert found == MOVES


@pytest.mark.parametrize("example", [marked(example) for example in BY_HAND])
def test_fp16_is_as_exact_as_by_hand(example: Example, tmp_path: Path, record_property: Any) -> None:
    case = Case(example, LLAMA)
    if example.kernel == "rmsnorm_bwd":
        as_in_the_seed(case)
    graph = program(case, text_of(example.kernel), tmp_path)
    assert len(graph.operations) == example.seed_ops

    ours = error(case.run("fp16"), case.exact)
    theirs = error(by_hand(graph, case, PACKED.get(example.kernel)), case.exact)
    # As text: the processes of a parallel run hand on plain values only.
    record_property("errors", f"ours {ours}, by hand {theirs}")
    assert 0 < ours.largest <= EQUAL * theirs.largest
    assert 0 < ours.mean <= EQUAL * theirs.mean
    assert theirs.largest < SAME, "the text computes something else"
