"""`anedsl compile`."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from anedsl import frontend
from anedsl.choices import EMITTED
from anedsl.cli import common, output, usage
from anedsl.diagnostics import Diagnostic, Failure, Sink, counted
from anedsl.elaborate.modules import LoadedModule

if TYPE_CHECKING:
    from anedsl.codegen.artifact import Artifact
    from anedsl.codegen.options import Options
    from anedsl.weights import Declared, Source


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
    variants: Path | None = None
    jobs: int | None = None
    random: int | None = None


def compile_file(request: Request) -> None:
    """Compiles the chosen kernels: all are built before the first artifact is written.

    Where there are variants, each is compiled on its own, in several processes.
    """
    output.set_style(request.format)
    usage.single_weight_file(request.single_weight_file, options(request).emit)
    mapping = usage.mapping(request.map, request.weights)
    module = frontend.load_file(request.file)
    chosen = frontend.choose(module, request.kernels)
    if request.variants is not None or any("," in text for text in request.define):
        from anedsl.cli.variants import compile_variants, planned

        plan = planned(request.define, request.variants, module, chosen)
        if plan is not None:
            _check_patterns(mapping)
            compile_variants(request, plan)
            return
    from anedsl.weights.unused import unused, watched

    sources = watched(common.open_weights(request.weights))
    programs, warnings = _build_all(request, module, chosen, sources, mapping)
    warnings.extend(unused(sources, [weight.data for program in programs for weight in program.weights if weight.used]))
    artifacts = _write(request, programs, warnings)
    _report(request, artifacts, warnings)


def _build_all(
    request: Request, module: LoadedModule, chosen: Sequence[str], sources: Sequence[Source], mapping: dict[str, str]
) -> tuple[list[frontend.Program], list[Diagnostic]]:
    """The chosen kernels with their weights, and the warnings about them. Raises `Failure` with all that is wrong."""
    given = common.parameters(request.define)
    built: list[tuple[frontend.Program, Sink]] = []
    warnings: list[Diagnostic] = []
    errors = Sink()
    for name in chosen:
        sink = Sink()
        try:
            built.append((_elaborated(module, name, common.for_kernel(module, name, chosen, given), sink), sink))
        except Failure as failure:
            _add(errors, failure)
    # Only all kernels together tell which names `--map` may have, and a misspelt one is why data is missing.
    if mapping and not errors.diagnostics:
        for problem in _unknown_in_mapping(mapping, [program for program, _ in built]):
            errors.add(problem)
    for program, sink in built:
        try:
            _finish(request, program, sources, mapping, sink)
            warnings.extend(sink.diagnostics)
        except Failure as failure:
            _add(errors, failure)
    if errors.diagnostics:
        raise Failure(*warnings, *errors.diagnostics)
    return [program for program, _ in built], warnings


def _add(errors: Sink, failure: Failure) -> None:
    for diagnostic in failure.diagnostics:
        errors.add(diagnostic)


def build(
    request: Request, module: LoadedModule, name: str, given: dict[str, Any], sources: Sequence[Source], mapping: dict[str, str]
) -> tuple[frontend.Program, list[Diagnostic]]:
    """One kernel with its weights, and the warnings about it. Raises `Failure` with all that is wrong, warnings first."""
    sink = Sink()
    program = _elaborated(module, name, given, sink)
    _finish(request, program, sources, mapping, sink)
    return program, sink.diagnostics


def _elaborated(module: LoadedModule, name: str, given: dict[str, Any], sink: Sink) -> frontend.Program:
    try:
        return frontend.build(module, name, given, sink)
    except Failure as failure:
        raise Failure(*_with_warnings(failure, sink)) from None


def _finish(request: Request, program: frontend.Program, sources: Sequence[Source], mapping: dict[str, str], sink: Sink) -> None:
    """Binds the weights of a kernel and applies the ANE's rules to it."""
    try:
        frontend.bind_weights(program, sources, own_mapping(mapping, program), request.random)
        for diagnostic in common.rule_diagnostics(program.graph, request.chip, request.route):
            sink.add(diagnostic)
        sink.raise_errors()
    except Failure as failure:
        raise Failure(*_with_warnings(failure, sink)) from None


def options(request: Request) -> Options:
    """What code generation is told. Raises a usage error for an `--emit` that there is not."""
    from anedsl.codegen.options import Options

    return Options(
        dialect=request.dialect,
        route=request.route,
        chip=request.chip,
        emit=_emitted(request.emit),
        single_weight_file=request.single_weight_file,
    )


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


