"""Compiles variants, in this process or in several.

Each process reads the source file and the headers of the weight files once. Ctrl-C is for the parent alone, which then
asks its processes to stop: what they are writing is removed, and artifacts from before stay as they are.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context, parent_process
from threading import Thread, main_thread
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from anedsl import frontend
from anedsl.cli import common, compiling
from anedsl.cli.compiling import Request
from anedsl.cli.variants import Variant
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.weights.unused import uses, watched

if TYPE_CHECKING:
    from anedsl.codegen.artifact import Artifact
    from anedsl.weights import Declared
    from anedsl.weights.unused import Use

ALONE = 0.5
"""Seconds of work after which more processes are worth their start, unless `-j` says how many there are."""

PATIENCE = 10.0
"""Seconds after which a process whose parent has gone is ended even if its main thread does not answer."""


class Outcome(NamedTuple):
    """What became of a variant.

    `mapped` are the names in `--map` that it knows, `declared` its weights if there are any such. Where weights were given,
    `taken` are the keys of each source that it used, and `weights` what became of its weights.
    """

    artifact: Artifact | None
    diagnostics: list[Diagnostic]
    mapped: Sequence[str] = ()
    declared: Sequence[Declared] = ()
    taken: Sequence[set[str]] = ()
    weights: Sequence[Use] = ()


class Compiler:
    """What the variants of one compile share in a process."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.options = compiling.options(request)._replace(compared=True)
        self.mapping = common.pairs("--map", request.map)
        self.module = frontend.load_file(request.file)
        self.sources = watched(common.open_weights(request.weights))

    def compile(self, variant: Variant) -> Outcome:
        """Writes the artifact of a variant, or says why it cannot."""
        from anedsl.codegen.artifact import write

        warnings: list[Diagnostic] = []
        before = [set(source.taken) for source in self.sources]
        try:
            program, warnings = compiling.build(
                self.request, self.module, variant.kernel, variant.given, self.sources, self.mapping
            )
            options = self.options._replace(variant=variant.own or None, folder=variant.folder)
            artifact = write(program.graph, program.sha256, options, self.request.out)
        except Failure as failure:
            return Outcome(None, [*warnings, *failure.diagnostics])
        mapped = list(compiling.own_mapping(self.mapping, program))
        declared = frontend.weight_declarations(program.weights) if self.mapping else []
        # Only what is new: variants take mostly the same keys.
        taken = [source.taken - known for source, known in zip(self.sources, before, strict=True)]
        weights = uses(weight.data for weight in program.weights if weight.used) if self.sources else []
        return Outcome(artifact, [*warnings, *artifact.warnings], mapped, declared, taken, weights)


def compile_all(compiler: Compiler, plan: Sequence[Variant]) -> Generator[tuple[int, Outcome], None, None]:
    """The outcome of every variant and its place in the plan, in the order in which they end.

    Without `-j` few small variants are compiled here, since processes take longer to start. Raises ANE0452 if one dies.
    """
    request = compiler.request
    jobs = request.jobs or _cores()
    deadline = time.monotonic() + (ALONE if request.jobs is None else 0.0)
    first = 0
    while first < len(plan) and (min(jobs, len(plan) - first) == 1 or time.monotonic() < deadline):
        yield first, compiler.compile(plan[first])
        first += 1
    if first < len(plan):
        yield from _in_processes(request, plan, first, min(jobs, len(plan) - first))


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _in_processes(request: Request, plan: Sequence[Variant], first: int, jobs: int) -> Generator[tuple[int, Outcome], None, None]:
    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_begin, initargs=(request,))
    try:
        # A process starts with the parent's mask: Ctrl-C never reaches it, not even while it is importing.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            places = {pool.submit(_compile, plan[index]): index for index in range(first, len(plan))}
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        left: set[Future[Outcome]] = set(places)
        while left:
            done, left = wait(left, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=places.__getitem__):
                yield places[future], future.result()
    except BrokenProcessPool:
        _stop(pool)
        from anedsl.diagnostics.variants import ProcessEnded

        raise Failure(ProcessEnded()) from None
    except BaseException:
        _stop(pool)
        raise
    pool.shutdown()


def _stop(pool: ProcessPoolExecutor) -> None:
    """Ends the processes of a pool, and waits for them."""
    pool.shutdown(wait=False, cancel_futures=True)
    for child in active_children():
        child.terminate()
    pool.shutdown()


# In the processes.


class _Process:
    """The state of a process of the pool."""

    compiler: Compiler | None = None
    request: Request
    abandon: Callable[[], None]


def _begin(request: Request) -> None:
    # Loaded before a signal can come: it might come in the middle of this import.
    from anedsl.codegen.folder import abandon

    _Process.request = request
    _Process.abandon = abandon
    signal.signal(signal.SIGTERM, _on_stop)
    Thread(target=_watch_parent, daemon=True).start()


def _on_stop(*_: object) -> NoReturn:
    """Ends the process, without an exception: that could come where it is lost, in a callback or in the pool's own code."""
    _Process.abandon()
    os._exit(1)


def _compile(variant: Variant) -> Outcome:
    if _Process.compiler is None:
        _Process.compiler = Compiler(_Process.request)
    return _Process.compiler.compile(variant)


def _watch_parent() -> None:
    """Ends the process when its parent has gone: the pool's queue would keep it waiting for ever."""
    parent = parent_process()
    if parent is None:
        return
    parent.join()
    signal.pthread_kill(main_thread().ident or 0, signal.SIGTERM)
    # The main thread acts on it as soon as it is back in Python; a system call on a slow disk may keep it.
    time.sleep(PATIENCE)
    _on_stop()
