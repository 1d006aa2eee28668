"""What helps where an op does not take its operands: advice that wants to know where they come from.

A type rule sees types only; the builder knows which values are weights.
"""

from __future__ import annotations

from collections.abc import Mapping

from anedsl.diagnostics import Failure
from anedsl.diagnostics.shapes import MixedDTypes, NotBroadcastable
from anedsl.elaborate.builder import GraphBuilder
from anedsl.graph import CONST, Operands, Value
from anedsl.ops.call import written_at
from anedsl.ops.checks import shown
from anedsl.source import Span


def advise(failure: Failure, builder: GraphBuilder, operands: Mapping[str, Operands], spans: Mapping[str, Span]) -> None:
    """Completes the diagnostics of an op that is refused."""
    for diagnostic in failure.diagnostics:
        if isinstance(diagnostic, MixedDTypes):
            _on_weights(diagnostic, builder, operands)
        elif isinstance(diagnostic, NotBroadcastable):
            diagnostic.advice = _on_vectors(builder, operands, spans)


def _on_weights(diagnostic: MixedDTypes, builder: GraphBuilder, operands: Mapping[str, Operands]) -> None:
    """What is computed from weights alone does not run on the ANE: they need one element type, and not fp16."""
    given = [part for operand in operands.values() for part in (operand if isinstance(operand, tuple) else (operand,))]
    if builder.constant_values.issuperset(given):
        diagnostic.reason = diagnostic.converted = None
        diagnostic.advice = "give both weights one element type"


def _on_vectors(builder: GraphBuilder, operands: Mapping[str, Operands], spans: Mapping[str, Span]) -> str | None:
    """A vector that fits one axis of the other operand, mostly the channels, is given axes of size 1 around it."""
    values = {name: value for name, value in operands.items() if isinstance(value, Value)}
    for name, vector in values.items():
        if vector.type.rank != 1:
            continue
        for other in values.values():
            fitting = [axis for axis, size in enumerate(other.type.shape) if size == vector.type.size]
            if other.type.rank > 1 and len(fitting) == 1:
                shape = [1] * other.type.rank
                shape[fitting[0]] = vector.type.size
                return _shaped(builder, vector, shown(tuple(shape)), spans.get(name))
    return None


def _shaped(builder: GraphBuilder, vector: Value, shape: str, span: Span | None) -> str:
    """A weight is declared in another shape; what is computed or passed in is reshaped."""
    declared = next((node.attributes.get("weight") for node in builder.nodes if node.op is CONST and node.result is vector), None)
    if declared is not None:
        name = declared.name.partition("[")[0]  # members of a family have one type
        return f"declare `{name}` as `{shape}`"
    written = vector.name or ("" if span is None else written_at(span, ""))
    return f"give it the axes: `reshape({written}, {shape})`" if written else f"give it the shape `{shape}` with `reshape`"
