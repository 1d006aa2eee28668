"""Ops that give the same elements another shape or order, and ops that make tensors of one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anedsl.ops import joining
from anedsl.ops.call import Call, normal_axes, normal_axis
from anedsl.ops.checks import need_least, need_length, need_rank, need_shape, shown, wrong_attribute
from anedsl.ops.record import ANY, Array, Attribute, Domain, Op, Operand, no_flops
from anedsl.ops.reduction import all_axes
from anedsl.types import BOOL, FP16, FP32, INT32, Shape, TensorType

FAMILY = "shape"
COMMON = Domain("T", (FP16, FP32, INT32, BOOL))
VALUE = Domain("U", (FP16, FP32, INT32, BOOL))


def _moves(name: str, infer: Any, reference: Any, doc: str, example: str, *attributes: Attribute, domain: Domain = ANY) -> Op:
    """An op of `x` that computes nothing."""
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


# reshape


def _reshape(call: Call) -> TensorType:
    x: TensorType = call.types["x"]
    wanted = tuple(call.attributes["shape"])
    if not wanted:
        wrong_attribute(call, "shape", "no sizes", advice="`squeeze` makes a scalar")
    for dim in wanted:
        if dim < -1:
            wrong_attribute(call, "shape", f"{dim} is not a size")
    if 0 in wanted:
        need_length(call, "shape", x.rank, "a size of 0 copies the size of `x` at the same place")
        wanted = tuple(dim or x.shape[axis] for axis, dim in enumerate(wanted))
    shape = _resolved(call, x, wanted)
    call.attributes["shape"] = shape
    return x.with_shape(shape)


def _resolved(call: Call, x: TensorType, wanted: Shape) -> Shape:
    """The sizes with -1 replaced; ANE0246, ANE0249 where the elements do not come out."""
    unknown = wanted.count(-1)
    if unknown > 1:
        wrong_attribute(call, "shape", f"{unknown} sizes are -1", advice="only one size can be computed from the others")
    known = TensorType(x.dtype, tuple(dim for dim in wanted if dim != -1)).size
    if unknown and x.size % known == 0:
        return tuple(x.size // known if dim == -1 else dim for dim in wanted)
    if unknown or known != x.size:
        from anedsl.diagnostics.shapes import ElementCount

        given = f"{known} elements, `{call.written('x')}` has {x.size}"
        detail = f"{known} does not divide {x.size} elements" if unknown else given
        call.fail(
            "shape", ElementCount, show=("x",), type=str(x), shape=shown(wanted), detail=detail, advice=_one_size(x, wanted)
        )
    return wanted


def _one_size(x: TensorType, wanted: Shape) -> str | None:
    """A single size that would make the count right."""
    for axis in reversed(range(len(wanted))):
        rest = TensorType(x.dtype, wanted[:axis] + wanted[axis + 1 :])
        if -1 not in rest.shape and x.size % rest.size == 0:
            return f"`{shown((*wanted[:axis], x.size // rest.size, *wanted[axis + 1 :]))}` has {x.size} elements"
    return None


# transpose, reverse


def _transpose(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    perm = need_length(call, "perm", x.rank, "`perm` names every axis of `x` once")
    perm = normal_axes(call, "perm", perm, x)
    call.attributes["perm"] = perm
    return x.with_shape(tuple(x.shape[axis] for axis in perm))


def _reverse(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    call.attributes["axes"] = tuple(sorted(normal_axes(call, "axes", tuple(call.attributes["axes"]), x)))
    return x


# axes of size 1


def _expand_dims(call: Call) -> TensorType:
    x: TensorType = call.types["x"]
    given = tuple(call.attributes["axes"])
    if not given:
        wrong_attribute(call, "axes", "no axis to insert")
    # Axes count in the result, so that is the type whose axes they must be.
    result = x.with_shape(x.shape + (1,) * len(given))
    axes = tuple(sorted(normal_axes(call, "axes", given, result)))
    call.attributes["axes"] = axes
    dims = iter(x.shape)
    return x.with_shape(tuple(1 if axis in axes else next(dims) for axis in range(result.rank)))


def _single_axes(call: Call) -> tuple[int, ...]:
    return tuple(axis for axis, dim in enumerate(call.types["x"].shape) if dim == 1)


def _squeeze(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    given = tuple(call.attributes["axes"])
    if not given:
        wrong_attribute(call, "axes", f"`{x}` has no axis of size 1 to remove")
    axes = tuple(sorted(normal_axes(call, "axes", given, x)))
    for axis in axes:
        if x.shape[axis] != 1:
            from anedsl.diagnostics.shapes import NotSqueezable

            call.fail("axes", NotSqueezable, show=("x",), x=call.written("x"), axis=axis, size=x.shape[axis], type=str(x))
    call.attributes["axes"] = axes
    return x.with_shape(tuple(dim for axis, dim in enumerate(x.shape) if axis not in axes))


def _flatten2d(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    axis: int = call.attributes["axis"]
    if axis != x.rank:
        axis = normal_axis(call, "axis", axis, x)
    call.attributes["axis"] = axis
    return x.with_shape((x.with_shape(x.shape[:axis]).size, x.with_shape(x.shape[axis:]).size))


def _flattened(x: Array, *, axis: int) -> Array:
    return x.reshape(int(np.prod(x.shape[:axis], dtype=np.int64)), -1)


# repetition


def _tile(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    reps = need_length(call, "reps", x.rank, "one number of repetitions for each axis of `x`")
    need_least(call, "reps", 1)
    return x.with_shape(tuple(dim * times for dim, times in zip(x.shape, reps, strict=True)))


def _band_part(call: Call) -> TensorType:
    return need_rank(call, "x", 2)


def _banded(x: Array, *, lower: int, upper: int) -> Array:
    rows = np.arange(x.shape[-2])[:, None]
    columns = np.arange(x.shape[-1])
    kept = ((lower < 0) | (rows - columns <= lower)) & ((upper < 0) | (columns - rows <= upper))
    return np.where(kept, x, np.zeros((), x.dtype))


def _shape_of(call: Call) -> TensorType:
    return TensorType(INT32, (need_rank(call, "x", 1).rank,))


# tensors of one number


def _value_dtype(call: Call) -> Any:
    """The element type of `value`; MIL's default is the fp32 number 0."""
    need_shape(call, "value", (), "`value` is one number")
    return FP32 if call.types.get("value") is None else call.types["value"].dtype


