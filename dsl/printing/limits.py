"""What a graph may hold that the language has no words for."""

from __future__ import annotations

import math
from collections.abc import Iterator

from anedsl.diagnostics import Diagnostic, Failure
from anedsl.elaborate.builtins import NAMES
from anedsl.graph import Graph, Node
from anedsl.ops import OPS
from anedsl.ops.older import OLDER
from anedsl.source import Span


def check_expressible(graph: Graph) -> None:
    """Raises ANE0440 for inputs and outputs of other types than the language's, and for each op that it does not have."""
    problems = list(_problems(graph))
    if problems:
        raise Failure(*problems)


def _problems(graph: Graph) -> Iterator[Diagnostic]:
    for side, ports in (("input", graph.inputs), ("output", graph.outputs)):
        for port in ports:
            type = port.value.type
            if NAMES.get(type.dtype.name) is not type.dtype:
                yield _not_expressible(port.span, f"{side} `{port.name}`", f"the language has no type `{type}`", "declared here")
    told: set[str] = set()
    for node in graph.operations:
        name = node.op.name
        if name in told:
            continue
        if OPS.get(name) is not node.op:
            told.add(name)
            what = "this form of it" if name in OPS else "it"
            reason = f"{what} has no record in this language"
            if node.op is OLDER.get(name):
                reason = f"the language has the form of {OPS[name].since}, and this is the one up to {node.op.until}"
            yield _not_expressible(node.span, f"`{name}`", reason)
        elif not node.operands:
            told.add(name)
            reason = f"the language computes what takes no tensor, and `{node.result.type}` is too large for that"
            yield _not_expressible(node.span, f"`{name}`", reason)
        else:
            yield from _infinities(node)


def _infinities(node: Node) -> Iterator[Diagnostic]:
    """A bound of `clip` that bounds nothing is left out; other infinities have no words."""
    for attribute in node.op.attributes:
        value = node.attributes.get(attribute.name)
        if attribute.infinite and value is not None and math.isinf(value) and not _bounds_nothing(node, attribute.name, value):
            reason = "the language has no infinity"
            yield _not_expressible(node.span, f"`{attribute.name} = {value}` of `{node.op.name}`", reason)


def _bounds_nothing(node: Node, name: str, value: float) -> bool:
    return node.op.name == "clip" and value == {"alpha": -math.inf, "beta": math.inf}[name]


def _not_expressible(span: Span, what: str, reason: str, place: str = "made here") -> Diagnostic:
    from anedsl.diagnostics.artifacts import NotExpressible

    return NotExpressible(span=span, what=what, reason=reason, place=place)
