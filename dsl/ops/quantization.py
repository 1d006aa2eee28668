"""Quantization of activations: floats as 8-bit integers, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from anedsl.ops.call import Call, normal_axis
from anedsl.ops.checks import need_rank, need_shape, wrong_attribute
from anedsl.ops.record import FLOAT, Array, Attribute, Domain, Op, Operand
from anedsl.types import INT8, UINT8, DType, Shape, TensorType

FAMILY = "quantization"
QUANTIZED = Domain("Q", (INT8, UINT8))
AS_OUTPUT = QUANTIZED._replace(follows="output_dtype")


def check_scale(call: Call, operand: str) -> None:
    """`scale` and `zero_point` are both one number and there is no `axis`, or both have one for each position of `axis`.

    ANE0264 where `axis` is missing or too much, ANE0258 for a wrong length.
    """
    data: TensorType = call.types[operand]
    scale = need_rank(call, "scale", 0, 1)
    axis = call.attributes.get("axis")
    if (scale.rank == 1) != (axis is not None):
        from anedsl.diagnostics.shapes import ScaleAxis

        problem = "takes `axis` only with several scales" if axis is not None else "needs `axis` for several scales"
        advice = "leave out `axis`" if axis is not None else "say with `axis` along which the scales lie"
        at = "scale" if axis is None else "axis"
        call.fail(at, ScaleAxis, op=call.op.name, problem=problem, scale=str(scale), advice=advice)
    expected: Shape = ()
    rule = "one number, as `scale` is"
    if axis is not None:
        axis = normal_axis(call, "axis", axis, data)
        call.attributes["axis"] = axis
        expected, rule = data.shape[axis : axis + 1], f"one number for each position of axis {axis}"
    need_shape(call, "scale", expected, rule)
    need_shape(call, "zero_point", expected, rule)


def _quantize(call: Call) -> TensorType:
    check_scale(call, "input")
    dtype: DType = call.attributes["output_dtype"]
    if dtype not in QUANTIZED.dtypes:
        wrong_attribute(call, "output_dtype", f"it is {QUANTIZED}", f"found {dtype}")
    zero: TensorType | None = call.types.get("zero_point")
    if zero is not None and zero.dtype is not dtype:
        wrong_attribute(call, "output_dtype", f"`zero_point` is {zero.dtype}", f"found {dtype}", f"use {zero.dtype}")
    data: TensorType = call.types["input"]
    return data.with_dtype(dtype)


def _dequantize(call: Call) -> TensorType:
    check_scale(call, "input")
    scale: TensorType = call.types["scale"]
    return scale.with_shape(call.types["input"].shape)


def spread(numbers: Array, data: Array, axis: int | None) -> Array:
    """A number, or one for each position of an axis, in a shape that broadcasts with the data."""
    if numbers.ndim == 0 or axis is None:
        return numbers
    return numbers.reshape([-1 if at == axis else 1 for at in range(data.ndim)])


@np.errstate(all="ignore")
def _quantized(input: Array, scale: Array, zero_point: Array | None, *, output_dtype: DType, axis: int | None = None) -> Array:
    """Halves round to the even neighbour."""
    steps = np.rint(input / spread(scale, input, axis))
    if zero_point is not None:
        steps = steps + spread(zero_point, input, axis)
    bounded = np.clip(steps, output_dtype.smallest, output_dtype.largest)
    return np.where(np.isnan(bounded), 0, bounded).astype(np.int32)


def dequantized(data: Array, scale: Array, zero_point: Array | None, *, axis: int | None = None) -> Array:
    """`scale * (data - zero_point)`, in the floating type of the scale."""
    steps: Array = data.astype(scale.dtype)
    if zero_point is not None:
        steps -= spread(zero_point, data, axis).astype(scale.dtype)
    steps *= spread(scale, data, axis)
    return steps


def _two_flops(call: Call, results: Any) -> int:
    count: int = 2 * results[0].size
    return count


_AXIS = Attribute("axis", "int", None, "Along which axis `scale` has a number for each position.")
_SCALE, _ZERO = "The size of a step: one number, or one for each position of `axis`.", "The integer that stands for 0."

OPS = (
    Op(
        "quantize",
        "Floats as 8-bit integers: `round(input / scale) + zero_point`, kept within the range of the integers.",
        operands=(
            Operand("input", FLOAT),
            Operand("scale", FLOAT, _SCALE, const=True, positive=True),
            Operand("zero_point", AS_OUTPUT, _ZERO, optional=True, const=True),
        ),
        infer=_quantize,
        reference=_quantized,
        attributes=(Attribute("output_dtype", "dtype", doc="int8 or uint8, as `zero_point` is."), _AXIS),
        flops=_two_flops,
        example="q = quantize(x, scale = 0.05, output_dtype = int8)",
        family=FAMILY,
        since="ios17",
    ),
    Op(
        "dequantize",
        "8-bit integers as floats: `scale * (input - zero_point)`.",
        operands=(
            Operand("input", QUANTIZED),
            Operand("scale", FLOAT, _SCALE, const=True, positive=True),
            Operand("zero_point", QUANTIZED, _ZERO, optional=True, const=True),
        ),
        infer=_dequantize,
        reference=dequantized,
        attributes=(_AXIS,),
        flops=_two_flops,
        example="y = dequantize(q, scale = 0.05)",
        family=FAMILY,
        since="ios17",
    ),
)
