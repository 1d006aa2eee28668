"""Finds the op whose result fp16 cannot hold, where an output is far from the exact one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from anedsl.diagnostics import Sink
from anedsl.graph import CONST, Graph, Node
from anedsl.reference.executor import execute
from anedsl.source import NOWHERE, Span

Array = np.ndarray[Any, np.dtype[Any]]

FAR = 0.05
"""The error of an output, relative to its largest value, from which on overflow is looked for."""


class Lost(NamedTuple):
    """A node that has values in fp64 where fp16 has none: how many, and whether some of them became infinite."""

    node: Node
    values: int
    infinite: bool


def warn_overflow(
    graph: Graph, inputs: Mapping[str, Array], outputs: Mapping[str, Array], exact: Mapping[str, Array], sink: Sink
) -> None:
    """Adds ANE0510 for the first such op, where an output in fp16 is farther than `FAR` from the exact one."""
    far = {name: error for name, array in outputs.items() if (error := _error(array, exact[name])) > FAR}
    if not far:
        return
    lost = _first_lost(graph, inputs)
    if lost is None:
        return
    from anedsl.diagnostics.running import Overflow

    name, error = next(iter(far.items()))
    sink.add(
        Overflow(
            span=lost.node.span,
            op=lost.node.op.name,
            place=_place(lost.node.span),
            what="overflows fp16 in" if lost.infinite else "is not a number in fp16 for",
            count=f"{lost.values} value{'' if lost.values == 1 else 's'}",
            name=name,
            effect=f"is wrong by {error:.0%} of its largest value" if np.isfinite(error) else "is not finite where it should be",
        )
    )


def _error(array: Array, exact: Array) -> float:
    """The largest error relative to the largest exact value; infinite where only the exact value is finite."""
    if array.dtype.kind != "f":
        return 0.0
    from anedsl.statistics import errors

    if (np.isfinite(exact) & ~np.isfinite(array)).any():
        return float("inf")
    return errors(array, exact)["max_rel"] or 0.0


def _first_lost(graph: Graph, inputs: Mapping[str, Array]) -> Lost | None:
    """Masks are infinite on purpose, in fp64 as well: only what is lost by rounding to fp16 counts."""
    lacking: dict[int, Lost] = {}
    first: list[Lost] = []

    def in_half(node: Node, results: tuple[Array, ...]) -> None:
        count = _not_finite(results)
        if count and node.op is not CONST:
            lacking[id(node)] = Lost(node, count, any(bool(np.isinf(r).any()) for r in results if r.dtype.kind == "f"))

    def in_double(node: Node, results: tuple[Array, ...]) -> None:
        if not first and id(node) in lacking:
            found = lacking[id(node)]
            count = found.values - _not_finite(results)
            if count > 0:
                first.append(found._replace(values=count))

    execute(graph, inputs, "fp16", observe=in_half)
    if lacking:
        execute(graph, inputs, "fp64", observe=in_double)
    return first[0] if first else None


def _not_finite(results: tuple[Array, ...]) -> int:
    return sum(int((~np.isfinite(r)).sum()) for r in results if r.dtype.kind == "f")


def _place(span: Span) -> str:
    """The line in the kernel, also where the op stands in a function that it calls."""
    while span.call is not None:
        span = span.call
    return "" if span.source is NOWHERE.source else f" at line {span.source.position(span.start)[0]}"
