"""Reductions over axes, and running sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anedsl.ops.call import Call, normal_axes, normal_axis
from anedsl.ops.checks import need_rank, wrong_attribute
from anedsl.ops.record import NUMBER, Array, Attribute, Op, Operand
from anedsl.types import INT32, UINT16, Shape, TensorType

FAMILY = "reduction"


def all_axes(call: Call) -> tuple[int, ...]:
    """Every axis of `x`: the default of `axes`."""
    return tuple(range(call.types["x"].rank))


def flops_per_input(call: Call, results: Sequence[TensorType]) -> int:
    """One operation for each element of `x`."""
    size: int = call.types["x"].size
    return size


def reduced(shape: Shape, axes: tuple[int, ...], keep_dims: bool) -> Shape:
    """A shape without some axes, or with size 1 there."""
    if keep_dims:
        return tuple(1 if axis in axes else dim for axis, dim in enumerate(shape))
    return tuple(dim for axis, dim in enumerate(shape) if axis not in axes)


def _reduce_axes(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    given = tuple(call.attributes["axes"])
    if not given:
        wrong_attribute(call, "axes", "no axis to reduce", advice="leave `axes` out to reduce all of them")
    axes = tuple(sorted(normal_axes(call, "axes", given, x)))
    call.attributes["axes"] = axes
    return x.with_shape(reduced(x.shape, axes, call.attributes["keep_dims"]))


def _reduce_axis(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    axis = normal_axis(call, "axis", call.attributes["axis"], x)
    call.attributes["axis"] = axis
    dtype = call.attributes["output_dtype"]
    if dtype not in (INT32, UINT16):
        wrong_attribute(call, "output_dtype", f"expected int32 or uint16, found {dtype}")
    return TensorType(dtype, reduced(x.shape, (axis,), call.attributes["keep_dims"]))


def _in_own_type(compute: Callable[..., Any]) -> Callable[..., Array]:
    """The reference of a reduction: integers stay integers, and the logarithm of 0 is silent."""

    def reference(x: Array, *, axes: tuple[int, ...], keep_dims: bool) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(compute(x, axis=axes, keepdims=keep_dims)).astype(x.dtype, copy=False)

    return reference


def _log_sum_exp(x: Array, axis: tuple[int, ...], keepdims: bool) -> Any:
    largest = np.max(x, axis=axis, keepdims=True)
    shift = np.where(np.isfinite(largest), largest, np.zeros_like(largest))
    total = np.log(np.sum(np.exp(x - shift), axis=axis, keepdims=True)) + shift
    return total if keepdims else np.squeeze(total, axis=axis)


def _over_axes(name: str, compute: Callable[..., Any], doc: str) -> Op:
    return Op(
        name,
        doc,
        operands=(Operand("x", NUMBER),),
        infer=_reduce_axes,
        reference=_in_own_type(compute),
        attributes=(
            Attribute("axes", "ints", all_axes, "The axes to reduce; all of them by default."),
            Attribute("keep_dims", "bool", False, "Keep the reduced axes with size 1."),
        ),
        flops=flops_per_input,
        example=f"y = {name}(x, axes = [1], keep_dims = true)",
        family=FAMILY,
    )


def _position(name: str, compute: Callable[..., Any], doc: str) -> Op:
    def reference(x: Array, *, axis: int, keep_dims: bool, output_dtype: Any) -> Array:
        return np.asarray(compute(x, axis=axis, keepdims=keep_dims)).astype(np.int32)

    return Op(
        name,
        doc,
        operands=(Operand("x", NUMBER),),
        infer=_reduce_axis,
        reference=reference,
        attributes=(
            Attribute("axis", "int", -1, "The axis to search."),
            Attribute("keep_dims", "bool", False, "Keep the axis with size 1."),
            Attribute("output_dtype", "dtype", INT32, "int32 or uint16.", since="ios17"),
        ),
        flops=flops_per_input,
        example=f"i = {name}(x, axis = -1)",
        family=FAMILY,
    )


def _same_with_axis(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    call.attributes["axis"] = normal_axis(call, "axis", call.attributes["axis"], x)
    return x


@np.errstate(all="ignore")
def _cumsum(x: Array, *, axis: int, exclusive: bool, reverse: bool) -> Array:
    ordered = np.flip(x, axis) if reverse else x
    sums = np.cumsum(ordered, axis=axis, dtype=x.dtype)
    if exclusive:
        sums = np.roll(sums, 1, axis)
        first: list[Any] = [slice(None)] * x.ndim
        first[axis] = 0
        sums[tuple(first)] = 0
    return np.flip(sums, axis) if reverse else sums


OPS = (
    _over_axes("reduce_sum", np.sum, "The sum over some axes."),
    _over_axes("reduce_mean", np.mean, "The mean over some axes: the sum divided by the number of elements summed."),
    _over_axes("reduce_max", np.max, "The largest element over some axes."),
    _over_axes("reduce_min", np.min, "The smallest element over some axes."),
    _over_axes("reduce_prod", np.prod, "The product over some axes."),
    _over_axes(
        "reduce_l1_norm",
        lambda x, axis, keepdims: np.sum(np.abs(x), axis=axis, keepdims=keepdims),
        "The sum of absolute values over some axes: `sum(|x|)`.",
    ),
    _over_axes(
        "reduce_l2_norm",
        lambda x, axis, keepdims: np.sqrt(np.sum(np.square(x), axis=axis, keepdims=keepdims)),
        "The Euclidean norm over some axes: `sqrt(sum(x * x))`.",
    ),
    _over_axes(
        "reduce_log_sum",
        lambda x, axis, keepdims: np.log(np.sum(x, axis=axis, keepdims=keepdims)),
        "The natural logarithm of the sum over some axes: `log(sum(x))`.",
    ),
    _over_axes(
        "reduce_log_sum_exp",
        _log_sum_exp,
        "The logarithm of the sum of exponentials over some axes, `log(sum(exp(x)))`, computed without overflow.",
    ),
    _over_axes(
        "reduce_sum_square",
        lambda x, axis, keepdims: np.sum(np.square(x), axis=axis, keepdims=keepdims),
        "The sum of squares over some axes: `sum(x * x)`.",
    ),
    _position("reduce_argmax", np.argmax, "The position of the largest element along an axis; of equal ones, the first."),
    _position("reduce_argmin", np.argmin, "The position of the smallest element along an axis; of equal ones, the first."),
    Op(
        "cumsum",
        "The running sum along an axis.",
        operands=(Operand("x", NUMBER),),
        infer=_same_with_axis,
        reference=_cumsum,
        attributes=(
            Attribute("axis", "int", 0, "The axis to sum along."),
            Attribute("exclusive", "bool", False, "Leave each element out of its own sum: the first is 0."),
            Attribute("reverse", "bool", False, "Sum from the end."),
        ),
        flops=flops_per_input,
        example="y = cumsum(x, axis = -1)",
        family=FAMILY,
    ),
)
