"""`anedsl check`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import typer

from anedsl import frontend
from anedsl.cli import common, compiling, gathering, output, usage
from anedsl.cli.variants import Variant, planned
from anedsl.diagnostics import Diagnostic, Failure, Sink, counted
from anedsl.elaborate.frame import MAX_ERRORS
from anedsl.elaborate.modules import LoadedModule
from anedsl.elaborate.names import undefined


class CheckRequest(NamedTuple):
    """The options of one check."""

    file: Path
    kernels: list[str]
    define: list[str]
    variants: Path | None
    dialect: str
    chip: str | None
    route: str
    strict: bool
    format: str


def check_file(request: CheckRequest) -> None:
    """Shows every diagnostic of the chosen kernels; exits with 1 on an error, and with `strict` on a warning."""
    output.set_style(request.format)
    said: list[gathering.Said] = []
    checked: list[Variant] = []
    several = False
    try:
        module = frontend.load_file(request.file)
        chosen = frontend.choose(module, request.kernels) if module.kernels or request.kernels else []
        if not chosen:
            given = {"-D": request.define, "--variants": request.variants}
            usage.refuse(given, f"{request.file} has no kernel, and so no parameter")
        plan = planned(request.define, request.variants, module, chosen)
        several = plan is not None
        checked = _kernels(request, module, chosen) if plan is None else plan
        said = _check_all(request, module, checked)
        said.extend(_unknown_names(module, chosen, said))
    except Failure as failure:
        said.extend(gathering.Said(diagnostic, []) for diagnostic in failure.diagnostics)
    found = gathering.told(said, len(checked), request.format) if several else [item.diagnostic for item in said]
    _report(request, said, found, len(checked), several)
    if any(request.strict or diagnostic.severity == "error" for diagnostic in found):
        raise typer.Exit(1)


def _report(request: CheckRequest, said: list[gathering.Said], found: list[Diagnostic], checked: int, several: bool) -> None:
    if request.format == output.JSON:
        count = {"variants" if several else "kernels": checked}
        output.print_json({**count, "diagnostics": gathering.as_json(said) if several else output.diagnostics_json(found)})
        return
    output.show(found, sys.stdout)
    if not found:
        # The types of a function are its callers': what it would make of tensors is not known.
        checks = f"{counted(checked, 'variant' if several else 'kernel')}, no problems found"
        sys.stdout.write(f"{request.file}: {checks if checked else 'no kernel; its functions name nothing unknown'}\n")


def _kernels(request: CheckRequest, module: LoadedModule, chosen: list[str]) -> list[Variant]:
    """Each kernel once, with the parameters that are given."""
    given = common.parameters(request.define)
    return [Variant(name, name, common.for_kernel(module, name, chosen, given), {}) for name in chosen]


def _check_all(request: CheckRequest, module: LoadedModule, checked: list[Variant]) -> list[gathering.Said]:
    found = []
    try:
        for number, variant in enumerate(checked, 1):
            compiling.progress(number, len(checked), variant.folder)
            found.append((variant.folder, _check(request, module, variant)))
    finally:
        compiling.end_progress()
    return gathering.gather(found)


def _unknown_names(module: LoadedModule, kernels: list[str], said: Sequence[gathering.Said]) -> list[gathering.Said]:
    """Of a function that nobody calls, and of a branch that is not taken, only the names can be checked."""
    known = {item.diagnostic.key for item in said}
    if any(item.diagnostic.code == "ANE0110" for item in said):
        return []  # there are more errors than anyone reads
    items = (*module.tree.functions, *(kernel for kernel in module.tree.kernels if kernel.name.text in kernels))
    new = (diagnostic for item in items for diagnostic in undefined(item, module) if diagnostic.key not in known)
    room = max(MAX_ERRORS - sum(item.diagnostic.severity == "error" for item in said), 0)
    found = list(islice(new, room + 1))
    if len(found) > room:
        from anedsl.diagnostics.syntax import TooManyErrors

        found[-1] = TooManyErrors(span=found[-1].span, limit=MAX_ERRORS)
    return [gathering.Said(diagnostic, []) for diagnostic in found]


def _check(request: CheckRequest, module: LoadedModule, variant: Variant) -> list[Diagnostic]:
    from anedsl.codegen.artifact import Options, prepare

    sink = Sink()
    try:
        program = frontend.build(module, variant.kernel, variant.given, sink)
        # A program may hold a few numbers of a compressed weight, and no data is at hand here.
        frontend.bind_weights(program, random=0)
        for diagnostic in common.rule_diagnostics(program.graph, request.chip, request.route):
            sink.add(diagnostic)
        sink.raise_errors()
        prepare(program.graph, Options(dialect=request.dialect, route=request.route, chip=request.chip))
    except Failure as failure:
        for diagnostic in failure.diagnostics:
            sink.add(diagnostic)
    return sink.diagnostics
