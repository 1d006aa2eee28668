"""What the commands print: results to stdout, everything else to stderr, colours on a terminal only."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from anedsl.diagnostics import Diagnostic, counted

TEXT, CONCISE, JSON = "text", "concise", "json"

_style = TEXT
"""The `--format` of this run: a failure that ends a command is shown in it."""


def set_style(style: str) -> None:
    global _style
    _style = style


def wants_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()


def in_order(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics in the order of the source, file by file; those of inlined functions where the kernel calls them."""
    files: dict[str, int] = {}

    def place(diagnostic: Diagnostic) -> tuple[int, int]:
        span = diagnostic.span
        while span.call is not None:
            span = span.call
        return files.setdefault(span.source.name, len(files)), span.start

    return sorted(diagnostics, key=place)


def show(diagnostics: Sequence[Diagnostic], stream: TextIO | None = None) -> None:
    """Diagnostics as text or in one line each, with a count at the end."""
    if not diagnostics:
        return
    from anedsl.diagnostics.render import render_all

    out = stream or sys.stderr
    out.write(render_all(in_order(diagnostics), CONCISE if _style == CONCISE else TEXT, colour=wants_colour(out)))
    if _style == TEXT:
        out.write(f"\n{count(diagnostics)}\n")


def count(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`."""
    severities = [diagnostic.severity for diagnostic in diagnostics]
    parts = [counted(severities.count(kind), kind) for kind in ("error", "warning") if kind in severities]
    return ", ".join(parts) or "no problems found"


def report_failure(diagnostics: Sequence[Diagnostic]) -> None:
    """What ended the command."""
    if _style == JSON:
        print_json({"diagnostics": diagnostics_json(diagnostics)})
    else:
        show(diagnostics)


def diagnostics_json(diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    from anedsl.diagnostics.render import as_json

    return [as_json(diagnostic) for diagnostic in in_order(diagnostics)]


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def report_internal_error(error: Exception) -> None:
    import traceback

    from anedsl import __version__

    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    sys.stderr.write(f"anedsl: internal error{place}: {type(error).__name__}: {error}\n")
    sys.stderr.write(
        f"This is a fault of anedsl {__version__}, not of your file. Please report it with the file and the command.\n"
    )
    if os.environ.get("ANEDSL_TRACEBACK"):
        traceback.print_exception(error)
    else:
        sys.stderr.write("Set ANEDSL_TRACEBACK=1 to see where it happened.\n")


def table(rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> str:
    """Columns of equal width; the first row is the heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def quantity(number: float) -> str:
    """A count in the unit a reader takes in: 1.2 M."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f}"
