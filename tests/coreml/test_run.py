"""A run by Core ML, as far as it can be told without a Mac: a fake coremltools in the child process."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from anedsl.codegen import coreml
from anedsl.codegen.coreml.runner import execute
from anedsl.diagnostics import Failure
from tests.coreml.conftest import COMPUTE, Compiled
from tests.coreml.scenario import MAC, Mac

RANDOM = np.random.default_rng(0)
A, B, C = (RANDOM.uniform(-1, 1, (1, 4, 1, 32)).astype(np.float16) for _ in range(3))
INPUTS = {"a": A, "b": B, "c": C}


def codes(failure: pytest.ExceptionInfo[Failure]) -> list[str]:
    return [diagnostic.code for diagnostic in failure.value.diagnostics]


def expected() -> dict[str, np.ndarray]:
    a, b, c = (array.astype(np.float32) for array in (A, B, C))
    return {"total": (a + b * c).astype(np.float16), "diff": (a - b).astype(np.float16)}


@pytest.mark.parametrize("target", ["artifact", "package"])
def test_logical_inputs_are_packed_and_outputs_unpacked(mac: Mac, pair: Compiled, target: str) -> None:
    outputs = coreml.run(getattr(pair, target), INPUTS)
    assert list(outputs) == ["total", "diff"]
    for name, want in expected().items():
        assert outputs[name].dtype == np.float16
        np.testing.assert_array_equal(outputs[name], want)


def test_core_ml_gets_float32_surfaces_in_their_shapes(mac: Mac, pair: Compiled) -> None:
    coreml.run(pair.artifact, INPUTS)
    (call,) = (call for call in mac.calls if call["stage"] == "predict")
    assert call["inputs"] == {"inp": ["float32", [1, 8, 1, 32]], "c": ["float32", [1, 4, 1, 32]]}


def test_a_whole_surface_may_be_given(mac: Mac, pair: Compiled) -> None:
    outputs = coreml.run(pair.artifact, {"inp": np.concatenate([A, B], axis=1), "c": C})
    np.testing.assert_array_equal(outputs["total"], expected()["total"])
    with pytest.raises(Failure) as failure:
        coreml.run(pair.artifact, {"inp": A, "c": C})
    (found,) = failure.value.diagnostics
    assert found.headline == "pack `inp` has shape [1, 4, 1, 32], the kernel wants [1, 8, 1, 32]"
    assert found.note_texts == ["it holds `a` [1, 4, 1, 32], `b` [1, 4, 1, 32], one behind the other along axis 1"]


def test_a_package_alone_has_the_names_of_its_features(mac: Mac, pair: Compiled, tmp_path: Path) -> None:
    alone = tmp_path / "alone.mlpackage"
    shutil.copytree(pair.package, alone)
    outputs = coreml.run(alone, {"inp": np.concatenate([A, B], axis=1), "c": C})
    assert list(outputs) == ["out"]
    assert outputs["out"].dtype == np.float16
    np.testing.assert_array_equal(outputs["out"][:, 4:], expected()["diff"])
    with pytest.raises(Failure) as failure:
        coreml.run(alone, INPUTS)
    assert set(codes(failure)) == {"ANE0501", "ANE0502"}


def test_problems_with_inputs_are_found_before_core_ml_is_called(mac: Mac, pair: Compiled) -> None:
    with pytest.raises(Failure) as failure:
        coreml.run(pair.artifact, {"a": A[:, :2], "c": C, "bb": B})
    assert sorted(codes(failure)) == ["ANE0501", "ANE0502", "ANE0503"]
    with pytest.raises(Failure) as failure:
        coreml.run(pair.artifact, {"inp": A, "c": C})
    assert codes(failure) == ["ANE0503"]
    assert mac.calls == []


def test_only_the_neural_engine_and_the_cpu_are_used_unless_told_otherwise(mac: Mac, pair: Compiled) -> None:
    coreml.run(pair.artifact, INPUTS)
    coreml.run(pair.artifact, INPUTS, units="cpu_only")
    assert [call["units"] for call in mac.calls if call["stage"] == "load"] == ["CPU_AND_NE", "CPU_ONLY"]
    with pytest.raises(Failure) as failure:
        coreml.run(pair.artifact, INPUTS, units="cpu_onyl")
    assert codes(failure) == ["ANE0531"]
    assert failure.value.diagnostics[0].help_texts[0] == "did you mean `cpu_only`?"


@pytest.mark.parametrize(("version", "hints"), [((14, 7), False), ((15, 0), True), ((26, 1), True)])
def test_hints_are_given_only_where_macos_takes_them(
    mac: Mac, pair: Compiled, tmp_path: Path, version: tuple[int, ...], hints: bool
) -> None:
    import anedsl

    artifact = anedsl.load(pair.source).compile(tmp_path / "old", dialect="1.0").path
    mac.become(MAC._replace(macos=version))
    coreml.run(artifact, INPUTS)
    assert [call["hints"] for call in mac.calls if call["stage"] == "load"] == [hints]


def test_names_that_python_uses_itself_are_no_trouble(mac: Mac, tmp_path: Path) -> None:
    import anedsl

    source = tmp_path / "odd.ane"
    source.write_text("kernel odd { input file: fp16[8]\n output args: fp16[8]\n args = file * 2 }\n")
    artifact = anedsl.load(source).compile(tmp_path / "build").path
    mac.will({"args": "inputs['file'] * 2"})
    outputs = coreml.run(artifact, {"file": np.arange(8)})
    np.testing.assert_array_equal(outputs["args"], np.arange(8) * 2.0)


def test_times_have_a_middle_and_a_spread(mac: Mac, pair: Compiled) -> None:
    result = execute(pair.artifact, INPUTS, runs=5, warm_up=2)
    assert result.times is not None
    assert result.times["coreml"] == {"runs": 5, "median": 250e-6, "p10": 250e-6, "p90": 250e-6, "min": 250e-6}
    wall = result.times["wall"]
    assert wall["runs"] == 5
    assert 0 < wall["min"] <= wall["p10"] <= wall["median"] <= wall["p90"]
    assert mac.stages.count("predict") == 1
    assert mac.stages.count("again") == 7
    assert {"import", "compile", "load", "predict", "time"} <= set(result.seconds)


def test_where_core_ml_gives_no_duration_the_clock_remains(mac: Mac, pair: Compiled) -> None:
    mac.will(COMPUTE, nanoseconds=None)
    result = execute(pair.artifact, INPUTS, runs=3)
    assert result.times is not None
    assert list(result.times) == ["wall"]


def test_values_that_are_not_finite_are_warned_of(mac: Mac, pair: Compiled) -> None:
    mac.will({"out": "np.full((1, 8, 1, 32), 1e30, np.float32)"})
    result = execute(pair.artifact, INPUTS)
    assert [diagnostic.code for diagnostic in result.diagnostics.diagnostics] == ["ANE0505", "ANE0505"]
    assert np.isinf(result.outputs["total"]).all()
