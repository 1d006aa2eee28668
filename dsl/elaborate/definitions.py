"""Where a function or kernel defines a name that is not known at a place: further down, in a loop, in a branch not taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from anedsl.diagnostics import Label
from anedsl.elaborate.modules import LoadedModule
from anedsl.source import Span
from anedsl.syntax import tree
from anedsl.syntax.walk import defined


class Elsewhere(NamedTuple):
    """The definition, and what to say of it."""

    label: Label
    advice: str


class _Definition(NamedTuple):
    name: tree.Identifier
    statement: Span
    loops: tuple[tree.For, ...]


def elsewhere(name: str, use: Span, module: LoadedModule) -> Elsewhere | None:
    """A definition that does not reach the place where the name is used; one above it comes first."""
    for item in (*module.tree.kernels, *module.tree.functions):
        if not isinstance(item, tree.Derived) and isinstance(item.body, tree.Block) and _holds(item.span, use):
            found = [definition for definition in _definitions(item.body) if definition.name.text == name]
            return _told(found[0], use) if found else None
    return None


def _told(found: _Definition, use: Span) -> Elsewhere:
    name = found.name.text
    line = _line(found.name.span)
    ended = [loop for loop in found.loops if not _holds(loop.body.span, use)]
    label = Label(found.name.span, "defined here")
    if ended:
        start = _line(ended[0].span)
        return Elsewhere(
            label, f"`{name}` is defined inside the loop at line {start}: its names end with each turn, unless defined above it"
        )
    if _holds(found.statement, use):
        where = "the loop" if found.loops else "this line"
        return Elsewhere(label, f"`{name}` has no value yet where this equation is read: define it above {where}")
    if found.name.span.start > use.start:
        return Elsewhere(label, f"`{name}` is defined below, at line {line}: a name is defined above its uses")
    return Elsewhere(label, f"`{name}` is defined at line {line}, in a branch that is not taken")


def _definitions(body: tree.Block) -> Iterator[_Definition]:
    """The names that a body defines, in the order of the text."""
    pending: list[tuple[Any, tuple[tree.For, ...]]] = [(body, ())]
    while pending:
        statement, loops = pending.pop()
        if isinstance(statement, tree.Block):
            pending.extend((inner, loops) for inner in reversed(statement.statements))
        elif isinstance(statement, tree.For):
            inside = (*loops, statement)
            yield _Definition(statement.variable, statement.variable.span, inside)
            pending.append((statement.body, inside))
        elif isinstance(statement, tree.If):
            pending.extend(((statement.otherwise, loops), (statement.then, loops)))
        elif statement is not None and not isinstance(statement, tree.Output):
            # A declared output has no value yet.
            for name in defined(statement):
                yield _Definition(name, statement.span, loops)


def _holds(span: Span, use: Span) -> bool:
    return span.source is use.source and span.start <= use.start < span.end


def _line(span: Span) -> int:
    line, _ = span.source.position(span.start)
    return line
