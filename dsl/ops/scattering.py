"""Ops that address single elements by an index tensor: to pick them, or to change them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anedsl.ops.call import Call, normal_axis
from anedsl.ops.checks import need_choice, need_least, need_rank, need_shape, wrong_attribute
from anedsl.ops.gathering import GATHERED, inside, misfit
from anedsl.ops.record import INDEX, NUMBER, Array, Attribute, Domain, Op, Operand, no_flops
from anedsl.types import BOOL, FP16, FP32, INT32, TensorType

FAMILY = "slicing"
POSITIONS = Domain("I", (INT32,))
VALUE = Domain("T", (FP16, FP32, INT32, BOOL))
MODES: dict[str, Any] = {
    "add": np.add,
    "div": np.divide,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "sub": np.subtract,
    "update": None,
}


def _depth(call: Call, of: str, batch: int) -> int:
    """How many axes the last axis of `indices` addresses; ANE0273 where the tensor has fewer."""
    target: TensorType = call.types[of]
    indices = need_rank(call, "indices", 1)
    depth = indices.shape[-1]
    if depth > target.rank - batch:
        from anedsl.diagnostics.shapes import IndexDepth

        left = f"`{of}`, which has {target.rank - batch}" + (f" after {batch} batch axes" if batch else "")
        call.fail("indices", IndexDepth, show=(of,), op=call.op.name, depth=depth, left=left, type=str(indices))
    return depth


def _gather_nd(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    indices = need_rank(call, "indices", 1)
    batch = call.attributes["batch_dims"]
    most = min(x.rank, indices.rank) - 1
    if not 0 <= batch <= most:
        wrong_attribute(call, "batch_dims", f"{batch} is not in 0 to {most}", advice="batch axes come first, in both operands")
    for at in range(batch):
        if x.shape[at] != indices.shape[at]:
            misfit(call, at, x, indices)
    depth = _depth(call, "x", batch)
    return x.with_shape((*indices.shape[:-1], *x.shape[batch + depth :]))


def _places(x: Array, indices: Array, batch: int) -> tuple[Array, ...]:
    """An index for each addressed axis of `x`, batch axes first."""
    rank = indices.ndim - 1
    own = [np.arange(n).reshape([n if axis == at else 1 for axis in range(rank)]) for at, n in enumerate(x.shape[:batch])]
    return (*own, *(inside(indices[..., at], x.shape[batch + at]) for at in range(indices.shape[-1])))


def _gathered_nd(x: Array, indices: Array, *, batch_dims: int, validate_indices: bool) -> Array:
    return np.asarray(x[_places(x, indices, batch_dims)])


def _check_mode(call: Call) -> None:
    if need_choice(call, "mode") == "div" and call.types["data"].dtype is INT32:
        wrong_attribute(call, "mode", "integers are not divided", advice=f"`cast({call.written('data')}, fp16)` before it")


def _scatter(call: Call) -> TensorType:
    data = need_rank(call, "data", 1)
    indices = need_rank(call, "indices", 1, 1, advice="`scatter_nd` takes positions of any rank")
    axis = normal_axis(call, "axis", call.attributes["axis"], data)
    call.attributes["axis"] = axis
    _check_mode(call)
    need_shape(call, "updates", (*data.shape[:axis], *indices.shape, *data.shape[axis + 1 :]), "a slice for each position")
    return data


def _scatter_along_axis(call: Call) -> TensorType:
    data = need_rank(call, "data", 1)
    indices = need_rank(call, "indices", data.rank, data.rank, advice=f"it has the rank of `{call.written('data')}`")
    axis = normal_axis(call, "axis", call.attributes["axis"], data)
    call.attributes["axis"] = axis
    _check_mode(call)
    for at, (m, n) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if at != axis and m != n:
            misfit(call, at, data, indices, "data")
    need_shape(call, "updates", indices.shape, "an element for each position")
    return data


def _scatter_nd(call: Call) -> TensorType:
    data = need_rank(call, "data", 1)
    depth = _depth(call, "data", 0)
    _check_mode(call)
    need_shape(call, "updates", (*call.types["indices"].shape[:-1], *data.shape[depth:]), "what is addressed, for each position")
    return data


def _changed(data: Array, places: Any, updates: Array, mode: str) -> Array:
    """Repeated positions are changed once for each update, in order."""
    result = data.copy()
    if mode == "update":
        result[places] = updates
    else:
        with np.errstate(all="ignore"):
            MODES[mode].at(result, places, updates)
    return result


def _scattered(data: Array, indices: Array, updates: Array, *, axis: int, mode: str, validate_indices: bool) -> Array:
    places = (*[slice(None)] * axis, inside(indices, data.shape[axis]))
    return _changed(data, places, updates, mode)


def _scattered_along(data: Array, indices: Array, updates: Array, *, axis: int, mode: str, validate_indices: bool) -> Array:
    places: list[Array] = list(np.indices(indices.shape, sparse=True))
    places[axis] = inside(indices, data.shape[axis])
    return _changed(data, tuple(places), updates, mode)


def _scattered_nd(data: Array, indices: Array, updates: Array, *, mode: str, validate_indices: bool) -> Array:
    return _changed(data, _places(data, indices, 0), updates, mode)


def _one_hot(call: Call) -> TensorType:
    indices: TensorType = call.types["indices"]
    need_least(call, "one_hot_vector_size", 1)
    given = [name for name in ("on_value", "off_value") if call.types.get(name) is not None]
    if len(given) == 1:
        from anedsl.diagnostics.shapes import NeedsCompanion

        other = "off_value" if given == ["on_value"] else "on_value"
        call.fail(given[0], NeedsCompanion, op="one_hot", operand=given[0], companion=other, advice="the defaults are int32")
    for name in given:
        need_shape(call, name, (), f"`{name}` is one number")
    wide = indices.with_shape((*indices.shape, call.attributes["one_hot_vector_size"]))
    axis = normal_axis(call, "axis", call.attributes["axis"], wide)
    call.attributes["axis"] = axis
    dtype = call.types["on_value"].dtype if given else INT32
    return TensorType(dtype, (*indices.shape[:axis], wide.shape[-1], *indices.shape[axis:]))


def _encoded(indices: Array, on_value: Array | None, off_value: Array | None, *, one_hot_vector_size: int, axis: int) -> Array:
    on, off = (np.int32(1), np.int32(0)) if on_value is None or off_value is None else (on_value, off_value)
    hot = np.expand_dims(indices, axis)
    places = np.arange(one_hot_vector_size).reshape([-1 if at == axis else 1 for at in range(hot.ndim)])
    return np.where(hot == places, on, off)


_VALIDATE = Attribute("validate_indices", "bool", False, "Stop at run time at a position outside the axis.", since="ios17")


def _scattering(name: str, infer: Callable[..., Any], reference: Callable[..., Any], doc: str, *more: Attribute) -> Op:
    return Op(
        name,
        doc,
        operands=(Operand("data", NUMBER), Operand("indices", POSITIONS), Operand("updates", NUMBER)),
        infer=infer,
        reference=reference,
        attributes=(*more, Attribute("mode", "string", "add", "How an element is changed.", tuple(MODES)), _VALIDATE),
        example=f'y = {name}(data, indices, updates, mode = "update")',
        family=FAMILY,
    )


OPS = (
    Op(
        "gather_nd",
        "Picks the elements, or slices, whose positions stand along the last axis of `indices`.",
        operands=(Operand("x", GATHERED), Operand("indices", INDEX, "A position for each addressed axis, from 0.")),
        infer=_gather_nd,
        reference=_gathered_nd,
        attributes=(Attribute("batch_dims", "int", 0, "How many leading axes both operands share.", since="ios16"), _VALIDATE),
        flops=no_flops,
        example="y = gather_nd(x, indices)",
        family=FAMILY,
    ),
    _scattering(
        "scatter",
        _scatter,
        _scattered,
        "Changes whole slices of `data` along an axis.",
        Attribute("axis", "int", 0, "The axis along which positions count."),
    ),
    _scattering(
        "scatter_along_axis",
        _scatter_along_axis,
        _scattered_along,
        "Changes single elements of `data` along an axis; the other axes of `indices` are those of `data`.",
        Attribute("axis", "int", 0, "The axis along which positions count."),
    ),
    _scattering(
        "scatter_nd",
        _scatter_nd,
        _scattered_nd,
        "Changes the elements, or slices, whose positions stand along the last axis of `indices`.",
    ),
    Op(
        "one_hot",
        "Makes of each index a vector that has `on_value` at the index and `off_value` elsewhere.",
        operands=(
            Operand("indices", POSITIONS, "Positions in the new axis; the vector of one outside is all `off_value`."),
            Operand("on_value", VALUE, "A scalar; int32 1 by default.", optional=True, const=True),
            Operand("off_value", VALUE, "A scalar; int32 0 by default.", optional=True, const=True),
        ),
        infer=_one_hot,
        reference=_encoded,
        attributes=(
            Attribute("one_hot_vector_size", "int", doc="The size of the new axis."),
            Attribute("axis", "int", -1, "Where the new axis is in the result."),
        ),
        flops=no_flops,
        example="y = one_hot(labels, one_hot_vector_size = 10)",
        family=FAMILY,
    ),
)
