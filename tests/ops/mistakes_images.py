"""Wrong windows, blocks and sizes of images."""

from __future__ import annotations

from typing import Any

from anedsl.diagnostics import shapes
from tests.ops.mistake import Mistake


def x(*sizes: int, **more: Any) -> dict[str, Any]:
    return {"x": sizes, **more}


def window(*sizes: int, **more: Any) -> dict[str, Any]:
    return {"kernel_sizes": sizes, "pad_type": "valid", **more}


IMAGE = x(1, 2, 6, 7)
CHANNELS = "activations are `[batch, channels, height, width]`"

POOLS = [
    Mistake(
        shapes.WrongRank,
        "l2_pool",
        x(1, 2, 3, 4, 5),
        window(2, 2, 2),
        "x",
        "`l2_pool` takes rank 3 to 4 for `x`, found rank 5",
        "has type `fp16[1, 2, 3, 4, 5]`",
        f"{CHANNELS}; `expand_dims` adds an axis",
    ),
    Mistake(
        shapes.AttributeLength,
        "max_pool",
        IMAGE,
        window(2),
        "kernel_sizes",
        "`kernel_sizes` of `max_pool` needs 2 values, found 1",
        "1 given",
    ),
    Mistake(
        shapes.KernelTooLarge,
        "max_pool",
        IMAGE,
        window(2, 8),
        "kernel_sizes",
        "`max_pool` kernel is larger than its input",
        "spans 8 positions at axis 3, the padded input has 7",
        '`pad_type = "same"` pads the input',
    ),
    Mistake(
        shapes.EmptyWindow,
        "avg_pool",
        IMAGE,
        window(2, 2, pad_type="custom", pad=(0, 2, 0, 0)),
        "pad",
        "`avg_pool` has a window of padding only at axis 2",
        "pads 2 positions, the kernel has 2",
        "pad less than the size of the kernel",
    ),
    Mistake(
        shapes.WrongAttribute,
        "avg_pool",
        IMAGE,
        window(2, 2, pad=(0, 1, 0, 0)),
        "pad",
        'invalid `pad` of `avg_pool`: not used with `pad_type = "valid"`',
        "",
        'use `pad_type = "custom"`',
    ),
    Mistake(
        shapes.RoundedUp,
        "max_pool",
        x(1, 2, 3, 4, 5),
        window(2, 2, 2, ceil_mode=True),
        "ceil_mode",
        "`max_pool` has no `ceil_mode` for three spatial axes",
        "",
    ),
    Mistake(
        shapes.RoundedUp,
        "max_pool",
        IMAGE,
        window(2, 2, pad_type="same", ceil_mode=True),
        "ceil_mode",
        '`max_pool` has no `ceil_mode` with `pad_type = "same"`',
        "the size is rounded up already",
    ),
    Mistake(
        shapes.RoundedUp,
        "max_pool",
        IMAGE,
        window(2, 2, pad_type="custom", pad=(0, 0, 0, 1), ceil_mode=True),
        "ceil_mode",
        "`max_pool` has no `ceil_mode` with unequal padding",
        "axis 3 is padded by 0 and 1",
    ),
    Mistake(
        shapes.RoundedUp,
        "max_pool",
        IMAGE,
        window(2, 2, strides=(2, 3), ceil_mode=True),
        "ceil_mode",
        "`max_pool` has no `ceil_mode` with a stride above the kernel's size",
        "3 is more than 2 at axis 3",
    ),
]

