"""`anedsl explain`."""

from __future__ import annotations

import inspect
import sys
from importlib import import_module
from string import Formatter

import typer

from anedsl.cli import output
from anedsl.diagnostics import Diagnostic, nearest
from anedsl.rules import CHIPS, RULE, Rule
from anedsl.rules.record import chip_names

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
    """What a diagnostic means and how to mend it, or what a rule says; all codes with their headlines where none is given."""
    output.set_style(style)
    if code is None:
        _show_all(style)
        return
    item = _find(code)
    if style == output.JSON:
        output.print_json(item._asdict() if isinstance(item, Rule) else _as_json(item))
    else:
        sys.stdout.write(_rule_text(item) if isinstance(item, Rule) else _text(item))


def _show_all(style: str) -> None:
    classes = diagnostic_classes().values()
    if style == output.JSON:
        output.print_json([_as_json(item) for item in classes])
        return
    rows = [["code", "", "headline"], *([item.code, item.severity, _template(item.title)] for item in classes)]
    sys.stdout.write(output.table(rows))


def _find(code: str) -> type[Diagnostic] | Rule:
    classes = diagnostic_classes()
    rules = {id.upper(): rule for id, rule in RULE.items()}
    wanted = f"ANE{code.zfill(4)}" if code.isdecimal() else code.upper()
    if wanted in rules:
        return rules[wanted]
    if wanted in classes:
        return classes[wanted]
    close = nearest(wanted, [*classes, *rules])
    close = rules[close].id if close in rules else close
    raise typer.BadParameter(f"unknown code {code!r}" + (f": did you mean {close}?" if close else ""), param_hint="CODE")


def _text(item: type[Diagnostic]) -> str:
    parts = [f"{item.severity}[{item.code}]: {_template(item.title)}", inspect.cleandoc(item.__doc__ or "")]
    advice = [("note", text) for text in item.notes] + [("help", text) for text in item.helps]
    lines = [f"{kind}: {_template(text)}" for kind, text in advice if not _is_placeholder(text)]
    if lines:
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _is_placeholder(template: str) -> bool:
    """Whether a text comes as a whole from the place of the error."""
    return [(literal, bool(field)) for literal, field, _, _ in Formatter().parse(template)] == [("", True)]


def _template(template: str) -> str:
    """A text with its fields as `<name>`. A field behind a word (`the ANE{on}`) is an ending that not every message has."""
    text = ""
    follows = False
    for literal, field, word, _ in Formatter().parse(template):
        text += literal
        if field and not (literal[-1:].isalnum() or (follows and not literal)):
            text += f"<{field}> {word}s" if word else f"<{field}>"
        follows = True
    return text


_CONFIDENCE = {
    "A": "an exact boundary, measured and confirmed by a second source",
    "B": "measured by one project, or said by several",
    "C": "one observation, or an inference",
    "D": "the sources contradict each other",
}
_FIX = {"error": "fix", "warn": "fix", "rewrite": "instead", "host": "the caller", "info": "remark"}
"""Whose business the `fix` of a rule is, by its action."""
_ROUTE = {"inmemory": "in memory", "coreml": "Core ML", "e5": "e5"}


def _rule_text(rule: Rule) -> str:
    chips = "all" if rule.chips == CHIPS else chip_names(rule.chips)
    rows = [
        ("action", rule.action),
        (_FIX[rule.action], rule.fix),
        ("chips", chips),
        ("route", " and ".join(_ROUTE[route] for route in rule.routes)),
        ("confidence", f"{rule.confidence}: {_CONFIDENCE[rule.confidence]}"),
        ("evidence", rule.evidence),
        ("not checked", rule.unchecked),
    ]
    return f"rule {rule.id}: {rule.says}\n\n" + output.table([[f"  {name}", text] for name, text in rows if text])


def _as_json(item: type[Diagnostic]) -> dict[str, object]:
    return {
        "code": item.code,
        "severity": item.severity,
        "title": item.title,
        "explanation": inspect.cleandoc(item.__doc__ or ""),
        "notes": list(item.notes),
        "help": list(item.helps),
    }
