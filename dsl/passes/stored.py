"""What becomes of a compressed weight at compile time: a move of its parts, or numbers that are no longer compressed."""

from __future__ import annotations

from collections.abc import Callable
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

    def __init__(self, shape: Shape, compute: Callable[[], Array], lost: tuple[Lost, ...]) -> None:
        super().__init__(shape, compute)
        self.lost = lost


def lost_storage(node: Node, data: dict[Value, Data]) -> tuple[Lost, ...]:
    """The compressed weights that a node computes with, also those that its operands were computed from."""
    found: list[Lost] = []
    for item in data.values():
        if isinstance(item, UnstoredData):
            found.extend(item.lost)
        elif isinstance(item, StoredData):
            found.append(Lost(item, node.op.name, node.span))
    return tuple(found)


def moved_storage(node: Node, index: int, data: dict[Value, Data]) -> StoredData | None:
    """The result of a node that moves a compressed weight, still compressed; None where it cannot be.

    w: const  # stored int8(axis = 0)         wq: const  # stored int8(axis = 0), a third of the codes and of the scales
    wq, wk, wv = split(w, 3, axis = 0)  ->    ...
    """
    values = node.values
    stored = data[values[0]] if len(values) == 1 else None
    if not isinstance(stored, StoredData):
        return None
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
        return cut(layout, [Positions(*taken) for taken in positions(node)])
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
