"""How diagnostics are shown: as text with the author's lines, on one line each, or as JSON for tools."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from anedsl.diagnostics.base import Diagnostic, Label, counted
from anedsl.source import Source, Span

TAB = 4
MAX_CALLS = 5
MAX_LINE = 160
"""Longer source lines are cut around the label."""

_COLOURS = {"error": "\033[1;31m", "warning": "\033[1;33m", "gutter": "\033[1;34m", "help": "\033[1;36m", "bold": "\033[1m"}
_RESET = "\033[0m"


MAX_ALSO = 12
"""How many places of one rule are listed after the first."""


def render(diagnostic: Diagnostic, also: Sequence[Diagnostic] = (), *, colour: bool = False) -> str:
    """A diagnostic with the lines it speaks of. Others of which the same is to be said follow in a line each."""
    paint = _painter(colour)
    severity = diagnostic.severity
    lines = [paint(severity, f"{severity}[{diagnostic.code}]") + paint("bold", f": {diagnostic.headline}")]
    span = diagnostic.span
    if span.source.text or span.end:
        width = _gutter_width(diagnostic)
        main, *others = _labels(diagnostic)
        lines += _place(main.span, width, "-->", paint)
        here = [main, *(label for label in others if label.span.source is main.span.source)]
        lines += _snippet(main.span.source, here, width, paint, severity)
        for labels in _by_source(others, main.span.source):
            lines += _place(labels[0].span, width, ":::", paint)
            lines += _snippet(labels[0].span.source, labels, width, paint, "gutter")
        lines += _call_lines(main.span, width, paint)
    else:
        width = 1
        if diagnostic.label_text:
            lines.append(" " * width + paint("gutter", " = ") + diagnostic.label_text)
    advice = _advice(diagnostic, width, paint) + [" " * width + paint("gutter", " = ") + line for line in _also(also)]
    if advice:
        lines += advice
    elif lines[-1].endswith(paint("gutter", " |")):
        lines.pop()  # the bar that leads to the advice
    return "\n".join(lines) + "\n"


def _also(others: Sequence[Diagnostic]) -> Iterator[str]:
    for other in others[:MAX_ALSO]:
        place, behind = _places(other)
        yield f"also at {place}{other.headline}{behind}"
    if len(others) > MAX_ALSO:
        yield f"and {counted(len(others) - MAX_ALSO, 'place')} more"


def _labels(diagnostic: Diagnostic) -> list[Label]:
    """The main place first. What is wrong inside the library is shown at the author's call of it, and there second."""
    span = diagnostic.span
    own = Label(span, diagnostic.label_text)
    author = _authors(span)
    if author is span:
        return [own, *diagnostic.related]
    return [Label(author, "in this call"), own, *diagnostic.related]


def _authors(span: Span) -> Span:
    """The place itself, or for one in the library the call that led into it."""
    place = span
    while place.source.is_library and place.call is not None:
        place = place.call
    return span if place.source.is_library else place


def _by_source(labels: list[Label], shown: Source) -> Iterator[list[Label]]:
    """Labels of other sources than the one that is already shown, those of one source together."""
    found: dict[int, list[Label]] = {}
    for label in labels:
        if label.span.source is not shown and label.span.source.text:
            found.setdefault(id(label.span.source), []).append(label)
    return iter(found.values())


def _calls(span: Span) -> list[Span]:
    """The calls that led to a place, innermost first."""
    calls: list[Span] = []
    call = span.call
    while call is not None:
        calls.append(call)
        call = call.call
    return calls


def _call_lines(span: Span, width: int, paint: Any) -> list[str]:
    """The calls that led to an inlined function, innermost first; of a long chain only both ends."""
    calls = _calls(span)
    hidden = len(calls) - MAX_CALLS
    lines: list[str] = []
    for index, call in enumerate(calls):
        if hidden > 0 and MAX_CALLS - 1 <= index < len(calls) - 1:
            if index == MAX_CALLS - 1:
                lines.append(" " * width + paint("gutter", " : ") + f"{hidden} calls between are not shown")
            continue
        lines += _place(call, width, ":::", paint)
        lines += _snippet(call.source, [Label(call, "called here")], width, paint, "gutter")
    return lines


def concise(diagnostic: Diagnostic) -> str:
    """`path:line:column: error[CODE]: headline: label`, for an inlined function also where the kernel calls it."""
    place, behind = _places(diagnostic)
    label = f": {diagnostic.label_text}" if diagnostic.label_text else ""
    return f"{place}{diagnostic.severity}[{diagnostic.code}]: {diagnostic.headline}{label}{behind}"


def _places(diagnostic: Diagnostic) -> tuple[str, str]:
    """The author's place, and in parentheses those that lie deeper or further out."""
    span = diagnostic.span
    main = _authors(span)
    place = f"{_position(main)}: " if span.source.text or span.end else ""
    more = [] if main is span else [f"in {_position(span)}"]
    more += [f"called at {_position(call)}" for call in _calls(main)[-1:]]
    return place, f" ({', '.join(more)})" if more else ""


def _position(span: Span) -> str:
    line, column = span.source.position(span.start)
    return f"{_name(span.source)}:{line}:{column}"


def as_json(diagnostic: Diagnostic) -> dict[str, Any]:
    """A diagnostic as data; lines and columns count from 1, the end is exclusive."""
    main, *others = _labels(diagnostic)
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.headline,
        "label": diagnostic.label_text,
        **_json_place(main.span),
        "notes": diagnostic.note_texts,
        "help": diagnostic.help_texts,
        "related": [{"label": label.text, **_json_place(label.span)} for label in others],
        "calls": [_json_place(call) for call in _calls(main.span)],
    }


