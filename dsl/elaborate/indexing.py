"""`x[:, 0:DIM, ..., ::2]`: on tensors a slice, on lists and compile-time tensors Python's."""

from __future__ import annotations

from typing import Any, NamedTuple

from anedsl.diagnostics import Failure
from anedsl.elaborate.frame import Frame
from anedsl.elaborate.values import ConstTensor, Family, describe
from anedsl.graph import Value
from anedsl.ops import OPS
from anedsl.source import Span


class Item(NamedTuple):
    """One subscript: an index (`start`), a slice, or `...`."""

    kind: str
    span: Span
    start: int | None = None
    stop: int | None = None
    step: int | None = None


class Cut(NamedTuple):
    """What one axis keeps, counted upwards: `start`, one past the last, step; and what happens to the axis then."""

    start: int
    stop: int
    step: int
    reverse: bool = False
    drop: bool = False


def subscript(target: Any, items: list[Item], span: Span, frame: Frame) -> Any:
    """The value of `target[items]`."""
    if isinstance(target, Value):
        return _slice_tensor(target, _cuts(target.type.shape, items, span, str(target.type)), span, frame)
    if isinstance(target, ConstTensor):
        cuts = _cuts(target.shape, items, span, str(list(target.shape)))
        picked = tuple(cut.start if cut.drop else slice(cut.start, cut.stop, cut.step) for cut in cuts)
        array = target.array[picked]
        flips = [slice(None, None, -1 if cut.reverse else 1) for cut in cuts if not cut.drop]
        return array[tuple(flips)].item() if array.ndim == 0 else ConstTensor(array[tuple(flips)])
    if isinstance(target, (tuple, range, Family)) and len(items) == 1:
        return _element(target, items[0])
    if isinstance(target, (tuple, range, Family)):
        from anedsl.diagnostics.names import TooManySubscripts

        raise Failure(TooManySubscripts(span=span, found=len(items), rank=1, type=describe(target)))
    from anedsl.diagnostics.names import WrongKind

    raise Failure(WrongKind(span=span, expected="a tensor or a list", found=describe(target), use="cannot be indexed"))


def _element(target: Any, item: Item) -> Any:
    sequence = target.members if isinstance(target, Family) else target
    if item.kind == "index":
        assert item.start is not None
        return sequence[_in_range(item.start, len(sequence), _named(target), item.span)]
    if item.kind == "slice" and item.step != 0:
        return tuple(sequence[item.start : item.stop : item.step])
    from anedsl.diagnostics.names import InvalidOperation

    raise Failure(InvalidOperation(span=item.span, problem="a list takes an index or a slice"))


def _named(target: Any) -> str:
    return f"the weight family `{target.name}`" if isinstance(target, Family) else "the list"


def _in_range(index: int, size: int, axis: str, span: Span) -> int:
    if not -size <= index < size:
        from anedsl.diagnostics.names import IndexOutOfRange

        raise Failure(IndexOutOfRange(span=span, index=index, axis=axis, size=size, lowest=-size, highest=size - 1))
    return index % size


def _cuts(shape: tuple[int, ...], items: list[Item], span: Span, type: str) -> list[Cut]:
    """What each axis keeps; `...` and missing subscripts keep everything."""
    ellipses = [place for place, item in enumerate(items) if item.kind == "ellipsis"]
    named = len(items) - len(ellipses)
    if named > len(shape) or len(ellipses) > 1:
        from anedsl.diagnostics.names import TooManySubscripts

        at = items[ellipses[1]].span if len(ellipses) > 1 else span
        raise Failure(TooManySubscripts(span=at, found=len(items), rank=len(shape), type=type))
    place = ellipses[0] if ellipses else len(items)
    whole: list[Item | None] = [None] * (len(shape) - named)
    wanted = [*items[:place], *whole, *items[place + 1 :]]
    return [
        Cut(0, size, 1) if item is None else _cut(item, size, axis)
        for axis, (item, size) in enumerate(zip(wanted, shape, strict=True))
    ]


def _cut(item: Item, size: int, axis: int) -> Cut:
    if item.kind == "index":
        assert item.start is not None
        at = _in_range(item.start, size, f"axis {axis}", item.span)
        return Cut(at, at + 1, 1, drop=True)
    step = 1 if item.step is None else item.step
    if step == 0:
        from anedsl.diagnostics.names import InvalidOperation

        raise Failure(InvalidOperation(span=item.span, problem="the step of a slice is 0"))
    for bound in (item.start, item.stop):
        if bound is not None and not -size <= bound <= size:
            from anedsl.diagnostics.names import IndexOutOfRange

            raise Failure(
                IndexOutOfRange(span=item.span, index=bound, axis=f"axis {axis}", size=size, lowest=-size, highest=size)
            )
    picked = range(size)[item.start : item.stop : step]
    if not picked:
        from anedsl.diagnostics.names import EmptySlice

        raise Failure(EmptySlice(span=item.span, size=size))
    low, high = min(picked[0], picked[-1]), max(picked[0], picked[-1])
    return Cut(low, high + 1, abs(step) if len(picked) > 1 else 1, reverse=step < 0 and len(picked) > 1)


def _slice_tensor(x: Value, cuts: list[Cut], span: Span, frame: Frame) -> Value:
    """A contiguous slice by size, a strided one by index; then reversed axes, then dropped ones."""
    shape = x.type.shape
    apply = frame.builder.apply
    begin = tuple(cut.start for cut in cuts)
    if any(cut.step != 1 for cut in cuts):
        attributes = {"begin": begin, "end": tuple(c.stop for c in cuts), "stride": tuple(c.step for c in cuts)}
        (x,) = apply(OPS["slice_by_index"], {"x": x}, attributes, span)
    elif any(cut.stop - cut.start != size for cut, size in zip(cuts, shape, strict=True)):
        (x,) = apply(OPS["slice_by_size"], {"x": x}, {"begin": begin, "size": tuple(c.stop - c.start for c in cuts)}, span)
    reverse = tuple(axis for axis, cut in enumerate(cuts) if cut.reverse)
    if reverse:
        (x,) = apply(OPS["reverse"], {"x": x}, {"axes": reverse}, span)
    drop = tuple(axis for axis, cut in enumerate(cuts) if cut.drop)
    if drop:
        (x,) = apply(OPS["squeeze"], {"x": x}, {"axes": drop}, span)
    return x
