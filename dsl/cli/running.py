"""`anedsl run`."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from anedsl import frontend
from anedsl.cli import artifacts, common, output, usage
from anedsl.diagnostics import Diagnostic, Failure, Sink
from anedsl.graph import Graph
from anedsl.running import random_inputs, run

Array = np.ndarray[Any, np.dtype[Any]]


class RunRequest(NamedTuple):
    """The options of one run."""

    target: Path
    kernel: str | None
    define: list[str]
    inputs: Path | None
    input: list[str]
    random: int | None
    out: Path | None
    weights: list[Path]
    map: list[str]
    numerics: str
    format: str
    backend: str = "reference"
    placement: bool = False
    units: str = "cpu_and_ne"
    timeout: float = 600.0


def run_file(request: RunRequest) -> None:
    """Builds the kernel, runs it, saves and shows its outputs."""
    output.set_style(request.format)
    if request.random is not None and request.random < 0:
        raise typer.BadParameter("the seed is not negative", param_hint="--random")
    if request.out is not None:
        request = request._replace(out=usage.npz(request.out, "-o"))
    files = common.pairs("-i", request.input)
    if request.backend == "coreml":
        from anedsl.cli.on_coreml import run_on_coreml

        run_on_coreml(request, files)
        return
    sink = Sink()
    program = load_program(request, sink)
    inputs = read_inputs(request, files, program.graph)
    exact = run(program.graph, inputs, "fp64", Sink()) if request.numerics in ("fp16", "fp32") else None
    outputs = run(program.graph, inputs, request.numerics, sink, exact)
    if request.out is not None:
        save(request.out, outputs)
    _report(request, outputs, exact, sink.diagnostics)


def load_program(request: RunRequest, sink: Sink) -> frontend.Program:
    """The one kernel of the target, with its weights."""
    if artifacts.is_compiled(request.target):
        return artifacts.program(request)
    from anedsl.weights.unused import unused, watched

    given = common.parameters(request.define)
    mapping = usage.mapping(request.map, request.weights)
    module = frontend.load_file(request.target)
    chosen = frontend.choose(module, [request.kernel] if request.kernel else [])
    if len(chosen) > 1:
        raise typer.BadParameter(f"{request.target} has several kernels: name one of {', '.join(chosen)}", param_hint="KERNEL")
    program = frontend.build(module, chosen[0], given, sink)
    sources = watched(common.open_weights(request.weights))
    frontend.bind_weights(program, sources, mapping, request.random)
    for remark in unused(sources, [weight.data for weight in program.weights if weight.used]):
        sink.add(remark)
    return program


def read_inputs(request: RunRequest, files: dict[str, str], graph: Graph) -> dict[str, Any]:
    """Arrays from `--inputs`, then `-i`, then `--random` for what is left. A pack may be given as a whole, by its name."""
    arrays: dict[str, Any] = {}
    if request.inputs is not None or files:
        from anedsl.weights import read_arrays

        if request.inputs is not None:
            arrays.update(artifacts.split_packs(graph, read_arrays(request.inputs)))
        given: dict[str, Any] = {}
        for name, path in files.items():
            found = read_arrays(Path(path))
            if len(found) != 1:
                raise typer.BadParameter(f"{path} holds {len(found)} arrays: give a .npy with one", param_hint=f"-i {name}")
            given[name] = next(iter(found.values()))
        arrays.update(artifacts.split_packs(graph, given))
    if request.random is not None:
        arrays = {**random_inputs(graph, request.random), **arrays}
    return arrays


def save(path: Path, outputs: dict[str, Array]) -> None:
    """Writes beside and renames: an earlier file is whole until the new one is."""
    import os

    beside = path.with_name(f".{path.stem}.{os.getpid()}.npz")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _write_npz(beside, outputs)
        beside.replace(path)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            beside.unlink()
        from anedsl.diagnostics.running import CannotSave

        raise Failure(
            CannotSave(path=str(path), reason=(getattr(error, "strerror", None) or "not a valid path").lower())
        ) from None


def _write_npz(path: Path, arrays: dict[str, Array]) -> None:
    """As `numpy.savez`, which takes the names `file` and `allow_pickle` for parameters of its own."""
    import zipfile

    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def _report(
    request: RunRequest, outputs: dict[str, Array], exact: dict[str, Array] | None, diagnostics: list[Diagnostic]
) -> None:
    rows = {name: _statistics(array, None if exact is None else exact[name]) for name, array in outputs.items()}
    if request.format == output.JSON:
        output.print_json({"outputs": rows, "numerics": request.numerics, "diagnostics": output.diagnostics_json(diagnostics)})
        return
    output.show(diagnostics)
    heading = ["output", "type", "min", "max", "mean", "std"]
    if exact is not None:
        heading += ["max error", "mean error", "relative", "ulp of max"]
    lines = [heading]
    for name, row in rows.items():
        cells = [name, f"{row['dtype']}{row['shape']}", *(_number(row[key]) for key in ("min", "max", "mean", "std"))]
        if exact is not None:
            error = row["error"]
            cells += [_number(error[key]) for key in ("max_abs", "mean_abs", "max_rel", "max_ulp")] if error else ["-"] * 4
        lines.append(cells)
    sys.stdout.write(output.table(lines, frozenset(range(2, len(heading)))))
    if exact is not None:
        sys.stdout.write("errors are against fp64; relative to the largest output, and in ulp of the output's type there\n")
    if request.out is not None:
        sys.stdout.write(f"saved to {request.out}\n")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _statistics(array: Array, exact: Array | None) -> dict[str, Any]:
    from anedsl.statistics import errors, summary

    return {**summary(array), "error": None if exact is None else errors(array, exact)}
