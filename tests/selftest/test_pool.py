"""Workers share the programs, and one that crashes loses its own program only."""

from __future__ import annotations

import sys
import time

from anedsl.codegen.selftest.pool import run_all
from anedsl.codegen.selftest.programs import Program

WORKER = """
import json, os, signal, sys, time
for line in sys.stdin:
    name = json.loads(line)["name"]
    if name == "crash":
        print("about to crash", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "exit":
        os._exit(3)
    if name == "sleep":
        time.sleep(60)
    print(json.dumps({"name": name, "kind": "test", "ok": True, "pid": os.getpid()}), flush=True)
"""
COMMAND = (sys.executable, "-c", WORKER)


def programs(*names: str) -> list[Program]:
    return [Program(name, "test") for name in names]


def test_rows_come_in_the_order_of_the_programs() -> None:
    seen: list[tuple[int, str]] = []
    names = [f"p{index}" for index in range(20)]
    rows = run_all(programs(*names), "reference", 2, lambda done, name: seen.append((done, name)), command=COMMAND)
    assert [row["name"] for row in rows] == names
    assert [done for done, _ in seen] == list(range(1, 21))
    assert 1 <= len({row["pid"] for row in rows}) <= 2


def test_a_crash_loses_one_program() -> None:
    rows = run_all(programs("a", "crash", "b", "exit", "c"), "reference", 1, command=COMMAND)
    assert [row["ok"] for row in rows] == [True, False, True, False, True]
    assert rows[1]["problem"] == "its process was ended by SIGKILL: about to crash"
    assert rows[3]["problem"] == "its process ended with exit code 3"
    assert len({rows[index]["pid"] for index in (0, 2, 4)}) == 3


def test_a_program_that_takes_too_long_is_ended() -> None:
    start = time.monotonic()
    rows = run_all(programs("a", "sleep", "b"), "reference", 1, command=COMMAND, timeout=1.0)
    assert [row["ok"] for row in rows] == [True, False, True]
    assert rows[1]["problem"] == "took more than 1 seconds"
    assert time.monotonic() - start < 20


def test_a_worker_that_does_not_start() -> None:
    rows = run_all(programs("a", "b"), "reference", 2, command=("/nonexistent/worker",))
    assert all("does not start" in row["problem"] for row in rows)


def test_no_programs() -> None:
    assert run_all([], "reference", 2, command=COMMAND) == []