def _fill(call: Call) -> TensorType:
    shape = tuple(call.attributes["shape"])
    call.attributes["shape"] = shape
    if not shape:
        wrong_attribute(call, "shape", "no sizes")
    need_least(call, "shape", 1)
    return TensorType(_value_dtype(call), shape)


def _fill_like(call: Call) -> TensorType:
    ref: TensorType = call.types["ref_tensor"]
    return TensorType(_value_dtype(call), ref.shape)


def _filled(value: Array | None, *, shape: Shape) -> Array:
    return np.zeros(shape) if value is None else np.full(shape, value, value.dtype)


def _range_1d(call: Call) -> TensorType:
    start, end, step = (call.attributes[name] for name in ("start", "end", "step"))
    if step == 0:
        wrong_attribute(call, "step", "a range cannot stand still")
    count = len(range(start, end, step))
    if count == 0:
        wrong_attribute(call, "end", f"the range from {start} to {end} in steps of {step} is empty")
    return TensorType(INT32, (count,))


def _ranged(*, end: int, start: int, step: int) -> Array:
    return np.arange(start, end, step, dtype=np.int32)


def _source(name: str, doc: str, infer: Callable[..., Any], reference: Callable[..., Any], example: str, **more: Any) -> Op:
    """An op that makes a tensor from numbers."""
    return Op(name, doc, infer=infer, reference=reference, flops=no_flops, example=example, family=FAMILY, **more)


_FILLER = Operand("value", VALUE, "The number, a scalar; fp32 0 by default.", optional=True, const=True)

