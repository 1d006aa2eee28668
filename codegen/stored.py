"""Compressed weights become what is kept of them and the op that decompresses it when the program is loaded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anedsl.codegen.blob import packed
from anedsl.codegen.legalize import OPSET_OF, OPSETS, too_new
from anedsl.compression import StoredData, part_types
from anedsl.data import Array, ArrayData, Data, FillData
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.graph import CONST, Graph, Node, Value, make_const, make_node, replaced
from anedsl.ops import OPS
from anedsl.ops.older import OLDER, TABLE_SIZES
from anedsl.ops.record import Op
from anedsl.types import UINT8, Shape, TensorType

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
    """One part of a compressed weight. With `bits` it is a row of bytes, into which that many bits of each number go."""

    __slots__ = ("bits", "part", "shape", "stored")

    def __init__(self, stored: StoredData, part: str, shape: Shape, bits: int | None = None) -> None:
        self.stored = stored
        self.part = part
        self.shape = shape
        self.bits = bits

    def load(self) -> Array:
        array = self.stored.compressed().parts[self.part].array
        return (array if self.bits is None else packed(array, self.bits)).reshape(self.shape)

    def chunks(self) -> Iterator[Array]:
        return ArrayData(self.load()).chunks()


def expand_stored(graph: Graph, dialect: str = "1.3") -> Graph:
    """Replaces compressed consts. Raises ANE0430 for storage that the dialect's opset has no op for.

    W: const  # stored int8(axis = 0)   ->   q, z, s: const
    y = conv(x, W)                           W = constexpr_affine_dequantize(q, z, s, axis = 0)
                                             y = conv(x, W)
    """
    if not any(isinstance(node.attributes["val"], StoredData) for node in graph.constants):
        return graph
    nodes: list[Node] = []
    problems: list[Diagnostic] = []
    for node in graph.nodes:
        stored = node.attributes["val"] if node.op is CONST else None
        if not isinstance(stored, StoredData):
            nodes.append(node)
            continue
        op = _op(stored, OPSET_OF[dialect])
        if op is None:
            problems.append(too_new(node, f"the storage `{stored.storage}`", "ios18", dialect))
        elif not problems:
            nodes.extend(_expanded(node, stored, op))
    if problems:
        raise Failure(*problems)
    return replaced(graph, outputs=graph.outputs, nodes=nodes)


def _op(stored: StoredData, opset: str) -> Op | None:
    """The form of the op that the opset has; None where it has none, or none that can do this."""
    newest = OPS[OPS_OF[stored.storage.kind]]
    if OPSETS.index(newest.since) <= OPSETS.index(opset):
        return newest
    if stored.storage.kind == "palette" and 1 << stored.storage.bits not in TABLE_SIZES:
        return None
    return OLDER.get(newest.name)


def _expanded(node: Node, stored: StoredData, op: Op) -> Iterator[Node]:
    value = node.result
    operands: dict[str, Value] = {}
    declared = node.attributes.get("weight")
    own = declared.name if declared else value.name or stored.weight.name
    for part, type in _types(stored).items():
        weight = declared if part in MAIN_PARTS else None
        name = own if part in MAIN_PARTS else f"{own}_{part}"
        bits = None
        if op.until is not None:
            # Older forms have rows of bytes, and palettes without groups.
            bits = None if type.dtype.is_float else type.dtype.bits
            type = type.with_shape((type.size,)) if bits is None else TensorType(UINT8, (type.bytes,))
        # The middle of int8 is 0 whatever the numbers are: a kernel can be checked without them.
        always_zero = part == "zero_point" and stored.storage.kind == "int8"
        data: Data = FillData(0, type.shape) if always_zero else PartData(stored, part, type.shape, bits)
        const = make_const(data, type, name=name, span=node.span, weight=weight)
        operands[part] = const.result
        yield const
    known: dict[str, Any] = {"axis": stored.layout.axis or 0, "shape": stored.shape}
    attributes = {name: known[name] for name in op.attribute_index if name in known}
    made = make_node(op, operands, attributes, span=node.span)
    yield Node(op, made.operands, made.attributes, (value,), node.span)


def _types(stored: StoredData) -> dict[str, TensorType]:
    """How many numbers a sparse weight keeps is known only from its data."""
    known = part_types(stored.storage, stored.layout)
    if known is not None:
        return known
    return {name: TensorType(part.dtype, part.array.shape) for name, part in stored.compressed().parts.items()}
