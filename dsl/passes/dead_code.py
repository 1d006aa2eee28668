"""Dead code elimination."""

from __future__ import annotations

from anedsl.graph import Graph, Value, replaced


def eliminate_dead_code(graph: Graph) -> Graph:
    """Drops the nodes that no output depends on. Those with an effect stay, and what they depend on.

    a = mul(x, x)                  b = add(x, x)
    b = add(x, x)        ->        return b
    return b
    """
    used: set[Value] = {port.value for port in graph.outputs}
    kept = []
    for node in reversed(graph.nodes):
        if node.op.effect or any(result in used for result in node.results):
            used.update(node.values)
            kept.append(node)
    if len(kept) == len(graph.nodes):
        return graph
    kept.reverse()
    return replaced(graph, outputs=graph.outputs, nodes=kept)
