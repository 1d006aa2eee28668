"""Prints kernels, and elaborates what was printed."""

from __future__ import annotations

from anedsl import frontend
from anedsl.codegen.comparison import Difference, compare
from anedsl.diagnostics import Sink
from anedsl.elaborate.kernel import elaborate
from anedsl.elaborate.modules import load_text
from anedsl.frontend import _declared
from anedsl.graph import Graph
from anedsl.passes import optimize
from anedsl.printing import Printed, print_kernel, printed
from tests.language.kernels import graph_of

DECLARED = """kernel k() {
    input  x, y: fp16[1, 8, 4, 4]
    input  i: int32[3]
    input  c: bool[1, 8, 4, 4]
    input  f: fp32[4]
    weight w: fp16[8, 8, 1, 1]
    output o
"""


def body(text: str) -> list[str]:
    """The statements of a kernel as they are printed, without its declarations."""
    lines = print_kernel(graph_of(text)).splitlines()
    return [line.strip() for line in lines[lines.index("") + 1 : -1]]


def form(expression: str) -> str:
    """How an expression over x, y, i, c, f and w is printed; several statements stand behind `;`."""
    return "; ".join(body(f"{DECLARED}o = {expression}\n}}")).removeprefix("o = ")


def again(shown: Printed) -> Graph:
    """The graph of a printed kernel, before any pass, with the numbers of its weights."""
    module = load_text(shown.text)
    graph = elaborate(module, next(iter(module.kernels)), {}, Sink())
    for weight in _declared(graph):
        weight.data.bound = shown.weights[weight.data.name]
    return graph


def lost(graph: Graph) -> Difference | None:
    """Where a graph and what was printed of it differ."""
    return compare(graph, again(printed(graph))).difference


def lost_when_optimized(graph: Graph) -> Difference | None:
    """Where an optimised graph and what becomes of its text, optimised again, differ.

    Equal consts that were computed one by one are one const in a text, and then what is made of them is equal, too.
    """
    found = compare(graph, optimize(again(printed(graph)))).difference
    return None if found is not None and found.kind == "count" else found


def built(text: str) -> Graph:
    """The graph of a kernel after the passes."""
    module = load_text(text)
    return frontend.build(module, next(iter(module.kernels)), {}, Sink()).graph
