"""Weights in a compressed form: Core ML computes the tensor when it loads the program.

All operands are compile-time tensors. The ops are not folded, or the file would hold the large result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anedsl.diagnostics import Failure
from anedsl.ops.call import Call, normal_axis
from anedsl.ops.checks import need_rank, need_shape, shown, wrong_attribute
from anedsl.ops.quantization import QUANTIZED, dequantized
from anedsl.ops.record import FLOAT, Array, Attribute, Domain, Op, Operand, no_flops
from anedsl.types import FP16, FP32, INT4, INT8, UINT1, UINT2, UINT3, UINT4, UINT6, UINT8, Shape, TensorType

FAMILY = "constexpr"
INTEGERS = (INT4, UINT4, INT8, UINT8)
DATA = Domain("D", (*INTEGERS, FP16, FP32))
OFFSET = Domain("O", (*INTEGERS, FP16, FP32))
ZERO_POINT = Domain("Z", (INT8, UINT8, FP32))
INDICES = Domain("I", (UINT1, UINT2, UINT3, UINT4, UINT6, UINT8))
TABLE = Domain("L", (INT8, UINT8, FP16, FP32))
SPARSE = Domain("T", (*INTEGERS, FP16, FP32))
MASK = Domain("M", (UINT1,))
HALF = Domain("H", (FP16,))


# ---- blocks ----


def _check_blocks(call: Call, operand: str, groups: Shape, shape: Shape) -> None:
    """ANE0271 unless the sizes of `groups` divide those of `shape`, both of one rank."""
    for axis, (size, blocks) in enumerate(zip(shape, groups, strict=True)):
        if size % blocks:
            from anedsl.diagnostics.shapes import UnevenBlocks

            type: TensorType = call.types[operand]
            call.fail(
                operand,
                UnevenBlocks,
                op=call.op.name,
                axis=axis,
                size=size,
                blocks=blocks,
                operand=operand,
                shape=shown(type.shape),
            )


def _repeated(blocks: Array, shape: Shape) -> Array:
    """Each number repeated over its block; axes beyond those of `shape` stay."""
    for axis, size in enumerate(shape):
        if blocks.shape[axis] not in (1, size):
            blocks = np.repeat(blocks, size // blocks.shape[axis], axis)
    return np.broadcast_to(blocks, (*shape, *blocks.shape[len(shape) :]))


# ---- scales ----


def _affine(call: Call) -> TensorType:
    data = need_rank(call, "quantized_data", 1)
    axis = normal_axis(call, "axis", call.attributes["axis"], data)
    call.attributes["axis"] = axis
    for name in ("scale", "zero_point"):
        if need_rank(call, name, 0, 1).rank == 1:
            need_shape(call, name, data.shape[axis : axis + 1], f"one number, or one for each position of axis {axis}")
    scale: TensorType = call.types["scale"]
    return scale.with_shape(data.shape)


def _check_scale(call: Call, shape: Shape, data: TensorType) -> None:
    """The scale has the rank of the shape and sizes that divide it; the offset has the scale's shape."""
    rank = len(shape)
    scale = need_rank(call, "scale", rank, rank, advice="one scale for each block: each size divides that of the data")
    _check_blocks(call, "scale", scale.shape, shape)
    need_shape(call, "offset", scale.shape, "the shape of `scale`")
    offset: TensorType | None = call.types.get("offset")
    if offset is not None and not offset.dtype.is_float and offset.dtype is not data.dtype:
        from anedsl.diagnostics.shapes import OffsetType

        call.fail("offset", OffsetType, op=call.op.name, expected=data.dtype.name, found=offset.dtype.name, type=str(offset))


def _blockwise(call: Call) -> TensorType:
    data = need_rank(call, "data", 1)
    _check_scale(call, data.shape, data)
    scale: TensorType = call.types["scale"]
    return scale.with_shape(data.shape)


def _shifted(data: Array, scale: Array, offset: Array | None) -> Array:
    return dequantized(data, _repeated(scale, data.shape), None if offset is None else _repeated(offset, data.shape))


# ---- palettes ----


