"""Wrong indices, scales and palettes."""

from __future__ import annotations

from typing import Any

from anedsl.diagnostics import shapes
from anedsl.types import INT8, INT32, UINT8, UINT16
from tests.ops.mistake import Mistake


def int32(*sizes: int) -> Any:
    return sizes, "int32"


ADDRESSES = [
    Mistake(
        shapes.TooManyTaken,
        "topk",
        {"x": (2, 5)},
        {"k": 6},
        "k",
        "`topk` cannot take 6 of 5 elements",
        "axis 1 of `fp16[2, 5]` has size 5",
    ),
    Mistake(
        shapes.WrongAttribute,
        "topk",
        {"x": (2, 5)},
        {"return_indices": False, "output_indices_dtype": INT32},
        "output_indices_dtype",
        "invalid `output_indices_dtype` of `topk`: no indices are returned",
        "",
        "leave out `return_indices = false`",
    ),
    Mistake(
        shapes.WrongAttribute,
        "topk",
        {"x": (70000,)},
        {"output_indices_dtype": UINT16},
        "output_indices_dtype",
        "invalid `output_indices_dtype` of `topk`: uint16 cannot count 70000 positions",
        "",
        "use int32",
    ),
    Mistake(
        shapes.IndexDepth,
        "gather_nd",
        {"x": (2, 5), "indices": int32(4, 3)},
        {},
        "indices",
        "`gather_nd` indices address 3 axes of `x`, which has 2",
        "`int32[4, 3]` has 3 positions in its last axis",
    ),
    Mistake(
        shapes.IndexDepth,
        "gather_nd",
        {"x": (2, 5), "indices": int32(2, 4, 2)},
        {"batch_dims": 1},
        "indices",
        "`gather_nd` indices address 2 axes of `x`, which has 1 after 1 batch axes",
        "`int32[2, 4, 2]` has 2 positions in its last axis",
    ),
    Mistake(
        shapes.BatchDimensions,
        "gather_nd",
        {"x": (2, 5), "indices": int32(3, 1)},
        {"batch_dims": 1},
        "indices",
        "`gather_nd` operands have incompatible batch dimensions",
        "axis 0 is 3 here, 2 in `x`",
    ),
    Mistake(
        shapes.BatchDimensions,
        "scatter_along_axis",
        {"data": (2, 5), "indices": int32(3, 5), "updates": (3, 5)},
        {"axis": 1},
        "indices",
        "`scatter_along_axis` operands have incompatible batch dimensions",
        "axis 0 is 3 here, 2 in `data`",
    ),
    Mistake(
        shapes.OperandShape,
        "scatter_nd",
        {"data": (2, 5), "indices": int32(3, 1), "updates": (3, 4)},
        {},
        "updates",
        "`scatter_nd` takes `updates` of shape `[3, 5]`, found `[3, 4]`",
        "has type `fp16[3, 4]`",
    ),
    Mistake(
        shapes.WrongAttribute,
        "scatter",
        {"data": int32(2, 5), "indices": int32(3), "updates": int32(3, 5)},
        {"mode": "div"},
        "mode",
        "invalid `mode` of `scatter`: integers are not divided",
        "",
        "`cast(data, fp16)` before it",
    ),
    Mistake(
        shapes.WrongAttribute,
        "scatter",
        {"data": (2, 5), "indices": int32(3), "updates": (3, 5)},
        {"mode": "updates"},
        "mode",
        'invalid `mode` of `scatter`: expected "add" or "div" or "max" or "min" or "mul" or "sub" or "update"',
        "",
        'did you mean "update"?',
    ),
    Mistake(
        shapes.NeedsCompanion,
        "one_hot",
        {"indices": int32(3), "on_value": ()},
        {"one_hot_vector_size": 4},
        "on_value",
        "`one_hot` takes `on_value` only together with `off_value`",
        "given without `off_value`",
        "give `off_value` as well: the defaults are int32",
    ),
]


def steps(dtype: str, *sizes: int, **more: Any) -> dict[str, Any]:
    return {"input": (sizes, dtype), **more}


