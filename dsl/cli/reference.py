"""`anedsl ops`: the op reference, written from the records."""

from __future__ import annotations

import re
import sys
import textwrap
from typing import Any

import typer

from anedsl.cli import output
from anedsl.diagnostics import nearest
from anedsl.elaborate.arguments import literal, signature
from anedsl.elaborate.builtins import BUILTINS
from anedsl.elaborate.values import Builtin
from anedsl.ops import OPS
from anedsl.ops.record import REQUIRED, Attribute, Op

_SENTENCE_END = re.compile(r"(?<!\.)\.(?= [A-Z]|$)")
_VERDICTS = {
    "works": "works",
    "refused": "refused",
    "disputed": "disputed: public sources contradict each other",
    "unknown": "not known: no public source has tried it",
}
"""What `anedsl.rules.support` says of an op on a route, for readers."""
_ROUTES = {"inmemory": "in memory", "coreml": "Core ML"}


def show_ops(name: str | None, style: str) -> None:
    """One op or short name in full, or all of them in a line each."""
    output.set_style(style)
    if name is None:
        _show_all(style)
        return
    found = [item for item in (BUILTINS.get(name), OPS.get(name)) if item is not None]
    if not found:
        close = nearest(name, OPS.keys() | BUILTINS.keys())
        raise typer.BadParameter(f"unknown op {name!r}" + (f": did you mean {close}?" if close else ""), param_hint="NAME")
    if style == output.JSON:
        output.print_json([_as_json(item) for item in found])
        return
    sys.stdout.write("\n".join(_text(item) for item in found))


def _show_all(style: str) -> None:
    if style == output.JSON:
        output.print_json({"short_names": [_as_json(b) for b in BUILTINS.values()], "ops": [_as_json(op) for op in OPS.values()]})
        return
    lines = ["short names\n"]
    lines += [f"  {signature(builtin)}\n      {_first_sentence(builtin.doc)}\n" for builtin in BUILTINS.values()]
    family = None
    for op in sorted(OPS.values(), key=lambda op: (op.family, op.name)):
        if op.family != family:
            family = op.family
            lines.append(f"\n{family or 'other'}\n")
        lines.append(f"  {signature(op)}\n      {_first_sentence(op.doc)}\n")
    sys.stdout.write("".join(lines))


def _first_sentence(text: str) -> str:
    """Up to a full stop before a capital letter: the dots of `1, 2, ... n` end nothing."""
    flat = " ".join(text.split())
    end = _SENTENCE_END.search(flat)
    return flat[: end.end()] if end else f"{flat}."


def _text(item: Op | Builtin) -> str:
    parts = [
        signature(item),
        "",
        textwrap.fill(" ".join(item.doc.split()), 110, initial_indent="    ", subsequent_indent="    "),
        "",
    ]
    if isinstance(item, Builtin):
        return "\n".join(parts)
    if item.operands:
        rows = [[f"    {o.name}", str(o.domain) + _traits(o), o.doc] for o in item.operands]
        parts += ["operands", output.table(rows).rstrip("\n"), ""]
    if item.attributes:
        rows = [[f"    {a.name}", _kind(a), _default(a), a.doc] for a in item.attributes]
        parts += ["attributes", output.table(rows).rstrip("\n"), ""]
    if item.example:
        parts += ["example", f"    {item.example}", ""]
    parts += [f"since {item.since}", *_support(item.name), ""]
    return "\n".join(parts)


def _traits(operand: Any) -> str:
    traits = [
        word for word, has in (("optional", operand.optional), ("several", operand.variadic), ("const", operand.const)) if has
    ]
    return f" ({', '.join(traits)})" if traits else ""


def _kind(attribute: Attribute) -> str:
    return " | ".join(f'"{choice}"' for choice in attribute.choices) if attribute.choices else attribute.kind


def _default(attribute: Attribute) -> str:
    default = attribute.default
    if default is REQUIRED:
        return "required"
    if default is None:
        return "optional"
    return "default depends on the operands" if callable(default) else f"default {literal(default)}"


def _support(name: str) -> list[str]:
    from anedsl.rules import support

    found = support(name)
    verdicts = {route: _VERDICTS[verdict] for route, verdict in found["verdict"].items()}
    if found["verdict"]["inmemory"] == "works":
        verdicts["inmemory"] = _seen(found)
    rows = [[f"    {words}", verdicts[route]] for route, words in _ROUTES.items()]
    chips = ", ".join(f"{chip} {word}" for chip, word in found["chips"].items() if word)
    rows += [[f"    {label}", text] for label, text in (("chips", chips), ("instead", found["instead"])) if text]
    return ["", "on the ANE", output.table(rows).rstrip("\n")]


def _seen(found: dict[str, Any]) -> str:
    """What stands behind an op that works in memory."""
    tried = {"runs": "works", "compiles": "compiles; no public source has run it", "mixed": "works for some element types"}
    elsewhere = {"ok": "works on the e5 route", "unchecked": "runs on the e5 route, where its results were not compared"}
    other = elsewhere.get(found["e5"], "native by the tables of the chips")
    return tried.get(found["inmemory"], f"no trial on record; {other}")


def _as_json(item: Op | Builtin) -> dict[str, Any]:
    from anedsl.rules import support

    if isinstance(item, Builtin):
        return {"name": item.name, "signature": signature(item), "doc": item.doc, "kind": "short name"}
    return {
        "name": item.name,
        "kind": "op",
        "family": item.family,
        "signature": signature(item),
        "doc": " ".join(item.doc.split()),
        "since": item.since,
        "example": item.example,
        "operands": [
            {
                "name": o.name,
                "dtypes": [dtype.name for dtype in o.domain.dtypes],
                "domain": o.domain.name,
                "optional": o.optional,
                "variadic": o.variadic,
                "const": o.const,
                "doc": o.doc,
            }
            for o in item.operands
        ],
        "attributes": [
            {"name": a.name, "kind": a.kind, "default": _default(a), "choices": list(a.choices), "since": a.since, "doc": a.doc}
            for a in item.attributes
        ],
        "support": support(item.name),
    }
