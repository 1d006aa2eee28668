"""`anedsl compile`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from anedsl import frontend
from anedsl.cli import common, output
from anedsl.diagnostics import Diagnostic, Failure, Sink
from anedsl.elaborate.modules import LoadedModule

if TYPE_CHECKING:
    from anedsl.codegen.artifact import Artifact

EMITTED = ("mil", "mlpackage", "header")


class Request(NamedTuple):
    """The options of one compile."""

    file: Path
    kernels: list[str]
    define: list[str]
    out: Path
    weights: list[Path]
    map: list[str]
    emit: str
    dialect: str
    single_weight_file: bool
    chip: str | None
    route: str
    format: str


def compile_file(request: Request) -> None:
    """Compiles the chosen kernels: all are built before the first artifact is written."""
    output.set_style(request.format)
    emit = _emitted(request.emit)
    given = common.parameters(request.define)
    mapping = common.pairs("--map", request.map)
    module = frontend.load_file(request.file)
    chosen = frontend.choose(module, request.kernels)
    sources = common.open_weights(request.weights)
    programs: list[frontend.Program] = []
    warnings: list[Diagnostic] = []
    errors: list[Diagnostic] = []
    for name in chosen:
        sink = Sink()
        try:
            program = frontend.build(module, name, common.for_kernel(module, name, chosen, given), sink)
            frontend.bind_weights(program, sources, _own(mapping, program))
            for diagnostic in common.rule_diagnostics(program.graph, request.chip, request.route):
                sink.add(diagnostic)
            sink.raise_errors()
        except Failure as failure:
            errors.extend(_with_warnings(failure, sink))
        else:
            programs.append(program)
            warnings.extend(sink.diagnostics)
    if errors:
        raise Failure(*warnings, *errors)
    _check_mapping(mapping, programs)
    artifacts = _write(request, emit, programs, module, warnings)
    _report(request, artifacts, warnings)


def _emitted(text: str) -> frozenset[str]:
    chosen = [part.strip() for part in text.split(",") if part.strip()]
    for part in chosen:
        if part not in EMITTED:
            raise typer.BadParameter(f"{part!r} is not one of {', '.join(EMITTED)}", param_hint="--emit")
    if not chosen:
        raise typer.BadParameter(f"give one or more of {', '.join(EMITTED)}", param_hint="--emit")
    return frozenset(chosen)


def _with_warnings(failure: Failure, sink: Sink) -> list[Diagnostic]:
    """The warnings of a kernel first, then what made it fail, each once."""
    merged = Sink()
    for diagnostic in (*sink.diagnostics, *failure.diagnostics):
        merged.add(diagnostic)
    return merged.diagnostics


def _own(mapping: dict[str, str], program: frontend.Program) -> dict[str, str]:
    """The part of `--map` that speaks of this kernel's weights; the rest may be another kernel's."""
    names = {weight.data.name for weight in program.weights}
    names |= {name.partition("[")[0] for name in names}
    return {name: key for name, key in mapping.items() if name in names}


def _check_mapping(mapping: dict[str, str], programs: list[frontend.Program]) -> None:
    """A name in `--map` that no kernel has is reported by the last kernel, whose weights are suggested."""
    known = {name for program in programs for name in _own(mapping, program)}
    unknown = {name: key for name, key in mapping.items() if name not in known}
    if unknown and programs:
        from anedsl.weights import bind

        bind([], [], unknown)


def _write(
    request: Request, emit: frozenset[str], programs: list[frontend.Program], module: LoadedModule, warnings: list[Diagnostic]
) -> list[Artifact]:
    from anedsl.codegen.artifact import Options, write

    options = Options(
        dialect=request.dialect, route=request.route, chip=request.chip, emit=emit, single_weight_file=request.single_weight_file
    )
    artifacts = []
    progress = len(programs) > 1 and sys.stderr.isatty()
    for number, program in enumerate(programs, 1):
        if progress:
            sys.stderr.write(f"\r\033[K[{number}/{len(programs)}] {program.graph.name}")
            sys.stderr.flush()
        artifact = write(program.graph, program.sha256, options, request.out)
        artifacts.append(artifact)
        warnings.extend(artifact.warnings)
    if progress:
        sys.stderr.write("\r\033[K")
    return artifacts


def _report(request: Request, artifacts: list[Artifact], warnings: list[Diagnostic]) -> None:
    if request.format == output.JSON:
        items: list[dict[str, Any]] = [{"path": str(artifact.path), "manifest": artifact.manifest} for artifact in artifacts]
        output.print_json({"artifacts": items, "diagnostics": output.diagnostics_json(warnings)})
        return
    output.show(warnings)
    for artifact in artifacts:
        sys.stdout.write(f"{artifact.path}: {_summary(artifact.manifest)}\n")


def _summary(manifest: dict[str, Any]) -> str:
    weights = manifest["bytes"]["weights"]
    parts = [
        f"{manifest['ops']['total']} ops",
        f"{output.quantity(manifest['flops'])}FLOP".replace("FLOP", " FLOPs" if manifest["flops"] < 1e3 else "FLOPs"),
    ]
    if manifest["weights"]:
        parts.append(f"{len(manifest['weights'])} weights ({output.quantity(weights)}{'B' if weights >= 1e3 else ' B'})")
    return ", ".join(parts)
