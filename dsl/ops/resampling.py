"""Ops that give the last axes other sizes, by the nearest element or by linear interpolation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from anedsl.ops.call import Call
from anedsl.ops.checks import need_choice, need_least, need_rank, wrong_attribute
from anedsl.ops.record import FLOAT, NUMBER, Array, Attribute, Domain, Op, Operand, no_flops
from anedsl.types import INT32, UINT32, TensorType

FAMILY = "resampling"
UNSIGNED = Domain("U", (UINT32,))
SAMPLING_MODES = ("DEFAULT", "STRICT_ALIGN_CORNERS", "ALIGN_CORNERS", "OFFSET_CORNERS", "UNALIGN_CORNERS")
INTERPOLATION_MODES = ("LINEAR", "NEAREST_NEIGHBOR")

# ---- where the new positions lie among the old ----


def grid(mode: str, size: int, count: int) -> Array:
    """`count` positions in [0, size - 1], in float64.

    Both ends lie on ends (ALIGN_CORNERS), steps of `size / count` begin at 0 (DEFAULT), or they begin so that the
    positions are equally far from both ends (UNALIGN_CORNERS, and OFFSET_CORNERS with another step).
    """
    steps = np.arange(count, dtype=np.float64)
    if mode in ("STRICT_ALIGN_CORNERS", "ALIGN_CORNERS"):
        alone = (size - 1) / 2 if mode == "ALIGN_CORNERS" else 0.0
        at = steps * (size - 1) / (count - 1) if count > 1 else np.full(1, alone)
    elif mode == "DEFAULT":
        at = steps * size / count
    elif mode == "OFFSET_CORNERS":
        at = (steps + 0.5) * max(1, size - 1) / count
    else:
        at = (2 * steps + 1) * size / (2 * count) - 0.5
    return np.clip(at, 0, size - 1)


def _linear(x: Array, axis: int, mode: str, count: int) -> Array:
    """The elements between two neighbours, weighted by their distance."""
    at = grid(mode, x.shape[axis], count)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, x.shape[axis] - 1)
    along = [1] * x.ndim
    along[axis] = count
    part = (at - low).reshape(along).astype(x.dtype)
    result: Array = np.take(x, low, axis) * (1 - part) + np.take(x, high, axis) * part
    return result


def _nearest(x: Array, axis: int, mode: str, count: int) -> Array:
    """The element at or before a position for DEFAULT, else the nearest, of two the later."""
    if mode == "DEFAULT":
        at = np.arange(count) * x.shape[axis] // count
    else:
        at = np.floor(grid(mode, x.shape[axis], count) + 0.5).astype(np.int64)
    result: Array = np.take(x, at, axis)
    return result


def _sampled(x: Array, sizes: Sequence[int], mode: str, along: Callable[..., Array]) -> Array:
    """The last axes in new sizes, one after the other."""
    for axis, count in zip(range(x.ndim - len(sizes), x.ndim), sizes, strict=True):
        x = along(x, axis, mode, count)
    return x


# ---- by sizes ----


def _targets(call: Call) -> TensorType:
    x = need_rank(call, "x", 3, advice="the last two axes are resized; `expand_dims` adds one")
    names = ("target_size_height", "target_size_width")
    for name in names:
        need_least(call, name, 1)
    if "sampling_mode" in call.op.attribute_index:
        need_choice(call, "sampling_mode")
    return x.with_shape((*x.shape[:-2], *(call.attributes[name] for name in names)))


def _resized_nearest(x: Array, *, target_size_height: int, target_size_width: int) -> Array:
    return _sampled(x, (target_size_height, target_size_width), "DEFAULT", _nearest)


def _resized_bilinear(x: Array, *, target_size_height: int, target_size_width: int, sampling_mode: str) -> Array:
    return _sampled(x, (target_size_height, target_size_width), sampling_mode, _linear)


def _resize(call: Call) -> TensorType:
    """Rewrites sizes of 0, which copy those of `x`."""
    x = need_rank(call, "x", 1)
    shape = tuple(call.attributes["shape"])
    call.attributes["shape"] = shape
    if not 1 <= len(shape) <= x.rank:
        wrong_attribute(call, "shape", f"expected 1 to {x.rank} sizes, found {len(shape)}")
    need_least(call, "shape", 0)
    count = call.attributes["resized_dims"]
    if not 1 <= count <= len(shape):
        wrong_attribute(call, "resized_dims", f"{count} is not in 1 to {len(shape)}, the number of sizes in `shape`")
    mode = need_choice(call, "interpolation_mode")
    need_choice(call, "sampling_mode")
    if x.dtype is INT32 and mode == "LINEAR":
        wrong_attribute(
            call,
            "interpolation_mode",
            "int32 elements are not interpolated",
            advice=f'use `interpolation_mode = "NEAREST_NEIGHBOR"`, or `cast({call.written("x")}, fp16)`',
        )
    shape = tuple(size or old for size, old in zip(shape, x.shape[x.rank - len(shape) :], strict=True))
    call.attributes["shape"] = shape
    return x.with_shape((*x.shape[: x.rank - count], *shape[len(shape) - count :]))


def _resized(x: Array, *, shape: tuple[int, ...], resized_dims: int, interpolation_mode: str, sampling_mode: str) -> Array:
    along = _linear if interpolation_mode == "LINEAR" else _nearest
    return _sampled(x, shape[len(shape) - resized_dims :], sampling_mode, along)


# ---- by factors ----


def _factors(call: Call) -> TensorType:
    x = need_rank(call, "x", 3, advice="the last two axes are resized; `expand_dims` adds one")
    sizes = []
    for axis, name in ((-2, "scale_factor_height"), (-1, "scale_factor_width")):
        sizes.append(_multiplied(x.shape[axis], call.attributes[name]))
        if sizes[-1] < 1:
            wrong_attribute(call, name, f"nothing is left of {x.shape[axis]} positions")
    if call.attributes.get("align_corners") and call.attributes["half_pixel_centers"]:
        reason = "corners that are aligned are no half pixels"
        wrong_attribute(call, "half_pixel_centers", reason, advice="add `align_corners = false`")
    return x.with_shape((*x.shape[:-2], *sizes))


def _multiplied(size: int, factor: float) -> int:
    """The new size. The factor is written as fp32, and so is the product, or 10 * 1.4 would be 13."""
    return int(np.floor(np.float32(factor) * np.float32(size)))


def _upsampled_nearest(x: Array, *, scale_factor_height: float, scale_factor_width: float) -> Array:
    sizes = (_multiplied(x.shape[-2], scale_factor_height), _multiplied(x.shape[-1], scale_factor_width))
    return _sampled(x, sizes, "DEFAULT", _nearest)


def _upsampled_bilinear(
    x: Array, *, scale_factor_height: float, scale_factor_width: float, align_corners: bool, half_pixel_centers: bool
) -> Array:
    sizes = (_multiplied(x.shape[-2], scale_factor_height), _multiplied(x.shape[-1], scale_factor_width))
    mode = "STRICT_ALIGN_CORNERS" if align_corners else "UNALIGN_CORNERS" if half_pixel_centers else "DEFAULT"
    return _sampled(x, sizes, mode, _linear)


def _linear_flops(call: Call, results: Sequence[TensorType]) -> int:
    """Two products and a sum for each element, along two axes."""
    return 0 if call.attributes.get("interpolation_mode") == "NEAREST_NEIGHBOR" else 6 * results[0].size


def _resizing(
    name: str, infer: Any, reference: Any, doc: str, example: str, *attributes: Attribute, flops: Any = no_flops, **more: Any
) -> Op:
    return Op(
        name,
        doc,
        operands=(Operand("x", more.pop("domain", FLOAT)),),
        infer=infer,
        reference=reference,
        attributes=attributes,
        flops=flops,
        example=example,
        family=FAMILY,
        **more,
    )


_SAMPLING = Attribute("sampling_mode", "string", "DEFAULT", "Where the new positions lie among the old.", SAMPLING_MODES)
_HEIGHT, _WIDTH = "The size of axis -2.", "The size of axis -1."
_FACTORS = (
    Attribute("scale_factor_height", "float", 1.0, "By how much axis -2 grows; the size is rounded down."),
    Attribute("scale_factor_width", "float", 1.0, "By how much axis -1 grows; the size is rounded down."),
)

OPS = (
    _resizing(
        "resize_nearest_neighbor",
        _targets,
        _resized_nearest,
        "The last two axes in given sizes: each element that of the old position at or before it.",
        "y = resize_nearest_neighbor(x, target_size_height = 32, target_size_width = 32)",
        Attribute("target_size_height", "int", doc=_HEIGHT),
        Attribute("target_size_width", "int", doc=_WIDTH),
    ),
    _resizing(
        "resize_bilinear",
        _targets,
        _resized_bilinear,
        "The last two axes in given sizes, by linear interpolation along both.",
        'y = resize_bilinear(x, target_size_height = 32, target_size_width = 32, sampling_mode = "UNALIGN_CORNERS")',
        Attribute("target_size_height", "int", 1, _HEIGHT),
        Attribute("target_size_width", "int", 1, _WIDTH),
        _SAMPLING,
        flops=_linear_flops,
    ),
    _resizing(
        "upsample_nearest_neighbor",
        _factors,
        _upsampled_nearest,
        "The last two axes larger by a factor: each element that of the old position at or before it.",
        "y = upsample_nearest_neighbor(x, scale_factor_height = 2, scale_factor_width = 2)",
        *_FACTORS,
    ),
    _resizing(
        "upsample_bilinear",
        _factors,
        _upsampled_bilinear,
        "The last two axes larger by a factor, by linear interpolation along both. Sizes are rounded down, and the step follows"
        " from them, not from the factor: in torch that is `recompute_scale_factor = True`.",
        "y = upsample_bilinear(x, scale_factor_height = 2, scale_factor_width = 2, align_corners = false)",
        *_FACTORS,
        Attribute("align_corners", "bool", True, "The first and last element stay where they are."),
        Attribute(
            "half_pixel_centers",
            "bool",
            lambda call: not call.attributes["align_corners"],
            "Positions are equally far from both ends; by default where corners are not aligned.",
            since="ios16",
        ),
        flops=_linear_flops,
    ),
    _resizing(
        "resize",
        _resize,
        _resized,
        "The last axes in given sizes, by the nearest element or by linear interpolation.",
        "y = resize(x, shape = [32, 32], resized_dims = 2)",
        Attribute("shape", "ints", doc="Sizes of the last axes; 0 copies the size of `x`."),
        Attribute("resized_dims", "int", doc="How many of the last sizes in `shape` are used.", domain=UNSIGNED),
        Attribute("interpolation_mode", "string", "LINEAR", "How elements are computed.", INTERPOLATION_MODES),
        _SAMPLING,
        flops=_linear_flops,
        since="ios17",
        domain=NUMBER,
    ),
)
