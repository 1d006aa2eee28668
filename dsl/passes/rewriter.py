"""Rebuilds a graph node by node: how every pass changes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from anedsl.data import ArrayData, FillData
from anedsl.graph import CONST, Graph, Node, Operands, Port, Value, is_op, make_const, make_node, replaced
from anedsl.ops import OPS
from anedsl.types import TensorType

SMALL = 1024
"""Tensors of at most so many elements are looked at for being one number everywhere."""


class Rewriter:
    """Copies a graph in order; a pass says what each node becomes.

    `self.now(value)` is what an old value is called in the new graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        self.producers: dict[Value, Node] = {}
        self._now: dict[Value, Value] = {}
        self._replaced: dict[Value, list[Value]] = {}
        self._uses: dict[Value, int] | None = None

    def now(self, value: Value) -> Value:
        return self._now.get(value, value)

    def operands(self, node: Node) -> Mapping[str, Operands]:
        """The node's operands in the new graph; the same mapping where none has changed."""
        now = self._now
        if not any(value in now for value in node.values):
            return node.operands
        return {
            name: tuple(now.get(v, v) for v in operand) if isinstance(operand, tuple) else now.get(operand, operand)
            for name, operand in node.operands.items()
        }

    def keep(self, node: Node) -> Node:
        """Copies a node, with its operands' new values; its results stay the same values."""
        operands = self.operands(node)
        if operands is not node.operands:
            node = Node(node.op, operands, node.attributes, node.results, node.span)
        self._append(node)
        return node

    def add(self, node: Node) -> Value:
        """Adds a node; returns its first result."""
        self._append(node)
        return node.result

    def _append(self, node: Node) -> None:
        self.nodes.append(node)
        for result in node.results:
            self.producers[result] = node

    def emit(self, op: str, operands: Mapping[str, Operands], like: Node, **attributes: Any) -> Value:
        """Adds a new op at the place of an old node, under its name."""
        return self.add(make_node(OPS[op], operands, attributes, name=like.result.name, span=like.span))

    def number(self, value: float | int | bool, like: Value, place: Node) -> Value:
        """Adds a const of rank 0 in the element type of another value."""
        return self.add(make_const(FillData(value, ()), TensorType(like.type.dtype, ()), span=place.span))

    def replace(self, old: Value, new: Value) -> None:
        """Uses of `old` become uses of `new`. The author's name passes on to a value that has none."""
        self._now[old] = new
        self._replaced.setdefault(new, []).append(old)
        if old.name and not new.name:
            new.name = old.name

    def producer(self, value: Value, *ops: str) -> Node | None:
        """The node of the new graph that makes a value, if it is one of these ops."""
        node = self.producers.get(value)
        return node if node is not None and is_op(node, *ops) else None

    def used_once(self, value: Value) -> bool:
        """Whether a value of the new graph has one use: those of the values whose place it took are its own as well."""
        if self._uses is None:
            self._uses = {}
            for used in (*(v for node in self.graph.nodes for v in node.values), *(port.value for port in self.graph.outputs)):
                self._uses[used] = self._uses.get(used, 0) + 1
        # What a pass makes on the way to something else is read by that alone.
        return (sum(self._uses.get(old, 0) for old in (value, *self._replaced.get(value, ()))) or 1) == 1

    def finish(self) -> Graph:
        outputs = [Port(port.name, self.now(port.value), port.span, port.range) for port in self.graph.outputs]
        return replaced(self.graph, outputs=outputs, nodes=self.nodes)


Rewrite = Callable[[Node, Any, Rewriter], Value | None]
"""What a pass does to one node, given its operands in the new graph: the value that takes the result's place, or None."""


def rewrite(graph: Graph, rewrites: Mapping[str, tuple[Rewrite, ...]]) -> Graph:
    """Visits every node once, operands first, and applies the first rewrite of its op that fits."""
    rewriter = Rewriter(graph)
    for node in graph.nodes:
        candidates = None if node.op.opaque else rewrites.get(node.op.name)
        if candidates:
            operands = rewriter.operands(node)
            for candidate in candidates:
                new = candidate(node, operands, rewriter)
                if new is not None:
                    rewriter.replace(node.result, new)
                    break
            else:
                rewriter.keep(node)
        else:
            rewriter.keep(node)
    return rewriter.finish()


def number_of(value: Value, rewriter: Rewriter) -> float | None:
    """The number that a const has everywhere, or None. A weight has none: its numbers come later."""
    node = rewriter.producers.get(value)
    if node is None or node.op is not CONST or "weight" in node.attributes:
        return None
    data = node.attributes["val"]
    if isinstance(data, FillData):
        return float(data.value)
    if isinstance(data, ArrayData) and 0 < data.array.size <= SMALL:
        first = data.array.reshape(-1)[0]
        return float(first) if (data.array == first).all() else None
    return None
