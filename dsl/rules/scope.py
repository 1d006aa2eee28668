"""A graph as a check looks at it: its surfaces, and what makes and uses a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from anedsl.diagnostics import Label
from anedsl.graph import Graph, Node, Pack, Port, Value
from anedsl.ops.call import SHORT
from anedsl.rules.record import Target
from anedsl.source import Span
from anedsl.types import TensorType


class Finding(NamedTuple):
    """A place where a rule is broken.

    `kind` is the name of the class in `anedsl.diagnostics.rules`, `fields` are its own fields. `chips`, `confidence`,
    `action` and `fix` replace the rule's where the finding knows better.
    """

    kind: str
    span: Span
    fields: Mapping[str, Any]
    chips: tuple[str, ...] | None = None
    confidence: str | None = None
    action: str | None = None
    fix: str | None = None
    related: tuple[Label, ...] = ()


class Surface(NamedTuple):
    """A tensor that the caller binds: one port, or a pack of them."""

    name: str
    type: TensorType
    span: Span
    ports: tuple[Port, ...]
    axis: int | None = None


class Tensor(NamedTuple):
    """A tensor of a graph as a diagnostic speaks of it: `what` is "`x`" or "the result of `mul`".

    `values` is the value itself, or the members of a packed surface; `node` is None for a surface.
    """

    what: str
    type: TensorType
    span: Span
    node: Node | None
    values: tuple[Value, ...]


_CALL = re.compile(r"([A-Za-z_][\w.]*)\s*\(")
_SUBSCRIPT = re.compile(r"[A-Za-z_]\w*\[[^\[\]\n]*\]")


def author_name(node: Node) -> str:
    """What the author called where an op stands, `transpose` for a `reshape`, or the subscript that it is; else the op."""
    text = node.span.text
    called = _CALL.match(text)
    if called and _closes_at_end(text, called.end() - 1):
        return called[1]
    return text if len(text) <= SHORT and _SUBSCRIPT.fullmatch(text) else node.op.name


def _closes_at_end(text: str, start: int) -> bool:
    """Whether the bracket at `start` is closed by the last character: `f(a)`, and not `f(a) + g(b)`."""
    depth = 0
    for place, character in enumerate(text[start:], start):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return place == len(text) - 1
    return False


def wide_axes(rank: int) -> tuple[int, ...]:
    """The axes that have the limit of channels (D4) and not that of width, height and depth (D3).

    From rank 3 on these are batch and channels, axes 0 and 1. A rank-3 tensor may begin with either, but both have one
    limit, so it makes no difference. Both axes of a matrix were measured to have the smaller limit. Of a vector nothing
    is known but M1's limit, which is a rule of its own (D6).
    """
    if rank >= 3:
        return (0, 1)
    return (0,) if rank == 1 else ()


class Scope:
    """A graph and a target, with what several checks ask for.

    Ops on consts alone are folded away before anything is emitted: no rule speaks of them, whether they are folded yet
    or not.
    """

    def __init__(self, graph: Graph, target: Target) -> None:
        self.graph = graph
        self.target = target
        self.producers: dict[Value, Node] = {result: node for node in graph.nodes for result in node.results}
        self.ports: dict[Value, Port] = {port.value: port for port in graph.inputs}
        self.inputs = _surfaces(graph.inputs, graph.input_packs)
        self.outputs = _surfaces(graph.outputs, graph.output_packs)
        self._constants: set[Value] = set()
        self._users: dict[Value, list[Node]] = {}
        self.operations = [node for node in graph.nodes if not self._is_known_at_compile_time(node)]
        for node in self.operations:
            for operand in node.values:
                self._users.setdefault(operand, []).append(node)

    def _is_known_at_compile_time(self, node: Node) -> bool:
        known = all(value in self._constants for value in node.values)
        if known:
            self._constants.update(node.results)
        return known

    def users(self, value: Value) -> list[Node]:
        """The ops that take a value at run time."""
        return self._users.get(value, [])

    def ops(self, *names: str) -> Iterator[Node]:
        """The nodes of some ops, in order."""
        return (node for node in self.operations if node.op.name in names)

    def is_const(self, value: Value) -> bool:
        """Whether a value is known at compile time: a const, or what is computed from consts alone."""
        return value in self._constants

    def what(self, value: Value) -> str:
        """A value as a diagnostic names it."""
        if value in self.ports:
            return f"`{self.ports[value].name}`"
        if value.name:
            return f"`{value.name}`"
        return f"the result of `{author_name(self.producers[value])}`"

    def tensors(self) -> Iterator[Tensor]:
        """Every tensor: surfaces, and the results of nodes. The weights of `conv` have limits of their own."""
        packed = [surface for surface in self.outputs if surface.axis is not None]
        for surface in [*self.inputs, *packed]:
            yield Tensor(f"`{surface.name}`", surface.type, surface.span, None, tuple(port.value for port in surface.ports))
        for node in self.graph.nodes:
            for result in node.results:
                if self.is_const(result) and self._is_only_weight(result):
                    continue
                yield Tensor(self.what(result), result.type, node.span, node, (result,))

    def _is_only_weight(self, value: Value) -> bool:
        users = self.users(value)
        return all(node.op.name in ("conv", "linear") and node.operands.get("weight") is value for node in users)


def _surfaces(ports: tuple[Port, ...], packs: tuple[Pack, ...]) -> list[Surface]:
    by_name = {port.name: port for port in ports}
    packed = {name for pack in packs for name in pack.members}
    found = [Surface(port.name, port.value.type, port.span, (port,)) for port in ports if port.name not in packed]
    for pack in packs:
        members = tuple(by_name[name] for name in pack.members)
        first = members[0].value.type
        axis = pack.axis % first.rank
        length = sum(port.value.type.shape[axis] for port in members)
        shape = (*first.shape[:axis], length, *first.shape[axis + 1 :])
        found.append(Surface(pack.name, first.with_shape(shape), pack.span, members, axis))
    return found


def last_axis_begin(node: Node) -> int:
    """Where a slice begins on the last axis of its operand, counted from 0; 0 for any other op."""
    begin = node.attributes.get("begin")
    x = node.operands.get("x")
    if node.op.name not in ("slice_by_size", "slice_by_index") or not begin or not isinstance(x, Value):
        return 0
    mask = node.attributes.get("begin_mask")
    if mask and mask[-1]:
        stride = node.attributes.get("stride")
        return x.type.shape[-1] - 1 if stride and stride[-1] < 0 else 0
    return int(begin[-1]) % max(x.type.shape[-1], 1)