def render_all(diagnostics: Iterable[Diagnostic], style: str, *, colour: bool = False) -> str:
    """All diagnostics in a style: text or concise."""
    if style == "concise":
        return "".join(concise(diagnostic) + "\n" for diagnostic in diagnostics)
    return "\n".join(render(first, also, colour=colour) for first, *also in _alike(diagnostics))


def _alike(diagnostics: Iterable[Diagnostic]) -> Iterable[list[Diagnostic]]:
    """What one rule finds at many places, as its notes are many lines; everything else stands alone."""
    groups: dict[object, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        said = diagnostic.severity, diagnostic.code, *diagnostic.note_texts, *diagnostic.help_texts
        groups.setdefault(said if diagnostic.code.startswith("ANE03") else id(diagnostic), []).append(diagnostic)
    return groups.values()


def _json_place(span: Span) -> dict[str, Any]:
    if not (span.source.text or span.end):
        return {"path": None, "line": None, "column": None, "end_line": None, "end_column": None}
    line, column = span.source.position(span.start)
    end_line, end_column = span.source.position(span.end)
    return {"path": span.source.name, "line": line, "column": column, "end_line": end_line, "end_column": end_column}


def _painter(colour: bool) -> Any:
    return (lambda style, text: f"{_COLOURS[style]}{text}{_RESET}") if colour else (lambda style, text: text)


def _gutter_width(diagnostic: Diagnostic) -> int:
    spans = [diagnostic.span, *(label.span for label in diagnostic.related), *_calls(diagnostic.span)]
    return max(len(str(span.source.position(span.start)[0])) for span in spans)


def _place(span: Span, width: int, arrow: str, paint: Any) -> list[str]:
    return [" " * width + paint("gutter", arrow) + f" {_position(span)}"]


def _name(source: Source) -> str:
    """A file's name as a terminal may show it."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in source.name)


def _snippet(source: Source, labels: list[Label], width: int, paint: Any, severity: str) -> list[str]:
    """The lines that labels stand on, each with its labels below; the first label is the main one."""
    by_line: dict[int, list[tuple[int, int, str, bool]]] = {}
    for index, label in enumerate(labels):
        line, column = source.position(label.span.start)
        text = source.line(line)
        length = max(1, min(label.span.end - label.span.start, len(text) - column + 1))
        by_line.setdefault(line, []).append((column - 1, length, label.text, index == 0))
    bar = " " * width + paint("gutter", " |")
    rows = [bar]
    for line in sorted(by_line):
        text, marks = _visible(source.line(line), by_line[line])
        rows.append(paint("gutter", f"{line:>{width}} |") + f" {text}".rstrip())
        rows += [f"{bar} {row}".rstrip() for row in _label_rows(marks, paint, severity)]
    return [*rows, bar]


def _visible(text: str, marks: list[tuple[int, int, str, bool]]) -> tuple[str, list[tuple[int, int, str, bool]]]:
    """The line with tabs as spaces, cut if long, and the marks in columns of the terminal."""
    start = 0
    if len(text) > MAX_LINE:
        start = max(0, min(column for column, *_ in marks) - MAX_LINE // 3)
        text = text[start : start + MAX_LINE]
    columns = [0]
    shown = []
    for character in text:
        piece = " " * TAB if character == "\t" else character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"
        shown.append(piece)
        columns.append(columns[-1] + (TAB if character == "\t" else _width(character)))

    def at(column: int) -> int:
        return columns[max(0, min(column - start, len(text)))] + max(0, column - start - len(text))

    return "".join(shown), [
        (at(c), max(1, at(min(c + n, start + len(text))) - at(c)), label, main) for c, n, label, main in marks
    ]


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _label_rows(marks: list[tuple[int, int, str, bool]], paint: Any, severity: str) -> list[str]:
    """One row of underlines with the text of the rightmost label, then a row for each other label, from right to left."""
    marks = sorted(marks, key=lambda mark: (mark[0], mark[3]))
    underline: list[str] = []
    for column, length, _, main in sorted(marks, key=lambda mark: mark[3]):
        underline += [" "] * (column + length - len(underline))
        underline[column : column + length] = ["^" if main else "-"] * length
    rest, (_, _, last, _) = marks[:-1], marks[-1]
    rows = ["".join(underline) + (f" {last}" if last else "")]
    rest = [mark for mark in rest if mark[2]]
    while rest:
        column, _, text, _ = rest[-1]
        stems = [" "] * (column + 1)
        for mark in rest:
            stems[mark[0]] = "|"
        rows.append("".join(stems))
        rows.append("".join(stems[:column]) + text)
        rest = rest[:-1]
    return [_painted(row, paint, severity) for row in rows]


def _painted(row: str, paint: Any, severity: str) -> str:
    stripped = row.lstrip()
    painted: str = paint(severity if "^" in row else "gutter", stripped)
    return row[: len(row) - len(stripped)] + painted


def _advice(diagnostic: Diagnostic, width: int, paint: Any) -> list[str]:
    rows = []
    for kind, texts in (("note", diagnostic.note_texts), ("help", diagnostic.help_texts)):
        for text in texts:
            first, *more = text.split("\n")
            rows.append(" " * width + paint("gutter", " = ") + paint("help" if kind == "help" else "bold", kind) + f": {first}")
            rows += [" " * (width + 3 + len(kind) + 2) + line for line in more]
    return rows
