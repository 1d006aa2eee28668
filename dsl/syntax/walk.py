"""Walks over the syntax tree. None is recursive: a sum of a thousand terms is a thousand deep."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anedsl.source import Source, Span
from anedsl.syntax import tree


def parts(item: Any) -> Iterator[Any]:
    """A node of the tree and all below it; what `stored` says is not made of names."""
    pending = [item]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, tree.Weight):
            part = part._replace(stored=None)
        pending.extend(inner for inner in part if isinstance(inner, tuple) and not isinstance(inner, (Span, Source)))


def defined(statement: tree.Statement) -> tuple[tree.Identifier, ...]:
    """The names that a statement declares or defines by itself; those inside a loop or condition are not its own."""
    if isinstance(statement, tree.Assign):
        return statement.targets
    if isinstance(statement, (tree.Input, tree.Output, tree.State)):
        return statement.names
    return tuple(weight.name for weight in statement.names) if isinstance(statement, tree.Weight) else ()
