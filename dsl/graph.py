"""The typed graph: values in SSA form, each with the author's place.

Nodes and values are never changed after they are made; a pass builds a new graph (`anedsl.passes.rewriter`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anedsl.data import Data
from anedsl.ops.call import Call, infer
from anedsl.ops.record import REQUIRED, Attribute, Op
from anedsl.source import NOWHERE, Span
from anedsl.types import FP32, DType, TensorType


class Value:
    """A tensor that a node computes or a kernel takes. `name` is the author's, or empty; it need not be unique."""

    __slots__ = ("name", "span", "type")

    def __init__(self, type: TensorType, name: str = "", span: Span = NOWHERE) -> None:
        self.type = type
        self.name = name
        self.span = span

    def __repr__(self) -> str:
        return f"Value({self.name or '_'}: {self.type})"


Operands = Value | tuple[Value, ...]


class Node:
    """One op applied to values.

    `operands` and `attributes` go by MIL's parameter names, in the record's order; absent optional operands are left
    out, attributes are complete. `results` has one value for each result.
    """

    __slots__ = ("attributes", "op", "operands", "results", "span")

    def __init__(
        self,
        op: Op,
        operands: Mapping[str, Operands],
        attributes: Mapping[str, Any],
        results: tuple[Value, ...],
        span: Span = NOWHERE,
    ) -> None:
        self.op = op
        self.operands = operands
        self.attributes = attributes
        self.results = results
        self.span = span

    @property
    def result(self) -> Value:
        """The first result."""
        return self.results[0]

    @property
    def values(self) -> list[Value]:
        """All operands in order, variadic ones spread out."""
        found: list[Value] = []
        for operand in self.operands.values():
            if isinstance(operand, tuple):
                found.extend(operand)
            else:
                found.append(operand)
        return found

    def __repr__(self) -> str:
        return f"Node({self.op.name} -> {', '.join(map(repr, self.results))})"


def make_node(
    op: Op,
    operands: Mapping[str, Operands],
    attributes: dict[str, Any] | None = None,
    *,
    name: str = "",
    span: Span = NOWHERE,
    spans: Mapping[str, Span] | None = None,
) -> Node:
    """A node with inferred result types and complete attributes.

    Raises `Failure` with a 02xx diagnostic where the op does not take these operands or attributes.
    """
    types: dict[str, Any] = {
        key: tuple(v.type for v in operand) if isinstance(operand, tuple) else operand.type for key, operand in operands.items()
    }
    call = Call(op, types, {} if attributes is None else attributes, span, spans)
    results = tuple(Value(type, name, span) for type in infer(call))
    return Node(op, operands, call.attributes, results, span)


def call_of(node: Node) -> Call:
    """The call that a node stands for: for an op's cost rule."""
    types: dict[str, Any] = {
        key: tuple(v.type for v in operand) if isinstance(operand, tuple) else operand.type
        for key, operand in node.operands.items()
    }
    return Call(node.op, types, dict(node.attributes), node.span)


def default_of(node: Node, attribute: Attribute) -> Any:
    """What an op takes for an attribute that is left out; None where it has no default, or one that is nothing."""
    default = attribute.default
    if default is REQUIRED:
        return None
    return default(call_of(node)) if callable(default) else default


def complete_attributes(node: Node) -> dict[str, Any]:
    """The attributes of a node, with the defaults of those that are left out: an older opset has them not by name."""
    found = dict(node.attributes)
    for attribute in node.op.attributes:
        if attribute.name not in found:
            default = default_of(node, attribute)
            if default is not None:
                found[attribute.name] = default
    return found


def number_type(node: Node, attribute: Attribute) -> DType:
    """The element type that a program gives a float attribute: that of the operands in its domain, else fp32."""
    if attribute.domain is not None:
        for operand in node.op.operands:
            found = node.operands.get(operand.name)
            if found and operand.domain.name == attribute.domain.name:
                return (found[0] if isinstance(found, tuple) else found).type.dtype
    return FP32


def is_op(node: Node, *names: str) -> bool:
    """Whether a node is one of these ops; an opaque one has only the name of it."""
    return node.op.name in names and not node.op.opaque


def _no_rule(call: Call) -> TensorType:
    raise AssertionError("a const is made by `make_const`")


CONST = Op("const", "A value known at compile time.", (), _no_rule, _no_rule)


@dataclass(frozen=True, slots=True)
class Weight:
    """What the author declared: the name that `--weights` and the manifest know."""

    name: str
    span: Span = NOWHERE


def make_const(data: Data, type: TensorType, *, name: str = "", span: Span = NOWHERE, weight: Weight | None = None) -> Node:
    """A const node: `val` is the data, `weight` says that the author declared it."""
    attributes: dict[str, Any] = {"val": data}
    if weight is not None:
        attributes["weight"] = weight
    return Node(CONST, {}, attributes, (Value(type, name, span),), span)


@dataclass(frozen=True, slots=True, eq=False)
class Port:
    """An input or output of a kernel, under its logical name. `range` is what the author promises of an input."""

    name: str
    value: Value
    span: Span = NOWHERE
    range: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Pack:
    """Ports that travel as one tensor, concatenated along an axis in this order."""

    name: str
    members: tuple[str, ...]
    axis: int
    span: Span = NOWHERE


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A kernel. `nodes` stand in an order in which every value is made before it is used."""

    name: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    nodes: tuple[Node, ...]
    input_packs: tuple[Pack, ...] = ()
    output_packs: tuple[Pack, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    doc: str = ""
    span: Span = NOWHERE

    @property
    def constants(self) -> list[Node]:
        return [node for node in self.nodes if node.op is CONST]

    @property
    def operations(self) -> list[Node]:
        """The nodes that compute: all but consts."""
        return [node for node in self.nodes if node.op is not CONST]


def replaced(graph: Graph, *, inputs: Sequence[Port] | None = None, outputs: Sequence[Port], nodes: Sequence[Node]) -> Graph:
    """The same kernel with other contents."""
    return Graph(
        graph.name,
        graph.inputs if inputs is None else tuple(inputs),
        tuple(outputs),
        tuple(nodes),
        graph.input_packs,
        graph.output_packs,
        graph.parameters,
        graph.doc,
        graph.span,
    )
