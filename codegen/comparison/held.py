"""A graph with its numbers as a program holds them: those of an author have more digits than that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from anedsl.data import Array, Data, rounded
from anedsl.graph import CONST, Graph, Node, replaced
from anedsl.printing.numbers import held_number
from anedsl.types import DType, Shape


class HeldData:
    """Numbers rounded to an element type."""

    __slots__ = ("data", "dtype", "shape")

    def __init__(self, data: Data, dtype: DType) -> None:
        self.data = data
        self.dtype = dtype
        self.shape: Shape = data.shape

    def load(self) -> Array:
        return rounded(np.asarray(self.data.load()), self.dtype)

    def chunks(self) -> Iterator[Array]:
        for chunk in self.data.chunks():
            yield rounded(chunk, self.dtype)


def held(graph: Graph) -> Graph:
    """The consts and the number attributes rounded to their element types, as emission rounds them.

    Before: `y = mul(x, 0.1)`
    After:  `y = mul(x, 0.0999755859375)` with `x` of fp16
    """
    return replaced(graph, outputs=graph.outputs, nodes=[_held_node(node) for node in graph.nodes])


def _held_node(node: Node) -> Node:
    attributes = dict(node.attributes)
    if node.op is CONST:
        if node.result.type.dtype.is_float:
            attributes["val"] = HeldData(attributes["val"], node.result.type.dtype)
        return Node(node.op, node.operands, attributes, node.results, node.span)
    for attribute in node.op.attributes:
        value: Any = attributes.get(attribute.name)
        if value is None or attribute.kind not in ("float", "floats"):
            continue
        several = isinstance(value, (tuple, list))
        numbers = tuple(held_number(node, attribute, number) for number in (value if several else (value,)))
        attributes[attribute.name] = numbers if several else numbers[0]
    return Node(node.op, node.operands, attributes, node.results, node.span)
