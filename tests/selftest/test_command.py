"""`anedsl selftest`: the report, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from anedsl.cli.selftest import SelftestRequest, run_selftest
from anedsl.codegen.selftest import pool
from tests.processes import alive, children, waited

PLAIN = SelftestRequest("reference", None, None, None, 1, "json")
ROOT = Path(__file__).parents[2]


def rows(programs: Any, *rest: Any, **more: Any) -> list[dict[str, Any]]:
    """As if each program had been run: those with an `x` in their name fail, those with a `q` are skipped."""
    return [
        {"name": p.name, "kind": p.kind, "ok": "x" not in p.name, "skipped": "ANE0430: too new" if "q" in p.name else None,
         "problem": "it is wrong" if "x" in p.name else None, "as_reference": True, "coremltools": "equal"}
        for p in programs
    ]  # fmt: skip


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "run_all", rows)


def test_the_report(pretended: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_selftest(PLAIN._replace(only="op-reduce_m[ei]*", out=tmp_path / "report.json"))
    found = json.loads((tmp_path / "report.json").read_text())
    assert json.loads(capsys.readouterr().out) == found
    assert [row["name"] for row in found["programs"]] == ["op-reduce_mean", "op-reduce_min"]
    assert found["summary"] == {"programs": 2, "passed": 2, "skipped": 0, "failed": 0}
    assert (found["format"], found["backend"]) == ("anedsl-selftest", "reference")
    assert {"anedsl", "python", "platform", "packages"} <= found["machine"].keys()


def test_failures_are_shown_and_end_with_1(pretended: None, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ending:
        run_selftest(PLAIN._replace(only="op-*", format="text"))
    assert ending.value.exit_code == 1
    out = capsys.readouterr().out
    assert "op-exp " in out
    assert "failed   it is wrong" in out
    assert "skipped  ANE0430: too new" in out
    assert "op-add" not in out
    assert " failed on reference, in 0 s\n" in out


def test_a_pattern_that_matches_nothing(pretended: None) -> None:
    with pytest.raises(typer.BadParameter, match="no program is called 'nothing'"):
        run_selftest(PLAIN._replace(only="nothing"))


def test_examples_of_a_folder(pretended: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.ane").write_text("kernel mine(N = 4) { input x: fp16[N]; output y; y = x + 1 }")
    run_selftest(PLAIN._replace(only="own-*", examples=tmp_path))
    assert json.loads(capsys.readouterr().out)["programs"][0]["name"] == "own-mine"
    with pytest.raises(typer.BadParameter, match="is no folder"):
        run_selftest(PLAIN._replace(examples=tmp_path / "missing"))


@pytest.mark.slow
def test_everything_passes_on_this_machine(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "anedsl", "selftest", "-j", "2", "-o", str(tmp_path / "report.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    report = json.loads((tmp_path / "report.json").read_text())
    assert [row for row in report["programs"] if not row["ok"]] == []
    # Some ops are written as several, which round each for itself.
    assert sum(not row["as_reference"] for row in report["programs"]) < 10
    assert report["summary"]["programs"] > 170
    assert all(row["coremltools"] == "equal" for row in report["programs"])
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_it_is_ended_it_ends_its_workers(kill: signal.Signals, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "anedsl", "selftest", "-j", "2", "--only", "op-*"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert waited(lambda: len(children(process.pid)) == 2 and bool(list(tmp_path.glob("anedsl-*/anedsl-*"))))
        workers = children(process.pid)
        if kill == signal.SIGINT:
            os.killpg(process.pid, kill)  # as a terminal does
        else:
            process.send_signal(kill)
        said = process.communicate(timeout=30)
        assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[kill]
        assert said == (b"", b"")
        assert waited(lambda: not any(map(alive, workers)))
    finally:
        process.kill()
    if kill != signal.SIGKILL:
        assert os.listdir(tmp_path) == []
