"""One program of the self-test, and what is found wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anedsl.codegen.selftest import job
from anedsl.codegen.selftest.job import run_program
from anedsl.codegen.selftest.programs import Program
from anedsl.graph import Graph
from tests.coreml.scenario import Mac

GOOD = Program(
    "good", "kernel", "kernel k { input x: fp16[1, 64, 1, 64]; weight w: fp16[1, 64, 1, 1]; output y; y = tanh(x * w) }"
)


@pytest.fixture
def no_coremltools(monkeypatch: pytest.MonkeyPatch) -> None:
    """coremltools takes seconds to import; its reader has a test of its own."""
    from anedsl.codegen.selftest import coremltools_reader

    def missing() -> None:
        raise ImportError("no coremltools")

    monkeypatch.setattr(coremltools_reader, "_modules", missing)


def test_a_good_program(no_coremltools: None) -> None:
    row = run_program(GOOD, "reference")
    assert row["problem"] is None
    assert [row[key] for key in ("ok", "compiled", "read_back", "ran", "as_reference")] == [True] * 5
    assert row["coremltools"] == "skipped: no coremltools"
    assert 0 < row["errors"]["y"]["max_abs"] < 1e-2
    assert set(row["seconds"]) == {"compile", "read", "coremltools", "run"}


@pytest.mark.slow
def test_coremltools_reads_the_same_ops() -> None:
    assert run_program(GOOD, "reference")["coremltools"] == "equal"


def test_types_that_packages_do_not_take(no_coremltools: None) -> None:
    row = run_program(Program("bool", "kernel", "kernel k { input x: fp16[4]; output y; y = x > 0 }"), "reference")
    assert (row["ok"], row["as_reference"], row["coremltools"]) == (True, True, "skipped: no package")


def test_a_mistake_in_the_text() -> None:
    row = run_program(Program("bad", "kernel", "kernel k { output y; y = z }"), "reference")
    assert (row["ok"], row["compiled"]) == (False, None)
    assert row["problem"].startswith("ANE0201: unknown name `z`")


def test_a_fault_of_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(graph: Graph, *rest: Any) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(job, "prepare", fails)
    row = run_program(GOOD, "reference")
    assert (row["ok"], row["problem"]) == (False, "internal error: ZeroDivisionError: oops")


@pytest.mark.parametrize("wrong", [lambda y: y + 1, lambda y: y * np.nan, lambda y: y[:, :1]])
def test_a_wrong_result(wrong: Any, no_coremltools: None, monkeypatch: pytest.MonkeyPatch) -> None:
    true = job.run
    calls = []

    def run(*arguments: Any) -> dict[str, Any]:
        calls.append(arguments)
        found = true(*arguments)
        # The third run is that of the artifact.
        return {"y": wrong(found["y"])} if len(calls) == 3 else found

    monkeypatch.setattr(job, "run", run)
    row = run_program(GOOD, "reference")
    assert (row["ok"], row["ran"]) == (False, True)
    assert "`y`" in row["problem"]


def test_another_program_that_is_read_back(no_coremltools: None, monkeypatch: pytest.MonkeyPatch) -> None:
    true = job.prepare

    def other(graph: Graph, *rest: Any) -> Any:
        found = true(graph, *rest)
        changed = Graph("k", found.graph.inputs, found.graph.inputs, ())
        return found._replace(graph=changed)

    monkeypatch.setattr(job, "prepare", other)
    row = run_program(GOOD, "reference")
    assert (row["ok"], row["read_back"]) == (False, False)
    assert row["problem"] == "it reads back as another program"


SUM = Program("sum", "kernel", "kernel k { input x: fp16[1, 64, 1, 64]; output y; y = x + 1 }")


@pytest.mark.parametrize(("compute", "ok"), [("x + 1", True), ("(x + 1) * 1.001", True), ("x + 2", False)])
def test_core_ml_is_given_some_tolerance(compute: str, ok: bool, mac: Mac, no_coremltools: None) -> None:
    mac.will({"y": compute})
    row = run_program(SUM, "coreml")
    assert (row["ok"], row["ran"]) == (ok, True)
    assert row["as_reference"] is (compute == "x + 1")
    assert row["problem"] == (None if ok else "`y` is wrong")


def test_what_core_ml_cannot_be_given_is_skipped(mac: Mac, no_coremltools: None) -> None:
    row = run_program(Program("bool", "kernel", "kernel k { input x: fp16[4]; output y; y = x > 0 }"), "coreml")
    assert (row["ok"], row["ran"], row["problem"]) == (True, None, None)
    assert row["skipped"].startswith("ANE0433: ")
