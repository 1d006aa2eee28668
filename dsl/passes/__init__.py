"""Passes: functions from a graph to an equal graph. Each stands in a file of its own, and shows the graph before and after."""

from __future__ import annotations

from collections.abc import Callable

from anedsl.graph import Graph
from anedsl.passes.canonical import canonicalize
from anedsl.passes.common import eliminate_common_subexpressions
from anedsl.passes.dead_code import eliminate_dead_code
from anedsl.passes.fold import fold_constants

Pass = Callable[[Graph], Graph]

PIPELINE: tuple[Pass, ...] = (fold_constants, canonicalize, eliminate_common_subexpressions, eliminate_dead_code)
"""What `optimize` repeats."""

MAX_ROUNDS = 4
"""One rewrite may make room for another; so many rounds are enough in practice, and end in any case."""


def optimize(graph: Graph, after: Callable[[Pass, Graph], None] | None = None) -> Graph:
    """Runs the pipeline until the number of nodes no longer falls. `after` is called with every pass and its result."""
    for _ in range(MAX_ROUNDS):
        before = len(graph.nodes)
        for step in PIPELINE:
            graph = step(graph)
            if after is not None:
                after(step, graph)
        if len(graph.nodes) == before:
            break
    return graph
