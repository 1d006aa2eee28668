"""`anedsl explain`."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module

import typer

from anedsl.cli import output
from anedsl.diagnostics import Diagnostic, nearest

MODULES = ("syntax", "names", "shapes", "rules", "weights", "artifacts", "variants", "running")


def diagnostic_classes() -> dict[str, type[Diagnostic]]:
    """Every diagnostic by its code, in the order of the codes."""
    found: dict[str, type[Diagnostic]] = {}
    for name in MODULES:
        module = import_module(f"anedsl.diagnostics.{name}")
        for item in vars(module).values():
            if inspect.isclass(item) and issubclass(item, Diagnostic) and item.code and item.__module__ == module.__name__:
                found[item.code] = item
    return dict(sorted(found.items()))


def explain_code(code: str | None, style: str) -> None:
    """Prints what a diagnostic means and how to mend it; all codes with their headlines where none is given."""
    output.set_style(style)
    classes = diagnostic_classes()
    if code is None:
        if style == output.JSON:
            output.print_json([_as_json(item) for item in classes.values()])
        else:
            rows = [["code", "", "headline"], *([item.code, item.severity, item.title] for item in classes.values())]
            sys.stdout.write(output.table(rows))
        return
    wanted = code.upper() if code.upper().startswith("ANE") else f"ANE{code.zfill(4)}"
    if wanted not in classes:
        close = nearest(wanted, classes)
        raise typer.BadParameter(f"unknown code {code!r}" + (f": did you mean {close}?" if close else ""), param_hint="CODE")
    item = classes[wanted]
    if style == output.JSON:
        output.print_json(_as_json(item))
        return
    parts = [f"{item.severity}[{item.code}]: {item.title}", inspect.cleandoc(item.__doc__ or "")]
    advice = [*(f"note: {text}" for text in item.notes), *(f"help: {text}" for text in item.helps)]
    if advice:
        parts.append("\n".join(advice))
    sys.stdout.write("\n\n".join(parts) + "\n")


def _as_json(item: type[Diagnostic]) -> dict[str, object]:
    return {
        "code": item.code,
        "severity": item.severity,
        "title": item.title,
        "explanation": inspect.cleandoc(item.__doc__ or ""),
        "notes": list(item.notes),
        "help": list(item.helps),
    }
