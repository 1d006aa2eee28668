"""Ops that move blocks of positions between the spatial axes and channels or batches, and ops that repeat or turn windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anedsl.ops.call import Call, normal_axis
from anedsl.ops.checks import need_least, need_rank, need_shape, wrong_attribute
from anedsl.ops.record import ANY, FLOAT, Array, Attribute, Domain, Op, Operand, no_flops
from anedsl.types import INT8, INT16, INT32, UINT32, TensorType

FAMILY = "rearranging"
LENGTHS = Domain("L", (INT8, INT16, INT32))
UNSIGNED = Domain("U", (UINT32,))
IMAGES = "`[batch, channels, height, width]`"


def _divide(call: Call, what: str, axis: int, size: int, divisor: int) -> int:
    """The quotient; ANE0265 where it is not whole."""
    if size % divisor:
        from anedsl.diagnostics.shapes import Indivisible

        own = call.types["x"].shape[axis]
        x = call.written("x")
        call.fail("x", Indivisible, op=call.op.name, x=x, what=f"{size} {what}", divisor=divisor, axis=axis, size=own)
    return size // divisor


# channels to space, and back


def _to_space(attribute: str) -> Callable[[Call], TensorType]:
    def rule(call: Call) -> TensorType:
        x = need_rank(call, "x", 4, 4, advice=f"activations are {IMAGES}")
        need_least(call, attribute, 1)
        block = call.attributes[attribute]
        batch, channels, height, width = x.shape
        return x.with_shape((batch, _divide(call, "channels", 1, channels, block * block), height * block, width * block))

    return rule


def _to_depth(attribute: str) -> Callable[[Call], TensorType]:
    def rule(call: Call) -> TensorType:
        x = need_rank(call, "x", 4, 4, advice=f"activations are {IMAGES}")
        need_least(call, attribute, 1)
        block = call.attributes[attribute]
        batch, channels, height, width = x.shape
        rows, columns = _divide(call, "rows", 2, height, block), _divide(call, "columns", 3, width, block)
        return x.with_shape((batch, channels * block * block, rows, columns))

    return rule


def _spread(x: Array, block: int, axes: tuple[int, ...]) -> Array:
    """Splits channels into `axes`' order of block row, block column and channel, and joins each with its positions."""
    batch, channels, height, width = x.shape
    few = channels // (block * block)
    parts = [block, block, block]
    parts[axes.index(1)] = few
    split = x.reshape(batch, *parts, height, width)
    row, column, channel = (1 + axes.index(part) for part in (2, 3, 1))
    return split.transpose(0, channel, 4, row, 5, column).reshape(batch, few, height * block, width * block)


