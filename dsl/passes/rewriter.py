"""Rebuilds a graph node by node: how every pass changes one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anedsl.data import FillData
from anedsl.graph import Graph, Node, Operands, Port, Value, make_const, make_node, replaced
from anedsl.ops import OPS
from anedsl.types import TensorType


class Rewriter:
    """Copies a graph in order; a pass says what each node becomes.

    `self.now(value)` is what an old value is called in the new graph.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        self.producers: dict[Value, Node] = {}
        self._now: dict[Value, Value] = {}

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
        self.add(node)
        return node

    def add(self, node: Node) -> Value:
        self.nodes.append(node)
        for result in node.results:
            self.producers[result] = node
        return node.result

    def emit(self, op: str, operands: Mapping[str, Operands], like: Node, **attributes: Any) -> Value:
        """Adds a new op at the place of an old node, under its name."""
        return self.add(make_node(OPS[op], operands, attributes, name=like.result.name, span=like.span))

    def number(self, value: float | int | bool, like: Value, place: Node) -> Value:
        """Adds a const of rank 0 in the element type of another value."""
        return self.add(make_const(FillData(value, ()), TensorType(like.type.dtype, ()), span=place.span))

    def replace(self, old: Value, new: Value) -> None:
        """Uses of `old` become uses of `new`. The author's name passes on to a value that has none."""
        self._now[old] = new
        if old.name and not new.name:
            new.name = old.name

    def finish(self) -> Graph:
        outputs = [Port(port.name, self.now(port.value), port.span, port.range) for port in self.graph.outputs]
        return replaced(self.graph, outputs=outputs, nodes=self.nodes)
