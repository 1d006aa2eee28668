"""Compares two physical graphs from their outputs up.

Names, the order of ops that do not depend on each other, and how often one const is written do not count: two values are the
same if the same op makes them of the same values with the same attributes; consts are compared by their numbers. Every op of
one graph is one op of the other: what is computed once here and twice there is a difference. Ops with an effect, which read
and write states, are compared one by one in their order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anedsl.codegen.comparison.constants import Constants, first_difference
from anedsl.codegen.mil_text import literal_text
from anedsl.codegen.program import Constant
from anedsl.graph import CONST, Graph, Node, Port, Value, default_of
from anedsl.printing.numbers import plain_value
from anedsl.source import Span


class Where(NamedTuple):
    """A value of one program: its name, the op that makes it, and its place in the text."""

    name: str
    op: str
    place: str


class Difference(NamedTuple):
    """The first difference: `kind` is op, operands, attribute, type, const, input, output, ports, effect, or count, where
    the programs differ only in how often they compute the same."""

    kind: str
    text: str
    left: Where | None
    right: Where | None


class Pairing(NamedTuple):
    """An input or output of both programs; `by` is name or position."""

    left: str
    right: str
    by: str


class Comparison(NamedTuple):
    """`difference` is None where the programs are the same. `missing` are weights without numbers, which were not compared."""

    difference: Difference | None
    inputs: tuple[Pairing, ...]
    outputs: tuple[Pairing, ...]
    missing: tuple[str, ...]


def compare(left: Graph, right: Graph) -> Comparison:
    """Compares two graphs; inputs and outputs go together by name, what is left by position."""
    inputs, outputs = pairings(left.inputs, right.inputs), pairings(left.outputs, right.outputs)
    constants = Constants()
    difference = _ports(left, right) or _Walk(left, right, inputs, constants).first(outputs)
    return Comparison(difference, inputs, outputs, tuple(constants.missing))


def pairings(left: Sequence[Port], right: Sequence[Port]) -> tuple[Pairing, ...]:
    """Ports of one name, then the others in their order."""
    there = {port.name for port in right}
    here = {port.name for port in left}
    rest = iter([port.name for port in right if port.name not in here])
    found = []
    for port in left:
        other = port.name if port.name in there else next(rest, None)
        if other is not None:
            found.append(Pairing(port.name, other, "name" if other == port.name else "position"))
    return tuple(found)


def _ports(left: Graph, right: Graph) -> Difference | None:
    for kind, a, b in (("input", left.inputs, right.inputs), ("output", left.outputs, right.outputs)):
        if len(a) != len(b):
            listed = [", ".join(f"`{port.name}`" for port in ports) or "none" for ports in (a, b)]
            return Difference("ports", f"{len(a)} {kind}s ({listed[0]}) and {len(b)} ({listed[1]})", None, None)
        by_name = {port.name: port for port in b}
        ports = {port.name: port for port in a}
        for pair in pairings(a, b):
            one, other = ports[pair.left], by_name[pair.right]
            if kind == "input" and one.value.type != other.value.type:
                text = f"`{one.value.type}` and `{other.value.type}`"
                return Difference("type", text, _port_place(one, kind), _port_place(other, kind))
    return None


def _port_place(port: Port, kind: str) -> Where:
    return Where(port.name, kind, place(port.span))


def place(span: Span) -> str:
    """`file:line:column`, or the file alone for a program that has no text."""
    name = span.source.name
    if not span.source.text:
        return "" if name.startswith("<") else name
    line, column = span.source.position(span.start)
    return f"{name}:{line}:{column}"


def node_place(node: Node) -> Where:
    """An op that may have no result."""
    name = node.results[0].name if node.results else ""
    return Where(name, node.op.name, place(node.span))


class _Side:
    """Who makes each value of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.inputs = {port.value: port.name for port in graph.inputs}
        self.outputs = {port.name: port.value for port in graph.outputs}
        self.made = {result: (node, index) for node in graph.nodes for index, result in enumerate(node.results)}
        self.effects = [node for node in graph.operations if node.op.effect]
        self.order = {id(node): number for number, node in enumerate(self.effects, 1)}

    def where(self, value: Value) -> Where:
        if value in self.inputs:
            return Where(self.inputs[value], "input", place(value.span))
        node = self.made[value][0]
        name = value.name or next((name for name, output in self.outputs.items() if output is value), "")
        return Where(name, node.op.name, place(node.span))


