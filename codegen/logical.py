"""From surfaces back to logical inputs and outputs: the reverse of `anedsl.codegen.packs`.

Before:
    input  inp: fp16[1, 1536, 1, 256]
    dy = slice_by_size(inp, begin = [0, 0, 0, 0], size = [1, 768, 1, 256])
After:
    input  dy, x: fp16[1, 768, 1, 256]
    pack   inp = (dy, x) along 1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from anedsl.codegen.names import legal
from anedsl.codegen.packs import Place, Surface
from anedsl.graph import CONST, Graph, Node, Pack, Port, Value, is_op, make_node
from anedsl.ops import OPS
from anedsl.passes import tidy
from anedsl.types import TensorType


class Sides(NamedTuple):
    """The surfaces of a program, each with the ports in it."""

    inputs: tuple[Surface, ...]
    outputs: tuple[Surface, ...]


def plain(graph: Graph) -> Sides:
    """Surfaces that hold one port each, which bears their name."""
    return Sides(tuple(_alone(port) for port in graph.inputs), tuple(_alone(port) for port in graph.outputs))


def logical(graph: Graph, sides: Sides) -> Graph:
    """The graph of a physical one whose inputs and outputs are the ports in its surfaces, with the packs declared.

    Nodes that only joined or cut surfaces are left; `tidied` removes them.
    """
    inputs, input_packs, joins = _inputs(graph, sides.inputs)
    outputs, output_packs, cuts = _outputs(graph, sides.outputs)
    nodes = (*joins, *graph.nodes, *cuts)
    return Graph(graph.name, inputs, outputs, nodes, input_packs, output_packs, graph.parameters, graph.doc, graph.span)


def tidied(graph: Graph) -> Graph:
    """Without the slices of joined inputs and of joined outputs."""
    return tidy(graph) if graph.input_packs or graph.output_packs else graph


def _alone(port: Port) -> Surface:
    type = port.value.type
    size = type.shape[0] if type.shape else 1
    return Surface(port.name, type, (Place(port.name, type, port.range, 0, 0, size, 0),))


def _inputs(graph: Graph, surfaces: Sequence[Surface]) -> tuple[tuple[Port, ...], tuple[Pack, ...], list[Node]]:
    ports: list[Port] = []
    packs: list[Pack] = []
    joins: list[Node] = []
    for port, surface in zip(graph.inputs, surfaces, strict=True):
        if len(surface.places) == 1:
            place = surface.places[0]
            ports.append(Port(place.name, port.value, port.span, place.range))
            continue
        members = [Port(p.name, Value(p.type, p.name, port.span), port.span, p.range) for p in surface.places]
        ports.extend(members)
        packs.append(_pack(surface, port))
        attributes = {"axis": surface.places[0].axis, "interleave": False}
        # The surface's own value stays the result, so that no other node changes.
        values = tuple(member.value for member in members)
        joins.append(Node(OPS["concat"], {"values": values}, attributes, (port.value,), port.span))
    return tuple(ports), tuple(packs), joins


def _outputs(graph: Graph, surfaces: Sequence[Surface]) -> tuple[tuple[Port, ...], tuple[Pack, ...], list[Node]]:
    ports: list[Port] = []
    packs: list[Pack] = []
    cuts: list[Node] = []
    for port, surface in zip(graph.outputs, surfaces, strict=True):
        if len(surface.places) == 1:
            ports.append(Port(surface.places[0].name, port.value, port.span))
            continue
        packs.append(_pack(surface, port))
        for place in surface.places:
            begin = tuple(place.start if axis == place.axis else 0 for axis in range(place.type.rank))
            attributes = {"begin": begin, "size": place.type.shape}
            node = make_node(OPS["slice_by_size"], {"x": port.value}, attributes, name=place.name, span=port.span)
            cuts.append(node)
            ports.append(Port(place.name, node.result, port.span))
    return tuple(ports), tuple(packs), cuts


def _pack(surface: Surface, port: Port) -> Pack:
    return Pack(surface.name, tuple(place.name for place in surface.places), surface.places[0].axis, port.span)


# ---- packs that nobody declared ----


def recognized(graph: Graph) -> Sides:
    """The packs of a program without a manifest.

    An input that is only ever cut along one axis is a pack of its pieces; an output that is a concat is one of its parts.
    """
    taken = {port.name for port in (*graph.inputs, *graph.outputs)}
    inputs = tuple(_input_pack(graph, port, taken) or _alone(port) for port in graph.inputs)
    outputs = tuple(_output_pack(graph, port, taken) or _alone(port) for port in graph.outputs)
    return Sides(inputs, outputs)


def _input_pack(graph: Graph, port: Port, taken: set[str]) -> Surface | None:
    users = [node for node in graph.nodes if port.value in node.values]
    if not users or not all(is_op(node, "slice_by_size") for node in users) or any(o.value is port.value for o in graph.outputs):
        return None
    shape = port.value.type.shape
    pieces: dict[tuple[int, int], str] = {}
    axes = set()
    for node in users:
        begin, size = node.attributes["begin"], node.result.type.shape
        cut = [axis for axis, (kept, whole) in enumerate(zip(size, shape, strict=True)) if kept != whole]
        if len(cut) != 1:
            return None
        axes.add(cut[0])
        pieces.setdefault((begin[cut[0]], size[cut[0]]), node.result.name)
    if len(axes) != 1:
        return None
    axis = axes.pop()
    whole = _without_gaps(sorted(pieces.items()), shape[axis])
    return None if whole is None else _surface(port, axis, whole, taken)


def _without_gaps(pieces: Sequence[tuple[tuple[int, int], str]], size: int) -> list[tuple[int, str]] | None:
    """Sizes and names from the start to the end; what nobody reads has no name. None where pieces overlap."""
    found: list[tuple[int, str]] = []
    at = 0
    for (start, length), name in pieces:
        if start < at:
            return None
        if start > at:
            found.append((start - at, ""))
        found.append((length, name))
        at = start + length
    return [*found, (size - at, "")] if at < size else found


def _output_pack(graph: Graph, port: Port, taken: set[str]) -> Surface | None:
    node = next((n for n in graph.nodes if port.value in n.results and n.op is not CONST), None)
    if node is None or not is_op(node, "concat") or node.attributes["interleave"]:
        return None
    parts = node.values
    constants = {n.result for n in graph.constants}
    read_again = any(port.value in n.values for n in graph.nodes) or sum(o.value is port.value for o in graph.outputs) > 1
    if read_again or len(parts) < 2 or len(set(parts)) < len(parts) or constants.intersection(parts):
        return None
    axis = node.attributes["axis"] % port.value.type.rank
    outputs = {o.name for o in graph.outputs}
    # An input may pass through under its own name; no other port may have it. But a pack of inputs only is one of inputs.
    names = [part.name if part.name not in outputs else "" for part in parts]
    inputs = {p.name for p in graph.inputs}
    ours = {part.name for part in parts if any(p.value is part for p in graph.inputs)}
    if len(ours) == len(parts):
        ours.clear()
    return _surface(port, axis, [(p.type.shape[axis], n) for p, n in zip(parts, names, strict=True)], taken - (inputs & ours))


def _surface(port: Port, axis: int, pieces: Sequence[tuple[int, str]], taken: set[str]) -> Surface:
    type = port.value.type
    inner = TensorType(type.dtype, type.shape[axis + 1 :]).bytes
    places, start = [], 0
    for index, (size, wanted) in enumerate(pieces):
        name = legal(wanted) if wanted else f"{port.name}_{index}"
        while name in taken:
            name = f"{name}_{index}"
        taken.add(name)
        part = type.with_shape((*type.shape[:axis], size, *type.shape[axis + 1 :]))
        places.append(Place(name, part, None, axis, start, size, start * inner))
        start += size
    return Surface(port.name, type, tuple(places))