OPS = (
    _moves(
        "reshape",
        _reshape,
        lambda x, *, shape: x.reshape(shape),
        "The same elements, in the same order, with other sizes.",
        "y = reshape(x, [1, HEADS, -1, SEQ])",
        Attribute(
            "shape", "ints", doc="The new sizes. One may be -1, to be computed; 0 copies the size of `x` at the same place."
        ),
    ),
    _moves(
        "transpose",
        _transpose,
        lambda x, *, perm: np.transpose(x, perm),
        "The axes in another order: axis `i` of the result is axis `perm[i]` of `x`.",
        "y = transpose(x, [0, 1, 3, 2])",
        Attribute("perm", "ints", doc="Every axis of `x` once."),
    ),
    _moves(
        "expand_dims",
        _expand_dims,
        lambda x, *, axes: np.expand_dims(x, axes),
        "Inserts axes of size 1.",
        "y = expand_dims(x, axes = [0])",
        Attribute("axes", "ints", doc="Where the new axes are in the result."),
    ),
    _moves(
        "squeeze",
        _squeeze,
        lambda x, *, axes: np.squeeze(x, axes),
        "Removes axes of size 1.",
        "y = squeeze(x, axes = [2])",
        Attribute("axes", "ints", _single_axes, "The axes to remove; by default all that have size 1."),
    ),
    _moves(
        "flatten2d",
        _flatten2d,
        _flattened,
        "Merges the axes before `axis` into one, and the others into another.",
        "y = flatten2d(x, axis = 1)",
        Attribute("axis", "int", 1, "The first axis of the second group."),
        domain=COMMON,
    ),
    _moves(
        "reverse",
        _reverse,
        lambda x, *, axes: np.flip(x, axes),
        "The elements in reverse order along some axes.",
        "y = reverse(x, axes = [-1])",
        Attribute("axes", "ints", all_axes, "The axes to reverse; all of them by default."),
    ),
    _moves(
        "tile",
        _tile,
        lambda x, *, reps: np.tile(x, reps),
        "Repeats the tensor `reps[i]` times along axis `i`.",
        "y = tile(x, reps = [1, 4, 1, 1])",
        Attribute("reps", "ints", doc="How often, for each axis."),
        domain=COMMON,
    ),
    _moves(
        "band_part",
        _band_part,
        _banded,
        "Sets to zero what lies outside a band around the diagonal of the last two axes.",
        "y = band_part(x, lower = -1, upper = 0)",
        Attribute("lower", "int", -1, "How many diagonals to keep below the main one; all if negative."),
        Attribute("upper", "int", -1, "How many diagonals to keep above the main one; all if negative."),
        domain=COMMON,
    ),
    _source(
        "fill",
        "A tensor that holds one number everywhere.",
        _fill,
        _filled,
        "y = fill(shape = [1, 64, 1, 1], value = one)",
        operands=(_FILLER,),
        attributes=(Attribute("shape", "ints", doc="The sizes."),),
    ),
    _source(
        "fill_like",
        "A tensor of the shape of another that holds one number everywhere.",
        _fill_like,
        lambda ref_tensor, value: _filled(value, shape=ref_tensor.shape),
        "y = fill_like(x, value = one)",
        operands=(Operand("ref_tensor", COMMON, "Gives the shape."), _FILLER),
        since="ios16",
    ),
    _source(
        "range_1d",
        "The integers from `start` to `end`, exclusive, in steps of `step`.",
        _range_1d,
        _ranged,
        "i = range_1d(end = 8, start = 0, step = 1)",
        operands=(),
        attributes=(
            Attribute("end", "int", doc="Where to stop; not part of the result."),
            Attribute("start", "int", doc="The first number."),
            Attribute("step", "int", doc="The difference of neighbours."),
        ),
    ),
    _moves(
        "shape",
        _shape_of,
        lambda x: np.array(x.shape, np.int32),
        "The sizes of a tensor, as a tensor; `x.shape` gives them at compile time.",
        "sizes = shape(x)",
        domain=COMMON,
    ),
    *joining.OPS,
)