class _Walk:
    def __init__(self, left: Graph, right: Graph, inputs: Sequence[Pairing], constants: Constants) -> None:
        self.left, self.right = _Side(left), _Side(right)
        self.partner = {pair.left: pair.right for pair in inputs}
        self.constants = constants
        self.seen: set[tuple[Value, Value]] = set()
        self.of_left: dict[Node, dict[Node, Value]] = {}
        self.of_right: dict[Node, dict[Node, Value]] = {}
        """For each op those of the other graph that are the same, each with a result."""

    def first(self, outputs: Sequence[Pairing]) -> Difference | None:
        for pair in outputs:
            found = self._values(self.left.outputs[pair.left], self.right.outputs[pair.right])
            if found is not None:
                return found
        return self._effects() or self._repeated()

    def _effects(self) -> Difference | None:
        left, right = self.left.effects, self.right.effects
        for m, n in zip(left, right, strict=False):
            found = self._use(m, n, "effect", node_place(m), node_place(n))
            for a, b in zip(m.values, n.values, strict=True) if found is None else ():
                found = found or self._values(a, b)
            found = found or self._attributes(m, n, node_place(m), node_place(n))
            if found is not None:
                return found
        if len(left) == len(right):
            return None
        more = (left if len(left) > len(right) else right)[min(len(left), len(right))]
        sides = (node_place(more), None) if len(left) > len(right) else (None, node_place(more))
        return Difference("effect", f"only one has this `{more.op.name}`", *sides)

    def _values(self, left: Value, right: Value) -> Difference | None:
        """Operands before what is made of them, so that the first difference is the one that the others follow from."""
        pending = [(left, right, False)]
        while pending:
            a, b, operands_done = pending.pop()
            if operands_done:
                found = self._after(a, b)
            elif (a, b) in self.seen:
                continue
            else:
                self.seen.add((a, b))
                found = self._before(a, b)
                if found is None and a not in self.left.inputs:
                    pending.append((a, b, True))
                    nodes = self.left.made[a][0], self.right.made[b][0]
                    pending.extend((x, y, False) for x, y in reversed(list(zip(*(n.values for n in nodes), strict=True))))
            if found is not None:
                return found
        return None

    def _before(self, a: Value, b: Value) -> Difference | None:
        """Whether the same op makes both, of equally many operands."""
        if a in self.left.inputs or b in self.right.inputs:
            if a in self.left.inputs and self.partner.get(self.left.inputs[a]) == self.right.inputs.get(b):
                return None
            return self._differ("input", f"{self._what(self.left, a)} and {self._what(self.right, b)}", a, b)
        (m, i), (n, j) = self.left.made[a], self.right.made[b]
        left, right = self.left.where(a), self.right.where(b)
        found = self._use(m, n, "op", left, right)
        if found is None and i != j:
            return Difference("op", f"result {i} and result {j} of `{m.op.name}`", left, right)
        order = self.left.order.get(id(m)), self.right.order.get(id(n))
        if found is None and order[0] != order[1]:
            return Difference("effect", f"`{m.op.name}` is op {order[0]} and op {order[1]} on states", left, right)
        return found

    def _use(self, m: Node, n: Node, kind: str, left: Where, right: Where) -> Difference | None:
        """Whether two nodes are the same op of equally many operands."""
        if m.op.name != n.op.name:
            return Difference(kind, f"`{m.op.name}` and `{n.op.name}`", left, right)
        shapes = [{k: len(o) if isinstance(o, tuple) else 1 for k, o in node.operands.items()} for node in (m, n)]
        if shapes[0] != shapes[1]:
            listed = [", ".join(f"{k} ({c})" if c > 1 else k for k, c in shape.items()) or "none" for shape in shapes]
            return Difference("operands", f"`{m.op.name}` of {listed[0]}, and of {listed[1]}", left, right)
        # In one order, so that operands are compared by their names.
        if list(m.operands) != list(n.operands):
            return Difference("operands", "operands in another order", left, right)
        return None

    def _attributes(self, m: Node, n: Node, left: Where, right: Where) -> Difference | None:
        for name, one, other in differing_attributes(m, n):
            return Difference("attribute", f"`{name}` of `{m.op.name}` is {one} and {other}", left, right)
        return None

    def _what(self, side: _Side, value: Value) -> str:
        where = side.where(value)
        return f"the input `{where.name}`" if value in side.inputs else f"the result of `{where.op}`"

    def _after(self, a: Value, b: Value) -> Difference | None:
        m, n = self.left.made[a][0], self.right.made[b][0]
        if m.op is not CONST:
            found = self._attributes(m, n, self.left.where(a), self.right.where(b))
            if found is not None:
                return found
        if a.type != b.type:
            return self._differ("type", f"`{a.type}` and `{b.type}`", a, b)
        if m.op is CONST:
            hashes = self.constants.digest(m), self.constants.digest(n)
            if None not in hashes and hashes[0] != hashes[1]:
                return self._differ("const", first_difference(m, n), a, b)
            return None
        self.of_left.setdefault(m, {}).setdefault(n, b)
        self.of_right.setdefault(n, {}).setdefault(m, a)
        return None

    def _repeated(self) -> Difference | None:
        """An op of one graph that is several of the other."""
        for m, others in self.of_left.items():
            if len(others) > 1:
                text = f"`{m.op.name}` is computed once here and {_times(len(others))} there"
                return self._differ("count", text, m.results[0], list(others.values())[1])
        for n, others in self.of_right.items():
            if len(others) > 1:
                text = f"`{n.op.name}` is computed {_times(len(others))} here and once there"
                return self._differ("count", text, list(others.values())[1], n.results[0])
        return None

    def _differ(self, kind: str, text: str, a: Value, b: Value) -> Difference:
        return Difference(kind, text, self.left.where(a), self.right.where(b))


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def differing_attributes(left: Node, right: Node) -> list[tuple[str, str, str]]:
    """Names and both values of the attributes that are not the same; one that is left out has its default."""
    found = []
    one, other = _attributes(left), _attributes(right)
    for name in dict.fromkeys((*one, *other)):
        if one.get(name) != other.get(name):
            shown = [_shown(node.attributes.get(name, "left out")) for node in (left, right)]
            found.append((name, *shown))
    return [(name, a, b) for name, a, b in found]


def _shown(value: Any) -> str:
    if isinstance(value, Constant):
        value = literal_text(value)
    text = str(list(value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _attributes(node: Node) -> Mapping[str, Any]:
    found = {}
    for attribute in node.op.attributes:
        value = node.attributes.get(attribute.name)
        if value is None:
            value = default_of(node, attribute)
        if isinstance(value, Constant):
            found[attribute.name] = literal_text(value)
        elif value is not None:
            found[attribute.name] = plain_value(node, attribute, value)
    return found
