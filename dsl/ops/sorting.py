"""Ops that order the elements along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from anedsl.ops.call import Call, normal_axis
from anedsl.ops.checks import need_least, need_rank, wrong_attribute
from anedsl.ops.gathering import GATHERED
from anedsl.ops.record import NUMBER, Array, Attribute, Op, Operand
from anedsl.types import INT32, UINT16, DType, TensorType

FAMILY = "sorting"


def _order(x: Array, axis: int, ascending: bool) -> Array:
    """The positions in order; of equal elements the first stands first."""
    if ascending:
        return np.asarray(np.argsort(x, axis, kind="stable"))
    # Not the reverse of the ascending order: that would turn equal elements around.
    flipped = np.argsort(np.flip(x, axis), axis, kind="stable")
    return np.asarray(x.shape[axis] - 1 - np.flip(flipped, axis))


def _indices_dtype(call: Call) -> DType | None:
    return INT32 if call.attributes["return_indices"] else None


def _topk(call: Call) -> TensorType | tuple[TensorType, ...]:
    x = need_rank(call, "x", 1)
    axis = normal_axis(call, "axis", call.attributes["axis"], x)
    call.attributes["axis"] = axis
    need_least(call, "k", 1)
    taken = call.attributes["k"]
    if taken > x.shape[axis]:
        from anedsl.diagnostics.shapes import TooManyTaken

        call.fail("k", TooManyTaken, show=("x",), op="topk", taken=taken, size=x.shape[axis], axis=axis, type=str(x))
    dtype = call.attributes.get("output_indices_dtype")
    if not call.attributes["return_indices"] and dtype is not None:
        wrong_attribute(call, "output_indices_dtype", "no indices are returned", advice="leave out `return_indices = false`")
    if dtype not in (None, INT32, UINT16):
        wrong_attribute(call, "output_indices_dtype", "it is int32 or uint16", f"found {dtype}")
    if dtype is UINT16 and x.shape[axis] > UINT16.largest + 1:
        wrong_attribute(call, "output_indices_dtype", f"uint16 cannot count {x.shape[axis]} positions", advice="use int32")
    values = x.with_shape((*x.shape[:axis], taken, *x.shape[axis + 1 :]))
    return values if dtype is None else (values, values.with_dtype(dtype))


def _largest(
    x: Array, *, k: int, axis: int, ascending: bool, sort: bool, return_indices: bool, output_indices_dtype: DType | None = None
) -> Any:
    """With `sort` or without: unsorted elements may stand in any order, so also in this."""
    at = np.take(_order(x, axis, ascending), np.arange(k), axis)
    values = np.take_along_axis(x, at, axis)
    return (values, at.astype(np.int32)) if return_indices else values


def _argsort(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    call.attributes["axis"] = normal_axis(call, "axis", call.attributes["axis"], x)
    return x.with_dtype(INT32)


_AXIS = Attribute("axis", "int", -1, "The axis along which elements are compared.")
_ASCENDING = Attribute("ascending", "bool", False, "The smallest first instead of the largest.")

OPS = (
    Op(
        "topk",
        "The largest elements along an axis, and their positions.",
        operands=(Operand("x", GATHERED),),
        infer=_topk,
        reference=_largest,
        attributes=(
            Attribute("k", "int", 1, "How many elements; the ANE takes neither 3 nor 4."),
            _AXIS,
            _ASCENDING,
            Attribute("sort", "bool", True, "Sort what is taken; otherwise it stands in any order.", since="ios16"),
            Attribute("return_indices", "bool", True, "Give the positions as well.", since="ios16"),
            Attribute("output_indices_dtype", "dtype", _indices_dtype, "int32 or uint16, for the positions.", since="ios17"),
        ),
        example="values, positions = topk(x, k = 2, axis = -1)",
        family=FAMILY,
    ),
    Op(
        "argsort",
        "The positions of the elements along an axis, from the largest element to the smallest.",
        operands=(Operand("x", NUMBER),),
        infer=_argsort,
        reference=lambda x, *, axis, ascending: _order(x, axis, ascending).astype(np.int32),
        attributes=(_AXIS, _ASCENDING),
        example="positions = argsort(x, axis = -1)",
        family=FAMILY,
    ),
)