BLOCKS = [
    Mistake(
        shapes.WrongRank,
        "pixel_shuffle",
        x(4, 2, 2),
        {"upscale_factor": 2},
        "x",
        "`pixel_shuffle` takes rank 4 for `x`, found rank 3",
        "has type `fp16[4, 2, 2]`",
        CHANNELS,
    ),
    Mistake(
        shapes.Indivisible,
        "depth_to_space",
        x(1, 6, 2, 2),
        {"block_size": 2},
        "x",
        "`depth_to_space` cannot divide 6 channels by 4",
        "axis 1 of `x` has size 6",
    ),
    Mistake(
        shapes.Indivisible,
        "space_to_depth",
        x(1, 6, 2, 3),
        {"block_size": 2},
        "x",
        "`space_to_depth` cannot divide 3 columns by 2",
        "axis 3 of `x` has size 3",
    ),
    Mistake(
        shapes.Indivisible,
        "space_to_batch",
        x(1, 6, 2, 3),
        {"block_shape": (2, 2), "paddings": (1, 0, 0, 1)},
        "x",
        "`space_to_batch` cannot divide 3 padded rows by 2",
        "axis 2 of `x` has size 2",
    ),
    Mistake(
        shapes.Indivisible,
        "batch_to_space",
        x(6, 2, 2, 3),
        {"block_shape": (2, 2), "crops": (0, 0, 0, 0)},
        "x",
        "`batch_to_space` cannot divide 6 batches by 4",
        "axis 0 of `x` has size 6",
    ),
    Mistake(
        shapes.WrongAttribute,
        "batch_to_space",
        x(4, 2, 2, 3),
        {"block_shape": (2, 2), "crops": (2, 2, 0, 0)},
        "crops",
        "invalid `crops` of `batch_to_space`: nothing is left of 4 positions at axis 2",
        "",
    ),
    Mistake(
        shapes.WrongAttribute,
        "space_to_batch",
        x(4, 2, 2, 4),
        {"block_shape": (2, 2), "paddings": (0, 0)},
        "paddings",
        "invalid `paddings` of `space_to_batch`: expected 4 values: top, bottom, left, right; found 2",
        "",
    ),
    Mistake(
        shapes.WrongAttribute,
        "sliding_windows",
        x(4, 2),
        {"axis": 1, "size": 3},
        "size",
        "invalid `size` of `sliding_windows`: 3 is more than the 2 positions of axis 1",
        "",
    ),
    Mistake(
        shapes.WrongAttribute,
        "reverse_sequence",
        x(4, 2, lengths=((4,), "int32")),
        {"seq_axis": -2},
        "seq_axis",
        "invalid `seq_axis` of `reverse_sequence`: axis 0 is the batch axis as well",
        "",
        "name two different axes",
    ),
    Mistake(
        shapes.OperandShape,
        "reverse_sequence",
        x(4, 2, lengths=((2,), "int32")),
        {"seq_axis": 1},
        "lengths",
        "`reverse_sequence` takes `lengths` of shape `[4]`, found `[2]`",
        "has type `int32[2]`",
    ),
]

SIZES = [
    Mistake(
        shapes.WrongRank,
        "resize_bilinear",
        x(4, 2),
        {},
        "x",
        "`resize_bilinear` takes rank 3 or more for `x`, found rank 2",
        "has type `fp16[4, 2]`",
        "the last two axes are resized; `expand_dims` adds one",
    ),
    Mistake(
        shapes.WrongAttribute,
        "resize_bilinear",
        IMAGE,
        {"target_size_height": 0},
        "target_size_height",
        "invalid `target_size_height` of `resize_bilinear`: 0 is less than 1",
        "",
    ),
    Mistake(
        shapes.WrongAttribute,
        "upsample_nearest_neighbor",
        IMAGE,
        {"scale_factor_width": 0.1},
        "scale_factor_width",
        "invalid `scale_factor_width` of `upsample_nearest_neighbor`: nothing is left of 7 positions",
        "",
    ),
    Mistake(
        shapes.WrongAttribute,
        "upsample_bilinear",
        IMAGE,
        {"half_pixel_centers": True},
        "half_pixel_centers",
        "invalid `half_pixel_centers` of `upsample_bilinear`: corners that are aligned are no half pixels",
        "",
        "add `align_corners = false`",
    ),
    Mistake(
        shapes.WrongAttribute,
        "resize",
        IMAGE,
        {"shape": (2, 3), "resized_dims": 3},
        "resized_dims",
        "invalid `resized_dims` of `resize`: 3 is not in 1 to 2, the number of sizes in `shape`",
        "",
    ),
    Mistake(
        shapes.WrongAttribute,
        "resize",
        {"x": ((4, 4), "int32")},
        {"shape": (2, 3), "resized_dims": 2, "interpolation_mode": "LINEAR"},
        "interpolation_mode",
        "invalid `interpolation_mode` of `resize`: int32 elements are not interpolated",
        "",
        'use `interpolation_mode = "NEAREST_NEIGHBOR"`, or `cast(x, fp16)`',
    ),
]


SAMPLING = {
    "sampling_mode": "bilinear",
    "padding_mode": "constant",
    "padding_value": 0.0,
    "coordinates_mode": "normalized_minus_one_to_one",
    "align_corners": True,
}

