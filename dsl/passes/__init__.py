"""Passes: functions from a graph to an equal graph. Each stands in a file of its own, and shows the graph before and after."""

from __future__ import annotations

from collections.abc import Callable

from anedsl.graph import Graph
from anedsl.passes.canonical import canonicalize
from anedsl.passes.common import eliminate_common_subexpressions
from anedsl.passes.dead_code import eliminate_dead_code
from anedsl.passes.fold import fold_constants
from anedsl.passes.hoisting import hoist_reshapes
from anedsl.passes.movement import simplify_movement
from anedsl.passes.scaling import move_scales

Pass = Callable[[Graph], Graph]

PIPELINE: tuple[Pass, ...] = (
    fold_constants,
    canonicalize,
    simplify_movement,
    hoist_reshapes,
    eliminate_common_subexpressions,
    move_scales,
    eliminate_dead_code,
)
"""What `optimize` repeats."""

MAX_ROUNDS = 8
"""One rewrite may make room for another; so many rounds are enough in practice, and end in any case."""


def optimize(graph: Graph, after: Callable[[Pass, Graph], None] | None = None) -> Graph:
    """Runs the pipeline until the ops no longer change. `after` is called with every pass and its result."""
    for _ in range(MAX_ROUNDS):
        before = [node.op for node in graph.nodes]
        for step in PIPELINE:
            graph = step(graph)
            if after is not None:
                after(step, graph)
        if [node.op for node in graph.nodes] == before:
            break
    return graph


def tidy(graph: Graph) -> Graph:
    """What is left to do once packs have become slices and concats: a slice may be the whole of what it is cut from."""
    return eliminate_dead_code(simplify_movement(hoist_reshapes(simplify_movement(graph))))
