"""One-op kernels, and programs written again after they were read."""

from __future__ import annotations

import numpy as np

from anedsl.codegen.artifact import blob_places, prepare
from anedsl.codegen.mil_text import mil_text
from anedsl.codegen.options import Options
from anedsl.graph import CONST, Graph, Node, Operands, Value, make_node, replaced
from anedsl.ops import OPS
from anedsl.reference.numerics import Numerics
from anedsl.types import DTYPES, TensorType
from tests.codegen.kernels import Builder
from tests.ops.case import Case, T


def emitted(graph: Graph, dialect: str = "1.3", single: bool = False, route: str = "coreml") -> str:
    """The MIL text of a graph."""
    options = Options(dialect=dialect, route=route, emit=frozenset({"mil"}), single_weight_file=single)
    program = prepare(graph, options).program
    return mil_text(program, blob_places(program, single))


def one_op(case: Case) -> Graph:
    """The op alone, its operands as inputs; as consts where MIL wants them at compile time."""
    b = Builder("one_op")
    record = OPS[case.op]

    def value(name: str, t: T) -> Value:
        type = TensorType(DTYPES[t.dtype], t.shape)
        if t.const or record.operand_index[name].const or (case.op, name) == ("conv", "weight"):
            return b.const(np.ones(t.shape), type, name)
        return b.input(f"in_{len(b.inputs)}", type)

    operands: dict[str, Operands] = {}
    for operand in record.operands:
        given = case.operands.get(operand.name)
        if given is not None:
            operands[operand.name] = (
                value(operand.name, given) if isinstance(given, T) else tuple(value(operand.name, t) for t in given)
            )
    node = make_node(record, operands, dict(case.attributes))
    b.nodes.append(node)
    for index, result in enumerate(node.results):
        b.output(f"out_{index}", result)
    return b.graph()


def with_written_attributes(graph: Graph) -> Graph:
    """The graph with its float attributes rounded to the element type in which a program holds them."""
    return replaced(graph, outputs=graph.outputs, nodes=[node if node.op is CONST else _written(node) for node in graph.nodes])


def _written(node: Node) -> Node:
    return Node(node.op, node.operands, Numerics("fp16").attributes(node), node.results, node.span)
