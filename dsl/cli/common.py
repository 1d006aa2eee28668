"""What several commands share: parameters, weights, and the build of one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from anedsl.diagnostics import Diagnostic
from anedsl.elaborate.kernel import parse_override
from anedsl.elaborate.modules import LoadedModule
from anedsl.syntax import tree

if TYPE_CHECKING:
    from anedsl.graph import Graph
    from anedsl.weights import Source


def pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` texts as a mapping; anything else is a usage error."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value:
            raise typer.BadParameter(f"expected NAME=VALUE, found {text!r}", param_hint=option)
        if name.strip() in found:
            raise typer.BadParameter(f"{name.strip()} is given twice", param_hint=option)
        found[name.strip()] = value
    return found


def parameters(texts: Sequence[str]) -> dict[str, Any]:
    """The values of `-D NAME=VALUE`; a usage error for several values of one parameter."""
    found = pairs("-D", texts)
    for name, value in found.items():
        if len(top_level(value)) > 1:
            problem = (
                f"{name}={value} has several values, which only `compile` and `check` take, for a variant of each; "
                f"a list stands in brackets: {name}=[{value}]"
            )
            raise typer.BadParameter(problem, param_hint="-D")
    return {name: parse_override(name, value) for name, value in found.items()}


def top_level(text: str) -> list[str]:
    """The parts of a text between its commas, other than those in brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for character, before in zip(text, " " + text, strict=False):
        if character == '"' and before != "\\":
            quoted = not quoted
        elif not quoted:
            depth += (character in "([") - (character in ")]")
        if character == "," and depth <= 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def for_kernel(module: LoadedModule, name: str, chosen: Sequence[str], given: dict[str, Any]) -> dict[str, Any]:
    """The parameters that one of several kernels takes: one that no chosen kernel has is left in, to be reported."""
    if len(chosen) == 1:
        return given
    names = {kernel: _parameter_names(module, kernel) for kernel in chosen}
    everywhere = set().union(*names.values())
    return {key: value for key, value in given.items() if key in names[name] or key not in everywhere}


def _parameter_names(module: LoadedModule, kernel: str) -> set[str]:
    found = module.kernels[kernel]
    return {parameter.name.text for parameter in found.parameters} if isinstance(found, tree.Kernel) else set()


def open_weights(paths: Sequence[Path]) -> list[Source]:
    """The sources of `--weights`."""
    if not paths:
        return []
    from anedsl.weights import open_source

    return [open_source(path) for path in paths]


def rule_diagnostics(graph: Graph, chip: str | None, route: str) -> list[Diagnostic]:
    """What the ANE's rules say of a graph whose weights are bound."""
    from anedsl.codegen.stored import expand_stored
    from anedsl.rules import Target, check

    return list(check(expand_stored(graph), Target(chip, route)))