SCALES = [
    Mistake(
        shapes.ScaleAxis,
        "quantize",
        steps("fp16", 2, 3, scale=(3,)),
        {"output_dtype": INT8},
        "scale",
        "`quantize` needs `axis` for several scales",
        "`scale` is `fp16[3]`",
        "say with `axis` along which the scales lie",
    ),
    Mistake(
        shapes.ScaleAxis,
        "dequantize",
        steps("int8", 2, 3, scale=()),
        {"axis": 1},
        "axis",
        "`dequantize` takes `axis` only with several scales",
        "`scale` is `fp16`",
        "leave out `axis`",
    ),
    Mistake(
        shapes.OperandShape,
        "dequantize",
        steps("int8", 2, 3, scale=(2,)),
        {"axis": 1},
        "scale",
        "`dequantize` takes `scale` of shape `[3]`, found `[2]`",
        "has type `fp16[2]`",
    ),
    Mistake(
        shapes.OperandShape,
        "dequantize",
        steps("int8", 2, 3, scale=(3,), zero_point=((), "int8")),
        {"axis": 1},
        "zero_point",
        "`dequantize` takes `zero_point` of shape `[3]`, found `[]`",
        "has type `int8`",
    ),
    Mistake(
        shapes.WrongAttribute,
        "quantize",
        steps("fp16", 2, 3, scale=(), zero_point=((), "int8")),
        {"output_dtype": UINT8},
        "output_dtype",
        "invalid `output_dtype` of `quantize`: `zero_point` is int8",
        "found uint8",
        "use int8",
    ),
    Mistake(
        shapes.WrongAttribute,
        "quantize",
        steps("fp16", 2, 3, scale=()),
        {"output_dtype": INT32},
        "output_dtype",
        "invalid `output_dtype` of `quantize`: it is int8 or uint8",
        "found int32",
    ),
]


def mask(*sizes: int) -> Any:
    return sizes, "uint1"


COMPRESSED = [
    Mistake(
        shapes.WrongRank,
        "constexpr_blockwise_shift_scale",
        {"data": ((4, 6), "int4"), "scale": (6,)},
        {},
        "scale",
        "`constexpr_blockwise_shift_scale` takes rank 2 for `scale`, found rank 1",
        "has type `fp16[6]`",
        "one scale for each block: each size divides that of the data",
    ),
    Mistake(
        shapes.UnevenBlocks,
        "constexpr_blockwise_shift_scale",
        {"data": ((4, 6), "int4"), "scale": (1, 4)},
        {},
        "scale",
        "`constexpr_blockwise_shift_scale` cannot divide axis 1 of size 6 into 4 blocks",
        "`scale` has shape [1, 4]",
    ),
    Mistake(
        shapes.OffsetType,
        "constexpr_blockwise_shift_scale",
        {"data": ((4, 6), "int4"), "scale": (1, 1), "offset": ((1, 1), "int8")},
        {},
        "offset",
        "`constexpr_blockwise_shift_scale` takes int4, fp16 or fp32 for `offset`, found int8",
        "has type `int8[1, 1]`",
    ),
    Mistake(
        shapes.PaletteSize,
        "constexpr_lut_to_dense",
        {"indices": ((4, 6), "uint4"), "lut": (1, 1, 8, 1)},
        {},
        "lut",
        "`constexpr_lut_to_dense` needs 16 entries in `lut` for uint4 indices, found 8",
        "has type `fp16[1, 1, 8, 1]`",
    ),
    Mistake(
        shapes.NeedsVectorAxis,
        "constexpr_lut_to_dense",
        {"indices": ((4, 6), "uint1"), "lut": (1, 1, 2, 3)},
        {},
        "lut",
        "`constexpr_lut_to_dense` needs `vector_axis` for vectors of 3 numbers",
        "has type `fp16[1, 1, 2, 3]`",
    ),
    Mistake(
        shapes.WrongCount,
        "constexpr_sparse_to_dense",
        {"nonzero_data": (7,), "mask": mask(2, 3)},
        {},
        "nonzero_data",
        "sparse data has 7 elements for 6 places",
        "`mask` has 6 elements altogether",
    ),
    Mistake(
        shapes.WrongAttribute,
        "constexpr_cast",
        {"source_val": (7,)},
        {"output_dtype": INT32},
        "output_dtype",
        "invalid `output_dtype` of `constexpr_cast`: it is fp32",
        "found int32",
    ),
]

MISTAKES = [*ADDRESSES, *SCALES, *COMPRESSED]
