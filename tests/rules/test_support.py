"""What is known of each op, and what follows from it on a route."""

from __future__ import annotations

import pytest

from anedsl.ops import OPS
from anedsl.rules import support
from anedsl.rules.support import SUPPORT, instead, verdict


def test_an_op_that_runs_everywhere() -> None:
    assert support("add") == {
        "op": "add",
        "chips": dict.fromkeys(("m1", "m2", "m3", "m4", "m5"), "native"),
        "e5": "ok",
        "e5_error": 0.00033,
        "inmemory": "runs",
        "verdict": {"inmemory": "works", "coreml": "works"},
        "instead": None,
    }


def test_an_op_that_some_chips_lack() -> None:
    assert support("topk")["chips"] == {"m1": "walled", "m2": "native", "m3": "native", "m4": "native", "m5": "native"}


def test_an_op_that_no_source_has_tried() -> None:
    found = support("no_such_op")
    assert (found["chips"], found["e5"], found["verdict"]) == ({}, "", {"inmemory": "unknown", "coreml": "unknown"})


@pytest.mark.parametrize(
    ("op", "inmemory", "coreml"),
    [
        ("conv", "works", "works"),  # not tried in memory, runs on e5
        ("identity", "works", "works"),  # walled on e5, runs in memory
        ("avg_pool", "refused", "works"),  # refused in memory only
        ("reduce_prod", "refused", "refused"),
        ("acosh", "refused", "refused"),  # walled on every chip, tried nowhere
        ("cumsum", "disputed", "works"),  # native by the tables, refused by the sweep
        ("neg", "refused", "unknown"),  # no op of Core ML
    ],
)
def test_the_verdict_of_each_route(op: str, inmemory: str, coreml: str) -> None:
    assert support(op)["verdict"] == {"inmemory": inmemory, "coreml": coreml}


def test_the_table_is_sorted_and_whole() -> None:
    assert list(SUPPORT) == sorted(SUPPORT)
    assert len(SUPPORT) > 150
    for found in SUPPORT.values():
        assert len(found.chips) == 4
        assert set(found.chips) <= set("nbw-")
        assert found.e5 in {"ok", "unchecked", "refused", ""}
        assert found.inmemory in {"runs", "compiles", "mixed", "refused", ""}


def test_what_replaces_an_op_is_said_for_refused_ops_only() -> None:
    replaced = [op for op in SUPPORT if instead(op)]
    assert len(replaced) > 10
    assert {verdict(op, "inmemory") for op in replaced} == {"refused"}


def test_nearly_every_op_of_the_language_is_known() -> None:
    assert [op for op in OPS if verdict(op, "inmemory") == "unknown"] == []
