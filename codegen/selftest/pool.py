"""A few workers that share the programs. One that crashes loses its own program only, and is replaced."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any

from anedsl.codegen.selftest.programs import Program

TIMEOUT = 300.0
"""Seconds for one program, Core ML's own limit included."""

TAIL = 600
"""Characters of what a worker wrote before it crashed."""

Row = dict[str, Any]


def run_all(
    programs: Sequence[Program],
    backend: str,
    jobs: int,
    progress: Callable[[int, str], None] = lambda done, name: None,
    *,
    command: Sequence[str] = (sys.executable, "-m", "anedsl.codegen.selftest.worker"),
    timeout: float = TIMEOUT,
) -> list[Row]:
    """The rows of all programs, in their order. `progress` is called with how many are done and the last one's name."""
    waiting: queue.SimpleQueue[tuple[int, Program]] = queue.SimpleQueue()
    for item in enumerate(programs):
        waiting.put(item)
    rows: dict[int, Row] = {}
    lock = threading.Lock()

    def finished(index: int, row: Row) -> None:
        with lock:
            rows[index] = row
            progress(len(rows), row["name"])

    # All that the workers write lies here, also what they leave when they are stopped.
    with tempfile.TemporaryDirectory(prefix="anedsl-", ignore_cleanup_errors=True) as folder:
        line = [*command, backend, str(os.getpid())]
        workers = [_Worker(line, timeout, folder) for _ in range(max(1, min(jobs, len(programs))))]
        threads = [threading.Thread(target=worker.serve, args=(waiting, finished), daemon=True) for worker in workers]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(0.2)  # Ctrl-C arrives between the waits
        finally:
            for worker in workers:
                worker.stop()
    return [rows.get(index) or _lost(program, "its worker's thread ended") for index, program in enumerate(programs)]


class _Worker:
    """A process and the thread that feeds it."""

    def __init__(self, command: Sequence[str], timeout: float, folder: str) -> None:
        self.command = command
        self.folder = folder
        self.timeout = timeout
        self.process: subprocess.Popen[str] | None = None
        self.log: IO[bytes] | None = None
        self.stopped = False

    def serve(self, waiting: queue.SimpleQueue[tuple[int, Program]], finished: Callable[[int, Row], None]) -> None:
        while not self.stopped:
            try:
                index, program = waiting.get_nowait()
            except queue.Empty:
                return
            finished(index, self._ask(program))

    def _ask(self, program: Program) -> Row:
        try:
            process = self._started()
        except OSError as error:
            self._close()
            return _lost(program, f"its process does not start: {error}")
        late = threading.Event()

        def give_up() -> None:
            late.set()
            process.kill()

        watch = threading.Timer(self.timeout, give_up)
        watch.start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(program._asdict()) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        finally:
            watch.cancel()
        if answer:
            row: Row = json.loads(answer)
            return row
        ending = _ending(process.wait(), self._tail())
        self._close()
        return _lost(program, f"took more than {self.timeout:.0f} seconds" if late.is_set() else ending)

    def _started(self) -> subprocess.Popen[str]:
        if self.process is None:
            self.log = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the process
            # Several processes share the cores: each computes with one thread.
            environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "TMPDIR": self.folder}
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment
            )
        return self.process

    def _tail(self) -> str:
        if self.log is None:
            return ""
        self.log.seek(0)
        return self.log.read().decode("utf-8", "replace").strip()[-TAIL:]

    def _close(self) -> None:
        if self.process is not None:
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    with suppress(OSError):
                        stream.close()
        if self.log is not None:
            self.log.close()
        self.process = self.log = None

    def stop(self) -> None:
        """Ends the process, which has nothing left to do."""
        self.stopped = True
        process = self.process
        if process is not None:
            process.kill()
            process.wait()
        self._close()


def _ending(code: int, tail: str) -> str:
    how = f"ended with exit code {code}"
    if code < 0:
        try:
            how = f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            how = f"was ended by signal {-code}"
    return f"its process {how}" + (f": {tail}" if tail else "")


def _lost(program: Program, problem: str) -> Row:
    return {
        "name": program.name, "kind": program.kind, "ok": False, "compiled": None, "read_back": None, "coremltools": None,
        "ran": None, "as_reference": None, "errors": None, "problem": problem, "skipped": None, "seconds": {},
    }  # fmt: skip
