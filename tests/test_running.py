"""Runs on the reference: overflow that an output hides, promised ranges, numbers about errors, and the commands' texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anedsl import frontend
from anedsl.diagnostics import Diagnostic, Sink
from anedsl.elaborate.modules import load_text
from anedsl.running import random_inputs, run
from anedsl.statistics import errors
from tests.errors.command import anedsl

HIDDEN = """\
kernel k {
    input x: fp16[1, 4, 1, 8]
    output y
    h = x * 300
    s = reduce_sum(h * h, axes = [1], keep_dims = true)
    y = x * rsqrt(s)
}
"""

MASKED = """\
kernel k {
    input x: fp16[1, 4, 1, 8]
    output y
    m = 1 / relu(x)
    y = exp(x) + exp(0 - m)
}
"""


def warnings_of(text: str, x: Any, numerics: str = "fp16", ask: bool = True) -> list[Diagnostic]:
    """What a run of the first kernel says, after one in fp64 if it is `ask`ed to look for overflow."""
    module = load_text(text)
    graph = frontend.build(module, next(iter(module.kernels)), {}, Sink()).graph
    inputs = {"x": np.broadcast_to(np.asarray(x, np.float64), graph.inputs[0].value.type.shape)}
    sink = Sink()
    run(graph, inputs, numerics, sink, run(graph, inputs, "fp64", Sink()) if ask else None)
    return sink.diagnostics


def test_overflow_that_no_output_shows_is_found() -> None:
    (found,) = warnings_of(HIDDEN, [1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5])
    assert found.code == "ANE0510"
    assert found.headline == "`mul` at line 5 overflows fp16 in 16 values"
    assert found.span.text == "h * h"
    assert found.note_texts == ["the largest number of fp16 is 65504 (rule N1); output `y` is wrong by 100% of its largest value"]


def test_one_value_is_not_called_values() -> None:
    (found,) = warnings_of(HIDDEN.replace("1, 4, 1, 8", "1, 1, 1, 1"), 1)
    assert found.headline == "`mul` at line 5 overflows fp16 in 1 value"


@pytest.mark.parametrize(
    ("numerics", "ask", "x"), [("fp16", True, 0.25), ("fp16", False, 1), ("fp32", True, 1), ("fp64", True, 1)]
)
def test_nothing_is_said_of_overflow(numerics: str, ask: bool, x: float) -> None:
    assert warnings_of(HIDDEN, x, numerics, ask) == []


def test_a_mask_is_infinite_on_purpose() -> None:
    """The result of `exp` overflows, that of the division has its infinities in fp64 as well."""
    (found,) = warnings_of(MASKED, [-1] * 7 + [12])
    assert found.headline == "`exp` at line 5 overflows fp16 in 4 values"
    assert found.note_texts[0].endswith("output `y` is not finite where it should be")


BRANCHES = """\
kernel k {
    input x: fp16[1, 4, 1, 8]
    output a, b, c, d, e
    a = exp(x)
    b = a * 2
    c = x * x * 10000
    d = 1 / relu(x)
    e = d + a
}
"""


def test_each_overflow_is_said_once_of_all_outputs_that_it_reaches() -> None:
    """`a` and `b` by `exp`, `c` by a `mul`; `d` and `e` are infinite in fp64 as well."""
    found = warnings_of(BRANCHES, [-1] * 7 + [12])
    assert [(each.code, each.headline) for each in found] == [
        ("ANE0510", "`exp` at line 4 overflows fp16 in 4 values"),
        ("ANE0510", "`mul` at line 6 overflows fp16 in 4 values"),
        ("ANE0505", "output `d` has 28 non-finite values"),
        ("ANE0505", "output `e` has 32 non-finite values"),
    ]
    assert found[0].note_texts[0].partition("; ")[2] == (
        "output `a` is not finite where it should be, output `b` is not finite where it should be, "
        "output `e` is not finite where it should be"
    )
    assert found[2].note_texts == ["the first value out of range is the result of `real_div`"]
    assert found[3].note_texts == ["the first value out of range is the result of `exp`"]


def test_of_many_outputs_three_are_named() -> None:
    text = "kernel k {\n input x: fp16[1, 4, 1, 8]\n output a, b, c, d, e\n a = exp(x)\n b = a\n c = a\n d = a\n e = a\n}\n"
    (found,) = warnings_of(text, 12)
    assert found.note_texts[0].endswith("output `c` is not finite where it should be, 2 more are wrong")


def test_one_value_that_is_not_finite_is_not_called_values() -> None:
    found = warnings_of("kernel k {\n input x: fp16[1, 1, 1, 1]\n output y\n y = x / x\n}\n", 0)
    assert [each.headline for each in found] == ["output `y` has 1 non-finite value"]
    found = warnings_of("kernel k {\n input x: fp16[1, 1, 1, 1]\n output y\n y = x * 0\n}\n", 1e6)
    assert found[0].headline == "input `x` has 1 value too large for fp16"


def test_no_op_is_blamed_for_an_input_that_is_infinite() -> None:
    found = warnings_of(HIDDEN, 1e6)
    assert [each.code for each in found][:1] == ["ANE0506"]
    assert "ANE0510" not in [each.code for each in found]


def test_a_large_error_without_overflow_is_not_remarked() -> None:
    assert warnings_of("kernel k {\n input x: fp16[1, 4, 1, 8]\n output y\n y = (x + 4096) - 4096\n}\n", 0.4) == []


RANGE = "kernel k {\n    input x: fp16[1, 4, 1, 8] in [-0.1, 1]\n    output y\n    y = x + 1\n}\n"


@pytest.mark.parametrize(
    ("x", "headline", "worst"),
    [
        ([0] * 7 + [2], "4 values of input `x` are not in [-0.1, 1]", "2"),
        ([-3] + [0] * 6 + [2], "8 values of input `x` are not in [-0.1, 1]", "-3"),
        ([0] * 7 + [np.nan], "4 values of input `x` are not in [-0.1, 1]", "nan"),
    ],
)
def test_values_outside_the_promised_range(x: list[float], headline: str, worst: str) -> None:
    found = next(each for each in warnings_of(RANGE, x) if each.code == "ANE0511")
    assert found.headline == headline
    assert found.label_text == f"its range is promised here; the farthest value is {worst}"
    assert found.span.source.position(found.span.start)[0] == 2


def test_one_value_outside() -> None:
    (found,) = warnings_of(RANGE.replace("1, 4, 1, 8", "1, 1, 1, 1"), 1.5)
    assert found.headline == "1 value of input `x` is not in [-0.1, 1]"


@pytest.mark.parametrize("x", [-0.1, float(np.float16(-0.1)), 1, 0])
def test_the_bounds_belong_to_the_range_also_when_rounded(x: float) -> None:
    assert warnings_of(RANGE, x) == []


@pytest.mark.parametrize("bounds", ["[-0.1, 1]", "[0.3, 0.7]", "[-7.7, -3.3]"])
def test_random_inputs_are_in_their_range(bounds: str) -> None:
    module = load_text(RANGE.replace("[-0.1, 1]", bounds).replace("1, 4, 1, 8", "1, 64, 1, 512"))
    graph = frontend.build(module, "k", {}, Sink()).graph
    sink = Sink()
    run(graph, random_inputs(graph, 0), "fp16", sink)
    assert sink.diagnostics == []


def test_ulp_are_those_of_the_largest_value() -> None:
    exact = np.array([1000.0, 1e-6])
    found = errors(np.array([1000.5, 2e-6], np.float16), exact)
    assert found["max_ulp"] == pytest.approx(1.0)
    assert found["mean_ulp"] == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(("exact", "ulp"), [(1e6, 32.0), (65504.0, 32.0), (1.0, 2.0**-10), (0.0, 2.0**-24)])
def test_ulp_at_the_ends_of_fp16(exact: float, ulp: float) -> None:
    found = errors(np.zeros(1, np.float16) + np.float16(1), np.array([exact]))
    assert found["max_ulp"] == pytest.approx(abs(exact - 1) / ulp)


def test_integers_have_no_ulp() -> None:
    assert errors(np.array([1], np.int32), np.array([1.0]))["max_ulp"] is None


# The commands.

TWO = """\
kernel a {
    input x: fp16[1, 4, 1, 32]
    weight wa: fp16[1, 4, 1, 1]
    output y
    y = x * wa
}

