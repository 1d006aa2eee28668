"""What is said of files of weights that were given and not used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anedsl.data import ArrayData, FillData, RandomData, WeightData
from anedsl.diagnostics import Diagnostic
from anedsl.source import Source, Span
from anedsl.types import DTYPES, TensorType
from anedsl.weights import Declared, bind
from anedsl.weights.arrays import ArraySource
from anedsl.weights.unused import unused, watched
from tests.weights.build import text

SPAN = Span(Source("k.ane", "weight gate: fp16[2] = ones"), 7, 11)
TYPE = TensorType(DTYPES["fp16"], (2,))


def remarks(names: list[str], *files: list[str], random: bool = False) -> list[Diagnostic]:
    """What is said when weights of these names, all with initialisers, are bound to files `w0.npz` ... with these keys."""
    sources = watched(ArraySource({key: np.ones(2) for key in keys}, f"w{number}.npz") for number, keys in enumerate(files))
    found = bind([Declared(name, TYPE, SPAN, has_default=True) for name in names], sources)
    weights = [WeightData(name, TYPE, FillData((2,), 1.0), SPAN) for name in names]
    for weight in weights:
        weight.bound = found.get(weight.name) or (RandomData(weight.name, TYPE, 0) if random else None)
    return unused(sources, weights)


NOTHING = """\
warning[ANE0428]: no array of `w0.npz` is used
note: it has `up`, `down`
note: no data was found for `gate`, `scale`: each is given by its initialiser
help: `--map NAME=KEY` says which key is meant for a weight"""

RANDOM = """\
warning[ANE0428]: no array of `w0.npz` is used
note: it has `up`
note: no data was found for `gate`: it is drawn at random
help: `--map NAME=KEY` says which key is meant for a weight"""

CLOSE = """\
warning[ANE0428]: no array of `w0.npz` is used
note: it has `up`, `Gate`
note: no data was found for `gate`: it is given by its initialiser
help: the key `Gate` is similar; to use it: `--map gate=Gate`"""

OTHER = """\
warning[ANE0428]: no array of `w1.npz` is used
note: it has `up`
note: `gate` got data from another file"""

EMPTY = """\
warning[ANE0428]: no array of `w0.npz` is used
note: it has no arrays
note: no data was found for `gate`: it is given by its initialiser"""

NO_WEIGHTS = """\
warning[ANE0428]: no array of `w0.npz` is used
note: it has `gate`
note: the kernel has no weights that it uses"""

SIMILAR = """\
warning[ANE0429]: weight `gate` is not in `w0.npz`, which has a similar key
^ its numbers are given by its initialiser
note: no weight takes the key `model.gate.weight`
help: if it is meant: `--map gate=model.gate.weight`"""


@pytest.mark.parametrize(
    ("names", "files", "random", "expected"),
    [
        (["gate", "scale"], [["up", "down"]], False, NOTHING),
        (["gate"], [["up"]], True, RANDOM),
        (["gate"], [["up", "Gate"]], False, CLOSE),
        (["gate"], [["gate"], ["up"]], False, OTHER),
        (["gate"], [[]], False, EMPTY),
        ([], [["gate"]], False, NO_WEIGHTS),
        (["gate", "scale"], [["scale", "model.gate.weight"]], False, SIMILAR),
    ],
)
def test_what_is_said(names: list[str], files: list[list[str]], random: bool, expected: str) -> None:
    (found,) = remarks(names, *files, random=random)
    assert text(found) == expected
    assert (found.span == SPAN) == (found.code == "ANE0429")


@pytest.mark.parametrize(
    ("names", "keys"),
    [
        (["gate"], ["gate", "gates"]),
        (["gate", "scale"], ["gate"]),
        (["w1", "w2"], ["w1", "w3"]),
        (["gate", "scale"], ["scale", "layers.0.gate", "layers.1.gate"]),
        (["W[0]", "W[1]"], ["W", "unrelated"]),
    ],
    ids=["found", "nothing-close", "another-number", "one-of-many-layers", "family"],
)
def test_nothing_is_said(names: list[str], keys: list[str]) -> None:
    sources: Any = watched([ArraySource({key: np.ones((2, 2) if key == "W" else 2) for key in keys})])
    found = bind([Declared(name, TYPE, SPAN, has_default=True) for name in names], sources)
    assert found
    weights = [WeightData(name, TYPE, FillData((2,), 1.0), SPAN) for name in names]
    for weight in weights:
        weight.bound = found.get(weight.name)
    assert unused(sources, weights) == []


def test_nothing_is_said_without_a_file() -> None:
    weight = WeightData("gate", TYPE, FillData((2,), 1.0), SPAN)
    assert unused([], [weight]) == []


def test_a_watched_source_hands_on_what_it_has() -> None:
    (source,) = watched([ArraySource({"a": np.ones(2)}, "w.npz")])
    assert (source.name, source.lone, source.keys()) == ("w.npz", False, ["a"])
    assert source.entry("a").shape == (2,)
    assert source.taken == set()
    assert isinstance(source.data("a"), ArrayData)
    assert source.taken == {"a"}
