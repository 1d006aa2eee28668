"""Uses of pooling ops and of the transposed convolution."""

import torch
from torch.nn import functional

from tests.ops.case import Case, T

MAX = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}
MEAN = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}
LINE, IMAGE, BODY = T((2, 3, 9)), T((1, 2, 7, 10)), T((1, 2, 5, 6, 4))


def window(sizes, strides=None, pad_type="valid", **more):
    return {"kernel_sizes": sizes, **({} if strides is None else {"strides": strides}), "pad_type": pad_type, **more}


def padded(x, pads, value=0.0):
    """Padded by pairs for the spatial axes, first axis first."""
    flat = [n for pair in reversed(pads) for n in pair]
    return functional.pad(x, flat, value=value)


def largest(sizes, strides, pads):
    return lambda x: MAX[len(sizes)](padded(x, pads, -torch.inf), sizes, strides)


def mean(sizes, strides, pads, exclude=False):
    """The sum of each window, divided by the sum over ones in the same windows."""

    def formula(x):
        ones = padded(torch.ones_like(x), pads, 0.0 if exclude else 1.0)
        return MEAN[len(sizes)](padded(x, pads), sizes, strides) / MEAN[len(sizes)](ones, sizes, strides)

    return formula


def norm(sizes, strides, pads):
    def formula(x):
        squares = MEAN[len(sizes)](padded(x * x, pads), sizes, strides)
        return (squares * torch.tensor(sizes).prod()).sqrt()

    return formula


def transposed(cuts, extra, strides, dilations=1, groups=1):
    """The whole transposed convolution, of which `cuts` are cut off, and zeros added behind; then the bias."""

    def formula(x, weight, bias=None):
        run = {3: functional.conv_transpose1d, 4: functional.conv_transpose2d, 5: functional.conv_transpose3d}[x.ndim]
        whole = run(x, weight, None, strides, 0, 0, groups, dilations)
        whole = padded(whole, [(-before, more - after) for (before, after), more in zip(cuts, extra, strict=True)])
        return whole if bias is None else whole + bias.reshape(-1, *[1] * len(cuts))

    return formula


POOLS = [
    Case("max_pool", {"x": LINE}, window((3,), (2,)), largest((3,), (2,), [(0, 0)])),
    Case("max_pool", {"x": IMAGE}, window((2, 3)), largest((2, 3), (1, 1), [(0, 0)] * 2)),
    Case("max_pool", {"x": BODY}, window((2, 3, 2), (2, 1, 2)), largest((2, 3, 2), (2, 1, 2), [(0, 0)] * 3)),
    Case("max_pool", {"x": IMAGE}, window((3, 3), (2, 3), "same"), largest((3, 3), (2, 3), [(1, 1), (1, 1)])),
    Case("max_pool", {"x": IMAGE}, window((2, 4), (1, 2), "same"), largest((2, 4), (1, 2), [(0, 1), (1, 1)])),
    Case("max_pool", {"x": IMAGE}, window((2, 4), (1, 2), "same_lower"), largest((2, 4), (1, 2), [(1, 0), (1, 1)])),
    Case("max_pool", {"x": IMAGE}, window((3, 3), (1, 2), "custom", pad=(2, 0, 1, 2)), largest((3, 3), (1, 2), [(2, 0), (1, 2)])),
    Case(
        "max_pool",
        {"x": IMAGE},
        window((2, 3), (2, 2), ceil_mode=True),
        lambda x: functional.max_pool2d(x, (2, 3), (2, 2), ceil_mode=True),
    ),
    Case(
        "max_pool",
        {"x": T((1, 2, 6))},
        window((2,), (2,), "custom", pad=(1, 1), ceil_mode=True),
        lambda x: functional.max_pool1d(x, 2, 2, 1, ceil_mode=True),
    ),
    Case("avg_pool", {"x": LINE}, window((4,)), mean((4,), (1,), [(0, 0)])),
    Case("avg_pool", {"x": IMAGE}, window((2, 3), (2, 2)), mean((2, 3), (2, 2), [(0, 0)] * 2)),
    Case("avg_pool", {"x": BODY}, window((2, 2, 3), (1, 2, 1), "same"), mean((2, 2, 3), (1, 2, 1), [(0, 1), (0, 0), (1, 1)])),
    Case(
        "avg_pool",
        {"x": IMAGE},
        window((2, 2), (2, 2), "same_lower", exclude_padding_from_average=True),
        mean((2, 2), (2, 2), [(1, 0), (0, 0)], exclude=True),
    ),
    Case(
        "avg_pool",
        {"x": IMAGE},
        window((3, 4), (2, 3), "custom", pad=(1, 2, 3, 0), exclude_padding_from_average=True),
        mean((3, 4), (2, 3), [(1, 2), (3, 0)], exclude=True),
    ),
    *(
        Case(
            "avg_pool",
            {"x": T(shape)},
            window((3, 2), (2, 2), "custom", pad=(1, 1, 1, 1), ceil_mode=True, exclude_padding_from_average=exclude),
            lambda x, exclude=exclude: functional.avg_pool2d(x, (3, 2), (2, 2), 1, True, not exclude),
        )
        for shape in ((1, 2, 6, 7), (1, 2, 7, 6))
        for exclude in (False, True)
    ),
    Case("l2_pool", {"x": LINE}, window((3,), (2,)), lambda x: functional.lp_pool1d(x, 2, 3, 2)),
    Case("l2_pool", {"x": IMAGE}, window((2, 3)), norm((2, 3), (1, 1), [(0, 0)] * 2)),
    Case("l2_pool", {"x": IMAGE}, window((2, 4), (1, 2), "same"), norm((2, 4), (1, 2), [(0, 1), (1, 1)])),
    Case("l2_pool", {"x": IMAGE}, window((2, 4), (1, 2), "same_lower"), norm((2, 4), (1, 2), [(1, 0), (1, 1)])),
    Case("l2_pool", {"x": IMAGE}, window((3, 3), (1, 1), "custom", pad=(1, 0, 2, 1)), norm((3, 3), (1, 1), [(1, 0), (2, 1)])),
    Case(
        "l2_pool",
        {"x": T((1, 2, 6, 7))},
        window((2, 2), (2, 2), ceil_mode=True),
        lambda x: (
            functional.lp_pool2d(x, 2, (2, 2), 2, ceil_mode=True)
            # torch scales a window that ends behind the input as if it were whole
            * torch.tensor([1, 1, 1, 0.5], dtype=torch.float64).sqrt()
        ),
    ),
]