SAMPLES = [
    Mistake(
        shapes.OperandShape,
        "resample",
        x(2, 3, 4, 4, coordinates=(1, 6, 6, 2)),
        SAMPLING,
        "coordinates",
        "`resample` takes `coordinates` of shape `[2, 6, 6, 2]`, found `[1, 6, 6, 2]`",
        "has type `fp16[1, 6, 6, 2]`",
    ),
    Mistake(
        shapes.WrongAttribute,
        "resample",
        x(2, 3, 4, 4, coordinates=(2, 6, 6, 2)),
        SAMPLING | {"padding_mode": "zeros"},
        "padding_mode",
        'invalid `padding_mode` of `resample`: expected "constant" or "border" or "reflection" or "symmetric"',
        "",
    ),
    Mistake(
        shapes.OperandShape,
        "affine",
        x(2, 3, 4, 4, transform_matrix=(3, 6)),
        SAMPLING | {"output_height": 4, "output_width": 4},
        "transform_matrix",
        "`affine` takes `transform_matrix` of shape `[2, 6]`, found `[3, 6]`",
        "has type `fp16[3, 6]`",
    ),
    Mistake(
        shapes.WrongAttribute,
        "affine",
        x(2, 3, 4, 4, transform_matrix=(1, 6)),
        SAMPLING | {"output_height": 4, "output_width": 4, "align_corners": False},
        "align_corners",
        "invalid `align_corners` of `affine`: Core ML has only true here",
        "",
        "`resample` takes both",
    ),
]


def layer(sizes: Any, weight: Any, **more: Any) -> dict[str, Any]:
    return {"x": sizes, "weight": weight, **more}


TRANSPOSED = [
    Mistake(
        shapes.ShapeMismatch,
        "conv_transpose",
        layer((1, 3, 4, 4), (8, 3, 2, 2)),
        {},
        "weight",
        "`conv_transpose` weight does not fit the channels of `x`",
        "expected 3 input channels at axis 0, found 8",
        "transpose the weight: `transpose(weight, [1, 0, 2, 3])`",
    ),
    Mistake(
        shapes.IndivisibleGroups,
        "conv_transpose",
        layer((1, 3, 4, 4), (3, 3, 2, 2)),
        {"groups": 2},
        "groups",
        "`conv_transpose` cannot divide 3 input channels into 2 groups",
        "does not divide 3",
    ),
    Mistake(
        shapes.OperandShape,
        "conv_transpose",
        layer((1, 3, 4, 4), (3, 5, 2, 2), bias=(3,)),
        {},
        "bias",
        "`conv_transpose` takes `bias` of shape `[5]`, found `[3]`",
        "has type `fp16[3]`",
    ),
    Mistake(
        shapes.TransposedShape,
        "conv_transpose",
        layer((1, 3, 4, 4), (3, 5, 2, 2)),
        {"strides": (2, 2), "output_shape": (1, 5, 8, 10)},
        "output_shape",
        "`conv_transpose` cannot give size 10 at axis 3",
        "a convolution of it gives 5 positions there, `x` has 4",
        "sizes 8 to 9 fit",
    ),
    Mistake(
        shapes.TransposedShape,
        "conv_transpose",
        layer((1, 3, 4, 4), (3, 5, 2, 2)),
        {"strides": (3, 3), "pad_type": "same", "output_shape": (1, 5, 9, 10)},
        "output_shape",
        "`conv_transpose` cannot give size 9 at axis 2",
        "a convolution of it gives 3 positions there, `x` has 4",
        "sizes 10 to 12 fit",
    ),
    Mistake(
        shapes.WrongAttribute,
        "conv_transpose",
        layer((1, 3, 4, 4), (3, 5, 2, 2)),
        {"output_shape": (1, 3, 5, 5)},
        "output_shape",
        "invalid `output_shape` of `conv_transpose`: expected 5 at axis 1, the channels, found 3",
        "",
    ),
    Mistake(
        shapes.WrongAttribute,
        "conv_transpose",
        layer((1, 3, 1, 4), (3, 5, 2, 2)),
        {"pad_type": "custom", "pad": (1, 1, 0, 0)},
        "pad",
        "invalid `pad` of `conv_transpose`: nothing is left at axis 2",
        "",
    ),
]

MISTAKES = [*POOLS, *BLOCKS, *SIZES, *SAMPLES, *TRANSPOSED]
