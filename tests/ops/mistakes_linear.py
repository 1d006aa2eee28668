"""Wrong operands of products, convolutions, normalisations and attention."""

from __future__ import annotations

from typing import Any

from anedsl.diagnostics import shapes
from tests.ops.mistake import Mistake


def x(*sizes: int, **more: Any) -> dict[str, Any]:
    return {"x": sizes, **more}


def xw(x: Any, weight: Any, **more: Any) -> dict[str, Any]:
    return {"x": x, "weight": weight, **more}


def qkv(q: Any, k: Any, v: Any, **more: Any) -> dict[str, Any]:
    return {"query": q, "key": k, "value": v, **more}


MISTAKES = [
    # Products
    Mistake(
        shapes.InnerDimensions,
        "matmul",
        {"x": (1, 128), "y": (256, 128)},
        {},
        "y",
        "`matmul` operands have incompatible inner dimensions",
        "expected inner dimension 128, found 256",
        "`transpose_y = true` would contract the other axis of `y`",
    ),
    Mistake(
        shapes.InnerDimensions,
        "matmul",
        {"x": (128, 4), "y": (128, 256)},
        {},
        "y",
        "`matmul` operands have incompatible inner dimensions",
        "expected inner dimension 4, found 128",
        "`transpose_x = true` would contract the other axis of `x`",
    ),
    Mistake(
        shapes.InnerDimensions,
        "matmul",
        {"x": (3, 4), "y": (4, 5)},
        {"transpose_y": True},
        "y",
        "`matmul` operands have incompatible inner dimensions",
        "expected inner dimension 4, found 5",
        "`transpose_y = false` would contract the other axis of `y`",
    ),
    Mistake(
        shapes.InnerDimensions,
        "linear",
        xw((2, 4), (4, 5)),
        {},
        "weight",
        "`linear` operands have incompatible inner dimensions",
        "expected inner dimension 4, found 5",
        "transpose the weight: `transpose(weight, [1, 0])`",
    ),
    Mistake(
        shapes.InnerDimensions,
        "einsum",
        {"values": ((3, 2, 4), (5, 2, 6))},
        {"equation": "chw,whu->chu"},
        "values[1]",
        "`einsum` operands have incompatible inner dimensions",
        "expected inner dimension 4, found 5",
    ),
    Mistake(
        shapes.BatchDimensions,
        "matmul",
        {"x": (2, 3, 4, 5), "y": (6, 5, 4)},
        {},
        "y",
        "`matmul` operands have incompatible batch dimensions",
        "axis -3 is 6 here, 3 in `x`",
    ),
    Mistake(
        shapes.BatchDimensions,
        "einsum",
        {"values": ((3, 2, 4), (4, 3, 6))},
        {"equation": "chw,whu->chu"},
        "values[1]",
        "`einsum` operands have incompatible batch dimensions",
        "axis -2 is 3 here, 2 in the first operand",
    ),
    Mistake(
        shapes.BatchDimensions,
        "gather",
        {"x": (2, 5, 3), "indices": ((4, 2), "int32")},
        {"axis": 1, "batch_dims": 1},
        "indices",
        "`gather` operands have incompatible batch dimensions",
        "axis 0 is 4 here, 2 in `x`",
    ),
    Mistake(
        shapes.BatchDimensions,
        "gather_along_axis",
        {"x": (2, 5), "indices": ((3, 5), "int32")},
        {"axis": 1},
        "indices",
        "`gather_along_axis` operands have incompatible batch dimensions",
        "axis 0 is 3 here, 2 in `x`",
    ),
    Mistake(
        shapes.UnsupportedEinsum,
        "einsum",
        {"values": ((3, 4), (4, 5))},
        {"equation": "ij,jk->ik"},
        "equation",
        "MIL has no `einsum` for `ij,jk->ik`",
        "not one of the supported equations",
    ),
    Mistake(
        shapes.UnsupportedEinsum,
        "einsum",
        {"values": ((1, 3, 2, 4), (1, 4, 2, 5))},
        {"equation": "chw,whu->chu"},
        "equation",
        "MIL has no `einsum` for `chw,whu->chu`",
        "written for two operands of rank 3, found ranks 4 and 4",
    ),
    # Convolution
    Mistake(
        shapes.ChannelMismatch,
        "conv",
        xw((1, 768, 1, 256), (768, 2048, 1, 1)),
        {},
        "weight",
        "`conv` weight does not fit the channels of `x`",
        "expected 768 input channels at axis 1, found 2048",
        "transpose the weight: `transpose(weight, [1, 0, 2, 3])`",
    ),
    Mistake(
        shapes.ChannelMismatch,
        "conv",
        xw((1, 8, 1, 4), (4, 2, 1, 1)),
        {},
        "weight",
        "`conv` weight does not fit the channels of `x`",
        "expected 8 input channels at axis 1, found 2",
        "`groups = 4` would fit",
    ),
    Mistake(
        shapes.IndivisibleGroups,
        "conv",
        xw((1, 8, 1, 4), (4, 2, 1, 1)),
        {"groups": 3},
        "groups",
        "`conv` cannot divide 8 input channels into 3 groups",
        "does not divide 8",
    ),
    Mistake(
        shapes.KernelTooLarge,
        "conv",
        xw((1, 2, 3, 3), (2, 2, 3, 3)),
        {"dilations": (1, 2)},
        "weight",
        "`conv` kernel is larger than its input",
        "spans 5 positions at axis 3, the padded input has 3",
        '`pad_type = "same"` pads the input',
    ),
    Mistake(
        shapes.OperandShape,
        "conv",
        xw((1, 4, 1, 8), (6, 4, 1, 1), bias=(4,)),
        {},
        "bias",
        "`conv` takes `bias` of shape `[6]`, found `[4]`",
        "has type `fp16[4]`",
    ),
    Mistake(
        shapes.OperandShape,
        "layer_norm",
        x(2, 3, 4, gamma=(3, 4)),
        {"axes": (-1,)},
        "gamma",
        "`layer_norm` takes `gamma` of shape `[4]`, found `[3, 4]`",
        "has type `fp16[3, 4]`",
    ),
    Mistake(
        shapes.NeedsCompanion,
        "layer_norm",
        x(2, 4, beta=(4,)),
        {"axes": (-1,)},
        "beta",
        "`layer_norm` takes `beta` only together with `gamma`",
        "given without `gamma`",
        "give `gamma` as well: a weight of ones",
    ),
    # Attention
    Mistake(
        shapes.AttentionShapes,
        "scaled_dot_product_attention",
        qkv((1, 2, 5, 4), (1, 2, 6, 3), (1, 2, 6, 4)),
        {},
        "key",
        "`scaled_dot_product_attention` operands do not fit: `key` and `query` differ in the last axis",
        "expected 4, found 3",
    ),
    Mistake(
        shapes.AttentionShapes,
        "scaled_dot_product_attention",
        qkv((1, 4, 5, 4), (1, 2, 6, 4), (1, 2, 6, 4)),
        {},
        "key",
        "`scaled_dot_product_attention` operands do not fit: `key` and `query` differ in their batch axes",
        "expected [1, 4], found [1, 2]",
    ),
    Mistake(
        shapes.AttentionShapes,
        "scaled_dot_product_attention",
        qkv((1, 2, 5, 4), (1, 2, 6, 4), (1, 2, 6, 4), attn_mask=(1, 1, 4, 6)),
        {},
        "attn_mask",
        "`scaled_dot_product_attention` operands do not fit: `attn_mask` and `query` differ in their leading axes",
        "expected a shape that broadcasts to [1, 2, 5, 6], found [1, 1, 4, 6]",
    ),
    Mistake(
        shapes.MixedDTypes,
        "scaled_dot_product_attention",
        qkv((1, 5, 4), (1, 6, 4), (1, 6, 4), attn_mask=((5, 6), "fp32")),
        {},
        "attn_mask",
        "`scaled_dot_product_attention` operands have different element types",
        "is fp32, but `query` is fp16",
        "convert one: `cast(attn_mask, fp16)`",
    ),
]
