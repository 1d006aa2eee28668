"""Ops that make one tensor of several, and several of one."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from anedsl.ops.call import Call, normal_axis
from anedsl.ops.checks import need_least, need_rank, wrong_attribute
from anedsl.ops.record import Array, Attribute, Domain, Op, Operand, no_flops
from anedsl.types import BOOL, FP16, FP32, INT32, TensorType

FAMILY = "shape"
COMMON = Domain("T", (FP16, FP32, INT32, BOOL))


def _values(call: Call) -> tuple[TensorType, ...]:
    values: tuple[TensorType, ...] = call.types["values"]
    if not values:
        from anedsl.diagnostics.names import MissingArgument

        call.fail("values", MissingArgument, op=call.op.name, name="values")
    return values


def _differ(call: Call, position: int, what: str, rule: str) -> NoReturn:
    from anedsl.diagnostics.shapes import DifferentShapes

    values = call.types["values"]
    call.fail(
        f"values[{position}]",
        DifferentShapes,
        op=call.op.name,
        what=what,
        type=str(values[position]),
        first=str(values[0]),
        rule=rule,
    )


def _concat(call: Call) -> TensorType:
    values = _values(call)
    first = values[0]
    if first.rank == 0:
        from anedsl.diagnostics.shapes import WrongRank

        advice = "`stack` joins scalars"
        call.fail(
            "values[0]",
            WrongRank,
            op="concat",
            operand="`values`",
            expected="rank 1 or more",
            rank=0,
            type=str(first),
            advice=advice,
        )
    axis = normal_axis(call, "axis", call.attributes["axis"], first)
    call.attributes["axis"] = axis
    for position, other in enumerate(values):
        if other.rank != first.rank:
            _differ(call, position, "ranks", "all operands have one rank")
        for at, (m, n) in enumerate(zip(first.shape, other.shape, strict=True)):
            if m != n and at != axis:
                _differ(call, position, f"sizes at axis {at}", f"only axis {axis}, along which they are joined, may differ")
            if m != n and call.attributes["interleave"]:
                _differ(call, position, f"sizes at axis {at}", "interleaved operands have one shape")
    return first.with_shape((*first.shape[:axis], sum(value.shape[axis] for value in values), *first.shape[axis + 1 :]))


def _concatenated(values: tuple[Array, ...], *, axis: int, interleave: bool) -> Array:
    if not interleave:
        return np.concatenate(values, axis)
    shape = list(values[0].shape)
    shape[axis] *= len(values)
    return np.stack(values, axis + 1).reshape(shape)


def _stack(call: Call) -> TensorType:
    values = _values(call)
    first = values[0]
    for position, other in enumerate(values):
        if other.shape != first.shape:
            _differ(call, position, "shapes", "all operands of `stack` have one shape")
    axis = normal_axis(call, "axis", call.attributes["axis"], first.with_shape((1, *first.shape)))
    call.attributes["axis"] = axis
    return first.with_shape((*first.shape[:axis], len(values), *first.shape[axis:]))


def _split(call: Call) -> tuple[TensorType, ...]:
    x = need_rank(call, "x", 1)
    attributes = call.attributes
    axis = normal_axis(call, "axis", attributes["axis"], x)
    attributes["axis"] = axis
    sizes = _split_sizes(call, axis, x.shape[axis])
    # One spelling for one split: by number where the parts are equal.
    attributes.pop("num_splits", None)
    attributes.pop("split_sizes", None)
    if len(set(sizes)) == 1:
        attributes["num_splits"] = len(sizes)
    else:
        attributes["split_sizes"] = sizes
    return tuple(x.with_shape((*x.shape[:axis], size, *x.shape[axis + 1 :])) for size in sizes)


def _split_sizes(call: Call, axis: int, total: int) -> tuple[int, ...]:
    number = call.attributes.get("num_splits")
    given = call.attributes.get("split_sizes")
    if given is None:
        if number is None:
            from anedsl.diagnostics.names import MissingArgument

            call.fail("split", MissingArgument, op="split", name="split_sizes")
        need_least(call, "num_splits", 1)
        if total % number:
            _uncovered(call, "num_splits", axis, total, f"{number} equal parts", f"{number} does not divide {total}")
        size = total // number
        return tuple(size for _ in range(number))
    sizes = tuple(given)
    call.attributes["split_sizes"] = sizes
    if number is not None and number != len(sizes):
        wrong_attribute(call, "num_splits", f"{number} parts, but `split_sizes` has {len(sizes)}")
    need_least(call, "split_sizes", 1)
    if sum(sizes) != total:
        parts = f"parts of {', '.join(map(str, sizes))}"
        _uncovered(call, "split_sizes", axis, total, parts, f"the parts add up to {sum(sizes)}")
    return sizes


def _uncovered(call: Call, at: str, axis: int, size: int, parts: str, detail: str) -> NoReturn:
    from anedsl.diagnostics.shapes import UncoveredSplit

    call.fail(at, UncoveredSplit, show=("x",), axis=axis, size=size, parts=parts, detail=detail)


def _parts(
    x: Array, *, axis: int, num_splits: int | None = None, split_sizes: tuple[int, ...] | None = None
) -> tuple[Array, ...]:
    if split_sizes is None:
        assert num_splits is not None
        return tuple(np.split(x, num_splits, axis))
    return tuple(np.split(x, np.cumsum(split_sizes)[:-1], axis))


def _stacked(values: tuple[Array, ...], *, axis: int) -> Any:
    return np.stack(values, axis)


OPS = (
    Op(
        "concat",
        "Joins tensors along an axis.",
        operands=(Operand("values", COMMON, "Tensors that are equally large in all other axes.", variadic=True),),
        infer=_concat,
        reference=_concatenated,
        attributes=(
            Attribute("axis", "int", doc="The axis along which they are joined."),
            Attribute("interleave", "bool", False, "Take one slice of each operand in turn."),
        ),
        flops=no_flops,
        example="y = concat(a, b, axis = 1)",
        family=FAMILY,
    ),
    Op(
        "stack",
        "Joins tensors of one shape along a new axis.",
        operands=(Operand("values", COMMON, "Tensors of one shape.", variadic=True),),
        infer=_stack,
        reference=_stacked,
        attributes=(Attribute("axis", "int", doc="Where the new axis is in the result."),),
        flops=no_flops,
        example="y = stack(a, b, axis = 0)",
        family=FAMILY,
    ),
    Op(
        "split",
        "Cuts a tensor into consecutive parts along an axis: the inverse of `concat`.",
        operands=(Operand("x", COMMON),),
        infer=_split,
        reference=_parts,
        attributes=(
            Attribute("num_splits", "int", None, "How many parts of equal size."),
            Attribute("split_sizes", "ints", None, "The size of each part."),
            Attribute("axis", "int", doc="The axis to cut."),
        ),
        flops=no_flops,
        example="a, b = split(x, split_sizes = [64, 192], axis = 1)",
        family=FAMILY,
    ),
)
