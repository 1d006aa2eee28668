"""What a graph may hold that the language has no words for."""

from __future__ import annotations

from collections.abc import Iterator

from anedsl.diagnostics import Diagnostic, Failure
from anedsl.elaborate.builtins import NAMES
from anedsl.graph import Graph
from anedsl.ops import OPS
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
            yield _not_expressible(node.span, f"`{name}`", f"{what} has no record in this language")
        elif not node.operands:
            told.add(name)
            reason = f"the language computes what takes no tensor, and `{node.result.type}` is too large for that"
            yield _not_expressible(node.span, f"`{name}`", reason)


def _not_expressible(span: Span, what: str, reason: str, place: str = "made here") -> Diagnostic:
    from anedsl.diagnostics.artifacts import NotExpressible

    return NotExpressible(span=span, what=what, reason=reason, place=place)