kernel b {
    input x: fp16[1, 4, 1, 32]
    weight wb: fp16[1, 4, 1, 1]
    weight wc: fp16[1, 4, 1, 1]
    output y
    y = x * wb * wc
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "two.ane").write_text(TWO)
    (tmp_path / "hidden.ane").write_text(HIDDEN.replace("1, 8]", "1, 32]"))
    np.savez(tmp_path / "w.npz", WA=np.ones(4), other=np.ones(4))
    np.savez(tmp_path / "x.npz", x=np.ones((1, 4, 1, 32)))
    return tmp_path


def headlines(*arguments: str, folder: Path) -> list[str]:
    """Code and headline of every diagnostic of a command."""
    diagnostics = json.loads(anedsl(*arguments, "--format", "json", folder=folder).out)["diagnostics"]
    return [f"{each['code']}: {each['message']}" for each in diagnostics]


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ("wx=WA", "ANE0404: `--map wx=WA` names no weight of the kernel"),
        ("v*=WA", "ANE0425: `--map 'v*=WA'` has 1 `*` on the left and 0 on the right"),
        ("wa=W", "ANE0405: no file has the key `W`"),
    ],
)
def test_a_broken_map_shows_though_weights_are_missing(folder: Path, mapping: str, said: str) -> None:
    found = headlines("compile", "two.ane", "--map", mapping, "--weights", "w.npz", folder=folder)
    assert found[0] == said
    assert found[-1] == "ANE0401: weights `wb`, `wc` have no data and no initialiser"
    assert not (folder / "build").exists()


def test_a_map_may_speak_of_one_kernel_of_several(folder: Path) -> None:
    found = headlines("compile", "two.ane", "--map", "wa=WA", "--weights", "w.npz", "--random", "0", folder=folder)
    assert found == []


def test_a_file_that_no_kernel_uses_is_remarked_once(folder: Path) -> None:
    for command in (["compile", "two.ane"], ["run", "two.ane", "a"]):
        found = headlines(*command, "--weights", "w.npz", "--random", "0", folder=folder)
        assert found == ["ANE0428: no array of `w.npz` is used"]


def test_the_summary_counts_in_the_singular(folder: Path) -> None:
    lines = anedsl("compile", "two.ane", "--random", "0", "--emit", "mil", folder=folder).out.splitlines()
    assert ": 1 op, " in lines[0]
    assert ", 1 weight (" in lines[0]
    assert ": 2 ops, " in lines[1]
    assert ", 2 weights (" in lines[1]


def test_a_run_names_the_op_that_overflows(folder: Path) -> None:
    result = anedsl("run", "hidden.ane", "--inputs", "x.npz", folder=folder)
    assert result.code == 0
    assert "warning[ANE0510]: `mul` at line 5 overflows fp16 in 128 values" in result.err
    assert result.out.splitlines()[0].endswith("relative  ulp of max")
    assert (
        result.out.splitlines()[-1]
        == "errors are against fp64; relative to the largest output, and in ulp of the output's type there"
    )
