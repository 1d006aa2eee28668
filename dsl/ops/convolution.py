"""Convolution over one, two or three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NoReturn

import numpy as np

from anedsl.ops.call import Call
from anedsl.ops.checks import need_choice, need_least, need_length, need_rank, need_shape, wrong_attribute
from anedsl.ops.record import FLOAT, Array, Attribute, Op, Operand
from anedsl.types import Shape, TensorType

FAMILY = "linear"
PAD_TYPES = ("valid", "same", "same_lower", "custom")


def strides_of_one(call: Call) -> tuple[int, ...]:
    """1 for each spatial axis of `x`."""
    spatial: int = call.types["x"].rank - 2
    return (1,) * spatial


def no_pad(call: Call) -> tuple[int, ...]:
    """0 before and after each spatial axis of `x`."""
    spatial: int = call.types["x"].rank - 2
    return (0,) * (2 * spatial)


def _conv(call: Call) -> TensorType:
    x = need_rank(call, "x", 3, 5, advice="activations are `[batch, channels, height, width]`; `expand_dims` adds an axis")
    advice = f"the weight is `[out, in / groups, kernel...]`, of the rank of `{call.written('x')}`"
    weight = need_rank(call, "weight", x.rank, x.rank, advice=advice)
    _check_attributes(call, x.rank - 2)
    _check_channels(call, x, weight)
    need_shape(call, "bias", weight.shape[:1], "one number for each output channel")
    pads = padding(call.attributes, x.shape[2:], weight.shape[2:])
    out = []
    for axis, (size, kernel, (before, after)) in enumerate(zip(x.shape[2:], weight.shape[2:], pads, strict=True)):
        spread = (kernel - 1) * call.attributes["dilations"][axis] + 1
        padded = size + before + after
        if spread > padded:
            _too_large(call, axis + 2, spread, padded)
        out.append((padded - spread) // call.attributes["strides"][axis] + 1)
    return x.with_shape((x.shape[0], weight.shape[0], *out))


def _check_attributes(call: Call, spatial: int) -> None:
    per_axis = f"one value for each of {spatial} spatial axes"
    need_length(call, "strides", spatial, per_axis)
    need_length(call, "dilations", spatial, per_axis)
    pad = need_length(call, "pad", 2 * spatial, "two values, before and after, for each spatial axis")
    for attribute, least in (("strides", 1), ("dilations", 1), ("pad", 0), ("groups", 1)):
        need_least(call, attribute, least)
    pad_type = need_choice(call, "pad_type")
    if any(pad) and pad_type != "custom":
        wrong_attribute(call, "pad", f'not used with `pad_type = "{pad_type}"`', advice='add `pad_type = "custom"`')


def _check_channels(call: Call, x: TensorType, weight: TensorType) -> None:
    groups = call.attributes["groups"]
    for side, channels in (("input", x.shape[1]), ("output", weight.shape[0])):
        if channels % groups:
            from anedsl.diagnostics.shapes import IndivisibleGroups

            call.fail("groups", IndivisibleGroups, op="conv", side=side, channels=channels, groups=groups)
    wanted = x.shape[1] // groups
    if weight.shape[1] != wanted:
        from anedsl.diagnostics.shapes import ChannelMismatch

        call.fail(
            "weight",
            ChannelMismatch,
            show=("x",),
            op="conv",
            x=call.written("x"),
            expected=wanted,
            found=weight.shape[1],
            channels=x.shape[1],
            groups="1 group" if groups == 1 else f"{groups} groups",
            advice=_channel_advice(call, x, weight),
        )


def _channel_advice(call: Call, x: TensorType, weight: TensorType) -> str | None:
    """Groups first: a filter for each channel, transposed, is a valid weight with one output channel, and never meant."""
    out, inner = weight.shape[:2]
    advice = []
    groups = x.shape[1] // inner
    if x.shape[1] % inner == 0 and out % groups == 0:
        advice.append(f"`groups = {groups}` would fit")
    if call.attributes["groups"] == 1 and out == x.shape[1] and inner > 1:
        advice.append(transposed_weight(call))
    return "; or ".join(advice) or None


def transposed_weight(call: Call) -> str:
    """The advice to exchange the first two axes of the weight."""
    perm = ", ".join(map(str, (1, 0, *range(2, call.types["weight"].rank))))
    return f"transpose the weight: `transpose({call.written('weight')}, [{perm}])`"


def _too_large(call: Call, axis: int, kernel: int, size: int) -> NoReturn:
    from anedsl.diagnostics.shapes import KernelTooLarge

    advice = '`pad_type = "same"` pads the input' if call.attributes["pad_type"] == "valid" else None
    call.fail("weight", KernelTooLarge, show=("x",), op="conv", axis=axis, kernel=kernel, size=size, advice=advice)


def padding(attributes: Any, sizes: Shape, kernels: Shape) -> list[tuple[int, int]]:
    """How many zeros go before and after each spatial axis.

    `same` keeps `ceil(size / stride)` positions; an odd zero goes after the axis, with `same_lower` before it.
    """
    pad_type, pad = attributes["pad_type"], attributes["pad"]
    if pad_type == "valid":
        return [(0, 0)] * len(sizes)
    if pad_type == "custom":
        return [(pad[2 * axis], pad[2 * axis + 1]) for axis in range(len(sizes))]
    pads = []
    for size, kernel, stride, dilation in zip(sizes, kernels, attributes["strides"], attributes["dilations"], strict=True):
        kept = -(-size // stride)
        total = max(0, (kept - 1) * stride + (kernel - 1) * dilation + 1 - size)
        small, large = total // 2, total - total // 2
        pads.append((large, small) if pad_type == "same_lower" else (small, large))
    return pads


@np.errstate(all="ignore")
def _convolved(x: Array, weight: Array, bias: Array | None, **attributes: Any) -> Array:
    """A sum over the kernel's positions of matrix products: a 1x1 kernel is a single one."""
    groups, strides, dilations = attributes["groups"], attributes["strides"], attributes["dilations"]
    kernels = weight.shape[2:]
    pads = padding(attributes, x.shape[2:], kernels)
    if any(before or after for before, after in pads):
        x = np.pad(x, [(0, 0), (0, 0), *pads])
    out = [
        (size - (kernel - 1) * dilation - 1) // stride + 1
        for size, kernel, stride, dilation in zip(x.shape[2:], kernels, strides, dilations, strict=True)
    ]
    rows = weight.reshape(groups, weight.shape[0] // groups, weight.shape[1], *kernels)
    total: Array | None = None
    for position in product(*map(range, kernels)):
        window = tuple(
            slice(at * dilation, at * dilation + (count - 1) * stride + 1, stride)
            for at, dilation, count, stride in zip(position, dilations, out, strides, strict=True)
        )
        columns = x[(slice(None), slice(None), *window)].reshape(x.shape[0], groups, weight.shape[1], -1)
        at_position: Any = (..., *position)
        part: Array = np.matmul(rows[at_position], columns)
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None
    if bias is not None:
        total += bias.reshape(groups, -1, 1)
    return total.reshape(x.shape[0], weight.shape[0], *out)


def _conv_flops(call: Call, results: Sequence[TensorType]) -> int:
    weight: TensorType = call.types["weight"]
    bias = 0 if call.types.get("bias") is None else results[0].size
    return 2 * results[0].size * (weight.size // weight.shape[0]) + bias


OPS = (
    Op(
        "conv",
        "Convolution over one, two or three spatial axes. A linear layer on the ANE is one with a 1x1 kernel.",
        operands=(
            Operand("x", FLOAT, "`[batch, in, spatial...]`, rank 3 to 5"),
            Operand("weight", FLOAT, "`[out, in / groups, kernel...]`; compile-time if dilated"),
            Operand("bias", FLOAT, "`[out]`; compile-time before ios17", optional=True),
        ),
        infer=_conv,
        reference=_convolved,
        attributes=(
            Attribute("strides", "ints", strides_of_one, "The step of the kernel along each spatial axis."),
            Attribute("pad_type", "string", "valid", "How the input is padded; `same_lower` since ios16.", PAD_TYPES),
            Attribute("pad", "ints", no_pad, 'Zeros before and after each spatial axis, with `pad_type = "custom"`.'),
            Attribute("dilations", "ints", strides_of_one, "The distance of kernel elements along each spatial axis."),
            Attribute("groups", "int", 1, "In how many independent groups the channels are divided."),
        ),
        flops=_conv_flops,
        example="y = conv(x, weight = w, strides = [2, 2])",
        family=FAMILY,
    ),
)
