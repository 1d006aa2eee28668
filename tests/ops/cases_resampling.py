"""Uses of ops that give the last axes other sizes."""

import torch
from torch.nn import functional

from tests.ops.case import Case, T

X = T((1, 2, 4, 5))


def to(height, width, mode="bilinear", **more):
    """torch's own resizing; a tensor of rank 3 gets a batch for it."""

    def formula(x):
        wide = x if x.ndim == 4 else x[None]
        return functional.interpolate(wide, (height, width), mode=mode, **more).reshape(*x.shape[:-2], height, width)

    return formula


def by(height, width):
    """Sizes from factors; the step between two positions follows from the sizes."""
    return lambda x: functional.interpolate(x, scale_factor=(height, width), mode="bilinear", recompute_scale_factor=True)


def hats(rows, columns):
    """Linear interpolation at positions, as a sum over all elements, each weighted by a hat over it."""

    def weights(positions, size):
        at = torch.tensor(positions, dtype=torch.float64).clamp(0, size - 1)
        return (1 - (at[:, None] - torch.arange(size)).abs()).clamp(min=0)

    return lambda x: weights(rows, x.shape[-2]) @ x @ weights(columns, x.shape[-1]).T


def sizes(height, width):
    return {"target_size_height": height, "target_size_width": width}


def factors(height, width):
    return {"scale_factor_height": height, "scale_factor_width": width}


BY_SIZES = [
    Case("resize_nearest_neighbor", {"x": X}, sizes(8, 10), to(8, 10, "nearest")),
    Case("resize_nearest_neighbor", {"x": T((3, 5, 7))}, sizes(2, 9), to(2, 9, "nearest")),
    Case("resize_bilinear", {"x": X}, {}, lambda x: x[..., :1, :1]),
    Case("resize_bilinear", {"x": X}, sizes(7, 3) | {"sampling_mode": "STRICT_ALIGN_CORNERS"}, to(7, 3, align_corners=True)),
    Case("resize_bilinear", {"x": X}, sizes(7, 3) | {"sampling_mode": "ALIGN_CORNERS"}, to(7, 3, align_corners=True)),
    Case("resize_bilinear", {"x": X}, sizes(1, 9) | {"sampling_mode": "STRICT_ALIGN_CORNERS"}, to(1, 9, align_corners=True)),
    Case(
        "resize_bilinear",
        {"x": X},
        sizes(1, 9) | {"sampling_mode": "ALIGN_CORNERS"},
        hats([1.5], [at / 2 for at in range(9)]),
    ),
    Case("resize_bilinear", {"x": T((2, 4, 5))}, sizes(9, 2) | {"sampling_mode": "UNALIGN_CORNERS"}, to(9, 2)),
    Case(
        "resize_bilinear",
        {"x": T((3, 2, 2))},
        sizes(5, 6) | {"sampling_mode": "DEFAULT"},
        # coremltools documents these positions for 2 elements
        hats([0.0, 0.4, 0.8, 1.0, 1.0], [0.0, 1 / 3, 2 / 3, 1.0, 1.0, 1.0]),
    ),
    Case(
        "resize_bilinear",
        {"x": T((3, 2, 2))},
        sizes(5, 6) | {"sampling_mode": "OFFSET_CORNERS"},
        hats([0.1, 0.3, 0.5, 0.7, 0.9], [(2 * at + 1) / 12 for at in range(6)]),
    ),
    Case(
        "resize_bilinear",
        {"x": T((3, 2, 2))},
        sizes(5, 6) | {"sampling_mode": "UNALIGN_CORNERS"},
        hats([0.0, 0.1, 0.5, 0.9, 1.0], [0.0, 0.0, 1 / 3, 2 / 3, 1.0, 1.0]),
    ),
    Case("resize", {"x": X}, {"shape": (8, 3), "resized_dims": 2}, hats([at / 2 for at in range(8)], [0, 5 / 3, 10 / 3])),
    Case(
        "resize",
        {"x": X},
        {"shape": (1, 0, 9), "resized_dims": 2, "sampling_mode": "UNALIGN_CORNERS"},
        to(4, 9),
    ),
    Case(
        "resize",
        {"x": T((2, 3, 4, 5))},
        {"shape": (7, 3), "resized_dims": 1, "sampling_mode": "STRICT_ALIGN_CORNERS"},
        to(4, 3, align_corners=True),
    ),
    Case(
        "resize",
        {"x": X},
        {"shape": (8, 3), "resized_dims": 2, "interpolation_mode": "NEAREST_NEIGHBOR"},
        to(8, 3, "nearest"),
    ),
    Case(
        "resize",
        {"x": X},
        {"shape": (7, 3), "resized_dims": 2, "interpolation_mode": "NEAREST_NEIGHBOR", "sampling_mode": "UNALIGN_CORNERS"},
        to(7, 3, "nearest-exact"),
    ),
    Case(
        "resize",
        {"x": T((2, 3), "int32", -9, 9)},
        {"shape": (4, 6), "resized_dims": 2, "interpolation_mode": "NEAREST_NEIGHBOR"},
        lambda x: x.repeat_interleave(2, 0).repeat_interleave(2, 1),
    ),
]

BY_FACTORS = [
    Case("upsample_nearest_neighbor", {"x": X}, {}, lambda x: x),
    Case("upsample_nearest_neighbor", {"x": X}, factors(2, 3), to(8, 15, "nearest")),
    Case("upsample_nearest_neighbor", {"x": T((2, 4, 10))}, factors(1.5, 1.4), to(6, 14, "nearest")),
    Case("upsample_bilinear", {"x": X}, {}, lambda x: x),
    Case("upsample_bilinear", {"x": X}, factors(2, 3), to(8, 15, align_corners=True)),
    Case("upsample_bilinear", {"x": X}, factors(2, 1.5) | {"align_corners": False}, to(8, 7)),
    Case("upsample_bilinear", {"x": X}, factors(1.5, 1.3) | {"align_corners": False}, by(1.5, 1.3)),
    Case(
        "upsample_bilinear",
        {"x": X},
        factors(2, 1) | {"align_corners": False, "half_pixel_centers": False},
        hats([at / 2 for at in range(8)], range(5)),
    ),
    Case("upsample_bilinear", {"x": T((3, 4, 5))}, factors(3, 2) | {"half_pixel_centers": False}, to(12, 10, align_corners=True)),
]

CASES = [*BY_SIZES, *BY_FACTORS]
