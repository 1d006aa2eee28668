"""Finds the op whose result fp16 cannot hold, where an output is far from the exact one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from anedsl.diagnostics import Diagnostic, Sink
from anedsl.graph import CONST, Graph, Node, Value
from anedsl.reference.executor import execute
from anedsl.source import NOWHERE, Span

Array = np.ndarray[Any, np.dtype[Any]]

FAR = 0.05
"""The error of an output, relative to its largest value, from which on overflow is looked for."""

SHOWN = 3
"""How many outputs one diagnostic names."""


class Lost(NamedTuple):
    """A node that has values in fp64 where fp16 has none: how many, and whether some of them became infinite."""

    node: Node
    values: int
    infinite: bool


def warn_overflow(
    graph: Graph, inputs: Mapping[str, Array], outputs: Mapping[str, Array], exact: Mapping[str, Array], sink: Sink
) -> set[str]:
    """Adds ANE0510 for the first such op that each output in fp16 farther than `FAR` from the exact one depends on.

    Returns the outputs whose values that are not finite are explained by it.
    """
    far = {name: error for name, array in outputs.items() if (error := _error(array, exact[name])) > FAR}
    lost = _lost(graph, inputs) if far else []
    blamed: dict[int, list[str]] = {}
    for port in graph.outputs:
        if lost and port.name in far:
            needed = values_for(graph, port.value)
            first = next((at for at, item in enumerate(lost) if not needed.isdisjoint(item.node.results)), None)
            if first is not None:
                blamed.setdefault(first, []).append(port.name)
    for at, names in sorted(blamed.items()):
        sink.add(_overflow(lost[at], {name: far[name] for name in names}))
    return {name for names in blamed.values() for name in names if np.isfinite(exact[name]).all()}


def _overflow(lost: Lost, far: Mapping[str, float]) -> Diagnostic:
    from anedsl.diagnostics.running import Overflow

    effects = [
        f"output `{name}` "
        + (f"is wrong by {error:.0%} of its largest value" if np.isfinite(error) else "is not finite where it should be")
        for name, error in far.items()
    ]
    more = [f"{len(effects) - SHOWN} more are wrong"] if len(effects) > SHOWN else []
    return Overflow(
        span=lost.node.span,
        op=lost.node.op.name,
        place=_place(lost.node.span),
        what="overflows fp16 in" if lost.infinite else "is not a number in fp16 for",
        count=lost.values,
        effect=", ".join(effects[:SHOWN] + more),
    )


def values_for(graph: Graph, value: Value) -> set[Value]:
    """All values that one is computed from, and itself."""
    needed = {value}
    for node in reversed(graph.nodes):
        if not needed.isdisjoint(node.results):
            needed.update(node.values)
    return needed


def _error(array: Array, exact: Array) -> float:
    """The largest error relative to the largest exact value; infinite where only the exact value is finite."""
    if array.dtype.kind != "f":
        return 0.0
    from anedsl.statistics import errors

    if (np.isfinite(exact) & ~np.isfinite(array)).any():
        return float("inf")
    return errors(array, exact)["max_rel"] or 0.0


def _lost(graph: Graph, inputs: Mapping[str, Array]) -> list[Lost]:
    """In the order of the graph. Masks are infinite on purpose, in fp64 as well: only what is lost in fp16 counts."""
    lacking: dict[int, Lost] = {}
    lost: list[Lost] = []

    def in_half(node: Node, results: tuple[Array, ...]) -> None:
        count = _not_finite(results)
        if count and node.op is not CONST:
            lacking[id(node)] = Lost(node, count, any(bool(np.isinf(r).any()) for r in results if r.dtype.kind == "f"))

    def in_double(node: Node, results: tuple[Array, ...]) -> None:
        if id(node) in lacking:
            found = lacking[id(node)]
            count = found.values - _not_finite(results)
            if count > 0:
                lost.append(found._replace(values=count))

    execute(graph, inputs, "fp16", observe=in_half)
    if lacking:
        execute(graph, inputs, "fp64", observe=in_double)
    return lost


def _not_finite(results: tuple[Array, ...]) -> int:
    return sum(int((~np.isfinite(r)).sum()) for r in results if r.dtype.kind == "f")


def _place(span: Span) -> str:
    """The line in the kernel, also where the op stands in a function that it calls."""
    while span.call is not None:
        span = span.call
    return "" if span.source is NOWHERE.source else f" at line {span.source.position(span.start)[0]}"
