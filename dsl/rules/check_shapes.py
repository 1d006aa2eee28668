"""Checks of shapes (D rules)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from anedsl.graph import Value
from anedsl.rules.record import CHIPS, M4_M5
from anedsl.rules.scope import Finding, Scope, Tensor, wide_axes
from anedsl.types import Shape

OLD_LIMIT = 16384
NEW_LIMIT = 65536


def rank_of_tensors(scope: Scope) -> Iterator[Finding]:
    """D1, where a rank first occurs."""
    for tensor in scope.tensors():
        rank = tensor.type.rank
        if rank > 5 and not any(value.type.rank == rank for value in _operands(tensor)):
            yield _rank(tensor, "the ANE", 5)


def rank_of_products(scope: Scope) -> Iterator[Finding]:
    """D2. What has more than 5 axes is D1's."""
    for node in scope.ops("matmul", "linear"):
        for value in node.values:
            if value.type.rank == 5:
                tensor = Tensor(scope.what(value), value.type, node.span, node, (value,))
                yield _rank(tensor, f"`{node.op.name}`", 4)
                break


def old_chips(scope: Scope) -> Iterator[Finding]:
    """D3. Without a chip, what no chip takes is left to D3b."""
    for tensor, axis, length in _long_axes(scope, OLD_LIMIT, wide=False):
        if scope.target.chip is not None or length <= NEW_LIMIT:
            yield _too_long(tensor, axis, length, OLD_LIMIT)


def new_chips(scope: Scope) -> Iterator[Finding]:
    """D3b. Without a chip it stands for all of them, because the older ones take less still."""
    chips = M4_M5 if scope.target.chip is not None else CHIPS
    for tensor, axis, length in _long_axes(scope, NEW_LIMIT, wide=False):
        yield _too_long(tensor, axis, length, NEW_LIMIT)._replace(chips=chips)


def channels(scope: Scope) -> Iterator[Finding]:
    """D4."""
    for tensor, axis, length in _long_axes(scope, NEW_LIMIT, wide=True):
        yield _too_long(tensor, axis, length, NEW_LIMIT)


def first_chip(scope: Scope) -> Iterator[Finding]:
    """D6, where D3 allows more: the length of a vector, and the rows of a rank-3 `matmul` (`[batch, rows, columns]`)."""
    vectors: set[Value] = set()
    for tensor in scope.tensors():
        if tensor.type.rank == 1 and OLD_LIMIT < tensor.type.size <= NEW_LIMIT:
            if vectors.isdisjoint(_operands(tensor)):
                yield _too_long(tensor, 0, tensor.type.size, OLD_LIMIT)
            vectors.update(tensor.values)
    for node in scope.ops("matmul"):
        for value in (*node.values, node.result):
            if value.type.rank == 3 and OLD_LIMIT < value.type.shape[1] <= NEW_LIMIT:
                tensor = Tensor(scope.what(value), value.type, node.span, node, (value,))
                yield _too_long(tensor, 1, value.type.shape[1], OLD_LIMIT)
                break


def empty_axes(scope: Scope) -> Iterator[Finding]:
    """D8, where it first occurs."""
    for tensor in scope.tensors():
        if 0 in tensor.type.shape and not any(0 in value.type.shape for value in _operands(tensor)):
            fields = {"what": tensor.what, "axis": tensor.type.shape.index(0), "type": str(tensor.type)}
            yield Finding("EmptyAxis", tensor.span, fields)


def _operands(tensor: Tensor) -> list[Value]:
    return tensor.node.values if tensor.node is not None else []


def _long_axes(scope: Scope, limit: int, *, wide: bool) -> Iterator[tuple[Tensor, int, int]]:
    """Axes over a limit, where such a length first occurs: not at every op that the tensor runs through."""
    known: dict[Value, dict[int, int]] = {}
    for tensor in scope.tensors():
        found = _over(tensor.type.shape, limit, wide)
        if not found:
            continue
        inherited = {length for value in _operands(tensor) for length in known.get(value, {}).values()}
        for axis, length in found.items():
            if length not in inherited:
                yield tensor, axis, length
                break
        known.update((value, _over(value.type.shape, limit, wide)) for value in tensor.values)


def _over(shape: Shape, limit: int, wide: bool) -> dict[int, int]:
    """The axes over a limit and their lengths; `wide` says which of the two kinds of axes."""
    wides = wide_axes(len(shape))
    return {axis: length for axis, length in enumerate(shape) if length > limit and (axis in wides) == wide}


def _too_long(tensor: Tensor, axis: int, length: int, limit: int) -> Finding:
    fields = {"what": tensor.what, "axis": axis, "length": length, "limit": limit, "type": str(tensor.type)}
    return Finding("AxisTooLong", tensor.span, fields)


def _rank(tensor: Tensor, taker: str, limit: int) -> Finding:
    fields = {"what": tensor.what, "rank": tensor.type.rank, "taker": taker, "limit": limit, "type": str(tensor.type)}
    return Finding("RankTooHigh", tensor.span, fields)


CHECKS: dict[str, Callable[[Scope], Iterator[Finding]]] = {
    "D1": rank_of_tensors,
    "D2": rank_of_products,
    "D3": old_chips,
    "D3b": new_chips,
    "D4": channels,
    "D6": first_chip,
    "D8": empty_axes,
}