def _collected(x: Array, block: int, order: tuple[int, ...]) -> Array:
    batch, channels, height, width = x.shape
    split = x.reshape(batch, channels, height // block, block, width // block, block)
    return split.transpose(0, *order, 2, 4).reshape(batch, channels * block * block, height // block, width // block)


# batches to space, and back


def _block_shape(call: Call, margins: str) -> tuple[tuple[int, int], tuple[tuple[int, int], tuple[int, int]]]:
    """The block and the margins as `((top, bottom), (left, right))`; ANE0246 for other lengths."""
    block = tuple(call.attributes["block_shape"])
    if len(block) != 2:
        wrong_attribute(call, "block_shape", f"expected 2 values, height and width, found {len(block)}")
    flat = tuple(n for given in call.attributes[margins] for n in (given if isinstance(given, tuple | list) else (given,)))
    if len(flat) != 4:
        wrong_attribute(call, margins, f"expected 4 values: top, bottom, left, right; found {len(flat)}")
    for attribute, least, values in (("block_shape", 1, block), (margins, 0, flat)):
        if min(values) < least:
            wrong_attribute(call, attribute, f"{min(values)} is less than {least}")
    pairs = (flat[:2], flat[2:])
    call.attributes |= {"block_shape": block, margins: pairs}
    return block, pairs


def _space_to_batch(call: Call) -> TensorType:
    x = need_rank(call, "x", 4, 4, advice=f"activations are {IMAGES}")
    block, pairs = _block_shape(call, "paddings")
    sizes = [
        _divide(call, f"padded {what}", axis, x.shape[axis] + sum(pair), step)
        for axis, what, step, pair in zip((2, 3), ("rows", "columns"), block, pairs, strict=True)
    ]
    return x.with_shape((x.shape[0] * block[0] * block[1], x.shape[1], *sizes))


def _batch_to_space(call: Call) -> TensorType:
    x = need_rank(call, "x", 4, 4, advice=f"activations are {IMAGES}")
    block, pairs = _block_shape(call, "crops")
    sizes = [size * step - sum(pair) for size, step, pair in zip(x.shape[2:], block, pairs, strict=True)]
    if min(sizes) < 1:
        axis = 2 + sizes.index(min(sizes))
        wrong_attribute(call, "crops", f"nothing is left of {x.shape[axis] * block[axis - 2]} positions at axis {axis}")
    return x.with_shape((_divide(call, "batches", 0, x.shape[0], block[0] * block[1]), x.shape[1], *sizes))


def _batched(x: Array, *, block_shape: tuple[int, int], paddings: Any) -> Array:
    x = np.pad(x, [(0, 0), (0, 0), *paddings])
    batch, channels, height, width = x.shape
    tall, wide = block_shape
    split = x.reshape(batch, channels, height // tall, tall, width // wide, wide)
    return split.transpose(3, 5, 0, 1, 2, 4).reshape(tall * wide * batch, channels, height // tall, width // wide)


def _unbatched(x: Array, *, block_shape: tuple[int, int], crops: Any) -> Array:
    batch, channels, height, width = x.shape
    tall, wide = block_shape
    split = x.reshape(tall, wide, batch // (tall * wide), channels, height, width)
    whole = split.transpose(2, 3, 4, 0, 5, 1).reshape(-1, channels, height * tall, width * wide)
    (top, bottom), (left, right) = crops
    return whole[:, :, top : height * tall - bottom, left : width * wide - right]


# windows and sequences


def _sliding_windows(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    axis = normal_axis(call, "axis", call.attributes["axis"], x)
    call.attributes["axis"] = axis
    need_least(call, "size", 1)
    need_least(call, "stride", 1)
    size, stride = call.attributes["size"], call.attributes["stride"]
    if size > x.shape[axis]:
        wrong_attribute(call, "size", f"{size} is more than the {x.shape[axis]} positions of axis {axis}")
    count = (x.shape[axis] - size) // stride + 1
    return x.with_shape((*x.shape[:axis], count, size, *x.shape[axis + 1 :]))


def _windows(x: Array, *, axis: int, size: int, stride: int) -> Array:
    starts = np.arange(0, x.shape[axis] - size + 1, stride)
    return np.take(x, starts[:, None] + np.arange(size), axis)


def _reverse_sequence(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    for name in ("seq_axis", "batch_axis"):
        call.attributes[name] = normal_axis(call, name, call.attributes[name], x)
    sequence, batch = call.attributes["seq_axis"], call.attributes["batch_axis"]
    if sequence == batch:
        wrong_attribute(call, "seq_axis", f"axis {sequence} is the batch axis as well", advice="name two different axes")
    need_shape(call, "lengths", (x.shape[batch],), f"one length for each position of the batch axis, {batch}")
    return x


def _sequences_reversed(x: Array, lengths: Array, *, seq_axis: int, batch_axis: int) -> Array:
    result = x.copy()
    rows, turned = np.moveaxis(x, (batch_axis, seq_axis), (0, 1)), np.moveaxis(result, (batch_axis, seq_axis), (0, 1))
    for at, length in enumerate(np.maximum(lengths, 0)):
        turned[at, :length] = rows[at, :length][::-1]
    return result


def _blocks(name: str, infer: Any, reference: Any, doc: str, example: str, attribute: Attribute, since: str = "ios15") -> Op:
    return Op(
        name,
        doc,
        operands=(Operand("x", FLOAT, IMAGES),),
        infer=infer,
        reference=reference,
        attributes=(attribute,),
        flops=no_flops,
        example=example,
        family=FAMILY,
        since=since,
    )


def _batches(name: str, infer: Any, reference: Any, doc: str, example: str, margins: Attribute) -> Op:
    return Op(
        name,
        doc,
        operands=(Operand("x", FLOAT, IMAGES),),
        infer=infer,
        reference=reference,
        attributes=(Attribute("block_shape", "ints", doc="The height and width of a block."), margins),
        flops=no_flops,
        example=example,
        family=FAMILY,
    )


OPS = (
    _blocks(
        "depth_to_space",
        _to_space("block_size"),
        lambda x, *, block_size: _spread(x, block_size, (2, 3, 1)),
        "Makes blocks of positions of channels: consecutive channels stay channels.",
        "y = depth_to_space(x, block_size = 2)",
        Attribute("block_size", "int", doc="The height and width of a block."),
    ),
    _blocks(
        "space_to_depth",
        _to_depth("block_size"),
        lambda x, *, block_size: _collected(x, block_size, (3, 5, 1)),
        "Makes channels of blocks of positions: the inverse of `depth_to_space`.",
        "y = space_to_depth(x, block_size = 2)",
        Attribute("block_size", "int", doc="The height and width of a block."),
    ),
    _blocks(
        "pixel_shuffle",
        _to_space("upscale_factor"),
        lambda x, *, upscale_factor: _spread(x, upscale_factor, (1, 2, 3)),
        "Makes blocks of positions of channels: consecutive channels become a block.",
        "y = pixel_shuffle(x, upscale_factor = 2)",
        Attribute("upscale_factor", "int", doc="The height and width of a block."),
    ),
    _blocks(
        "pixel_unshuffle",
        _to_depth("downscale_factor"),
        lambda x, *, downscale_factor: _collected(x, downscale_factor, (1, 3, 5)),
        "Makes channels of blocks of positions: the inverse of `pixel_shuffle`.",
        "y = pixel_unshuffle(x, downscale_factor = 2)",
        Attribute("downscale_factor", "int", doc="The height and width of a block.", domain=UNSIGNED),
        since="ios16",
    ),
    _batches(
        "space_to_batch",
        _space_to_batch,
        _batched,
        "Makes batches of blocks of positions: each batch has every second, third, ... row and column.",
        "y = space_to_batch(x, block_shape = [2, 2], paddings = [0, 0, 0, 0])",
        Attribute("paddings", "ints", doc="Zeros put around first: top, bottom, left and right."),
    ),
    _batches(
        "batch_to_space",
        _batch_to_space,
        _unbatched,
        "Makes blocks of positions of batches: the inverse of `space_to_batch`.",
        "y = batch_to_space(x, block_shape = [2, 2], crops = [0, 0, 0, 0])",
        Attribute("crops", "ints", doc="Positions cut off at last: top, bottom, left and right."),
    ),
    Op(
        "sliding_windows",
        "All windows of a size along an axis, in steps of `stride`; the positions in a window become an axis after it.",
        operands=(Operand("x", ANY),),
        infer=_sliding_windows,
        reference=_windows,
        attributes=(
            Attribute("axis", "int", doc="The axis to cut."),
            Attribute("size", "int", doc="How many positions a window has."),
            Attribute("stride", "int", 1, "The distance of neighbouring windows."),
        ),
        flops=no_flops,
        example="y = sliding_windows(x, axis = -1, size = 16, stride = 8)",
        family=FAMILY,
    ),
    Op(
        "reverse_sequence",
        "Reverses the first positions of each sequence of a batch; the others stay.",
        operands=(Operand("x", ANY), Operand("lengths", LENGTHS, "How many positions to reverse, for each batch.")),
        infer=_reverse_sequence,
        reference=_sequences_reversed,
        attributes=(
            Attribute("seq_axis", "int", 0, "The axis along which the sequences run."),
            Attribute("batch_axis", "int", 0, "The axis of the batch; another than `seq_axis`."),
        ),
        flops=no_flops,
        example="y = reverse_sequence(x, lengths, seq_axis = 1, batch_axis = 0)",
        family=FAMILY,
    ),
)