def _check_table(call: Call, shape: Shape, indices: TensorType) -> int:
    """The size of the palette's vectors; `vector_axis` counted from 0. ANE0270 to ANE0272 for what does not fit."""
    rank = len(shape)
    lut = need_rank(call, "lut", rank + 2, rank + 2, advice="`lut` is `[groups..., entries, vector]`")
    _check_blocks(call, "lut", lut.shape[:-2], shape)
    entries, vector = lut.shape[-2:]
    if entries != 1 << indices.dtype.bits:
        from anedsl.diagnostics.shapes import PaletteSize

        expected = 1 << indices.dtype.bits
        call.fail("lut", PaletteSize, op=call.op.name, expected=expected, dtype=indices.dtype.name, found=entries, type=str(lut))
    axis = call.attributes.get("vector_axis")
    if axis is not None:
        call.attributes["vector_axis"] = normal_axis(call, "vector_axis", axis, indices.with_shape(shape))
    elif vector > 1:
        from anedsl.diagnostics.shapes import NeedsVectorAxis

        call.fail("lut", NeedsVectorAxis, op=call.op.name, size=vector, type=str(lut))
    return vector


def _stretched(shape: Shape, axis: int | None, times: int) -> Shape:
    return tuple(size * times if at == axis else size for at, size in enumerate(shape))


def _palette(call: Call) -> TensorType:
    indices = need_rank(call, "indices", 1)
    vector = _check_table(call, indices.shape, indices)
    lut: TensorType = call.types["lut"]
    return lut.with_shape(_stretched(indices.shape, call.attributes.get("vector_axis"), vector))


def _looked_up(indices: Array, lut: Array, *, vector_axis: int | None = None) -> Array:
    tables = _repeated(lut, indices.shape)
    vectors = np.take_along_axis(tables, indices.astype(np.int64)[..., None, None], -2)[..., 0, :]
    if vector_axis is None:
        return vectors[..., 0]
    shape = _stretched(indices.shape, vector_axis, lut.shape[-1])
    return np.moveaxis(vectors, -1, vector_axis + 1).reshape(shape)


# ---- sparse data ----


def _check_sparse(call: Call, data: str, mask: str) -> TensorType:
    """The type of the mask. How many of its elements are 1 is known only from its numbers."""
    elements = need_rank(call, data, 1, 1, advice="it lists the elements where the mask is 1")
    places = need_rank(call, mask, 1)
    if elements.size > places.size:
        from anedsl.diagnostics.shapes import WrongCount

        detail = f"`{mask}` has {places.size} elements altogether"
        call.fail(data, WrongCount, show=(mask,), found=elements.size, places=places.size, detail=detail)
    return places


def _sparse(call: Call) -> TensorType:
    mask = _check_sparse(call, "nonzero_data", "mask")
    data: TensorType = call.types["nonzero_data"]
    return data.with_shape(mask.shape)


def dense_of(nonzero_data: Array, mask: Array) -> Array:
    """ANE0275 where the mask, whose numbers no type tells, does not have a 1 for each element."""
    places = int(np.count_nonzero(mask))
    if places != nonzero_data.size:
        from anedsl.diagnostics.shapes import WrongCount

        raise Failure(WrongCount(found=nonzero_data.size, places=places, detail="the mask is 1 at so many places"))
    result = np.zeros(mask.shape, nonzero_data.dtype)
    result[mask != 0] = nonzero_data
    return result


def _sparse_palette(call: Call) -> tuple[TensorType, TensorType]:
    mask = _check_sparse(call, "indices_nonzero_data", "indices_mask")
    indices: TensorType = call.types["indices_nonzero_data"]
    vector = _check_table(call, mask.shape, indices)
    lut: TensorType = call.types["lut"]
    shape = _stretched(mask.shape, call.attributes.get("vector_axis"), vector)
    return mask.with_shape(shape), lut.with_shape((indices.size * vector,))


def _sparse_looked_up(
    indices_mask: Array, indices_nonzero_data: Array, lut: Array, *, vector_axis: int | None = None
) -> tuple[Array, Array]:
    dense = _looked_up(dense_of(indices_nonzero_data, indices_mask), lut, vector_axis=vector_axis)
    mask = indices_mask if vector_axis is None else np.repeat(indices_mask, lut.shape[-1], vector_axis)
    return mask, dense[mask != 0]


def _sparse_blockwise(call: Call) -> tuple[TensorType, TensorType]:
    mask = _check_sparse(call, "nonzero_data", "data_mask")
    data: TensorType = call.types["nonzero_data"]
    _check_scale(call, mask.shape, data)
    scale: TensorType = call.types["scale"]
    return mask, scale.with_shape(data.shape)


def _sparse_shifted(data_mask: Array, nonzero_data: Array, scale: Array, offset: Array | None) -> tuple[Array, Array]:
    return data_mask, _shifted(dense_of(nonzero_data, data_mask), scale, offset)[data_mask != 0]


