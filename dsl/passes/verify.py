"""Checks that a graph is well formed. Tests run it after every pass."""

from __future__ import annotations

from anedsl.graph import CONST, Graph, Value, call_of
from anedsl.ops.call import infer


def verify(graph: Graph) -> None:
    """Raises `AssertionError` for a value that is used before it is made or made twice, a type that its op would not infer,
    an unknown or missing operand or attribute, a port or pack that does not fit."""
    made: set[Value] = set()
    for port in graph.inputs:
        assert port.value not in made, f"input {port.name} stands twice"
        made.add(port.value)
    for node in graph.nodes:
        for value in node.values:
            assert value in made, f"{node} uses {value} before it is made"
        for result in node.results:
            assert result not in made, f"{result} is made twice"
            made.add(result)
        if node.op is CONST:
            assert node.attributes["val"].shape == node.result.type.shape, f"{node}: its numbers have another shape"
            continue
        assert node.operands.keys() <= node.op.operand_index.keys(), f"{node} has an unknown operand"
        assert node.attributes.keys() <= node.op.attribute_index.keys(), f"{node} has an unknown attribute"
        call = call_of(node)
        assert infer(call) == tuple(result.type for result in node.results), f"{node} has another type than its op infers"
        assert call.attributes.keys() == node.attributes.keys(), f"{node} lacks an attribute"
    for port in graph.outputs:
        assert port.value in made, f"output {port.name} is never made"
    _verify_packs(graph)


def _verify_packs(graph: Graph) -> None:
    for packs, ports in ((graph.input_packs, graph.inputs), (graph.output_packs, graph.outputs)):
        names = {port.name for port in ports}
        members = [member for pack in packs for member in pack.members]
        assert names.issuperset(members), "a pack names an unknown port"
        assert len(members) == len(set(members)), "a port stands in two packs"
