"""Lowers packs: logical inputs and outputs become the tensors that travel, the surfaces.

Before:
    input  dy, x: fp16[1, 768, 1, 256]
    pack   inp = (dy, x) along 1
After:
    input  inp: fp16[1, 1536, 1, 256]
    dy = slice_by_size(inp, begin = [0, 0, 0, 0], size = [1, 768, 1, 256])
    x  = slice_by_size(inp, begin = [0, 768, 0, 0], size = [1, 768, 1, 256])

A pack of outputs becomes one `concat` at the end. Where each port stands in its surface is computed here and nowhere else.
"""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Sequence
from typing import NamedTuple

from anedsl.graph import Graph, Node, Pack, Port, Value, make_node
from anedsl.ops import OPS
from anedsl.types import TensorType


class Place(NamedTuple):
    """Where a port's elements stand in its surface: `[start, start + size)` of an axis.

    `byte_offset` is the position of the port's first element in the row-major surface.
    """

    name: str
    type: TensorType
    range: tuple[float, float] | None
    axis: int
    start: int
    size: int
    byte_offset: int


class Surface(NamedTuple):
    """A tensor that the caller binds, and the ports in it."""

    name: str
    type: TensorType
    places: tuple[Place, ...]


class Lowered(NamedTuple):
    """A graph whose inputs and outputs are surfaces, and what is in them."""

    graph: Graph
    inputs: tuple[Surface, ...]
    outputs: tuple[Surface, ...]


def lower_packs(graph: Graph) -> Lowered:
    """The physical graph; nodes of the author keep their values."""
    inputs, input_surfaces, slices = _lower_inputs(graph)
    outputs, output_surfaces, concats = _lower_outputs(graph)
    nodes = (*slices, *graph.nodes, *concats)
    physical = Graph(
        graph.name, tuple(inputs), tuple(outputs), nodes, parameters=graph.parameters, doc=graph.doc, span=graph.span
    )
    return Lowered(physical, tuple(input_surfaces), tuple(output_surfaces))


def _lower_inputs(graph: Graph) -> tuple[list[Port], list[Surface], list[Node]]:
    used = {value for node in graph.nodes for value in node.values} | {port.value for port in graph.outputs}
    inputs, surfaces, slices = [], [], []
    for name, ports, pack in _groups(graph.inputs, graph.input_packs):
        surface = _surface(name, ports, pack)
        surfaces.append(surface)
        if len(ports) == 1:
            inputs.append(Port(name, ports[0].value, ports[0].span, ports[0].range))
            continue
        whole = Value(surface.type, name, pack.span if pack else ports[0].span)
        inputs.append(Port(name, whole, whole.span))
        for port, place in zip(ports, surface.places, strict=True):
            if port.value in used:
                slices.append(_slice(whole, port, place))
    return inputs, surfaces, slices


def _lower_outputs(graph: Graph) -> tuple[list[Port], list[Surface], list[Node]]:
    outputs, surfaces, concats = [], [], []
    for name, ports, pack in _groups(graph.outputs, graph.output_packs):
        surface = _surface(name, ports, pack)
        surfaces.append(surface)
        span = pack.span if pack else ports[0].span
        if len(ports) == 1:
            outputs.append(Port(name, ports[0].value, ports[0].span))
            continue
        values = tuple(port.value for port in ports)
        axis = surface.places[0].axis
        node = make_node(OPS["concat"], {"values": values}, {"axis": axis, "interleave": False}, name=name, span=span)
        concats.append(node)
        outputs.append(Port(name, node.result, span))
    return outputs, surfaces, concats


def _groups(ports: Sequence[Port], packs: Sequence[Pack]) -> list[tuple[str, list[Port], Pack | None]]:
    """Each pack with its ports, each other port alone, in the order of declaration."""
    by_name = {port.name: port for port in ports}
    pack_of = {member: pack for pack in packs for member in pack.members}
    groups: list[tuple[str, list[Port], Pack | None]] = []
    done = set()
    for port in ports:
        pack = pack_of.get(port.name)
        if pack is None:
            groups.append((port.name, [port], None))
        elif pack.name not in done:
            done.add(pack.name)
            groups.append((pack.name, [by_name[member] for member in pack.members], pack))
    return groups


def _surface(name: str, ports: Sequence[Port], pack: Pack | None) -> Surface:
    first = ports[0].value.type
    axis = pack.axis % first.rank if pack and first.rank else 0
    inner = first.with_shape(first.shape[axis + 1 :]).bytes if first.rank else first.bytes
    places, start = [], 0
    for port in ports:
        size = port.value.type.shape[axis] if first.rank else 1
        places.append(Place(port.name, port.value.type, port.range, axis, start, size, start * inner))
        start += size
    shape = (*first.shape[:axis], start, *first.shape[axis + 1 :]) if first.rank else ()
    return Surface(name, first.with_shape(shape), tuple(places))


def _slice(whole: Value, port: Port, place: Place) -> Node:
    begin = tuple(place.start if axis == place.axis else 0 for axis in range(whole.type.rank))
    node = make_node(OPS["slice_by_size"], {"x": whole}, {"begin": begin, "size": place.type.shape}, span=port.span)
    # The port's own value stays the result, so that no other node changes.
    return Node(node.op, node.operands, node.attributes, (port.value,), port.span)
