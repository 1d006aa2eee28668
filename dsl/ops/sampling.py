"""Ops that read an image at positions between its elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from anedsl.ops.call import Call
from anedsl.ops.checks import need_choice, need_least, need_rank, need_shape, wrong_attribute
from anedsl.ops.record import FLOAT, Array, Attribute, Domain, Op, Operand
from anedsl.types import FP16, FP32, INT8, INT16, INT32, UINT8, UINT16, TensorType

FAMILY = "resampling"
COORDINATES = Domain("C", (INT8, UINT8, INT16, UINT16, INT32, FP16, FP32))
SAMPLING_MODES = ("bilinear", "nearest")
PADDING_MODES = ("constant", "border", "reflection", "symmetric")
COORDINATES_MODES = ("unnormalized", "normalized_minus_one_to_one", "normalized_zero_to_one")
IMAGES = "`[batch, channels, height, width]`"


def _image(call: Call) -> TensorType:
    x = need_rank(call, "x", 4, 4, advice=f"activations are {IMAGES}")
    for name in ("sampling_mode", "padding_mode", "coordinates_mode"):
        need_choice(call, name)
    return x


def _resample(call: Call) -> TensorType:
    x = _image(call)
    places = need_rank(call, "coordinates", 4, 4, advice="coordinates are `[batch, height, width, 2]`")
    need_shape(call, "coordinates", (x.shape[0], *places.shape[1:3], 2), "a pair, column and row, for each new position")
    return x.with_shape((*x.shape[:2], *places.shape[1:3]))


def _affine(call: Call) -> TensorType:
    x = _image(call)
    matrix = need_rank(call, "transform_matrix", 2, 2, advice="it is `[batch, 6]`, or `[1, 6]` for all batches")
    if matrix.shape[0] != 1 or matrix.shape[1] != 6:
        need_shape(call, "transform_matrix", (x.shape[0], 6), "six numbers for each batch, or for all")
    names = ("output_height", "output_width")
    for name in names:
        need_least(call, name, 1)
    if call.attributes["padding_value"] != 0:
        wrong_attribute(call, "padding_value", "Core ML has only 0 here", advice="`resample` takes other numbers")
    if not call.attributes["align_corners"]:
        wrong_attribute(call, "align_corners", "Core ML has only true here", advice="`resample` takes both")
    return x.with_shape((*x.shape[:2], *(call.attributes[name] for name in names)))


def _positions(given: Array, size: int, mode: str, align_corners: bool) -> Array:
    """Coordinates along an axis as positions: 0 is the centre of the first element, size - 1 that of the last."""
    if mode == "unnormalized":
        return given
    zero_to_one = given if mode == "normalized_zero_to_one" else (given + 1) / 2
    return zero_to_one * (size - 1) if align_corners else zero_to_one * size - 0.5


def _folded(at: Array, size: int, mode: str) -> Array:
    """Positions outside brought inside; for a constant margin they stay, apart from those too far for an index."""
    if mode == "constant":
        return np.clip(at, -2, size + 1)
    if mode != "border":
        # Mirrors stand on the centres of the outer elements, or behind these.
        edge = 0.0 if mode == "reflection" else 0.5
        span = size - 1 + 2 * edge
        turn = np.mod(at + edge, 2 * span) if span else np.zeros_like(at)
        at = np.minimum(turn, 2 * span - turn) - edge
    return np.clip(at, 0, size - 1)


def _element(x: Array, rows: Array, columns: Array, outside: float | None) -> Array:
    """For each batch and position the element of all channels; `outside` stands beyond the image."""
    height, width = x.shape[2:]
    batch = np.arange(x.shape[0])[:, None, None]
    found = x[batch, :, np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)]
    found = np.moveaxis(found, -1, 1)
    if outside is None:
        return found
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    return np.where(inside[:, None], found, x.dtype.type(outside))


@np.errstate(all="ignore")
def _resampled(
    x: Array,
    coordinates: Array,
    *,
    sampling_mode: str,
    padding_mode: str,
    padding_value: float,
    coordinates_mode: str,
    align_corners: bool,
) -> Array:
    places = np.nan_to_num(coordinates.astype(x.dtype))
    column, row = (
        _folded(_positions(places[..., at], size, coordinates_mode, align_corners), size, padding_mode)
        for at, size in ((0, x.shape[3]), (1, x.shape[2]))
    )
    outside = padding_value if padding_mode == "constant" else None
    if sampling_mode == "nearest":
        return _element(x, np.rint(row).astype(np.int64), np.rint(column).astype(np.int64), outside)
    top, left = np.floor(row).astype(np.int64), np.floor(column).astype(np.int64)
    down, right = ((part - first).astype(x.dtype)[:, None] for part, first in ((row, top), (column, left)))
    upper = _element(x, top, left, outside) * (1 - right) + _element(x, top, left + 1, outside) * right
    lower = _element(x, top + 1, left, outside) * (1 - right) + _element(x, top + 1, left + 1, outside) * right
    result: Array = upper * (1 - down) + lower * down
    return result


def _transformed(x: Array, transform_matrix: Array, *, output_height: int, output_width: int, **modes: Any) -> Array:
    height, width = (np.linspace(-1, 1, n) if n > 1 else np.zeros(1) for n in (output_height, output_width))
    row, column = np.meshgrid(height.astype(x.dtype), width.astype(x.dtype), indexing="ij")
    grid = np.stack([column, row, np.ones_like(row)], -1)
    matrix = np.broadcast_to(transform_matrix, (x.shape[0], 6)).reshape(-1, 1, 1, 2, 3)
    places = (matrix * grid[None, :, :, None, :]).sum(-1)
    return _resampled(x, places, **modes)


def _flops(call: Call, results: Sequence[TensorType]) -> int:
    """Three sums of two products for each element."""
    return 0 if call.attributes["sampling_mode"] == "nearest" else 9 * results[0].size


def _modes(sampling: tuple[str, ...], padding: tuple[str, ...], coordinates: tuple[str, ...]) -> tuple[Attribute, ...]:
    return (
        Attribute("sampling_mode", "string", doc="Between four elements, or the nearest.", choices=sampling),
        Attribute("padding_mode", "string", doc="What lies beyond the image.", choices=padding),
        Attribute("padding_value", "float", doc="The number beyond the image, where that is constant.", domain=FLOAT),
        Attribute("coordinates_mode", "string", doc="Positions, or parts of the image.", choices=coordinates),
        Attribute("align_corners", "bool", doc="The ends are the centres of the outer elements, not their borders."),
    )


OPS = (
    Op(
        "resample",
        "Reads an image at given coordinates, in pairs of column and row.",
        operands=(Operand("x", FLOAT, IMAGES), Operand("coordinates", COORDINATES, "`[batch, height, width, 2]`")),
        infer=_resample,
        reference=_resampled,
        attributes=_modes(SAMPLING_MODES, PADDING_MODES, COORDINATES_MODES),
        flops=_flops,
        example='y = resample(x, c, sampling_mode = "bilinear", padding_mode = "border", padding_value = 0, '
        'coordinates_mode = "unnormalized", align_corners = true)',
        family=FAMILY,
    ),
    Op(
        "affine",
        "Reads an image at coordinates that an affine map makes of the new ones: `a0 * column + a1 * row + a2`, and with b "
        "for the row. All coordinates run from -1 to 1.",
        operands=(
            Operand("x", FLOAT, IMAGES),
            Operand("transform_matrix", FLOAT, "`[a0, a1, a2, b0, b1, b2]` for each batch: `[batch, 6]` or `[1, 6]`"),
        ),
        infer=_affine,
        reference=_transformed,
        attributes=(
            Attribute("output_height", "int", doc="The size of axis 2."),
            Attribute("output_width", "int", doc="The size of axis 3."),
            *_modes(("bilinear",), ("constant",), ("normalized_minus_one_to_one",)),
        ),
        flops=_flops,
        example='y = affine(x, m, output_height = 8, output_width = 8, sampling_mode = "bilinear", padding_mode = "constant", '
        'padding_value = 0, coordinates_mode = "normalized_minus_one_to_one", align_corners = true)',
        family=FAMILY,
    ),
)
