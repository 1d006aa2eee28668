"""Compressed weights become what is kept of them and the op that decompresses it when the program is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anedsl.compression import StoredData, part_types
from anedsl.data import Array, ArrayData, Data, FillData
from anedsl.graph import CONST, Graph, Node, Value, make_const, make_node, replaced
from anedsl.ops import OPS
from anedsl.types import Shape, TensorType

OPS_OF = {
    "int8": "constexpr_affine_dequantize",
    "uint8": "constexpr_affine_dequantize",
    "int4": "constexpr_blockwise_shift_scale",
    "blockwise": "constexpr_blockwise_shift_scale",
    "palette": "constexpr_lut_to_dense",
    "sparse": "constexpr_sparse_to_dense",
}
MAIN_PARTS = frozenset(("quantized_data", "data", "indices", "nonzero_data"))
"""The part that bears the weight's own name."""


class PartData:
    """One part of a compressed weight."""

    __slots__ = ("part", "shape", "stored")

    def __init__(self, stored: StoredData, part: str, shape: Shape) -> None:
        self.stored = stored
        self.part = part
        self.shape = shape

    def load(self) -> Array:
        return self.stored.compressed().parts[self.part].array

    def chunks(self) -> Iterator[Array]:
        return ArrayData(self.load()).chunks()


def expand_stored(graph: Graph) -> Graph:
    """Replaces compressed consts.

    W: const  # stored int8(axis = 0)   ->   q, z, s: const
    y = conv(x, W)                           W = constexpr_affine_dequantize(q, z, s, axis = 0)
                                             y = conv(x, W)
    """
    if not any(isinstance(node.attributes["val"], StoredData) for node in graph.constants):
        return graph
    nodes: list[Node] = []
    for node in graph.nodes:
        stored = node.attributes["val"] if node.op is CONST else None
        if isinstance(stored, StoredData):
            nodes.extend(_expanded(node, stored))
        else:
            nodes.append(node)
    return replaced(graph, outputs=graph.outputs, nodes=nodes)


def _expanded(node: Node, stored: StoredData) -> Iterator[Node]:
    op = OPS[OPS_OF[stored.storage.kind]]
    value = node.result
    operands: dict[str, Value] = {}
    declared = node.attributes["weight"]
    for part, type in _types(stored).items():
        weight = declared if part in MAIN_PARTS else None
        name = f"{declared.name}_{part}"
        # The middle of int8 is 0 whatever the numbers are: a kernel can be checked without them.
        always_zero = part == "zero_point" and stored.storage.kind == "int8"
        data: Data = FillData(0, type.shape) if always_zero else PartData(stored, part, type.shape)
        const = make_const(data, type, name=name, span=node.span, weight=weight)
        operands[part] = const.result
        yield const
    attributes: dict[str, Any] = {"axis": stored.storage.axis or 0} if "axis" in op.attribute_index else {}
    made = make_node(op, operands, attributes, span=node.span)
    yield Node(op, made.operands, made.attributes, (value,), node.span)


def _types(stored: StoredData) -> dict[str, TensorType]:
    """How many numbers a sparse weight keeps is known only from its data."""
    known = part_types(stored.storage, stored.shape)
    if known is not None:
        return known
    return {name: TensorType(part.dtype, part.array.shape) for name, part in stored.compressed().parts.items()}
