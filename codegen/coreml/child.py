"""Starts the worker, waits for it, and says how it ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from anedsl.codegen.coreml import log
from anedsl.codegen.coreml.worker import STAGES, numbered
from anedsl.data import Array

_SHELL_SIGNAL = 128
"""A shell, or a launcher in between, gives 128 + the signal's number."""


class Ending(NamedTuple):
    """How a worker ended.

    `reply` is None where it left none, `killed` says by what it was ended, `stage` is what it did last, `log` is all that
    it and Apple's frameworks wrote.
    """

    reply: dict[str, Any] | None
    outputs: dict[str, Array]
    killed: str | None
    timed_out: bool
    stage: str
    log: str


def call(folder: Path, request: Mapping[str, Any], inputs: Mapping[str, Array], timeout: float) -> Ending:
    """Runs the worker on a request in a private folder, for `timeout` seconds at most."""
    content = {**request, "inputs": list(inputs)}
    (folder / "request.json").write_text(json.dumps(content), encoding="utf-8")
    np.savez(folder / "inputs.npz", **numbered(inputs))
    code = _wait(folder, timeout)
    reply = _reply(folder)
    killed = None if code is None or reply is not None else _ending(code)
    outputs = {} if reply is None or "error" in reply else _outputs(folder, reply)
    return Ending(reply, outputs, killed, code is None, _stage(folder), log.read(folder / "log"))


def _wait(folder: Path, timeout: float) -> int | None:
    """The exit code; None where the time was over."""
    # -P: a file of the current folder must not stand in for a module.
    command = [sys.executable, "-P", "-m", "anedsl.codegen.coreml.worker", str(folder)]
    with (folder / "log").open("wb") as output:
        # A session of its own: what Core ML starts is ended with it.
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            return process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.returncode is None:
                _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        process.kill()
    process.wait()


def _reply(folder: Path) -> dict[str, Any] | None:
    try:
        content = json.loads((folder / "reply.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _outputs(folder: Path, reply: Mapping[str, Any]) -> dict[str, Array]:
    with np.load(folder / "outputs.npz", allow_pickle=False) as arrays:
        return {name: arrays[str(number)] for number, name in enumerate(reply["outputs"])}


def _stage(folder: Path) -> str:
    try:
        found = (folder / "stage").read_text(encoding="utf-8")
    except OSError:
        found = ""
    return found if found in STAGES else STAGES[0]


def _ending(code: int) -> str:
    number = -code if code < 0 else code - _SHELL_SIGNAL
    try:
        return f"was ended by {signal.Signals(number).name}"
    except ValueError:
        return f"ended with exit code {code} and left no reply"
