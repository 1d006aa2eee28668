"""Which array becomes the data of which weight, and what is said when none does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anedsl.diagnostics import Failure
from anedsl.source import NOWHERE, Source, Span
from anedsl.types import DTYPES, TensorType
from anedsl.weights import Declared, arrays, bind, open_source
from anedsl.weights.arrays import ArraySource
from anedsl.weights.similar import nearest_key
from tests.weights.build import failure, failures, npy, npz, text

TEXT = Source("k.ane", "weight rms_w: fp16[1, 768, 1, 1]")
SPAN = Span(TEXT, 7, 12)


def weight(name: str, *shape: int, dtype: str = "fp16", default: bool = False, members: int | None = None) -> Declared:
    return Declared(name, TensorType(DTYPES[dtype], shape), SPAN, default, members)


def family(name: str, count: int, *shape: int) -> list[Declared]:
    return [weight(f"{name}[{index}]", *shape, members=count) for index in range(count)]


def bound(declared: list[Declared], given: dict[str, Any], mapping: dict[str, str] | None = None) -> dict[str, np.ndarray]:
    """The numbers that each weight is bound to; each has the declared shape."""
    found = bind(declared, [ArraySource(given, "w.npz")], mapping)
    for each in declared:
        if each.name in found:
            assert found[each.name].shape == each.type.shape
    return {name: data.load() for name, data in found.items()}


def refused(declared: list[Declared], given: dict[str, Any], mapping: dict[str, str] | None = None) -> str:
    """All that is said about weights that cannot be bound."""
    return "\n\n".join(map(text, failures(bound, declared, given, mapping)))


def test_by_name() -> None:
    found = bound([weight("a", 2), weight("b", 3)], {"b": np.arange(3), "a": np.ones(2), "more": np.ones(9)})
    assert {name: array.tolist() for name, array in found.items()} == {"a": [1, 1], "b": [0, 1, 2]}


def test_the_python_api() -> None:
    found = arrays.bind([weight("w", 1, 3, 1, 1)], {"w": [1.5, 2, 3]})
    assert found["w"].load().tolist() == [[[[1.5]], [[2]], [[3]]]]


def test_an_initialiser_is_used_where_there_is_no_data() -> None:
    declared = [weight("a", 2, default=True), weight("b", 2, default=True)]
    assert list(bound(declared, {"a": np.ones(2)})) == ["a"]
    assert bind(declared, []) == {}


def test_an_array_keeps_the_type_of_the_file() -> None:
    assert bound([weight("w", 2)], {"w": np.ones(2, np.float64)})["w"].dtype == np.float64


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ((1, 768, 1, 1), (768,)),
        ((4, 3, 1, 1), (4, 3)),
        ((4, 3), (4, 3, 1, 1)),
        ((1, 4, 1, 3), (4, 1, 3)),
        ((), (1,)),
        ((1, 1), ()),
    ],
)
def test_axes_of_size_one_come_and_go(declared: tuple[int, ...], given: tuple[int, ...]) -> None:
    array = np.arange(np.prod(given, dtype=int)).reshape(given)
    assert bound([weight("w", *declared)], {"w": array})["w"].tolist() == array.reshape(declared).tolist()


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("fp16", ["float64", "float32", "float16", "int64", "int8", "uint8"]),
        ("fp32", ["float64", "float32", "float16", "int64", "uint32"]),
        ("int8", ["int8", "int64", "uint16"]),
        ("int32", ["int32", "int64", "uint8"]),
        ("bool", ["bool"]),
    ],
)
def test_element_types(declared: str, given: list[str]) -> None:
    every = ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "bool"]

    def accepted(dtype: str) -> bool:
        try:
            bound([weight("w", 2, dtype=declared)], {"w": np.ones(2, dtype)})
        except Failure as failed:
            if {each.code for each in failed.diagnostics} != {"ANE0403"}:
                raise
            return False
        return True

    taken = {dtype for dtype in every if accepted(dtype)}
    assert taken >= set(given)
    kinds = {"f": "fiu", "i": "iu", "b": "b"}[declared[0]]
    assert taken == {dtype for dtype in every if np.dtype(dtype).kind in kinds}


@pytest.mark.parametrize("spelling", ["W[{}]", "W_{}", "W{}", "W.{}"])
def test_members_of_a_family(spelling: str) -> None:
    given = {spelling.format(index): np.full((2, 3), index) for index in range(12)}
    found = bound(family("W", 12, 2, 3, 1, 1), given)
    assert [found[f"W[{index}]"].flat[0] for index in range(12)] == list(range(12))


def test_a_family_stacked_in_one_array(tmp_path: Path) -> None:
    stacked = np.arange(4 * 2 * 3, dtype=np.float32).reshape(4, 2, 3)
    np.savez(tmp_path / "w.npz", W=stacked)
    found = bind(family("W", 4, 2, 3, 1, 1), [open_source(tmp_path / "w.npz")])
    for index in range(4):
        np.testing.assert_array_equal(found[f"W[{index}]"].load(), stacked[index].reshape(2, 3, 1, 1))
        np.testing.assert_array_equal(np.concatenate(list(found[f"W[{index}]"].chunks())), stacked[index].reshape(-1))


def test_a_family_of_one_needs_no_axis_to_stack() -> None:
    assert bound(family("W", 1, 2, 3), {"W": np.ones((2, 3))})["W[0]"].shape == (2, 3)


def test_only_some_members_are_declared() -> None:
    declared = [weight("W[2]", 3, members=4)]
    assert bound(declared, {"W": np.arange(12).reshape(4, 3)})["W[2]"].tolist() == [6, 7, 8]


def test_a_key_that_is_another_weights_name_is_left_to_it() -> None:
    declared = [*family("W", 2, 3), weight("W1", 3)]
    found = bound(declared, {"W": np.zeros((2, 3)), "W1": np.ones(3)})
    assert [found[name].tolist() for name in ("W[0]", "W[1]", "W1")] == [[0] * 3, [0] * 3, [1] * 3]


def test_a_member_of_its_own_goes_before_the_stack() -> None:
    assert bound([weight("W[0]", 3)], {"W": np.zeros((1, 3)), "W_0": np.ones(3)})["W[0]"].tolist() == [1] * 3


def test_mapping() -> None:
    given = {"model.norm.weight": np.ones(3), "w": np.zeros(3)}
    assert bound([weight("w", 3)], given, {"w": "model.norm.weight"})["w"].tolist() == [1] * 3


@pytest.mark.parametrize(
    "mapping",
    [{"W[0]": "layers.0.w", "W[1]": "layers.1.w"}, {"W": "layers.{i}.w"}, {"W": "all"}, {"W": "all", "W[0]": "layers.0.w"}],
)
def test_mapping_of_a_family(mapping: dict[str, str]) -> None:
    given = {"layers.0.w": np.zeros(3), "layers.1.w": np.ones(3), "all": np.array([[0] * 3, [1] * 3])}
    found = bound(family("W", 2, 3), given, mapping)
    assert [found["W[0]"].tolist(), found["W[1]"].tolist()] == [[0] * 3, [1] * 3]


def test_several_sources() -> None:
    sources = [ArraySource({"a": np.ones(2)}), ArraySource({"b": np.zeros(2), "c": np.ones(1)}), ArraySource({"c": np.ones(1)})]
    found = bind([weight("a", 2), weight("b", 2)], sources)
    assert [found["a"].load().tolist(), found["b"].load().tolist()] == [[1, 1], [0, 0]]


def test_a_lone_array_is_for_the_only_weight(tmp_path: Path) -> None:
    np.save(tmp_path / "some-name.npy", np.ones(3))
    source = open_source(tmp_path / "some-name.npy")
    assert bind([weight("w", 3)], [source])["w"].load().tolist() == [1] * 3
    assert bind([weight("w", 3), weight("v", 3, default=True)], [source], {"w": "some-name"})["w"].shape == (3,)


def test_lone_arrays_go_by_their_files_names(tmp_path: Path) -> None:
    for index, name in enumerate("ab"):
        np.save(tmp_path / f"{name}.npy", np.full(2, index))
    found = bind([weight("b", 2), weight("a", 2)], [open_source(tmp_path / "a.npy"), open_source(tmp_path / "b.npy")])
    assert [found[name].load().tolist() for name in "ab"] == [[0, 0], [1, 1]]


def test_a_kernel_without_weights_takes_any_file() -> None:
    assert bind([], [ArraySource({"a": np.ones(2)})]) == {}


MISSING = """\
error[ANE0401]: weight `rms_w` has no data and no initialiser
^ declared here as `fp16[1, 768, 1, 1]`
help: give it with `--weights FILE`, or an initialiser `= ones`; to try or measure the kernel, `--random 0` draws it"""

NEAR = """\
error[ANE0401]: weight `rms_w` has no data and no initialiser
^ declared here as `fp16[1, 768, 1, 1]`
note: `w.npz` has 8 keys; similar ones are `rms_w1`
help: if a file has it under another name: `--map NAME=KEY`
help: a weight that is in no file needs an initialiser `= ones`; to try or measure the kernel, `--random 0` draws it"""

MISSING_FAMILY = """\
error[ANE0401]: weight `W[0]` has no data and no initialiser
^ declared here as `fp16[3]`
note: `W` has the same problem in 3 more members
note: looked for `W[0]`, `W_0`, `W0`, `W.0`, `W`
note: `w.npz` has no arrays
help: give it with `--weights FILE`, or an initialiser `= ones`; to try or measure the kernel, `--random 0` draws it"""

SHAPE = """\
error[ANE0402]: weight `w` has another shape in `w.npz`
^ declared as `fp16[4, 3, 1, 1]`
note: the key `w` has the shape [3, 5]"""

TRANSPOSED = """\
error[ANE0402]: weight `w` has another shape in `w.npz`
^ declared as `fp16[4, 3, 1, 1]`
note: the key `w` has the shape [3, 4]
help: its transpose fits: declare `w: fp16[3, 4, 1, 1]` and use `transpose(w, [1, 0, 2, 3])`"""

STACK = """\
error[ANE0402]: weight `W[0]` has another shape in `w.npz`
^ declared as `fp16[2, 3]`
note: the key `W` has the shape [5, 2, 3]
note: `W[4]` stacked in one array has the shape [4, 2, 3]
note: `W` has the same problem in 3 more members"""

FLOAT_TO_INT = """\
error[ANE0403]: weight `w` cannot take fp32 numbers
^ declared as int8
note: the key `w` of `w.npz` holds fp32
help: convert the array to int8 before it is saved, or declare the weight as fp16"""

BOOL_TO_FLOAT = """\
error[ANE0403]: weight `w` cannot take bool numbers
^ declared as fp16
note: the key `w` of `w.npz` holds bool
help: convert the array to fp16 before it is saved, or declare the weight as bool"""

INT_TO_BOOL = """\
error[ANE0403]: weight `w` cannot take uint8 numbers
^ declared as bool
note: the key `w` of `w.npz` holds uint8
help: convert the array to bool before it is saved, or declare the weight as uint8"""

BOTH = SHAPE.replace("fp16", "int8") + "\n\n" + FLOAT_TO_INT

MAP_NAME = """\
error[ANE0404]: `--map rms_v=w` names no weight of the kernel
note: its weights are `rms_w`
help: did you mean `rms_w`?"""

MAP_TURNED = """\
error[ANE0404]: `--map model.norm=w` names no weight of the kernel
note: its weights are `w`
help: write NAME=KEY the other way round: `--map w=model.norm`"""

MAP_KEY = """\
error[ANE0405]: no file has the key `model.norm`
^ `w` is to be read from it
note: `w.npz` has `w`, `model.norms`
help: did you mean `model.norms`?"""

SPELLINGS = """\
error[ANE0406]: weight `W[1]` is found twice
^ `W_1` and `W.1` both fit
note: `W_1` is in `w.npz`, `W.1` in `w.npz`
help: say which one is meant: `--map 'W[1]=W_1'`"""

RANGE = """\
error[ANE0407]: weight `w` has values that do not fit int8
^ takes -128 to 127
note: the key `w` of `w.npz` holds int64 from -5 to 128"""


@pytest.mark.parametrize(
    ("declared", "given", "mapping", "expected"),
    [
        ([weight("rms_w", 1, 768, 1, 1)], {**{f"k{i}": np.ones(1) for i in range(1, 8)}, "rms_w1": np.ones(768)}, {}, NEAR),
        (family("W", 4, 3), {}, {}, MISSING_FAMILY),
        ([weight("w", 4, 3, 1, 1)], {"w": np.ones((3, 5))}, {}, SHAPE),
        ([weight("w", 4, 3, 1, 1)], {"w": np.ones((3, 4))}, {}, TRANSPOSED),
        (family("W", 4, 2, 3), {"W": np.ones((5, 2, 3))}, {}, STACK),
        ([weight("w", 2, dtype="int8")], {"w": np.ones(2, np.float32)}, {}, FLOAT_TO_INT),
        ([weight("w", 2)], {"w": np.ones(2, bool)}, {}, BOOL_TO_FLOAT),
        ([weight("w", 2, dtype="bool")], {"w": np.ones(2, np.uint8)}, {}, INT_TO_BOOL),
        ([weight("w", 4, 3, 1, 1, dtype="int8")], {"w": np.ones((3, 5), np.float32)}, {}, BOTH),
        ([weight("rms_w", 2)], {"rms_w": np.ones(2)}, {"rms_v": "w"}, MAP_NAME),
        ([weight("w", 2)], {"w": np.ones(2), "model.norm": np.ones(2)}, {"model.norm": "w"}, MAP_TURNED),
        ([weight("w", 2)], {"w": np.ones(2), "model.norms": np.ones(2)}, {"w": "model.norm"}, MAP_KEY),
        ([weight("W[1]", 2)], {"W_1": np.ones(2), "W.1": np.ones(2)}, {}, SPELLINGS),
        ([weight("w", 3, dtype="int8")], {"w": np.array([-5, 128, 3])}, {}, RANGE),
    ],
)
def test_what_is_said(declared: list[Declared], given: dict[str, Any], mapping: dict[str, str], expected: str) -> None:
    assert refused(declared, given, mapping) == expected


def test_missing_without_any_file() -> None:
    found = failure(bind, [weight("rms_w", 1, 768, 1, 1)], [])
    assert text(found) == MISSING
    assert found.span == SPAN


@pytest.mark.parametrize(
    ("given", "dtype", "fits"),
    [
        ([255], "uint8", True),
        ([256], "uint8", False),
        ([-1], "uint8", False),
        ([2**31], "int32", False),
        ([-(2**31)], "int32", True),
    ],
)
def test_integers_that_fit_become_narrower(given: list[int], dtype: str, fits: bool) -> None:
    declared = [weight("w", 1, dtype=dtype)]
    if fits:
        assert bound(declared, {"w": np.array(given)})["w"].tolist() == given
    else:
        assert failure(bound, declared, {"w": np.array(given)}).code == "ANE0407"


def test_a_key_in_two_files() -> None:
    sources = [ArraySource({"w": np.ones(2)}, "a.npz"), ArraySource({"w": np.ones(2)}, "b.npz")]
    assert text(failure(bind, [weight("w", 2)], sources)) == (
        "error[ANE0406]: weight `w` is found twice\n"
        "^ `w` and `w` both fit\n"
        "note: `w` is in `a.npz`, `w` in `b.npz`\n"
        "help: give only one of the files"
    )


def test_a_lone_array_that_no_weight_takes(tmp_path: Path) -> None:
    np.save(tmp_path / "w1x.npy", np.ones(3))
    source = open_source(tmp_path / "w1x.npy")
    found = failure(bind, [weight("w1", 3, default=True), weight("v", 3, default=True)], [source])
    assert text(found, tmp_path) == (
        "error[ANE0408]: no weight takes the array in `w1x.npy`\n"
        "note: the kernel has 2 weights, and none is called `w1x`\n"
        "help: say which weight it is for: `--map w1=w1x`"
    )


def test_all_problems_are_reported_together_and_those_of_the_mapping_first() -> None:
    declared = [weight("a", 2), weight("b", 2), weight("c", 2, dtype="int8"), weight("d", 2)]
    found = failures(bound, declared, {"b": np.ones(3), "c": np.ones(2), "d": np.ones(2)}, {"x": "y", "d": "q"})
    assert [each.code for each in found] == ["ANE0404", "ANE0405", "ANE0401", "ANE0402", "ANE0403"]


def test_weights_that_lack_data_share_a_diagnostic() -> None:
    declared = [Declared(name, TensorType(DTYPES["fp16"], (2,)), Span(TEXT, at, at + 1)) for at, name in enumerate("abc")]
    found = failure(bind, declared, [])
    assert found.headline == "weights `a`, `b`, `c` have no data and no initialiser"
    assert found.span.start == 0
    assert [(label.span.start, label.text) for label in found.related] == [
        (1, "declared here as `fp16[2]`"),
        (2, "declared here as `fp16[2]`"),
    ]


def test_many_weights_that_lack_data_are_cut_short() -> None:
    found = failure(bind, [weight(f"w{index}", 2) for index in range(40)], [])
    assert found.headline == "weights `w0`, `w1`, `w2`, `w3`, `w4`, `w5`, `w6` and 33 more have no data and no initialiser"
    assert len(found.related) == 8


def test_weights_that_lack_data_for_different_reasons_stay_apart() -> None:
    found = failures(bound, [weight("alpha", 2), weight("gate", 2), weight("beta", 2)], {"alpah": np.ones(2)})
    assert [each.headline for each in found] == [
        "weight `alpha` has no data and no initialiser",
        "weights `gate`, `beta` have no data and no initialiser",
    ]


SIMILAR = """\
error[ANE0401]: weight `gate_proj` has no data and no initialiser
^ declared here as `fp16[2]`
note: `w.npz` has 12 keys; similar ones are `layers.0.gate_proj.weight`, `layers.1.gate_proj.weight`, \
`layers.2.gate_proj.weight`, `layers.3.gate_proj.weight`
help: if a file has it under another name: `--map NAME=KEY`
help: a weight that is in no file needs an initialiser `= ones`; to try or measure the kernel, `--random 0` draws it"""


def test_a_weight_that_every_layer_has_is_not_taken_from_the_first() -> None:
    given = {f"layers.{layer}.{part}_proj.weight": np.ones(2) for part in ("up", "down", "gate") for layer in range(4)}
    assert text(failure(bound, [weight("gate_proj", 2)], given)) == SIMILAR


@pytest.mark.parametrize(
    ("name", "key", "expected"),
    [
        ("layers.3.gate.weight", "layers.2.gate.weight", None),
        ("layers.3.gate.weight", "layers.3.gaet.weight", "layers.3.gaet.weight"),
        ("model-00003-of-00003.safetensors", "model-00001-of-00003.safetensors", None),
        ("w1", "w2", None),
        ("norm", "norm1", None),
    ],
)
def test_another_number_is_no_slip_of_the_pen(name: str, key: str, expected: str | None) -> None:
    assert nearest_key(name, [key]) == expected


def test_a_broken_array_is_reported_at_the_weight_and_once(tmp_path: Path) -> None:
    source = open_source(npz(tmp_path / "w.npz", {"W.npy": b"nothing", "x.npy": npy()}))
    found = failure(bind, [*family("W", 3, 2), weight("x", 2, 2)], [source])
    assert (found.code, found.span) == ("ANE0412", SPAN)


@pytest.mark.parametrize("name", ["../w", "/w", "a/../../w"])
def test_a_weights_name_does_not_lead_out(name: str) -> None:
    found = failure(bound, [weight(name, 2)], {name: np.ones(2)})
    assert (found.code, found.headline) == ("ANE0415", f"the name `{name}` leads out of `the folder of weights`")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (np.array([1, None]), "Python objects"),
        (np.ones(2, complex), "elements of type complex128"),
        ("text", "elements of type <U4"),
        ([[1], [2, 3]], "a value of type list that numpy makes no array of"),
        (np.zeros(2, [("a", "f4")]), "records of several fields"),
    ],
)
def test_values_of_the_python_api_that_are_no_arrays(value: Any, found: str) -> None:
    assert failure(arrays.bind, [weight("w", 2)], {"w": value}).headline == f"the array `w` in `weights` holds {found}"


@pytest.mark.parametrize("make", [np.asfortranarray, lambda a: a.astype(">f4"), lambda a: np.repeat(a, 2, axis=1)[:, ::2]])
def test_layouts_in_memory(make: Callable[[np.ndarray], np.ndarray]) -> None:
    plain = np.arange(12, dtype=np.float32).reshape(3, 4)
    found = bound([weight("w", 3, 4, 1), weight("W[1]", 4)], {"w": make(plain), "W": make(plain)[:2]})
    assert found["w"].dtype == np.float32
    np.testing.assert_array_equal(found["w"][..., 0], plain)
    np.testing.assert_array_equal(found["W[1]"], plain[1])


def test_thousands_of_keys_are_searched_quickly() -> None:
    given = {f"model.layers.{index}.self_attn.q_proj.weight": 0 for index in range(20_000)}
    found = failure(bound, [weight("wq", 3)], given)
    assert found.code == "ANE0401"
    assert found.span is not NOWHERE
