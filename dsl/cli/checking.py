"""`anedsl check`."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from anedsl import frontend
from anedsl.cli import common, output, usage
from anedsl.diagnostics import Failure, Sink, counted
from anedsl.elaborate.modules import LoadedModule
from anedsl.elaborate.names import undefined


def check_file(
    file: Path, kernels: list[str], define: list[str], dialect: str, chip: str | None, route: str, strict: bool, style: str
) -> None:
    """Shows every diagnostic of the chosen kernels; exits with 1 on an error, and with `strict` on a warning."""
    output.set_style(style)
    given = common.parameters(define)
    sink = Sink()
    checked = 0
    try:
        module = frontend.load_file(file)
        chosen = frontend.choose(module, kernels) if module.kernels or kernels else []
        if not chosen:
            usage.refuse({"-D": define}, f"{file} has no kernel, and so no parameter")
        for name in chosen:
            try:
                _check(module, name, common.for_kernel(module, name, chosen, given), (dialect, chip, route), sink)
            except Failure as failure:
                _collect(failure, sink)
        checked = len(chosen)
        _check_names(module, chosen, sink)
    except Failure as failure:
        _collect(failure, sink)
    found = sink.diagnostics
    if style == output.JSON:
        output.print_json({"kernels": checked, "diagnostics": output.diagnostics_json(found)})
    else:
        output.show(found, sys.stdout)
        if not found:
            # The types of a function are its callers': what it would make of tensors is not known.
            checks = f"{counted(checked, 'kernel')}, no problems found"
            sys.stdout.write(f"{file}: {checks if checked else 'no kernel; its functions name nothing unknown'}\n")
    if sink.errors or (strict and found):
        raise typer.Exit(1)


def _check_names(module: LoadedModule, kernels: list[str], sink: Sink) -> None:
    """Of a function that nobody calls, and of a branch that is not taken, only the names can be checked."""
    if any(diagnostic.code == "ANE0110" for diagnostic in sink.errors):
        return  # there are more errors than anyone reads
    for item in (*module.tree.functions, *(kernel for kernel in module.tree.kernels if kernel.name.text in kernels)):
        for diagnostic in undefined(item, module):
            sink.add(diagnostic)


def _collect(failure: Failure, sink: Sink) -> None:
    for diagnostic in failure.diagnostics:
        sink.add(diagnostic)


def _check(module: LoadedModule, name: str, given: dict[str, object], target: tuple[str, str | None, str], sink: Sink) -> None:
    from anedsl.codegen.artifact import Options, prepare

    dialect, chip, route = target
    own = Sink()
    try:
        program = frontend.build(module, name, given, own)
        # A program may hold a few numbers of a compressed weight, and no data is at hand here.
        frontend.bind_weights(program, random=0)
        for diagnostic in common.rule_diagnostics(program.graph, chip, route):
            own.add(diagnostic)
        own.raise_errors()
        prepare(program.graph, Options(dialect=dialect, route=route, chip=chip))
    finally:
        for diagnostic in own.diagnostics:
            sink.add(diagnostic)
