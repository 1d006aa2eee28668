"""Small graphs for the tests of rules, each op on a line of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anedsl.data import ArrayData, FillData
from anedsl.diagnostics import Diagnostic
from anedsl.graph import Graph, Node, Operands, Pack, Port, Value, Weight, make_const, make_node
from anedsl.ops import OPS
from anedsl.ops.record import ANY, Op, Operand, no_flops
from anedsl.ops.rules import same_as_x
from anedsl.rules import Target, check
from anedsl.source import Source, Span
from anedsl.types import FP16, DType, TensorType

SOURCE = Source("kernel.ane", "\n" * 200)


def line_of(diagnostic: Diagnostic) -> int:
    return diagnostic.span.source.position(diagnostic.span.start)[0]


class Maker:
    """Collects inputs and nodes; what is made n-th stands on line n."""

    def __init__(self) -> None:
        self.inputs: list[Port] = []
        self.nodes: list[Node] = []
        self.input_packs: list[Pack] = []
        self.output_packs: list[Pack] = []
        self.line = 0
        self.last: Value | None = None

    def span(self) -> Span:
        self.line += 1
        return Span(SOURCE, self.line - 1, self.line)

    def input(self, name: str, *shape: int, dtype: DType = FP16, range: tuple[float, float] | None = None) -> Value:
        span = self.span()
        self.last = Value(TensorType(dtype, shape), name, span)
        self.inputs.append(Port(name, self.last, span, range))
        return self.last

    def const(self, *shape: int, dtype: DType = FP16, data: Any = None, weight: bool = False) -> Value:
        """A const; without data it is 1 everywhere."""
        kept = FillData(1, shape) if data is None else ArrayData(np.asarray(data))
        node = make_const(kept, TensorType(dtype, shape), span=self.span(), weight=Weight("w") if weight else None)
        self.nodes.append(node)
        return node.result

    def op(self, op: str, *values: Value, **more: Any) -> Value:
        """An op of the registry; values go to its operands in order, the rest by name."""
        record = OPS[op]
        operands: dict[str, Operands] = {}
        if record.operands and record.operands[0].variadic:
            operands[record.operands[0].name] = values
        else:
            operands.update(zip((operand.name for operand in record.operands), values, strict=False))
        for name in [name for name in more if name in record.operand_index]:
            operands[name] = more.pop(name)
        node = make_node(record, operands, more, span=self.span())
        self.nodes.append(node)
        self.last = node.result
        return self.last

    def raw(self, op: str, *values: Value, result: TensorType, **attributes: Any) -> Value:
        """An op that the registry does not have, or would refuse."""
        names = ("x", "weight") if op == "conv" else ("x", "y", "z")
        record = Op(op, "For a test.", tuple(Operand(name, ANY) for name in names), same_as_x, np.add, flops=no_flops)
        self.last = Value(result, "", self.span())
        self.nodes.append(Node(record, dict(zip(names, values, strict=False)), attributes, (self.last,), self.last.span))
        return self.last

    def graph(self, *outputs: Value) -> Graph:
        """The graph; without outputs, of what was made last."""
        found = outputs or (self.last,)
        ports = tuple(Port(f"y{i}", value, value.span) for i, value in enumerate(found) if value is not None)
        packs = (tuple(self.input_packs), tuple(self.output_packs))
        return Graph("kernel", tuple(self.inputs), ports, tuple(self.nodes), *packs)


Build = Callable[[Maker], Any]


def checked(build: Build, target: Target = Target()) -> list[Diagnostic]:  # noqa: B008 - a Target is immutable
    """The diagnostics of the graph that `build` makes; it returns its output, its outputs, or nothing for the last value."""
    maker = Maker()
    made = build(maker)
    outputs = made if isinstance(made, tuple) else (made,) if isinstance(made, Value) else ()
    return check(maker.graph(*outputs), target)


def of_rule(diagnostics: list[Diagnostic], rule: str) -> list[Diagnostic]:
    return [diagnostic for diagnostic in diagnostics if getattr(diagnostic, "rule", None) == rule]