# ---- casts ----


def _cast(call: Call) -> TensorType:
    dtype = call.attributes["output_dtype"]
    if dtype is not FP32:
        wrong_attribute(call, "output_dtype", "it is fp32", f"found {dtype}")
    source: TensorType = call.types["source_val"]
    return source.with_dtype(FP32)


def _constexpr(
    name: str,
    doc: str,
    example: str,
    operands: tuple[Operand, ...],
    infer: Callable[..., Any],
    reference: Callable[..., Any],
    *attributes: Attribute,
    since: str = "ios18",
) -> Op:
    return Op(
        f"constexpr_{name}",
        doc,
        operands=operands,
        infer=infer,
        reference=reference,
        attributes=attributes,
        flops=no_flops,
        example=f"w = constexpr_{name}({example})",
        family=FAMILY,
        since=since,
        constexpr=True,
    )


def _const(name: str, domain: Domain, doc: str = "", optional: bool = False) -> Operand:
    return Operand(name, domain, doc, optional=optional, const=True)


_SCALE = _const("scale", FLOAT, "One for each block, of the rank of the data; its sizes divide those of the data.")
_OFFSET = _const("offset", OFFSET, "What stands for 0, of the shape of `scale`; of the data's type, or a float.", optional=True)
_LUT = _const("lut", TABLE, "`[groups..., entries, vector]`: a group axis for each axis, 2^bits entries.")
_VECTOR = Attribute("vector_axis", "int", None, "The axis of the result along which the vectors of `lut` lie.", since="ios18")

OPS = (
    _constexpr(
        "affine_dequantize",
        "Expands 8-bit integers: `scale * (quantized_data - zero_point)`.",
        "quantized_data = q, zero_point = z, scale = s, axis = 0",
        (
            _const("quantized_data", QUANTIZED),
            _const("zero_point", ZERO_POINT, "One number, or one for each position of `axis`."),
            _const("scale", FLOAT, "One number, or one for each position of `axis`."),
        ),
        _affine,
        lambda data, zero_point, scale, *, axis: dequantized(data, scale, zero_point, axis=axis),
        Attribute("axis", "int", doc="Along which axis scales and zero points lie."),
        since="ios16",
    ),
    _constexpr(
        "blockwise_shift_scale",
        "Expands integers of 4 or 8 bits, a block at a time: `scale * (data - offset)`.",
        "data = q, scale = s",
        (_const("data", DATA), _SCALE, _OFFSET),
        _blockwise,
        _shifted,
    ),
    _constexpr(
        "lut_to_dense",
        "Looks up indices in a palette; before ios18 the op had another form.",
        "indices = i, lut = palette",
        (_const("indices", INDICES), _LUT),
        _palette,
        _looked_up,
        _VECTOR,
    ),
    _constexpr(
        "sparse_to_dense",
        "Puts elements where the mask is 1, and 0 elsewhere; before ios18 the op had another form.",
        "nonzero_data = v, mask = m",
        (_const("nonzero_data", SPARSE, "The elements where the mask is 1, in order."), _const("mask", MASK)),
        _sparse,
        dense_of,
    ),
    _constexpr(
        "lut_to_sparse",
        "Looks up the indices of sparse data in a palette: gives the mask and the elements, for `constexpr_sparse_to_dense`.",
        "indices_mask = m, indices_nonzero_data = i, lut = palette",
        (
            _const("indices_mask", MASK),
            _const("indices_nonzero_data", INDICES, "The indices where the mask is 1, in order."),
            _LUT,
        ),
        _sparse_palette,
        _sparse_looked_up,
        _VECTOR,
    ),
    _constexpr(
        "sparse_blockwise_shift_scale",
        "Expands the integers of sparse data: gives the mask and the elements, for `constexpr_sparse_to_dense`.",
        "data_mask = m, nonzero_data = q, scale = s",
        (_const("data_mask", MASK), _const("nonzero_data", DATA, "The elements where the mask is 1, in order."), _SCALE, _OFFSET),
        _sparse_blockwise,
        _sparse_shifted,
    ),
    _constexpr(
        "cast",
        "Expands fp16 to fp32.",
        "source_val = h, output_dtype = fp32",
        (_const("source_val", HALF),),
        _cast,
        lambda source_val, *, output_dtype: source_val,
        Attribute("output_dtype", "dtype", doc="fp32, and nothing else."),
        since="ios16",
    ),
)