def filters(*shape):
    return T(shape, const=True)


TRANSPOSED = [
    Case("conv_transpose", {"x": T((2, 3, 5)), "weight": filters(3, 4, 3)}, {}, transposed([(0, 0)], [0], 1)),
    Case(
        "conv_transpose",
        {"x": T((1, 3, 4, 5)), "weight": filters(3, 2, 3, 2), "bias": filters(2)},
        {"strides": (2, 3)},
        transposed([(0, 0)] * 2, [0, 0], (2, 3)),
    ),
    Case(
        "conv_transpose",
        {"x": T((1, 4, 3, 4)), "weight": filters(4, 3, 2, 3), "bias": filters(6)},
        {"strides": (1, 2), "dilations": (2, 1), "groups": 2, "pad_type": "custom", "pad": (1, 0, 1, 2)},
        transposed([(1, 0), (1, 2)], [0, 0], (1, 2), (2, 1), 2),
    ),
    Case(
        "conv_transpose",
        {"x": T((1, 2, 3, 4)), "weight": filters(2, 3, 4, 3)},
        {"strides": (2, 2), "pad_type": "same"},
        transposed([(1, 1), (0, 1)], [0, 0], 2),
    ),
    Case(
        "conv_transpose",
        {"x": T((1, 2, 3, 4)), "weight": filters(2, 3, 1, 2)},
        {"strides": (3, 4), "pad_type": "same"},
        transposed([(0, 0), (0, 0)], [2, 2], (3, 4)),
    ),
    Case(
        "conv_transpose",
        {"x": T((1, 2, 3, 4)), "weight": filters(2, 3, 2, 3), "bias": filters(3)},
        {"strides": (2, 3), "output_shape": (1, 3, 7, 14)},
        transposed([(0, 0), (0, 0)], [1, 2], (2, 3)),
    ),
    Case(
        "conv_transpose",
        {"x": T((1, 2, 3, 4)), "weight": filters(2, 3, 3, 3)},
        {"strides": (2, 2), "pad_type": "same", "output_shape": (1, 3, 5, 8)},
        transposed([(1, 1), (0, 1)], [0, 0], 2),
    ),
    Case(
        "conv_transpose",
        {"x": T((1, 2, 3, 4)), "weight": filters(2, 1, 3, 3)},
        {"strides": (2, 2), "pad_type": "custom", "pad": (1, 1, 1, 1), "output_shape": (1, 1, 6, 8)},
        lambda x, w: functional.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
    ),
    Case(
        "conv_transpose",
        {"x": T((1, 2, 2, 3, 2)), "weight": filters(2, 2, 2, 1, 2)},
        {"strides": (2, 1, 1)},
        transposed([(0, 0)] * 3, [0, 0, 0], (2, 1, 1)),
    ),
]

CASES = [*POOLS, *TRANSPOSED]
