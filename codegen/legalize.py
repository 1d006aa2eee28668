"""Small passes over the physical graph that make it what the compilers for the ANE accept.

Each cites the rule it serves (see docs/ane-rules.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from anedsl.codegen.avoidance import avoid
from anedsl.data import Array, Data
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.graph import CONST, Graph, Node, Port, Value, default_of, is_op, make_const, make_node, replaced
from anedsl.ops import OPS
from anedsl.types import Shape

OPSETS = ("ios15", "ios16", "ios17", "ios18")
"""The opsets, oldest first."""

OPSET_OF = {"1.0": "ios16", "1.3": "ios18"}
"""The opset that a program of each dialect is written for."""


NARROW = frozenset({"int8", "uint8", "int16", "uint16"})
NARROW_SINCE = "ios17"
"""Before this opset only `constexpr_*` ops take integers of 8 and 16 bits."""


def legalize(graph: Graph, dialect: str, route: str, chip: str | None = None) -> Graph:
    """All passes in their order, and the check that the dialect has the ops."""
    return check_opset(legal_forms(graph, dialect, route, chip), dialect)


def legal_forms(graph: Graph, dialect: str, route: str, chip: str | None = None) -> Graph:
    """All passes in their order."""
    graph = separate_outputs(avoid(graph, chip))
    return separate_conv_bias(graph, of_consts=route == "inmemory", of_values=route == "inmemory" or dialect == "1.0")


def separate_outputs(graph: Graph) -> Graph:
    """Gives every output an op of its own (rules T7 and T13).

    Before: `-> (x, y, y)` with `x` an input.
    After:  `a = identity(x)`, `b = identity(y)`, `-> (a, y, b)`
    """
    taken = {port.value for port in graph.inputs} | {node.result for node in graph.constants}
    outputs, copies = [], []
    for port in graph.outputs:
        value = port.value
        if value in taken:
            node = make_node(OPS["identity"], {"x": value}, name=port.name, span=port.span)
            copies.append(node)
            value = node.result
        taken.add(value)
        outputs.append(Port(port.name, value, port.span, port.range))
    return replaced(graph, outputs=outputs, nodes=[*graph.nodes, *copies]) if copies else graph


def separate_conv_bias(graph: Graph, *, of_consts: bool, of_values: bool) -> Graph:
    """Adds the bias of a convolution with an op of its own: any (rule T10), or one of run time, which came with ios17.

    `conv_transpose` takes a const at any time, and nothing else: not even one that is decompressed at load.

    Before: `y = conv(x, weight = W, bias = b)`
    After:  `c = conv(x, weight = W)`, `y = add(x = c, y = b)` with `b` reshaped from `[O]` to `[1, O, 1, 1]`
    """
    made = {node.result: node for node in graph.constants}
    nodes: list[Node] = []
    for node in graph.nodes:
        bias = node.operands.get("bias")
        apart = is_op(node, "conv") and (of_consts if bias in made else of_values)
        if bias is not None and (apart or (is_op(node, "conv_transpose") and bias not in made)):
            nodes.extend(_conv_then_add(node, made))
        else:
            nodes.append(node)
    return graph if len(nodes) == len(graph.nodes) else replaced(graph, outputs=graph.outputs, nodes=nodes)


def _conv_then_add(node: Node, constants: dict[Value, Node]) -> list[Node]:
    operands = dict(node.operands)
    bias = operands.pop("bias")
    assert isinstance(bias, Value)
    rank = node.result.type.rank
    shape = (1, bias.type.size, *([1] * (rank - 2)))
    const = constants.get(bias)
    if const is None:
        wide = make_node(OPS["reshape"], {"x": bias}, {"shape": shape}, name=bias.name, span=bias.span)
    else:
        data = ReshapedData(const.attributes["val"], shape)
        weight = const.attributes.get("weight")
        wide = make_const(data, bias.type.with_shape(shape), name=bias.name, span=const.span, weight=weight)
    product = Value(node.result.type, "", node.result.span)
    add = make_node(OPS["add"], {"x": product, "y": wide.result}, span=node.span)
    return [
        wide,
        Node(node.op, operands, node.attributes, (product,), node.span),
        Node(add.op, add.operands, add.attributes, node.results, node.span),
    ]


class ReshapedData:
    """The same numbers in another shape."""

    __slots__ = ("data", "shape")

    def __init__(self, data: Data, shape: Shape) -> None:
        self.data = data
        self.shape = shape

    def load(self) -> Array:
        return self.data.load().reshape(self.shape)

    def chunks(self) -> Iterator[Array]:
        return self.data.chunks()


def check_opset(graph: Graph, dialect: str) -> Graph:
    """Reports ops and attributes that the dialect's opset does not have yet (ANE0430) or any more (ANE0439), all at once.

    An attribute that is newer than the opset and has its default value is left out: the older op behaves so by itself.
    """
    opset = OPSET_OF[dialect]
    earlier, later = OPSETS[: OPSETS.index(opset)], frozenset(OPSETS[OPSETS.index(opset) + 1 :])
    problems: list[Diagnostic] = [_too_old(node, dialect) for node in graph.nodes if node.op.until in earlier]
    if not later and not problems:
        return graph
    nodes = [_in_opset(node, dialect, later, problems) for node in graph.nodes]
    if problems:
        raise Failure(*problems)
    return replaced(graph, outputs=graph.outputs, nodes=nodes)


def _in_opset(node: Node, dialect: str, later: frozenset[str], problems: list[Diagnostic]) -> Node:
    if node.op.since in later:
        problems.append(too_new(node, f"`{node.op.name}`", node.op.since, dialect))
        return node
    if NARROW_SINCE in later and node.op is not CONST and not node.op.name.startswith("constexpr_"):
        narrow = [value.type.dtype.name for value in (*node.values, *node.results) if value.type.dtype.name in NARROW]
        if narrow:
            problems.append(too_new(node, f"`{node.op.name}` with {narrow[0]}", NARROW_SINCE, dialect))
            return node
    newer = [a for a in node.op.attributes if a.since in later and a.name in node.attributes]
    if node.op is CONST or not newer:
        return node
    attributes = dict(node.attributes)
    for attribute in newer:
        if attributes.pop(attribute.name) != default_of(node, attribute):
            problems.append(too_new(node, f"`{attribute.name}` of `{node.op.name}`", attribute.since, dialect))
    return Node(node.op, node.operands, attributes, node.results, node.span)


def _too_old(node: Node, dialect: str) -> Diagnostic:
    from anedsl.diagnostics.artifacts import NotWritable

    reason = f"this is its form up to {node.op.until}, and the dialect has opset {OPSET_OF[dialect]}"
    return NotWritable(span=node.span, what=f"`{node.op.name}`", where=f"in dialect {dialect}", reason=reason)


def too_new(node: Node, what: str, since: str, dialect: str) -> Diagnostic:
    """ANE0430 at a node."""
    from anedsl.diagnostics.artifacts import NeedsNewerOpset

    newest = next(reversed(OPSET_OF))
    advice = f"use `--dialect {newest}`" if since <= OPSET_OF[newest] else None
    return NeedsNewerOpset(span=node.span, what=what, since=since, dialect=dialect, opset=OPSET_OF[dialect], advice=advice)
