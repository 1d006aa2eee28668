"""`anedsl bench`: how long a kernel takes, on the reference executor or by Core ML."""

from __future__ import annotations

import platform
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from anedsl.cli import common, output
from anedsl.cli.running import RunRequest, load_program, read_inputs
from anedsl.diagnostics import Diagnostic, Failure, Sink

if TYPE_CHECKING:
    from anedsl.graph import Graph


class BenchRequest(NamedTuple):
    """`run` is what `anedsl run` would be asked; `runs` are timed after `warm_up` others."""

    run: RunRequest
    runs: int
    warm_up: int


class Measured(NamedTuple):
    """`times` has a spread for each clock; `flops` are those of one run, None where only the compiled program is at hand."""

    kernel: str
    times: dict[str, dict[str, Any]]
    flops: int | None
    note: str
    diagnostics: list[Diagnostic]


def bench_file(request: BenchRequest) -> None:
    """Times a kernel and shows the median and the spread; inputs that are not given are random."""
    run = request.run
    output.set_style(run.format)
    if run.random is not None and run.random < 0:
        raise typer.BadParameter("the seed is not negative", param_hint="--random")
    files = common.pairs("-i", run.input)
    run = run._replace(random=0 if run.random is None else run.random)
    measured = (_coreml if run.backend == "coreml" else _reference)(request._replace(run=run), files)
    _report(request, measured)


def _reference(request: BenchRequest, files: dict[str, str]) -> Measured:
    from anedsl.codegen.coreml.timing import spread
    from anedsl.reference.executor import execute
    from anedsl.running import check_inputs

    run = request.run
    sink = Sink()
    program = load_program(run, sink)
    graph = program.graph
    arrays = check_inputs(graph, read_inputs(run, files, graph), run.numerics, sink)
    wall = []
    for number in range(request.warm_up + request.runs):
        began = time.perf_counter_ns()
        execute(graph, arrays, run.numerics)
        if number >= request.warm_up:
            wall.append(time.perf_counter_ns() - began)
    note = (
        f"the reference executor in {run.numerics}, numpy on this machine's CPU ({platform.machine()}): "
        "it says nothing about the speed of an ANE"
    )
    return Measured(graph.name, {"wall": spread(wall)}, flops(graph), note, sink.diagnostics)


def _coreml(request: BenchRequest, files: dict[str, str]) -> Measured:
    from anedsl.cli.on_coreml import NOT_RUN_ON_HARDWARE, check_numerics, prepare_target, require, target_inputs
    from anedsl.codegen.coreml.interface import open_interface
    from anedsl.codegen.coreml.runner import execute

    require()
    run = request.run
    check_numerics(run)
    sink = Sink()
    with tempfile.TemporaryDirectory(prefix="anedsl-") as folder:
        target = prepare_target(run, Path(folder), sink)
        inputs = target_inputs(run, files, target)
        options = {"units": run.units, "timeout": run.timeout, "runs": request.runs, "warm_up": request.warm_up}
        try:
            result = execute(target.path, inputs, graph=target.graph, **options)
        except Failure as failure:
            raise Failure(*sink.diagnostics, *failure.diagnostics) from None
        kernel = open_interface(target.path).kernel
    for found in result.diagnostics.diagnostics:
        sink.add(found)
    note = f"Core ML, told to use {run.units}; a prediction holds the copies of its inputs and outputs. {NOT_RUN_ON_HARDWARE}"
    count = None if target.graph is None else flops(target.graph)
    return Measured(kernel, result.times or {}, count, note, sink.diagnostics)


def flops(graph: Graph) -> int:
    """The arithmetic operations of one run, as the manifest counts them: a multiply-add is two."""
    from anedsl.graph import call_of

    return sum(node.op.flops(call_of(node), [value.type for value in node.results]) for node in graph.operations)


def _report(request: BenchRequest, measured: Measured) -> None:
    from anedsl.codegen.coreml.timing import duration

    rates = {
        clock: None if not measured.flops or not times["median"] else measured.flops / times["median"]
        for clock, times in measured.times.items()
    }
    if request.run.format == output.JSON:
        output.print_json(
            {
                "kernel": measured.kernel,
                "backend": request.run.backend,
                "numerics": request.run.numerics if request.run.backend == "reference" else None,
                "warm_up": request.warm_up,
                "times": measured.times,
                "flops": measured.flops,
                "flops_per_second": rates,
                "note": measured.note,
                "diagnostics": output.diagnostics_json(measured.diagnostics),
            }
        )
        return
    output.show(measured.diagnostics)
    lines = [["kernel", "clock", "runs", "median", "p10", "p90", "min", "FLOPs", "FLOP/s"]]
    for clock, times in measured.times.items():
        rate, count = rates[clock], measured.flops
        lines.append(
            [
                measured.kernel,
                {"wall": "wall time", "coreml": "Core ML's own"}.get(clock, clock),
                str(times["runs"]),
                *(duration(times[key]) for key in ("median", "p10", "p90", "min")),
                "-" if count is None else output.quantity(count),
                "-" if rate is None else output.quantity(rate),
            ]
        )
    sys.stdout.write(output.table(lines, frozenset(range(2, 9))))
    sys.stdout.write(f"{measured.note}\n")
