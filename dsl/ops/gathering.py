"""Ops that pick positions by an index tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from anedsl.ops.call import Call, normal_axis
from anedsl.ops.checks import need_rank, wrong_attribute
from anedsl.ops.record import INDEX, Array, Attribute, Domain, Op, Operand, no_flops
from anedsl.types import FP16, FP32, INT8, INT16, INT32, UINT8, UINT16, TensorType

FAMILY = "slicing"
GATHERED = Domain("T", (FP16, FP32, INT32, INT16, UINT16, INT8, UINT8))


def _gather(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    indices: TensorType = call.types["indices"]
    axis = normal_axis(call, "axis", call.attributes["axis"], x)
    call.attributes["axis"] = axis
    batch = call.attributes["batch_dims"]
    if not 0 <= batch <= min(axis, indices.rank):
        most = min(axis, indices.rank)
        wrong_attribute(
            call, "batch_dims", f"{batch} is not in 0 to {most}", advice="batch axes stand before `axis`, in both operands"
        )
    for at in range(batch):
        if x.shape[at] != indices.shape[at]:
            misfit(call, at, x, indices)
    return x.with_shape((*x.shape[:axis], *indices.shape[batch:], *x.shape[axis + 1 :]))


def _gather_along_axis(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    indices = need_rank(call, "indices", x.rank, x.rank, advice=f"it has the rank of `{call.written('x')}`")
    axis = normal_axis(call, "axis", call.attributes["axis"], x)
    call.attributes["axis"] = axis
    for at, (m, n) in enumerate(zip(x.shape, indices.shape, strict=True)):
        if at != axis and m != n:
            misfit(call, at, x, indices)
    return x.with_shape(indices.shape)


def misfit(call: Call, axis: int, x: TensorType, indices: TensorType, name: str = "x") -> NoReturn:
    """Ends with ANE0252: `indices` and the tensor that it indexes differ in an axis that they share."""
    from anedsl.diagnostics.shapes import BatchDimensions

    call.fail(
        "indices",
        BatchDimensions,
        show=(name,),
        op=call.op.name,
        axis=axis,
        found=indices.shape[axis],
        expected=x.shape[axis],
        other=f"`{call.written(name)}`",
    )


def inside(indices: Array, size: int) -> Array:
    """Positions within the axis. MIL leaves open what another one picks; some versions count negative ones from the end."""
    positions = indices.astype(np.int64)
    return np.clip(np.where(positions < 0, positions + size, positions), 0, size - 1)


def _gathered(x: Array, indices: Array, *, axis: int, batch_dims: int, validate_indices: bool) -> Array:
    positions = inside(indices, x.shape[axis])
    if batch_dims == 0:
        return np.asarray(np.take(x, positions, axis))
    batch = x.shape[:batch_dims]
    tensors = x.reshape(-1, *x.shape[batch_dims:])
    each = positions.reshape(-1, *positions.shape[batch_dims:])
    taken = np.stack([np.take(one, at, axis - batch_dims) for one, at in zip(tensors, each, strict=True)])
    return taken.reshape(*batch, *taken.shape[1:])


def _gathered_along(x: Array, indices: Array, *, axis: int, validate_indices: bool) -> Array:
    return np.take_along_axis(x, inside(indices, x.shape[axis]), axis)


def _picking(name: str, infer: Callable[..., Any], reference: Callable[..., Any], doc: str, example: str, *more: Attribute) -> Op:
    return Op(
        name,
        doc,
        operands=(Operand("x", GATHERED), Operand("indices", INDEX, "Positions along `axis`, from 0.")),
        infer=infer,
        reference=reference,
        attributes=(
            Attribute("axis", "int", 0, "The axis from which positions are picked."),
            *more,
            Attribute("validate_indices", "bool", False, "Stop at run time at a position outside the axis.", since="ios17"),
        ),
        flops=no_flops,
        example=example,
        family=FAMILY,
    )


OPS = (
    _picking(
        "gather",
        _gather,
        _gathered,
        "Picks whole slices of `x` along an axis, in the order of `indices`.",
        "y = gather(table, tokens, axis = 0)",
        Attribute("batch_dims", "int", 0, "How many leading axes both operands share.", since="ios16"),
    ),
    _picking(
        "gather_along_axis",
        _gather_along_axis,
        _gathered_along,
        "Picks single elements of `x` along an axis; the other axes of `indices` are those of `x`.",
        "y = gather_along_axis(x, best, axis = -1)",
    ),
)
