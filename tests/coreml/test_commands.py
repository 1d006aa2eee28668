"""`run --backend coreml`, `bench` and `doctor`, on a pretended Mac and on this machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import anedsl
from anedsl.cli.benching import BenchRequest, bench_file
from anedsl.cli.doctor import chip, gather, show_doctor
from anedsl.cli.running import RunRequest, run_file
from anedsl.codegen.coreml import machine
from anedsl.diagnostics import Failure
from tests.coreml.conftest import COMPUTE, Compiled
from tests.coreml.scenario import MAC, REFUSAL, Mac

REQUEST = RunRequest(Path(), None, [], None, [], 0, None, [], [], "fp16", "text", backend="coreml")

PLAN = [["total", "ios18.add", "cpu", ["cpu", "ane"], 0.75], ["diff", "ios18.sub", "ane", ["cpu", "ane"], 0.25]]


def anedsl_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "anedsl", *map(str, arguments)], capture_output=True, text=True, check=False)


def run(capsys: pytest.CaptureFixture[str], **changes: Any) -> str:
    run_file(REQUEST._replace(**changes))
    return capsys.readouterr().out


def run_json(capsys: pytest.CaptureFixture[str], **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsys, format="json", **changes))
    return found


def test_a_source_is_compiled_run_and_compared(mac: Mac, pair: Compiled, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, target=pair.source)
    assert list(found["outputs"]) == ["total", "diff"]
    for output in found["outputs"].values():
        assert output["dtype"] == "float16"
        assert output["errors"]["fp64"]["max_ulp"] <= 1
        assert output["errors"]["fp16"]["max_rel"] < 1e-3
    assert "not been run on hardware" in found["note"]


def test_a_wrong_result_shows_as_an_error(mac: Mac, pair: Compiled, capsys: pytest.CaptureFixture[str]) -> None:
    mac.will({"out": COMPUTE["out"] + " + 0.5"})
    found = run_json(capsys, target=pair.source)
    for output in found["outputs"].values():
        assert output["errors"]["fp64"]["max_abs"] == pytest.approx(0.5, abs=0.01)


def test_the_table_and_the_placement(mac: Mac, pair: Compiled, capsys: pytest.CaptureFixture[str]) -> None:
    mac.will(COMPUTE, plan=PLAN)
    text = run(capsys, target=pair.source, placement=True)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "output type min max mean std max error mean error relative ulp of max to fp16"
    [note] = [line for line in lines if line.startswith("errors are")]
    assert note.partition("; the last column is ")[::2] == (
        "errors are against fp64; relative to the largest output, and in ulp of the output's type there",
        "in that ulp against the reference in fp16",
    )
    assert lines[1].startswith("total float16[1, 4, 1, 32] ")
    assert "total add 9 CPU CPU, ANE 75.0%" in lines
    assert "diff sub 10 ANE CPU, ANE 25.0%" in lines
    assert lines[-2].startswith("Core ML: compiled in ")
    assert lines[-1].startswith("anedsl's use of Core ML has not been run on hardware")


def test_an_artifact_runs_without_its_source(
    mac: Mac, pair: Compiled, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    text = run(capsys, target=pair.artifact, out=tmp_path / "out.npz")
    assert "error" not in text
    with np.load(tmp_path / "out.npz") as saved:
        assert set(saved) == {"total", "diff"}
    for changes in ({"define": ["N=8"]}, {"weights": [tmp_path / "w.npz"]}):
        with pytest.raises(typer.BadParameter):
            run(capsys, target=pair.artifact, **changes)


def test_an_earlier_macos_gets_the_dialect_that_it_takes(mac: Mac, pair: Compiled, capsys: pytest.CaptureFixture[str]) -> None:
    mac.become(MAC._replace(macos=(13, 6)))
    assert run_json(capsys, target=pair.source)["diagnostics"] == []


def test_problems_with_inputs_are_shown_at_the_authors_lines(mac: Mac, pair: Compiled, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", a=np.ones((1, 4, 1, 32)), b=np.ones((1, 4, 1, 31)), c=np.ones((1, 4, 1, 32)))
    with pytest.raises(Failure, match=r"pair\.ane:3:") as failure:
        run_file(REQUEST._replace(target=pair.source, random=None, inputs=tmp_path / "in.npz"))
    assert [diagnostic.code for diagnostic in failure.value.diagnostics] == ["ANE0503"]


def test_a_refusal_by_the_ane_ends_the_command(mac: Mac, pair: Compiled) -> None:
    mac.will(COMPUTE, stderr={"load": REFUSAL}, happens={"predict": "SIGKILL"})
    with pytest.raises(Failure, match="the ANE's compiler refuses `pair`"):
        run_file(REQUEST._replace(target=pair.source))


def test_an_output_that_core_ml_may_garble_is_warned_of(mac: Mac, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "ragged.ane"
    source.write_text("kernel ragged { input x: fp16[1, 8, 1, 20]\n output y: fp16[1, 8, 1, 20]\n y = x * 2 }\n")
    mac.will({"y": "x * 2"})
    found = run_json(capsys, target=source)
    assert any("multiple of 32" in str(diagnostic) for diagnostic in found["diagnostics"])
    assert found["outputs"]["y"]["errors"]["fp64"]["max_abs"] == 0


def test_the_numerics_are_the_hardwares(mac: Mac, pair: Compiled) -> None:
    with pytest.raises(typer.BadParameter, match="as the hardware does"):
        run_file(REQUEST._replace(target=pair.source, numerics="fp64"))
    with pytest.raises(typer.BadParameter, match="as the hardware does"):
        bench_file(BenchRequest(REQUEST._replace(target=pair.source, numerics="fp32"), 1, 0))


def test_a_kernel_that_is_not_in_the_artifact_is_refused(mac: Mac, pair: Compiled, capsys: pytest.CaptureFixture[str]) -> None:
    assert "total" in run_json(capsys, target=pair.artifact, kernel="pair")["outputs"]
    with pytest.raises(Failure, match="has no kernel `other`"):
        run_file(REQUEST._replace(target=pair.artifact, kernel="other"))


@pytest.mark.skipif(sys.platform == "darwin", reason="this is about other machines")
@pytest.mark.parametrize("command", ["run", "bench"])
def test_on_this_machine_the_reference_is_proposed(command: str, tmp_path: Path) -> None:
    done = anedsl_command(command, tmp_path / "nothing.ane", "--backend", "coreml")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error[ANE0520]: Core ML cannot run here: it needs macOS 13 or later, and this is ")
    assert "run it with `--backend reference`" in done.stderr


def bench(capsys: pytest.CaptureFixture[str], runs: int = 4, **changes: Any) -> str:
    bench_file(BenchRequest(REQUEST._replace(**changes), runs, 1))
    return capsys.readouterr().out


def test_a_bench_of_the_reference(pair: Compiled, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(bench(capsys, target=pair.source, backend="reference", format="json"))
    wall = found["times"]["wall"]
    assert wall["runs"] == 4
    assert 0 < wall["min"] <= wall["median"] <= wall["p90"]
    assert found["flops"] == 3 * 128
    assert found["flops_per_second"]["wall"] == pytest.approx(384 / wall["median"])
    assert "this machine's CPU" in found["note"]
    assert found["numerics"] == "fp16"


def test_a_bench_by_core_ml_has_two_clocks(mac: Mac, pair: Compiled, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(bench(capsys, target=pair.source, format="json"))
    assert found["times"]["coreml"]["median"] == 250e-6
    assert found["flops_per_second"]["coreml"] == pytest.approx(384 / 250e-6)
    assert mac.stages.count("again") == 5
    text = bench(capsys, target=pair.artifact)
    assert [line.split()[:3] for line in text.splitlines()[1:3]] == [["pair", "wall", "time"], ["pair", "Core", "ML's"]]
    assert "not been run on hardware" in text


def test_the_flops_are_those_of_the_manifest(pair: Compiled, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(bench(capsys, target=pair.source, backend="reference", format="json"))
    assert found["flops"] == json.loads((pair.artifact / "kernel.json").read_text())["flops"]


def test_the_doctor_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['anedsl', 'doctor']\n"
        "from anedsl.cli.doctor import show_doctor; show_doctor('json')\n"
        "sys.exit(not {'numpy', 'coremltools', 'torch'}.isdisjoint(sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_the_doctor_of_a_mac(mac: Mac, pair: Compiled, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, target=pair.artifact)
    facts = gather()
    assert facts["anedsl"] == anedsl.__version__
    assert facts["platform"]["macos"] == "15.1"
    assert facts["libraries"] == {"libcoremlpython": True, "libmilstoragepython": True}
    assert facts["cache"]["compiled_models"] == 1
    assert facts["cache"]["bytes"] > 1000
    assert facts["backends"]["coreml"]["available"] is True
    assert "not run on hardware" in facts["backends"]["coreml"]["note"]
    show_doctor("text")
    assert "macOS 15.1, arm64" in capsys.readouterr().out


def test_the_doctor_says_why_a_backend_is_missing(mac: Mac, capsys: pytest.CaptureFixture[str]) -> None:
    mac.become(MAC._replace(coremltools=None, libraries=frozenset()))
    show_doctor("text")
    text = capsys.readouterr().out
    assert "not available: coremltools is not installed" in text
    assert "backend reference    available" in text


def test_the_doctor_works_without_a_cache(mac: Mac, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANEDSL_CACHE", "")
    assert gather()["cache"] == {"folder": None, "bytes": 0, "compiled_models": 0, "compiled_models_limit": 4 << 30}


@pytest.mark.skipif(sys.platform == "darwin", reason="this is about other machines")
def test_the_doctor_of_this_machine() -> None:
    done = anedsl_command("doctor", "--format", "json")
    facts = json.loads(done.stdout)
    assert facts["platform"]["system"] == sys.platform
    assert facts["packages"]["numpy"] == np.__version__
    assert facts["backends"]["coreml"]["available"] is False
    assert chip() is None


def test_an_unknown_chip_is_no_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(subprocess, "run", lambda command, **options: subprocess.CompletedProcess(command, 0, "Apple M3 Pro\n"))
    assert chip() == "Apple M3 Pro"

    def refuse(command: list[str], **options: object) -> None:
        raise FileNotFoundError(command[0])

    monkeypatch.setattr(subprocess, "run", refuse)
    assert chip() is None


@pytest.mark.parametrize(("text", "version"), [("15.1", (15, 1)), ("14.4.1", (14, 4, 1)), ("26.0", (26, 0)), ("", ())])
def test_versions_of_macos(monkeypatch: pytest.MonkeyPatch, text: str, version: tuple[int, ...]) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr("platform.mac_ver", lambda: (text, ("", "", ""), "arm64"))
    assert machine.macos_version() == version
