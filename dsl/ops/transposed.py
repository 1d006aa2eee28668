"""Transposed convolution: what maps the gradient of a convolution's result to that of its input."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, NoReturn

import numpy as np

from anedsl.ops.call import Call
from anedsl.ops.checks import need_choice, need_least, need_length, need_rank, need_shape, wrong_attribute
from anedsl.ops.convolution import no_pad, padding, strides_of_one, transposed_weight
from anedsl.ops.record import FLOAT, Array, Attribute, Op, Operand
from anedsl.types import Shape, TensorType

PAD_TYPES = ("valid", "same", "custom")


def _conv_transpose(call: Call) -> TensorType:
    x = need_rank(call, "x", 3, 5, advice="activations are `[batch, channels, height, width]`; `expand_dims` adds an axis")
    advice = f"the weight is `[in, out / groups, kernel...]`, of the rank of `{call.written('x')}`"
    weight = need_rank(call, "weight", x.rank, x.rank, advice=advice)
    _check_attributes(call, x.rank - 2)
    _check_channels(call, x, weight)
    channels = weight.shape[1] * call.attributes["groups"]
    need_shape(call, "bias", (channels,), "one number for each output channel")
    sizes = _sizes(call.attributes, x.shape[2:], weight.shape[2:])
    if call.attributes.get("output_shape") is not None:
        sizes = _chosen_sizes(call, (x.shape[0], channels, *sizes))
    for axis, (size, wanted) in enumerate(zip(sizes, x.shape[2:], strict=True)):
        given = _convolved_size(call.attributes, axis, size, weight.shape[2:])
        if size < 1 or given != wanted:
            _unreachable(call, axis, size, given, wanted, _sizes(call.attributes, x.shape[2:], weight.shape[2:])[axis])
    return x.with_shape((x.shape[0], channels, *sizes))


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
    if x.shape[1] % groups:
        from anedsl.diagnostics.shapes import IndivisibleGroups

        call.fail("groups", IndivisibleGroups, op="conv_transpose", side="input", channels=x.shape[1], groups=groups)
    if weight.shape[0] != x.shape[1]:
        from anedsl.diagnostics.shapes import ShapeMismatch

        # One output channel is what a filter for each channel would become, and not what was meant.
        swapped = groups == 1 and weight.shape[1] == x.shape[1] and weight.shape[0] > 1
        call.fail(
            "weight",
            ShapeMismatch,
            show=("x",),
            problem=f"`conv_transpose` weight does not fit the channels of `{call.written('x')}`",
            detail=f"expected {x.shape[1]} input channels at axis 0, found {weight.shape[0]}",
            rule="the weight is `[in, out / groups, kernel...]`: that of the convolution which it transposes",
            advice=transposed_weight(call) if swapped else None,
        )


def _sizes(attributes: Any, sizes: Shape, kernels: Shape) -> Shape:
    """The smallest result, or for `same` the one that is `strides` times as large."""
    if attributes["pad_type"] == "same":
        return tuple(size * stride for size, stride in zip(sizes, attributes["strides"], strict=True))
    found = []
    for axis, (size, kernel) in enumerate(zip(sizes, kernels, strict=True)):
        before, after = attributes["pad"][2 * axis : 2 * axis + 2]
        spread = (kernel - 1) * attributes["dilations"][axis] + 1
        found.append((size - 1) * attributes["strides"][axis] + spread - before - after)
    return tuple(found)


def _chosen_sizes(call: Call, smallest: Shape) -> Shape:
    """The spatial axes of `output_shape`; ANE0246 where its batch or channels are others."""
    shape = need_length(call, "output_shape", len(smallest), "one size for each axis of the result")
    for axis, what in enumerate(("batch", "channels")):
        if shape[axis] != smallest[axis]:
            wrong_attribute(call, "output_shape", f"expected {smallest[axis]} at axis {axis}, the {what}, found {shape[axis]}")
    return shape[2:]


def _pads(attributes: Any, sizes: Shape, kernels: Shape) -> list[tuple[int, int]]:
    """The padding of the convolution that is transposed, whose input has these sizes."""
    return padding(attributes, sizes, kernels)


def _convolved_size(attributes: Any, axis: int, size: int, kernels: Shape) -> int:
    """How many positions a convolution of so many gives."""
    one = {key: attributes[key][axis : axis + 1] for key in ("strides", "dilations")}
    one |= {"pad_type": attributes["pad_type"], "pad": attributes["pad"][2 * axis : 2 * axis + 2]}
    ((before, after),) = _pads(one, (size,), kernels[axis : axis + 1])
    spread = (kernels[axis] - 1) * one["dilations"][0] + 1
    return int((size + before + after - spread) // one["strides"][0] + 1)


def _unreachable(call: Call, axis: int, size: int, given: int, wanted: int, usual: int) -> NoReturn:
    if usual < 1 or call.attributes.get("output_shape") is None:
        wrong_attribute(call, "pad", f"nothing is left at axis {axis + 2}")
    from anedsl.diagnostics.shapes import TransposedShape

    stride = call.attributes["strides"][axis]
    smallest = usual - stride + 1 if call.attributes["pad_type"] == "same" else usual
    call.fail(
        "output_shape",
        TransposedShape,
        show=("x",),
        x=call.written("x"),
        axis=axis + 2,
        found=size,
        given=max(given, 0),
        wanted=wanted,
        advice=f"sizes {smallest} to {smallest + stride - 1} fit" if stride > 1 else f"only size {smallest} fits",
    )


@np.errstate(all="ignore")
def _spread(x: Array, weight: Array, bias: Array | None, **attributes: Any) -> Array:
    """Each position of the kernel adds a matrix product to the positions that it reaches."""
    groups, strides, dilations = attributes["groups"], attributes["strides"], attributes["dilations"]
    sizes, kernels = x.shape[2:], weight.shape[2:]
    chosen = attributes.get("output_shape")
    out = _sizes(attributes, sizes, kernels) if chosen is None else tuple(chosen[2:])
    pads = _pads(attributes, out, kernels)
    reached = [(n - 1) * s + (k - 1) * d + 1 for n, s, k, d in zip(sizes, strides, kernels, dilations, strict=True)]
    whole = [max(m, n + before + after) for m, n, (before, after) in zip(reached, out, pads, strict=True)]
    total = np.zeros((x.shape[0], weight.shape[1] * groups, *whole), x.dtype)
    columns = x.reshape(x.shape[0], groups, x.shape[1] // groups, -1)
    rows = weight.reshape(groups, weight.shape[0] // groups, weight.shape[1], *kernels)
    for position in product(*map(range, kernels)):
        at_position: Any = (..., *position)
        part = np.matmul(rows[at_position].swapaxes(1, 2), columns).reshape(*total.shape[:2], *sizes)
        starts = [at * dilation for at, dilation in zip(position, dilations, strict=True)]
        window = tuple(slice(at, at + (n - 1) * step + 1, step) for at, n, step in zip(starts, sizes, strides, strict=True))
        total[(slice(None), slice(None), *window)] += part
    inner = tuple(slice(before, before + n) for n, (before, _) in zip(out, pads, strict=True))
    result: Array = total[(slice(None), slice(None), *inner)]
    return result if bias is None else result + bias.reshape(-1, *[1] * len(out))


def _flops(call: Call, results: Sequence[TensorType]) -> int:
    weight: TensorType = call.types["weight"]
    bias = 0 if call.types.get("bias") is None else results[0].size
    x: TensorType = call.types["x"]
    return 2 * x.size * (weight.size // weight.shape[0]) + bias


OPS = (
    Op(
        "conv_transpose",
        "Transposed convolution over one, two or three spatial axes: with a stride it makes them larger.",
        operands=(
            Operand("x", FLOAT, "`[batch, in, spatial...]`, rank 3 to 5"),
            Operand("weight", FLOAT, "`[in, out / groups, kernel...]`; compile-time before ios17"),
            Operand("bias", FLOAT, "`[out]`; compile-time before ios17", optional=True),
        ),
        infer=_conv_transpose,
        reference=_spread,
        attributes=(
            Attribute("pad", "ints", no_pad, 'Positions cut before and after each spatial axis, with `pad_type = "custom"`.'),
            Attribute("output_shape", "ints", None, "Which of several shapes the result has; the smallest by default."),
            Attribute("pad_type", "string", "valid", "How the convolution that is transposed pads.", PAD_TYPES),
            Attribute("strides", "ints", strides_of_one, "The distance in the result of neighbours in `x`."),
            Attribute("dilations", "ints", strides_of_one, "The distance of kernel elements along each spatial axis."),
            Attribute("groups", "int", 1, "In how many independent groups the channels are divided."),
        ),
        flops=_flops,
        example="y = conv_transpose(x, weight = w, strides = [2, 2])",
        family="linear",
    ),
)
