"""`anedsl run --backend coreml`. Written without a Mac: docs/running-on-a-mac.md says what to check and to report."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from anedsl.cli import output, usage
from anedsl.diagnostics import Diagnostic, Failure, Sink

if TYPE_CHECKING:
    from anedsl.cli.running import RunRequest
    from anedsl.codegen.coreml.runner import Result
    from anedsl.graph import Graph

NOT_RUN_ON_HARDWARE = "anedsl's use of Core ML has not been run on hardware by its authors: see docs/running-on-a-mac.md"


class Target(NamedTuple):
    """What to run: a path that Core ML's runner takes, the kernel if its source is at hand, and lines by result name."""

    path: Path
    graph: Graph | None
    lines: dict[str, int]


def require() -> None:
    """Raises ANE0520 where Core ML cannot run: before anything is read, compiled or written."""
    from anedsl.codegen.coreml import machine

    machine.require(machine.this_machine())


def prepare_target(request: RunRequest, folder: Path, sink: Sink) -> Target:
    """A source file is compiled into `folder`, for this macOS; a folder or a package is taken as compiled."""
    if request.target.is_dir() or request.target.suffix.lower() in (".mil", ".mlpackage"):
        usage.refuse({"-D": request.define, "--weights": request.weights, "--map": request.map}, usage.COMPILED)
        _check_kernel(request)
        return Target(request.target, None, {})
    from anedsl.cli.common import rule_diagnostics
    from anedsl.cli.running import load_program
    from anedsl.codegen.artifact import Options, prepare, write
    from anedsl.codegen.coreml.lines import result_lines
    from anedsl.codegen.coreml.machine import this_machine

    program = load_program(request, sink)
    dialect = "1.3" if this_machine().macos >= (15,) else "1.0"
    options = Options(dialect=dialect, route="coreml", emit=frozenset({"mlpackage"}))
    for found in rule_diagnostics(program.graph, None, "coreml"):
        # On this route nothing is refused: what the ANE cannot take runs elsewhere.
        if found.severity == "warning":
            sink.add(found)
    artifact = write(program.graph, program.sha256, options, folder)
    for warning in artifact.warnings:
        sink.add(warning)
    return Target(artifact.path, program.graph, result_lines(prepare(program.graph, options)))


def _check_kernel(request: RunRequest) -> None:
    """A package has one kernel for Core ML. Raises ANE0235 where another one is named."""
    if request.kernel is None:
        return
    from anedsl.codegen.coreml.interface import open_interface

    found = open_interface(request.target).kernel
    if request.kernel != found:
        from anedsl.diagnostics.names import UnknownKernel

        raise Failure(UnknownKernel(path=str(request.target), name=request.kernel, known=f"`{found}`"))


def check_numerics(request: RunRequest) -> None:
    if request.numerics != "fp16":
        raise typer.BadParameter("Core ML computes as the hardware does; only the reference can choose", param_hint="--numerics")


def target_inputs(request: RunRequest, files: dict[str, str], target: Target) -> dict[str, Any]:
    """Arrays by logical name, read or made as for the reference executor."""
    from anedsl.cli.running import read_inputs
    from anedsl.codegen.coreml.interface import open_interface, port_graph

    return read_inputs(request, files, target.graph or port_graph(open_interface(target.path)))


def run_on_coreml(request: RunRequest, files: dict[str, str]) -> None:
    """Compiles the kernel if it is source, runs it, saves and shows its outputs, errors and placement."""
    require()
    check_numerics(request)
    from anedsl.codegen.coreml.compare import compare
    from anedsl.codegen.coreml.runner import execute

    sink = Sink()
    with tempfile.TemporaryDirectory(prefix="anedsl-") as folder:
        target = prepare_target(request, Path(folder), sink)
        inputs = target_inputs(request, files, target)
        try:
            result = execute(
                target.path,
                inputs,
                graph=target.graph,
                units=request.units,
                placement=request.placement,
                timeout=request.timeout,
                lines=target.lines,
            )
        except Failure as failure:
            raise Failure(*sink.diagnostics, *failure.diagnostics) from None
    for found in result.diagnostics.diagnostics:
        sink.add(found)
    errors = None if target.graph is None else compare(target.graph, inputs, result.outputs)
    if request.out is not None:
        from anedsl.cli.running import save

        save(request.out, result.outputs)
    _report(request, result, errors, sink.diagnostics)


def _report(
    request: RunRequest, result: Result, errors: Mapping[str, Mapping[str, Any]] | None, diagnostics: list[Diagnostic]
) -> None:
    from anedsl.statistics import summary

    rows = {name: summary(array) for name, array in result.outputs.items()}
    if request.format == output.JSON:
        outputs = {name: {**row, "errors": None if errors is None else errors[name]} for name, row in rows.items()}
        output.print_json(
            {
                "backend": "coreml",
                "units": request.units,
                "outputs": outputs,
                "placement": result.placement.as_json() if result.placement else None,
                "seconds": result.seconds,
                "note": NOT_RUN_ON_HARDWARE,
                "diagnostics": output.diagnostics_json(diagnostics),
            }
        )
        return
    output.show(diagnostics)
    sys.stdout.write(_table(rows, errors))
    if result.placement is not None:
        from anedsl.codegen.coreml.placement import table

        sys.stdout.write("\n" + table(result.placement))
    sys.stdout.write(f"\n{_durations(result.seconds)}\n{NOT_RUN_ON_HARDWARE}\n")


def _table(rows: Mapping[str, Mapping[str, Any]], errors: Mapping[str, Mapping[str, Any]] | None) -> str:
    lines = [["output", "type", "min", "max", "mean", "std"]]
    if errors is not None:
        lines[0] += ["max error", "mean error", "relative", "ulp of max", "to fp16"]
    for name, row in rows.items():
        cells = [name, f"{row['dtype']}{row['shape']}", *(_number(row[key]) for key in ("min", "max", "mean", "std"))]
        if errors is not None:
            exact, half = errors[name]["fp64"], errors[name]["fp16"]
            cells += [_number(exact[key]) for key in ("max_abs", "mean_abs", "max_rel", "max_ulp")] + [_number(half["max_ulp"])]
        lines.append(cells)
    text = output.table(lines, frozenset(range(2, len(lines[0]))))
    if errors is not None:
        text += (
            "errors are against fp64; relative to the largest output, and in ulp of the output's type there; "
            "the last column is in that ulp against the reference in fp16\n"
        )
    return text


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _durations(seconds: Mapping[str, float]) -> str:
    from anedsl.codegen.coreml.timing import duration

    words = {"compile": "compiled in", "load": "loaded in", "predict": "first prediction"}
    parts = [f"{words[stage]} {duration(seconds[stage])}" for stage in words if stage in seconds]
    return "Core ML: " + ", ".join(parts)