def own_mapping(mapping: dict[str, str], program: frontend.Program) -> dict[str, str]:
    """The part of `--map` that speaks of this kernel's weights; the rest may be another kernel's."""
    if not mapping:
        return mapping
    from anedsl.weights.patterns import speaks_of

    names = [weight.data.name for weight in program.weights]
    return {name: key for name, key in mapping.items() if speaks_of(name, names)}


def _unknown_in_mapping(mapping: dict[str, str], programs: Sequence[frontend.Program]) -> list[Diagnostic]:
    """What is wrong with names in `--map` that none of these kernels knows."""
    known = {name for program in programs for name in own_mapping(mapping, program)}
    declared = {weight.data.name: weight for program in programs for weight in program.weights}
    return _mapping_problems(mapping, known, frontend.weight_declarations(declared.values()))


def check_mapping(mapping: dict[str, str], known: Collection[str], declared: Sequence[Declared]) -> None:
    """Raises ANE0404, ANE0425 or ANE0426 for names in `--map` that no kernel knows; `declared` are weights to suggest."""
    problems = _mapping_problems(mapping, known, declared)
    if problems:
        raise Failure(*problems)


def _mapping_problems(mapping: dict[str, str], known: Collection[str], declared: Sequence[Declared]) -> list[Diagnostic]:
    unknown = {name: key for name, key in mapping.items() if name not in known}
    if not unknown:
        return []
    from anedsl.weights.search import Search

    search = Search(declared, [], unknown)
    return [*search.unknown_names(), *search.unused_patterns()]


def _check_patterns(mapping: dict[str, str]) -> None:
    """Raises ANE0425, which no variant can do anything about."""
    if mapping:
        from anedsl.weights.patterns import uneven_patterns

        problems = uneven_patterns(mapping)
        if problems:
            raise Failure(*problems)


def progress(number: int, total: int, name: str) -> None:
    """Shows on a terminal which artifact of several is being written, on one line; `end_progress` removes it."""
    if total > 1 and sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K[{number}/{total}] {name}")
        sys.stderr.flush()


def end_progress() -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K")


def _write(request: Request, programs: list[frontend.Program], warnings: list[Diagnostic]) -> list[Artifact]:
    from anedsl.codegen.artifact import write

    # Only one of several programs can be the same as another.
    chosen = options(request)._replace(compared=len(programs) > 1)
    artifacts = []
    for number, program in enumerate(programs, 1):
        progress(number, len(programs), program.graph.name)
        artifact = write(program.graph, program.sha256, chosen, request.out)
        artifacts.append(artifact)
        warnings.extend(artifact.warnings)
    end_progress()
    return artifacts


def same_programs(artifacts: Sequence[Artifact]) -> list[Path | None]:
    """For each artifact, the first one before it that holds the same program."""
    first: dict[str, Path] = {}
    found: list[Path | None] = []
    for artifact in artifacts:
        found.append(first.get(artifact.fingerprint))
        if artifact.fingerprint:
            first.setdefault(artifact.fingerprint, artifact.path)
    return found


def _report(request: Request, artifacts: list[Artifact], warnings: list[Diagnostic]) -> None:
    if request.format == output.JSON:
        output.print_json({"artifacts": as_json(artifacts), "diagnostics": output.diagnostics_json(warnings)})
        return
    output.show(warnings)
    show_artifacts(artifacts)


def as_json(artifacts: Sequence[Artifact]) -> list[dict[str, Any]]:
    """Path and manifest of each artifact; `same_as` is the path of an earlier one that holds the same program, or None."""
    return [
        {"path": str(artifact.path), "same_as": None if same is None else str(same), "manifest": artifact.manifest}
        for artifact, same in zip(artifacts, same_programs(artifacts), strict=True)
    ]


def show_artifacts(artifacts: Sequence[Artifact]) -> None:
    from anedsl.cli.compressed import error_lines

    for artifact, same in zip(artifacts, same_programs(artifacts), strict=True):
        sys.stdout.write(f"{artifact.path}: {_summary(artifact.manifest)}\n")
        for line in error_lines(artifact.manifest):
            sys.stdout.write(f"  {line}\n")
        if same is not None:
            sys.stderr.write(f"note: `{artifact.path}` holds the same program as `{same}`\n")


def _summary(manifest: dict[str, Any]) -> str:
    weights = manifest["bytes"]["weights"]
    parts = [
        counted(manifest["ops"]["total"], "op"),
        f"{output.quantity(manifest['flops'])}FLOP".replace("FLOP", " FLOPs" if manifest["flops"] < 1e3 else "FLOPs"),
    ]
    if manifest["weights"]:
        parts.append(
            f"{counted(len(manifest['weights']), 'weight')} ({output.quantity(weights)}{'B' if weights >= 1e3 else ' B'})"
        )
    return ", ".join(parts)
