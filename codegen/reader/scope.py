"""The names of one function: values, and consts that have not been used as a value yet."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from anedsl.codegen.mil_types import is_tensor
from anedsl.codegen.program import InFile
from anedsl.codegen.reader.literals import Resolved
from anedsl.codegen.reader.places import Places
from anedsl.data import ArrayData, Data
from anedsl.diagnostics import Failure, Label, nearest
from anedsl.graph import Node, Value, Weight, make_const
from anedsl.source import Span

if TYPE_CHECKING:
    from anedsl.codegen.reader.weights import Weights


MAX_SEARCHED = 500
"""Names among which one like an undefined name is looked for."""


class Constant:
    """A const: it becomes a node when an op takes it as an operand, and none when it only sets attributes."""

    __slots__ = ("name", "resolved", "span", "value")

    def __init__(self, name: str, resolved: Resolved, span: Span) -> None:
        self.name = name
        self.resolved = resolved
        self.span = span
        self.value: Value | None = None


class Broken:
    """What stands for a const that could not be read: its users are not reported again."""


Entry = Value | Constant | Broken


class Scope:
    """Names of one function; nodes of consts are put into `nodes` where they are used first."""

    def __init__(self, places: Places, weights: Weights) -> None:
        self.places = places
        self.weights = weights
        self.entries: dict[str, Entry] = {}
        self.nodes: list[Node] = []
        self.spans: dict[str, Span] = {}

    def define(self, name: str, entry: Entry, token: Any) -> None:
        """Raises ANE0466 for a name that is taken."""
        if name in self.entries:
            from anedsl.diagnostics.artifacts import Redefined

            first = self.spans[name]
            related = (Label(first, f"`{name}` is defined here"),) if first.end else ()
            raise Failure(Redefined(span=self.places.span(token), related=related, name=name))
        self.entries[name] = entry
        self.spans[name] = entry.span if isinstance(entry, (Value, Constant)) else self.places.span(token)

    def find(self, token: str) -> Entry:
        """Raises ANE0465 for a name that is not defined yet."""
        found = self.entries.get(token)
        if found is None:
            from anedsl.diagnostics.artifacts import UndefinedName

            span = self.places.span(token)
            # The search takes time for each name: those that were defined last are the likely ones.
            recent = list(islice(reversed(self.entries), MAX_SEARCHED))
            raise Failure(UndefinedName(span=span, name=str(token), nearest=nearest(token, recent)))
        return found

    def as_value(self, constant: Constant, token: Any) -> Value:
        """The value of a const that an op takes as an operand."""
        if constant.value is None:
            node = self._node(constant, token)
            self.nodes.append(node)
            constant.value = node.result
        return constant.value

    def _node(self, constant: Constant, token: Any) -> Node:
        type, value = constant.resolved
        if not is_tensor(type):
            from anedsl.diagnostics.artifacts import NotAnOperand

            raise Failure(NotAnOperand(span=self.places.span(token), type=str(type)))
        if 0 in type.shape:
            from anedsl.diagnostics.artifacts import InvalidSize

            reason = f"`{type}` has no elements, and no op computes with it"
            raise Failure(InvalidSize(span=self.places.span(token), reason=reason))
        if not isinstance(value, InFile):
            return make_const(ArrayData(value), type, name=constant.name, span=constant.span)
        data: Data = self.weights.data(value, type, constant.span)
        declared = self.weights.declared.get(value)
        name = constant.name or _stem(value)
        if declared is not None:
            weight = Weight(declared.name, constant.span) if declared.declared else None
        else:
            weight = Weight(name, constant.span)
        return make_const(data, type, name=name, span=constant.span, weight=weight)


def _stem(place: InFile) -> str:
    """A name for a weight that has none of its own: that of its file."""
    stem = place.path.rpartition("/")[2].removesuffix(".bin")
    return stem if stem != "weight" else f"weight_{place.offset}"
