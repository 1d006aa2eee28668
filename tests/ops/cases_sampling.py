"""Uses of ops that read an image at positions between its elements."""

import torch
from torch.nn import functional

from tests.ops.case import Case, T

X = T((2, 3, 4, 5))
WIDE = T((2, 3, 6, 2), "fp32", -1.9, 1.9)
"""Coordinates inside and outside of the image, where both ends are 1 from its middle."""

TORCH_PADDING = {"constant": "zeros", "border": "border", "reflection": "reflection", "symmetric": "reflection"}


def modes(sampling="bilinear", padding="constant", value=0.0, coordinates="normalized_minus_one_to_one", align=True):
    return {
        "sampling_mode": sampling,
        "padding_mode": padding,
        "padding_value": value,
        "coordinates_mode": coordinates,
        "align_corners": align,
    }


def sampled(sampling="bilinear", padding="constant", value=0.0, coordinates="normalized_minus_one_to_one", align=True):
    """torch mirrors at the borders exactly when corners are not aligned: coordinates are rewritten to fit."""

    def formula(x, places):
        sizes = torch.tensor([x.shape[3], x.shape[2]], dtype=torch.float64)
        if coordinates == "normalized_zero_to_one":
            places = 2 * places - 1
        if coordinates == "unnormalized":
            at = places.double()
        else:
            at = (places + 1) / 2 * (sizes - 1) if align else ((places + 1) * sizes - 1) / 2
        centred = padding != "symmetric"
        grid = 2 * at / (sizes - 1) - 1 if centred else (2 * at + 1) / sizes - 1
        mode = TORCH_PADDING[padding]
        return functional.grid_sample(x - value, grid, mode=sampling, padding_mode=mode, align_corners=centred) + value

    return formula


def transformed(height, width):
    def formula(x, matrix):
        maps = matrix.expand(x.shape[0], 6).reshape(-1, 2, 3)
        grid = functional.affine_grid(maps, [*x.shape[:2], height, width], align_corners=True)
        return functional.grid_sample(x, grid, align_corners=True)

    return formula


CASES = [
    *(
        Case(
            "resample",
            {"x": X, "coordinates": WIDE},
            modes(sampling, padding, align=align),
            sampled(sampling, padding, align=align),
        )
        for sampling in ("bilinear", "nearest")
        for padding in TORCH_PADDING
        for align in (True, False)
    ),
    Case("resample", {"x": X, "coordinates": WIDE}, modes(value=1.5, align=False), sampled(value=1.5, align=False)),
    Case(
        "resample",
        {"x": X, "coordinates": T((2, 3, 6, 2), "fp16", -0.4, 1.4)},
        modes(coordinates="normalized_zero_to_one", padding="border"),
        sampled(coordinates="normalized_zero_to_one", padding="border"),
    ),
    Case(
        "resample",
        {"x": X, "coordinates": T((2, 3, 6, 2), "fp16", -3, 8)},
        modes(coordinates="unnormalized", padding="reflection", align=False),
        sampled(coordinates="unnormalized", padding="reflection", align=False),
    ),
    Case(
        "resample",
        {"x": X, "coordinates": T((2, 3, 6, 2), "int32", -3, 8)},
        modes("nearest", coordinates="unnormalized"),
        sampled("nearest", coordinates="unnormalized"),
    ),
    Case(
        "affine",
        {"x": X, "transform_matrix": T((2, 6))},
        {"output_height": 3, "output_width": 6, **modes()},
        transformed(3, 6),
    ),
    Case(
        "affine",
        {"x": X, "transform_matrix": T((1, 6), low=-0.6, high=0.6)},
        {"output_height": 5, "output_width": 4, **modes()},
        transformed(5, 4),
    ),
]
