"""Processes that a test looks at from outside."""

from __future__ import annotations

import subprocess
import time


def children(process: int) -> list[int]:
    found = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    rows = [tuple(map(int, row.split())) for row in found.stdout.splitlines()]
    return [pid for pid, parent in rows if parent == process]


def alive(process: int) -> bool:
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False)
    return found.stdout.strip()[:1] not in ("", "Z")


def waited(condition: object, seconds: float = 30) -> bool:
    assert callable(condition)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.02)
    return False
