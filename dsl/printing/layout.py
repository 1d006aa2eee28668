"""Lines: no longer than a reader likes."""

from __future__ import annotations

WIDTH = 100
INDENT = "    "


def wrapped(line: str) -> str:
    """A statement over several lines where it is too long for one: broken after commas inside of brackets."""
    line = INDENT + line
    if len(line) <= WIDTH:
        return line
    lines: list[str] = []
    current = ""
    for piece in _pieces(line):
        if current.strip() and len(current) + len(piece.rstrip()) > WIDTH:
            lines.append(current.rstrip())
            current = INDENT * 2 + piece.lstrip()
        else:
            current += piece
    lines.append(current.rstrip())
    return "\n".join(lines)


def _pieces(line: str) -> list[str]:
    """The line cut after commas in brackets, where line ends are free: the outermost ones, or all where that is not enough."""
    pieces: list[str] = []
    for piece in _cut(line, 1):
        pieces += [piece] if len(piece) + len(INDENT) * 2 <= WIDTH else _cut(piece, len(line))
    return pieces


def _cut(line: str, deepest: int) -> list[str]:
    """The text cut after the commas that stand in at most so many brackets."""
    pieces, start, depth, quoted = [], 0, 0, False
    for at, letter in enumerate(line):
        if letter == '"' and line[at - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and 0 < depth <= deepest:
            pieces.append(line[start : at + 2])
            start = at + 2
    return [*pieces, line[start:]]
