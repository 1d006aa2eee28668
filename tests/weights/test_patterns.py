"""`--map` with `*`: one pattern for the keys of many weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anedsl.weights import Declared, bind
from anedsl.weights.patterns import speaks_of, star_texts
from tests.weights.build import failure
from tests.weights.test_binding import bound, family, refused, weight

KEYS = {
    f"layers.{layer}.{part}.weight": np.full(2, 10 * layer + number) for layer in range(3) for number, part in enumerate("abc")
}


def first(declared: list[Declared], mapping: dict[str, str], arrays: dict[str, Any] = KEYS) -> dict[str, int]:
    return {name: int(array.flat[0]) for name, array in bound(declared, arrays, mapping).items()}


@pytest.mark.parametrize(
    ("pattern", "name", "texts"),
    [
        ("w*", "w1", ["1"]),
        ("*", "w", ["w"]),
        ("w*", "w", None),
        ("*w*", "awb", ["a", "b"]),
        ("*_*", "a_b_c", ["a", "b_c"]),
        ("*a*", "aaa", ["a", "a"]),
        ("**", "abc", ["a", "bc"]),
        ("a*b", "ab", None),
        ("a*b", "acb", ["c"]),
        ("a*a", "a", None),
        ("*b", "abc", None),
    ],
)
def test_what_a_star_stands_for(pattern: str, name: str, texts: list[str] | None) -> None:
    assert star_texts(pattern, name) == texts


@given(st.lists(st.text("ab_", max_size=3), min_size=2, max_size=5), st.lists(st.text("ab_", min_size=1, max_size=3), min_size=4))
def test_a_name_that_is_made_of_a_pattern_matches_it(literals: list[str], texts: list[str]) -> None:
    name = literals[0] + "".join(text + part for text, part in zip(texts, literals[1:], strict=False))
    pattern = "*".join(literals)
    found = star_texts(pattern, name)
    assert found is not None
    assert all(found)
    assert literals[0] + "".join(text + part for text, part in zip(found, literals[1:], strict=True)) == name


def test_one_star() -> None:
    assert first([weight("wa", 2), weight("wb", 2)], {"w*": "layers.1.*.weight"}) == {"wa": 10, "wb": 11}


def test_several_stars_in_order() -> None:
    assert first([weight("w1_a", 2), weight("w2_c", 2)], {"w*_*": "layers.*.*.weight"}) == {"w1_a": 10, "w2_c": 22}


def test_an_exact_name_wins() -> None:
    mapping = {"w*": "layers.1.*.weight", "wa": "layers.0.c.weight"}
    assert first([weight("wa", 2), weight("wb", 2)], mapping) == {"wa": 2, "wb": 11}


def test_families_and_their_members() -> None:
    declared = [*family("wa", 3, 2), *family("wb", 3, 2)]
    expected = {f"w{part}[{i}]": 10 * i + n for n, part in enumerate("ab") for i in range(3)}
    assert first(declared, {"w*": "layers.{i}.*.weight"}) == expected
    assert first(declared, {"wa[*]": "layers.*.a.weight", "wb[*]": "layers.*.b.weight"}) == expected


def test_a_stacked_family() -> None:
    stacked = {"all.W": np.array([[0, 0], [1, 1]])}
    assert first(family("W", 2, 2), {"*": "all.*"}, stacked) == {"W[0]": 0, "W[1]": 1}


def test_a_key_that_is_in_no_file_leaves_the_weight_to_its_own_name_and_its_initialiser() -> None:
    declared = [weight("wa", 2), weight("wx", 2, default=True), weight("wy", 2)]
    assert first(declared, {"w*": "layers.1.*.weight"}, {**KEYS, "wy": np.full(2, 7)}) == {"wa": 10, "wy": 7}


MISSING = """\
error[ANE0405]: no file has the key `layers.1.bb.weight`
^ `wbb` is to be read from it
note: `w.npz` has `layers.0.a.weight`, `layers.0.b.weight`, `layers.0.c.weight`, `layers.1.a.weight`, `layers.1.b.weight`, \
`layers.1.c.weight` and 3 more
help: did you mean `layers.1.b.weight`?"""

USELESS = """\
error[ANE0426]: `--map 'w*=layer.1.*.weight'` finds no weight
note: it leads from `wa` to `layer.1.a.weight`
note: `w.npz` has `layers.0.a.weight`, `layers.0.b.weight`, `layers.0.c.weight`, `layers.1.a.weight`, `layers.1.b.weight`, \
`layers.1.c.weight` and 3 more
help: did you mean the key `layers.1.a.weight`?"""

NO_NAME = """\
error[ANE0426]: `--map 'v*=layers.1.*.weight'` finds no weight
note: its weights are `wa`"""

TURNED = """\
error[ANE0426]: `--map 'layers.1.*.weight=w*'` finds no weight
note: its weights are `wa`
help: write NAME=KEY the other way round: `--map 'w*=layers.1.*.weight'`"""

UNEVEN = """\
error[ANE0425]: `--map 'w*_*=layers.*.weight'` has 2 `*` on the left and 1 on the right
help: write as many on the right as on the left"""

TWO = """\
error[ANE0427]: two patterns speak of weight `wa`
^ named by `--map 'w*=layers.1.*.weight'` and `--map '*a=layers.1.*.weight'`
help: name the weight itself as well: `--map wa=layers.1.a.weight`"""


@pytest.mark.parametrize(
    ("declared", "mapping", "expected"),
    [
        ([weight("wa", 2), weight("wbb", 2)], {"w*": "layers.1.*.weight"}, MISSING),
        ([weight("wa", 2, default=True)], {"w*": "layer.1.*.weight"}, USELESS),
        ([weight("wa", 2, default=True)], {"v*": "layers.1.*.weight"}, NO_NAME),
        ([weight("wa", 2, default=True)], {"layers.1.*.weight": "w*"}, TURNED),
        ([weight("wa", 2, default=True)], {"w*_*": "layers.*.weight"}, UNEVEN),
        ([weight("wa", 2)], {"w*": "layers.1.*.weight", "*a": "layers.1.*.weight"}, TWO),
    ],
)
def test_what_is_said(declared: list[Declared], mapping: dict[str, str], expected: str) -> None:
    assert refused(declared, KEYS, mapping) == expected


def test_a_family_is_reported_once() -> None:
    found = failure(bound, family("W", 5, 2), KEYS, {"W[*]": "layers.*.d.weight"})
    assert (found.code, found.note_texts[-1]) == ("ANE0405", "`W` has the same problem in 4 more members")


def test_a_pattern_without_any_file() -> None:
    assert failure(bind, [weight("wa", 2)], [], {"w*": "k.*"}).code == "ANE0405"


def test_many_stars_take_no_time() -> None:
    assert star_texts("*a" * 40 + "b", "a" * 5000) is None


def test_what_a_name_speaks_of() -> None:
    weights = ["wa", "W[0]", "W[1]"]
    assert [name for name in ("wa", "W", "W[1]", "w*", "W*", "*[*]", "wb", "W[2]", "v*") if speaks_of(name, weights)] == [
        "wa",
        "W",
        "W[1]",
        "w*",
        "*[*]",
    ]
