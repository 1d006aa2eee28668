"""What becomes of a compressed weight at compile time: a move of its parts, or numbers that are no longer compressed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from anedsl.compressed_moves import Move, MovedData, Positions, cut, reshaped, transposed
from anedsl.compression import Layout, StoredData
from anedsl.data import Array, Data, DerivedData
from anedsl.graph import Node, Value
from anedsl.passes.movement import RESHAPES
from anedsl.passes.slices import SLICES, positions
from anedsl.source import Span
from anedsl.types import Shape


class Lost(NamedTuple):
    """The op that made a compressed weight something else, and where it stands."""

    stored: StoredData
    op: str
    span: Span


class UnstoredData(DerivedData):
    """Numbers computed from those that compressed weights were given."""

    __slots__ = ("lost",)

    def __init__(
        self, shape: Shape, inputs: Sequence[Data], compute: Callable[[Sequence[Array]], Array], lost: tuple[Lost, ...]
    ) -> None:
        super().__init__(shape, inputs, compute)
        self.lost = lost


def lost_storage(node: Node, data: dict[Value, Data]) -> tuple[Lost, ...]:
    """The compressed weights that a node computes with, also those that its operands were computed from."""
    found: dict[str, Lost] = {}
    for item in data.values():
        new = item.lost if isinstance(item, UnstoredData) else ()
        if isinstance(item, StoredData):
            new = (Lost(item, node.op.name, node.span),)
        for lost in new:
            found.setdefault(lost.stored.weight.name, lost)
    return tuple(found.values())


def moved_storage(node: Node, index: int, data: dict[Value, Data]) -> StoredData | None:
    """The result of a node that moves a compressed weight, still compressed; None where it cannot be.

    w: const  # stored int8(axis = 0)         wq: const  # stored int8(axis = 0), a third of the codes and of the scales
    wq, wk, wv = split(w, 3, axis = 0)  ->    ...
    """
    values = node.values
    stored = data[values[0]] if len(values) == 1 else None
    if not isinstance(stored, StoredData) or not node.results[index].type.rank:
        return None  # no op decompresses a number
    move = _move(node, index, stored.layout)
    if move is None:
        return None
    moved = MovedData(stored, move)
    shape = node.results[index].type.shape
    if moved.shape == shape:
        return moved
    # A slice may remove axes of one position.
    squeezed = reshaped(moved.layout, shape)
    return None if squeezed is None else MovedData(moved, squeezed)


def _move(node: Node, index: int, layout: Layout) -> Move | None:
    name = node.op.name
    if name == "transpose":
        return transposed(layout, tuple(node.attributes["perm"]))
    if name in RESHAPES:
        return reshaped(layout, node.results[index].type.shape)
    if name in SLICES:
        return cut(layout, positions(node))
    if name == "reverse":
        turned = {axis % len(layout.shape) for axis in node.attributes["axes"] or range(len(layout.shape))}
        taken = enumerate(layout.shape)
        return cut(layout, [Positions(size - 1, -1, size) if axis in turned else Positions(0, 1, size) for axis, size in taken])
    if name == "split":
        return cut(layout, _part(node, index, layout.shape))
    return None


def _part(node: Node, index: int, shape: Shape) -> list[Positions]:
    """What one result of a split takes."""
    axis = node.attributes["axis"] % len(shape)
    sizes = [result.type.shape[axis] for result in node.results]
    taken = [Positions(0, 1, size) for size in shape]
    taken[axis] = Positions(sum(sizes[:index]), 1, sizes[index])
    return taken
