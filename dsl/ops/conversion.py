"""Ops that pass numbers on: in another element type, within bounds, or from one of two tensors."""

from __future__ import annotations

import numpy as np

from anedsl.data import rounded
from anedsl.ops import special
from anedsl.ops.call import Call
from anedsl.ops.checks import shown, wrong_attribute
from anedsl.ops.elementwise import unary
from anedsl.ops.record import ANY, BOOLS, FLOAT, NUMBER, Array, Attribute, Domain, Op, Operand, no_flops
from anedsl.ops.rules import broadcast_shapes, same_as_x
from anedsl.types import BOOL, FP16, FP32, INT32, DType, TensorType

VALUES = Domain("T", (FP16, FP32, INT32, BOOL))


def _cast_type(call: Call) -> TensorType:
    dtype: DType = call["dtype"]
    if dtype not in ANY.dtypes:
        wrong_attribute(call, "dtype", f"it is one of {ANY}", f"found {dtype}")
    return TensorType(dtype, call["x"].shape)


def _cast(x: Array, *, dtype: DType) -> Array:
    """Floats stay in the type they are computed in; from other types they become float64, which holds all integers."""
    if dtype is BOOL:
        return np.asarray(np.not_equal(x, 0))
    if dtype.is_float:
        return x if x.dtype.kind == "f" else x.astype(np.float64)
    if x.dtype.kind == "f":
        return special.to_int32(x, dtype.smallest, dtype.largest)
    return x.astype(dtype.numpy).astype(np.int32)


def _clip_type(call: Call) -> TensorType:
    x: TensorType = call["x"]
    alpha, beta = rounded(np.array([call["alpha"], call["beta"]], np.float64), x.dtype)
    if not alpha < beta:
        advice = "`alpha` is the lower bound, `beta` the upper one"
        wrong_attribute(call, "beta", "it must be above `alpha`", f"{beta} in {x.dtype}, and `alpha` is {alpha}", advice)
    return x


def _clip(x: Array, *, alpha: float, beta: float) -> Array:
    return np.clip(x, alpha, beta)


def _threshold_type(call: Call) -> TensorType:
    alpha = call["alpha"]
    if call["x"].dtype is INT32 and alpha != round(alpha):
        wrong_attribute(call, "alpha", "it must be an integer where `x` is int32", f"found {alpha}")
    return same_as_x(call)


def _threshold(x: Array, *, alpha: float) -> Array:
    return np.asarray(np.maximum(x, x.dtype.type(alpha)))


def _select_type(call: Call) -> TensorType:
    a: TensorType = call["a"]
    b: TensorType = call["b"]
    cond: TensorType = call["cond"]
    shape = broadcast_shapes(call, "a", a.shape, "b", b.shape)
    whole = broadcast_shapes(call, "a", shape, "cond", cond.shape)
    # coremltools gives the result the shape of `a` and `b` alone: it would refuse what a larger condition makes.
    if whole != shape:
        from anedsl.diagnostics.shapes import ShapeMismatch

        call.fail(
            "cond",
            ShapeMismatch,
            show=("a", "b"),
            problem="the condition of `select` is larger than what it selects from",
            detail=f"has shape {shown(cond.shape)}, but `a` and `b` together have {shown(shape)}",
            rule="the result has the shape that `a` and `b` broadcast to",
            advice=f"give `{call.written('a')}` or `{call.written('b')}` the shape {shown(whole)}",
        )
    return a.with_shape(shape)


OPS = (
    Op(
        "cast",
        "The same numbers in another element type. From float to integer the fraction is cut off and what is too large becomes "
        "the nearest integer; from integer to integer the low bits stay; to bool `x != 0`. Until opset ios16 only fp16, fp32, "
        "int32 and bool.",
        operands=(Operand("x", ANY),),
        infer=_cast_type,
        reference=_cast,
        attributes=(Attribute("dtype", "dtype", doc="the element type of the result"),),
        flops=no_flops,
        example="y = cast(x, fp32)",
        family="conversion",
    ),
    Op(
        "select",
        "Where the condition holds the element of `a`, else that of `b`: `a if cond else b`.",
        operands=(Operand("cond", BOOLS), Operand("a", VALUES), Operand("b", VALUES)),
        infer=_select_type,
        reference=np.where,
        example="y = select(cond = x > 0, a = x, b = z)",
        family="conversion",
    ),
    unary("identity", np.array, "A copy of `x`.", VALUES, flops=no_flops, family="conversion"),
    unary(
        "clip",
        _clip,
        "The numbers kept within bounds: `min(max(x, alpha), beta)`.",
        infer=_clip_type,
        attributes=(
            Attribute("alpha", "float", doc="the lower bound", domain=FLOAT, infinite=True),
            Attribute("beta", "float", doc="the upper bound, above `alpha`", domain=FLOAT, infinite=True),
        ),
        example="y = clip(x, alpha = -1, beta = 1)",
        family="conversion",
    ),
    unary(
        "threshold",
        _threshold,
        "The numbers kept above a bound: `max(x, alpha)`.",
        NUMBER,
        infer=_threshold_type,
        attributes=(Attribute("alpha", "float", doc="the lower bound", domain=NUMBER),),
        example="y = threshold(x, alpha = 0)",
        family="conversion",
    ),
)
