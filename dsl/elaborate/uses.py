"""How a name is used: called, before a dot, as an element type. Read off the text, and only where the name is unknown."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from anedsl.elaborate.modules import LoadedModule
from anedsl.source import Span
from anedsl.syntax import tree
from anedsl.syntax.walk import parts

MEMBERS = ("shape", "dtype", "rank")
"""What tensors have behind a dot: before one of them stands a tensor, and no module."""


class Use(Enum):
    """What stands at the place of the name."""

    CALLED = auto()
    PREFIX = auto()
    ELEMENT_TYPE = auto()
    VALUE = auto()


def use_of(span: Span, module: LoadedModule) -> Use:
    """How the name at `span` is used."""
    for item in (*module.tree.kernels, *module.tree.functions):
        if item.span.start <= span.start < item.span.end:
            for part in parts(item):
                use = _in(part, span)
                if use is not None:
                    return use
    return Use.VALUE


def _in(part: Any, span: Span) -> Use | None:
    if isinstance(part, tree.Call):
        if _is(part.function, span):
            return Use.CALLED
        if (
            isinstance(part.function, tree.Name)
            and part.function.text == "cast"
            and any(_is(a, span) for a in part.arguments[1:2])
        ):
            return Use.ELEMENT_TYPE
    elif isinstance(part, tree.Keyword):
        return Use.ELEMENT_TYPE if part.name.endswith("dtype") and _is(part.value, span) else None
    elif isinstance(part, tree.Attribute):
        return Use.PREFIX if part.name not in MEMBERS and _is(part.target, span) else None
    elif isinstance(part, tree.Binary):
        for side, other in ((part.left, part.right), (part.right, part.left)):
            if _is(side, span) and isinstance(other, tree.Attribute) and other.name == "dtype":
                return Use.ELEMENT_TYPE
    return None


def _is(node: Any, span: Span) -> bool:
    return isinstance(node, tree.Name) and node.span.source is span.source and node.span.start == span.start
