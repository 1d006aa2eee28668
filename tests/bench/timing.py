"""Measures child processes, in turn with what they are compared with.

A process that measures stays small and imports neither numpy nor coremltools: on Linux the peak memory of a child is
never less than what its parent had when it started it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 5
"""How often the two sides of a comparison are run in turn, after one run of each that is not counted."""

MB = 1e6

# Without it a checkout is compiled to bytecode at every run; an installed package has its bytecode.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Usage(NamedTuple):
    """What a process took: seconds of wall time, and bytes of memory at its peak."""

    seconds: float
    peak: int


class Comparison(NamedTuple):
    """Two things measured in turn: `ours[i]` just before `theirs[i]`."""

    ours: list[Usage]
    theirs: list[Usage]

    @property
    def ratios(self) -> list[float]:
        return [a.seconds / b.seconds for a, b in zip(self.ours, self.theirs, strict=True)]


def run(command: Sequence[str | Path]) -> Usage:
    """Runs a command in the project's folder. Ends the benchmark with what the command said if it fails."""
    with tempfile.TemporaryFile() as said:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, env=_ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            said.seek(0)
            sys.exit(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{said.read().decode(errors='replace')}")
    return Usage(seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))


def compare(ours: Callable[[], Usage], theirs: Callable[[], Usage], rounds: int = ROUNDS) -> Comparison:
    """Measures two things in turn, so that what else the machine does falls on both."""
    ours(), theirs()
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    return Comparison([a for a, _ in pairs], [b for _, b in pairs])


def typical(usages: Sequence[Usage]) -> Usage:
    """The median of the times and that of the peaks."""
    return Usage(median(usage.seconds for usage in usages), int(median(usage.peak for usage in usages)))


def show(names: tuple[str, str], found: Comparison, limit: float) -> None:
    """Prints both sides and the median of the ratios of neighbours, judged against the limit."""
    width = max(map(len, names))
    for name, usages in zip(names, found, strict=True):
        usage = typical(usages)
        times = [one.seconds for one in usages]
        print(f"  {name:<{width}}  {usage.seconds:8.3f} s ({min(times):.3f} to {max(times):.3f}), peak {usage.peak / MB:7.1f} MB")
    ratios = found.ratios
    judge("ratio of times", median(ratios), limit, f"{min(ratios):.4f} to {max(ratios):.4f}")


def judge(what: str, value: float, limit: float, detail: str = "") -> None:
    """Prints a measure and whether it is within its limit."""
    verdict = "PASS" if value <= limit else "FAIL"
    print(f"  {verdict}  {what}: {value:.4g}, at most {limit:.4g}" + (f"  ({detail})" if detail else ""), flush=True)


def anedsl(python: str = sys.executable) -> list[str]:
    """The command `anedsl` of an environment."""
    script = Path(python).parent / "anedsl"
    return [str(script)] if script.exists() else [python, "-m", "anedsl"]
