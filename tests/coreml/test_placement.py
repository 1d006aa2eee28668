"""The placement report: fall-backs first, the author's lines, and honest about what a plan is."""

from __future__ import annotations

import numpy as np
import pytest

import anedsl
from anedsl.codegen.artifact import Options, prepare
from anedsl.codegen.coreml.lines import result_lines
from anedsl.codegen.coreml.placement import placement, table
from anedsl.codegen.coreml.runner import execute
from tests.coreml.conftest import COMPUTE, Compiled
from tests.coreml.scenario import MAC, Mac

INPUTS = {name: np.ones((1, 4, 1, 32)) for name in "abc"}

PLAN = [
    ["begin_0", "const", None, [], None],
    ["a", "ios18.slice_by_size", "ane", ["cpu", "gpu", "ane"], 0.1],
    ["b", "ios18.slice_by_size", "ane", ["cpu", "ane"], 0.1],
    ["mul_0", "ios18.mul", "cpu", ["cpu", "ane"], 0.2],
    ["total", "ios18.add", "ane", ["cpu", "ane"], 0.1],
    ["diff", "ios18.sub", "gpu", ["cpu", "gpu"], 0.3],
    ["out", "ios18.concat", "ane", ["cpu", "ane"], None],
]

REPORT = """\
result  op             line  planned on  supported by   cost
diff    sub            10    GPU         CPU, GPU       30.0%
mul_0   mul            9     CPU         CPU, ANE       20.0%
a       slice_by_size  -     ANE         CPU, GPU, ANE  10.0%
b       slice_by_size  -     ANE         CPU, ANE       10.0%
total   add            9     ANE         CPU, ANE       10.0%
out     concat         -     ANE         CPU, ANE       -
4 ops on ANE (30.0% of the estimated cost), 1 op on GPU (30.0% of the estimated cost), \
1 op on CPU (20.0% of the estimated cost); a plan is Core ML's prediction
"""


def test_the_report(mac: Mac, pair: Compiled) -> None:
    mac.will(COMPUTE, plan=PLAN)
    found = execute(pair.artifact, INPUTS, placement=True, lines={"mul_0": 9, "total": 9, "diff": 10}).placement
    assert found is not None
    assert table(found) == REPORT
    assert [op.name for op in found.fallbacks] == ["diff", "mul_0"]


def test_a_plan_without_a_fall_back_says_so(mac: Mac, pair: Compiled) -> None:
    mac.will(COMPUTE, plan=[[*row[:2], row[2] and "ane", *row[3:]] for row in PLAN])
    found = execute(pair.artifact, INPUTS, placement=True).placement
    assert found is not None
    assert found.as_json()["fallbacks"] == []
    assert table(found).splitlines()[-2:] == [
        "no op is planned elsewhere than on the ANE",
        "6 ops on ANE (80.0% of the estimated cost); a plan is Core ML's prediction",
    ]


def test_the_report_as_data(mac: Mac, pair: Compiled) -> None:
    mac.will(COMPUTE, plan=PLAN)
    found = execute(pair.artifact, INPUTS, placement=True, lines={"diff": 10}).placement
    assert found is not None
    data = found.as_json()
    assert data["totals"]["CPU"] == {"ops": 1, "cost": 0.2}
    assert data["fallbacks"] == ["diff", "mul_0"]
    assert data["ops"][0] == {
        "name": "diff", "op": "sub", "line": 10, "device": "GPU", "supported": ["CPU", "GPU"], "cost": 0.3,
    }  # fmt: skip


def test_without_the_option_no_plan_is_made(mac: Mac, pair: Compiled) -> None:
    assert execute(pair.artifact, INPUTS).placement is None
    assert "plan" not in mac.stages


@pytest.mark.parametrize(
    ("plan", "happens", "reason"),
    [
        (PLAN, {"plan": "no such plan"}, "RuntimeError: no such plan"),
        (None, {}, "the model is no ML program"),
        ([["x", "ios16.mul", None, [], None]], {}, "Core ML names no device for any op"),
    ],
)
def test_a_plan_that_is_not_there_costs_no_outputs(
    mac: Mac, pair: Compiled, plan: list[list[object]] | None, happens: dict[str, str], reason: str
) -> None:
    mac.will(COMPUTE, plan=plan, happens=happens)
    result = execute(pair.artifact, INPUTS, placement=True)
    (warning,) = result.diagnostics.diagnostics
    assert (warning.code, warning.headline) == ("ANE0530", f"there is no placement report: {reason}")
    assert set(result.outputs) == {"total", "diff"}


def test_an_earlier_macos_has_no_plans(mac: Mac, pair: Compiled) -> None:
    artifact = anedsl.load(pair.source).compile(pair.artifact.parent / "old", dialect="1.0").path
    mac.become(MAC._replace(macos=(14, 3)))
    (warning,) = execute(artifact, INPUTS, placement=True).diagnostics.diagnostics
    assert warning.headline == "there is no placement report: it needs macOS 14.4 or later, and this is macOS 14.3"
    assert "plan" not in mac.stages


def test_a_decompressed_weight_is_no_op_of_the_ane() -> None:
    found = placement([{"name": "x", "op": "mul", "device": None, "supported": [], "cost": None}])
    assert found.totals == {"unknown": {"ops": 1, "cost": None}}
    assert found.fallbacks == ()


def test_every_op_of_a_program_has_the_line_of_its_equation(pair: Compiled) -> None:
    emission = prepare(anedsl.load(pair.source).graph, Options())
    lines = result_lines(emission)
    assert lines["diff"] == 10
    assert lines["total"] == 9
    assert set(lines) == {statement.results[0][0] for statement in emission.program.statements if hasattr(statement, "results")}
