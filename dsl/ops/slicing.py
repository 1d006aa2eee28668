"""Ops that take a part of a tensor, or put a margin around it."""

from __future__ import annotations

from typing import Any

import numpy as np

from anedsl.ops import gathering
from anedsl.ops.call import Call
from anedsl.ops.checks import need_choice, need_least, need_length, need_rank, wrong_attribute
from anedsl.ops.record import ANY, FLOAT, Array, Attribute, Op, Operand, no_flops
from anedsl.types import TensorType

FAMILY = "slicing"


def _position(call: Call, attribute: str, axis: int, found: int, size: int, last: int, advice: str | None = None) -> int:
    """A position counted from 0; ANE0250 unless it is in [-size, last]."""
    if not -size <= found <= last:
        from anedsl.diagnostics.shapes import SliceOutOfRange

        call.fail(attribute, SliceOutOfRange, show=("x",), axis=axis, attribute=attribute, found=found, size=size, advice=advice)
    return found + size if found < 0 else found


# slice_by_size


def _slice_by_size(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    begin = need_length(call, "begin", x.rank, "one position for each axis of `x`")
    sizes = need_length(call, "size", x.rank, "one size for each axis of `x`")
    starts, counts = [], []
    for axis, (start, count, dim) in enumerate(zip(begin, sizes, x.shape, strict=True)):
        start = _position(call, "begin", axis, start, dim, dim - 1)
        left = dim - start
        if count == -1:
            count = left
        if count < 1:
            wrong_attribute(call, "size", f"{count} at axis {axis}", advice="-1 takes all that is left")
        if count > left:
            _position(call, "size", axis, count, dim, left, f"{left} positions are left after {start}")
        starts.append(start)
        counts.append(count)
    call.attributes["begin"] = tuple(starts)
    call.attributes["size"] = tuple(counts)
    return x.with_shape(tuple(counts))


def _cut(x: Array, *, begin: tuple[int, ...], size: tuple[int, ...]) -> Array:
    return x[tuple(slice(start, start + count) for start, count in zip(begin, size, strict=True))]


# slice_by_index


def _all_true_or_false(value: Any) -> Any:
    def default(call: Call) -> tuple[Any, ...]:
        return (value,) * int(call.types["x"].rank)

    return default


def _slice_by_index(call: Call) -> TensorType:
    """Rewrites positions to count from 0. A mask stays only where no number can say the same."""
    x = need_rank(call, "x", 1)
    rule = "one value for each axis of `x`"
    names = ("begin", "end", "stride", "begin_mask", "end_mask", "squeeze_mask")
    columns = [need_length(call, name, x.rank, rule) for name in names]
    rows = [_one_axis(call, axis, dim, *row) for axis, (dim, *row) in enumerate(zip(x.shape, *columns, strict=True))]
    for position, name in enumerate(names):
        call.attributes[name] = tuple(row[position] for row in rows)
    dims = [_count(begin, end, stride, end_mask) for begin, end, stride, _, end_mask, _ in rows]
    squeezed = call.attributes["squeeze_mask"]
    return x.with_shape(tuple(dim for dim, gone in zip(dims, squeezed, strict=True) if not gone))


def _one_axis(
    call: Call, axis: int, size: int, begin: int, end: int, stride: int, begin_mask: bool, end_mask: bool, squeeze: bool
) -> tuple[int, int, int, bool, bool, bool]:
    """The slice of one axis in its only spelling."""
    if stride == 0:
        wrong_attribute(call, "stride", f"0 at axis {axis}")
    if squeeze:
        start = _position(call, "begin", axis, begin, size, size - 1)
        return start, start + 1, 1, False, False, True
    if begin_mask:
        begin = 0 if stride > 0 else size - 1
    start = _position(call, "begin", axis, begin, size, size - 1)
    if end_mask:
        # A backward slice down to position 0 ends before it, where no position is.
        return start, size if stride > 0 else 0, stride, False, stride < 0, False
    advice = f"positions end at {size}" if stride > 0 else "leave the end out to reach position 0"
    stop = _position(call, "end", axis, end, size, size, advice)
    if _count(start, stop, stride, False) < 1:
        from anedsl.diagnostics.shapes import EmptySlice

        turned = "a negative stride runs from a higher position to a lower" if stride < 0 else None
        call.fail("end", EmptySlice, show=("x",), axis=axis, begin=begin, end=end, stride=stride, advice=turned)
    return start, stop, stride, False, False, False


def _count(begin: int, end: int, stride: int, end_mask: bool) -> int:
    stop = -1 if end_mask and stride < 0 else end
    return len(range(begin, stop, stride))


def _indexed(x: Array, *, begin: Any, end: Any, stride: Any, begin_mask: Any, end_mask: Any, squeeze_mask: Any) -> Array:
    index = tuple(
        start if gone else slice(start, None if open_end else stop, step)
        for start, stop, step, open_end, gone in zip(begin, end, stride, end_mask, squeeze_mask, strict=True)
    )
    return np.asarray(x[index])


# pad, crop


def _pad(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    pad = tuple(call.attributes["pad"])
    call.attributes["pad"] = pad
    if len(pad) % 2 or len(pad) > 2 * x.rank or not pad:
        wrong_attribute(call, "pad", f"expected 2 to {2 * x.rank} values, an even number, found {len(pad)}")
    need_least(call, "pad", 0)
    mode = need_choice(call, "mode")
    first = x.rank - len(pad) // 2
    shape = list(x.shape)
    for position, margin in enumerate(pad):
        axis = first + position // 2
        limit = {"constant": margin, "reflect": x.shape[axis] - 1, "replicate": x.shape[axis]}[mode]
        if margin > limit:
            wrong_attribute(call, "pad", f"{margin} at axis {axis}; `{mode}` takes at most {limit} there")
        shape[axis] += margin
    return x.with_shape(tuple(shape))


def _padded(x: Array, *, pad: tuple[int, ...], mode: str, constant_val: float) -> Array:
    margins = [(0, 0)] * (x.ndim - len(pad) // 2) + list(zip(pad[::2], pad[1::2], strict=True))
    if mode == "constant":
        return np.pad(x, margins, constant_values=constant_val)
    return np.pad(x, margins, mode="edge" if mode == "replicate" else "reflect")


def _crop(call: Call) -> TensorType:
    x = need_rank(call, "x", 2)
    shape = list(x.shape)
    for axis, attribute in ((-2, "crop_height"), (-1, "crop_width")):
        before, after = need_length(call, attribute, 2, "how much to cut before and after")
        need_least(call, attribute, 0)
        if before + after >= shape[axis]:
            wrong_attribute(call, attribute, f"nothing is left of {shape[axis]} positions")
        shape[axis] -= before + after
    return x.with_shape(tuple(shape))


def _cropped(x: Array, *, crop_height: tuple[int, int], crop_width: tuple[int, int]) -> Array:
    (top, bottom), (left, right) = crop_height, crop_width
    return x[..., top : x.shape[-2] - bottom, left : x.shape[-1] - right]


def _part(name: str, infer: Any, reference: Any, doc: str, example: str, *attributes: Attribute, domain: Any = ANY) -> Op:
    return Op(
        name,
        doc,
        operands=(Operand("x", domain),),
        infer=infer,
        reference=reference,
        attributes=attributes,
        flops=no_flops,
        example=example,
        family=FAMILY,
    )


OPS = (
    _part(
        "slice_by_size",
        _slice_by_size,
        _cut,
        "The part that begins at a position and has a size, in each axis.",
        "y = slice_by_size(x, begin = [0, 64, 0, 0], size = [1, 64, 1, -1])",
        Attribute("begin", "ints", doc="The first position in each axis."),
        Attribute("size", "ints", doc="How many positions of each axis; -1 takes all that are left."),
    ),
    _part(
        "slice_by_index",
        _slice_by_index,
        _indexed,
        "`x[begin[0]:end[0]:stride[0], ...]`, as in Python; written by indexing.",
        "y = x[:, 0:64, :, ::2]",
        Attribute("begin", "ints", doc="The first position in each axis."),
        Attribute("end", "ints", doc="The position after the last in each axis."),
        Attribute("stride", "ints", _all_true_or_false(1), "The step in each axis; negative runs backwards."),
        Attribute("begin_mask", "bools", _all_true_or_false(False), "Where true, the slice begins at the start of the axis."),
        Attribute("end_mask", "bools", _all_true_or_false(False), "Where true, the slice runs to the end of the axis."),
        Attribute("squeeze_mask", "bools", _all_true_or_false(False), "Where true, one position is taken and the axis removed."),
    ),
    _part(
        "pad",
        _pad,
        _padded,
        "Puts a margin around the last axes.",
        "y = pad(x, pad = [0, 0, 1, 1])",
        Attribute("pad", "ints", doc="Two numbers, before and after, for each of the last axes."),
        Attribute("mode", "string", "constant", "What the margin holds.", ("constant", "reflect", "replicate")),
        Attribute("constant_val", "float", 0.0, "The number in a constant margin.", domain=FLOAT, infinite=True),
        domain=FLOAT,
    ),
    _part(
        "crop",
        _crop,
        _cropped,
        "Cuts positions off the last two axes.",
        "y = crop(x, crop_height = [1, 1], crop_width = [2, 2])",
        Attribute("crop_height", "ints", doc="How many positions to cut before and after, in axis -2."),
        Attribute("crop_width", "ints", doc="How many positions to cut before and after, in axis -1."),
        domain=FLOAT,
    ),
    *gathering.OPS,
)
