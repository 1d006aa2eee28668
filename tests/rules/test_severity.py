"""One rule, several targets: where it is an error, a warning or nothing, and what the notes then say."""

from __future__ import annotations

import pytest

from anedsl.diagnostics import Failure
from anedsl.rules import CHIPS, FAMILIES, Target, check
from anedsl.rules.record import chip_names
from anedsl.types import FP16
from tests.rules.cases import halves, pack, relu, typed
from tests.rules.maker import Build, Maker, checked, of_rule

LONG = relu(1, 8, 1, 20000)
WRONG = halves(32, 64)


def severities(build: Build, rule: str, route: str = "inmemory") -> dict[str | None, list[str]]:
    return {chip: [d.severity for d in of_rule(checked(build, Target(chip, route)), rule)] for chip in (None, *CHIPS)}


def test_a_rule_of_some_chips_is_an_error_there_and_a_warning_without_a_chip() -> None:
    expected = {None: ["warning"], "m1": ["error"], "m2": ["error"], "m3": ["error"], "m4": [], "m5": []}
    assert severities(LONG, "D3") == expected
    assert severities(LONG, "D3b") == {chip: [] for chip in expected}


def test_what_no_chip_takes_is_an_error_without_a_chip() -> None:
    found = severities(relu(1, 8, 1, 70000), "D3b")
    assert found == {None: ["error"], "m1": [], "m2": [], "m3": [], "m4": ["error"], "m5": ["error"]}
    assert severities(relu(1, 8, 1, 70000), "D3")["m1"] == ["error"]


def test_through_core_ml_a_refused_op_is_a_warning_and_wrong_numbers_are_an_error() -> None:
    assert severities(LONG, "D3", "coreml")["m1"] == ["warning"]
    assert severities(WRONG, "O39", "coreml")["m1"] == ["error"]


def test_contradictory_evidence_is_a_warning_that_says_so() -> None:
    for target in (Target(), Target("m1"), Target("m1", "coreml")):
        [diagnostic] = of_rule(checked(typed("sin", FP16), target), "G2")
        assert diagnostic.severity == "warning"
        assert "the sources contradict each other, so this is a warning only" in diagnostic.note_texts


def test_the_notes_of_a_warning_without_a_chip() -> None:
    [diagnostic] = of_rule(checked(LONG, Target()), "D3")
    rule, where = diagnostic.note_texts
    assert rule == (
        "rule D3: axes other than the channel axis (width, height, depth) are at most 16384 on M1, M2 and M3 "
        "(evidence A: sbryngelson/ane-guide ch. 4, ncdrone/rustane issue 13, jafreck/ironmill)"
    )
    assert where == "this holds on M1 to M3 only; `--chip` checks for one chip"
    assert diagnostic.help_texts == ["move the length to the channel axis, or split the tensor"]


def test_the_notes_through_core_ml() -> None:
    [diagnostic] = of_rule(checked(LONG, Target("m1", "coreml")), "D3")
    assert diagnostic.note_texts[1:] == ["Core ML then runs the op on the CPU or GPU"]


def test_each_route_has_rules_of_its_own() -> None:
    ragged = relu(1, 32, 1, 48)
    rules = {route: {d.rule for d in checked(ragged, Target(route=route))} for route in ("inmemory", "coreml")}  # type: ignore[attr-defined]
    assert rules == {"inmemory": {"S8"}, "coreml": {"C10"}}


@pytest.mark.parametrize(
    ("target", "headline", "note"),
    [
        (Target("m6"), "unknown chip `m6`", "the chips are m1, m2, m3, m4, m5"),
        (Target(route="coremal"), "unknown route `coremal`", "the routes are inmemory, coreml"),
    ],
)
def test_an_unknown_target_is_refused(target: Target, headline: str, note: str) -> None:
    with pytest.raises(Failure) as failure:
        check(Maker().graph(), target)
    [diagnostic] = failure.value.diagnostics
    assert (diagnostic.headline, diagnostic.note_texts) == (headline, [note])


def test_the_chips_and_their_families() -> None:
    assert [FAMILIES[chip] for chip in CHIPS] == [2, 3, 4, 5, 5]
    assert [chip_names(chips) for chips in (("m1",), ("m1", "m2"), ("m1", "m2", "m3"), ("m1", "m2", "m4"))] == [
        "M1", "M1 and M2", "M1 to M3", "M1, M2 and M4",
    ]  # fmt: skip


def test_packing_along_the_channels_is_silent_everywhere() -> None:
    for chip in (None, *CHIPS):
        assert checked(pack(1), Target(chip)) == []
