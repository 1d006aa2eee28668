"""Everything that may go wrong in Core ML's process is a diagnostic, and leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from anedsl.codegen.coreml.runner import execute
from anedsl.diagnostics import Diagnostic, Failure
from tests.coreml.conftest import COMPUTE, Compiled
from tests.coreml.scenario import MAC, REFUSAL, Mac

INPUTS = {name: np.ones((1, 4, 1, 32)) for name in "abc"}


def failure_of(pair: Compiled, **options: object) -> Diagnostic:
    with pytest.raises(Failure) as failure:
        execute(pair.artifact, INPUTS, **options)
    (diagnostic,) = failure.value.diagnostics
    return diagnostic


def test_a_kill_in_the_first_prediction_after_a_refusal(mac: Mac, pair: Compiled) -> None:
    mac.will(COMPUTE, stderr={"load": REFUSAL}, happens={"predict": "SIGKILL"})
    found = failure_of(pair)
    assert found.code == "ANE0523"
    assert found.headline == "the ANE's compiler refuses `pair`: the run was ended by SIGKILL in the first prediction"
    assert "ANECCompile() FAILED" in found.note_texts[0]
    assert "anedsl check" in found.help_texts[0]


def test_a_refusal_that_core_ml_raises(mac: Mac, pair: Compiled) -> None:
    mac.will(COMPUTE, stderr={"load": REFUSAL}, happens={"load": "Failed to build the\n  execution plan"})
    found = failure_of(pair)
    assert found.code == "ANE0523"
    assert found.headline.endswith("stopped while it loaded the compiled model: Failed to build the execution plan")


def test_a_refusal_that_core_ml_works_around_is_a_warning(mac: Mac, pair: Compiled) -> None:
    mac.will(COMPUTE, stderr={"load": 3 * REFUSAL})
    result = execute(pair.artifact, INPUTS)
    (warning,) = result.diagnostics.diagnostics
    assert (warning.code, warning.severity) == ("ANE0524", "warning")
    assert warning.note_texts[0].count("ANECCompile() FAILED") == 1
    np.testing.assert_array_equal(result.outputs["total"], np.full((1, 4, 1, 32), 2.0))


@pytest.mark.parametrize(
    ("stage", "happens", "headline"),
    [
        ("predict", "SIGKILL", "Core ML's process was ended by SIGKILL in the first prediction"),
        ("load", "SIGABRT", "Core ML's process was ended by SIGABRT while it loaded the compiled model"),
        ("compile", "exit", "Core ML's process ended with exit code 7 and left no reply while it compiled the package"),
        ("import", "SIGSEGV", "Core ML's process was ended by SIGSEGV while it loaded coremltools"),
    ],
)
def test_a_crash_says_how_and_where(mac: Mac, pair: Compiled, stage: str, happens: str, headline: str) -> None:
    mac.will(COMPUTE, happens={stage: happens}, stderr={stage: "something else\nlibc++abi: terminating\n"})
    found = failure_of(pair)
    assert (found.code, found.headline) == ("ANE0525", headline)
    assert found.note_texts == ["it wrote: libc++abi: terminating"]
    assert bool(found.help_texts) == (stage == "predict")


@pytest.mark.parametrize(
    ("stage", "headline"),
    [
        ("compile", "Core ML refuses `pair` while it compiled the package: bad program"),
        ("predict", "Core ML refuses `pair` in the first prediction: bad program"),
        ("import", "Core ML refuses `pair` while it loaded coremltools: bad program"),
    ],
)
def test_an_error_that_coremltools_raises(mac: Mac, pair: Compiled, stage: str, headline: str) -> None:
    mac.will(COMPUTE, happens={stage: "bad program"})
    found = failure_of(pair)
    assert (found.code, found.headline) == ("ANE0527", headline)


def wait_for_the_first_prediction(mac: Mac) -> None:
    until = time.monotonic() + 60
    while "predict" not in mac.stages and time.monotonic() < until:
        time.sleep(0.02)
    assert mac.stages[-1] == "predict"


def test_a_hang_is_ended_when_the_time_is_over(mac: Mac, pair: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    processes = []

    class Hurried(subprocess.Popen[bytes]):
        """Counts the time from the first prediction on, however slow the machine is."""

        def wait(self, timeout: float | None = None) -> int:
            if timeout is not None:
                processes.append(self)
                wait_for_the_first_prediction(mac)
                timeout = 0.2
            return super().wait(timeout)

    monkeypatch.setattr(subprocess, "Popen", Hurried)
    mac.will(COMPUTE, happens={"predict": "hang"}, stderr={"predict": "E5RT: still compiling\n"})
    found = failure_of(pair, timeout=100)
    assert found.code == "ANE0526"
    assert found.headline == "Core ML did not finish within 100 s: it was stopped in the first prediction"
    assert found.note_texts == ["it wrote: E5RT: still compiling"]
    assert found.help_texts[0] == "give it more time with `--timeout 400`"
    assert [process.returncode for process in processes] == [-signal.SIGKILL]


def is_running(process: int) -> bool:
    """Not counting a process that has ended and waits to be noticed."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return done.stdout.strip() not in ("", "Z", "Zs", "Z+", "ZN")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_ended_leaves_no_process(mac: Mac, pair: Compiled, ending: signal.Signals) -> None:
    mac.will(COMPUTE, happens={"predict": "hang"})
    code = (
        "import sys; from pathlib import Path\n"
        "from anedsl.codegen.coreml import machine, runner\n"
        f"machine.this_machine = lambda: machine.Machine(*{tuple(MAC)!r})\n"
        "import numpy as np\n"
        "runner.execute(Path(sys.argv[1]), {name: np.ones((1, 4, 1, 32)) for name in 'abc'})\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(pair.artifact)], stderr=subprocess.DEVNULL)
    wait_for_the_first_prediction(mac)
    worker = mac.calls[-1]["process"]
    parent.send_signal(ending)
    assert parent.wait(20) != 0
    until = time.monotonic() + 20
    while is_running(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not is_running(worker)
    # Of a parent that was killed the next run after a day clears up.
    assert bool(list(mac.cache.glob(".job-*"))) == (ending == signal.SIGKILL)


@pytest.mark.parametrize(
    ("compute", "found"),
    [
        ({"other": "c"}, "no such output, but `other`"),
        ({}, "no such output, but nothing"),
        ({"out": "c"}, "an array of shape [1, 4, 1, 32]"),
        ({"out": "np.zeros((1, 8, 1, 32), np.int32)"}, "int32 values"),
    ],
)
def test_an_output_that_is_not_as_declared(mac: Mac, pair: Compiled, compute: dict[str, str], found: str) -> None:
    mac.will(compute)
    diagnostic = failure_of(pair)
    assert diagnostic.code == "ANE0529"
    assert diagnostic.headline == f"Core ML gave for output `out` {found}; the program declares `fp16[1, 8, 1, 32]`"


def test_objects_are_never_unpickled(mac: Mac, pair: Compiled) -> None:
    mac.will({"out": "np.array([object()], dtype=object)"})
    found = failure_of(pair)
    assert found.code == "ANE0527"
    assert "not an array of numbers" in found.headline


def test_after_any_failure_the_cache_holds_no_working_folder(mac: Mac, pair: Compiled) -> None:
    mac.will(COMPUTE, happens={"predict": "SIGKILL"})
    failure_of(pair)
    assert [path.suffix for path in mac.cache.iterdir()] == [".mlmodelc"]


def test_a_compile_that_fails_leaves_no_entry(mac: Mac, pair: Compiled) -> None:
    mac.will(COMPUTE, happens={"compile": "bad program"})
    failure_of(pair)
    assert list(mac.cache.iterdir()) == []


def test_a_file_of_the_current_folder_does_not_stand_in_for_a_module(
    mac: Mac, pair: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "trap"
    trap.mkdir()
    for name in ("coremltools", "json", "numpy"):
        (trap / f"{name}.py").write_text("raise SystemExit('a stranger')\n")
    monkeypatch.chdir(trap)
    assert set(execute(pair.artifact, INPUTS).outputs) == {"total", "diff"}


def test_a_cache_that_cannot_be_written_is_no_obstacle(
    mac: Mac, pair: Compiled, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("anedsl.codegen.coreml.cache.os.access", lambda path, mode: False)
    assert set(execute(pair.artifact, INPUTS).outputs) == {"total", "diff"}
    assert list(mac.cache.iterdir()) == []


def test_no_room_for_files_is_a_diagnostic(mac: Mac, pair: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("anedsl.codegen.coreml.child.np.savez", refuse)
    found = failure_of(pair)
    assert (found.code, found.headline) == ("ANE0528", "cannot write what a run by Core ML needs: no space left on device")
