"""Uses of `matmul`, `linear`, `einsum` and `conv`."""

import torch
from torch.nn import functional

from tests.ops.case import Case, T


def product(transpose_x=False, transpose_y=False):
    return lambda x, y: (x.mT if transpose_x else x) @ (y.mT if transpose_y else y)


CASES = [
    Case("matmul", {"x": T((3, 4)), "y": T((4, 5))}, {}, product()),
    Case("matmul", {"x": T((4,)), "y": T((4, 5))}, {}, product()),
    Case("matmul", {"x": T((1, 2, 3, 4)), "y": T((1, 2, 5, 4))}, {"transpose_y": True}, product(False, True)),
    Case("matmul", {"x": T((2, 4, 3)), "y": T((2, 4, 5))}, {"transpose_x": True}, product(True)),
    Case("matmul", {"x": T((4, 3)), "y": T((5, 4))}, {"transpose_x": True, "transpose_y": True}, product(True, True)),
    Case("matmul", {"x": T((2, 1, 3, 4)), "y": T((6, 4, 2))}, {}, product()),
    Case("matmul", {"x": T((3, 4)), "y": T((2, 1, 3, 4, 2))}, {}, product()),
    Case("matmul", {"x": T((2, 3), "int32", -9, 9), "y": T((3, 2), "int32", -9, 9)}, {}, product()),
    Case("linear", {"x": T((3, 4)), "weight": T((5, 4), const=True)}, {}, functional.linear),
    Case("linear", {"x": T((2, 3, 4)), "weight": T((5, 4), const=True), "bias": T((5,), const=True)}, {}, functional.linear),
    Case("linear", {"x": T((4,)), "weight": T((2, 4), const=True), "bias": T((2,), const=True)}, {}, functional.linear),
    Case(
        "linear",
        {"x": T((2, 3), "int32", -9, 9), "weight": T((4, 3), "int32", -9, 9, const=True)},
        {},
        lambda x, w: x @ w.T,
    ),
    Case(
        "einsum",
        {"values": (T((2, 3, 4, 5)), T((2, 5, 4, 6)))},
        {"equation": "nchw,nwhu->nchu"},
        lambda v: torch.einsum("nchw,nwhu->nchu", *v),
    ),
    Case(
        "einsum",
        {"values": (T((3, 2, 4)), T((4, 2, 5)))},
        {"equation": "abc,cbd->abd"},
        lambda v: torch.einsum("abc,cbd->abd", *v),
    ),
    Case(
        "einsum",
        {"values": (T((1, 3, 4, 5)), T((2, 5, 1, 6)))},
        {"equation": "bihj,bjho->biho"},
        lambda v: torch.einsum("bihj,bjho->biho", v[0].expand(2, 3, 4, 5), v[1].expand(2, 5, 4, 6)),
    ),
]

CONVOLUTIONS = {3: functional.conv1d, 4: functional.conv2d, 5: functional.conv3d}


def conv(x, weight, *, bias=False, pad=None, **attributes):
    """`pad` is what torch is told to pad: the last axis first."""

    def formula(x, weight, bias=None):
        margins = pad or (0,) * (2 * (x.ndim - 2))
        options = {"stride" if k == "strides" else "dilation": v for k, v in attributes.items() if k in ("strides", "dilations")}
        padded = functional.pad(x, margins)
        return CONVOLUTIONS[x.ndim](padded, weight, bias, groups=attributes.get("groups", 1), **options)

    operands = {"x": T(x), "weight": T(weight)}
    if bias:
        operands["bias"] = T(weight[:1])
    return Case("conv", operands, attributes, formula)


def custom(pad):
    """MIL's `pad` begins with the first spatial axis, torch's with the last."""
    pairs = [pad[at : at + 2] for at in range(0, len(pad), 2)]
    return {"pad_type": "custom"}, tuple(n for pair in reversed(pairs) for n in pair)


def conv_custom(x, weight, pad, **attributes):
    more, torch_pad = custom(pad)
    case = conv(x, weight, pad=torch_pad, **more, **attributes)
    return case._replace(attributes={**case.attributes, "pad": pad})


CASES += [
    # 1x1: linear layers, the daily use.
    conv((1, 6, 1, 8), (4, 6, 1, 1)),
    conv((1, 6, 1, 8), (4, 6, 1, 1), bias=True),
    conv((2, 6, 3, 4), (4, 3, 1, 1), groups=2, bias=True),
    conv((1, 6, 5, 6), (4, 6, 1, 1), strides=(2, 3)),
    # Kernels, strides, dilations and groups in one, two and three spatial axes.
    conv((2, 3, 9), (4, 3, 3)),
    conv((1, 4, 11), (6, 2, 3), groups=2, strides=(2,), dilations=(3,), bias=True),
    conv((1, 3, 6, 7), (4, 3, 3, 2), bias=True),
    conv((1, 4, 7, 8), (4, 1, 3, 3), groups=4),
    conv((1, 2, 9, 9), (3, 2, 3, 2), strides=(2, 1), dilations=(2, 4)),
    conv((1, 2, 4, 5, 4), (3, 2, 2, 3, 2), strides=(1, 2, 1), bias=True),
    # Paddings: `same` keeps ceil(size / stride) positions, an odd zero at the end, or at the beginning with `same_lower`.
    conv((1, 2, 6, 7), (3, 2, 3, 3), pad_type="same", pad=(1, 1, 1, 1)),
    conv((1, 2, 6, 7), (3, 2, 2, 4), pad_type="same", pad=(1, 2, 0, 1)),
    conv((1, 2, 6, 7), (3, 2, 2, 4), pad_type="same_lower", pad=(2, 1, 1, 0)),
    conv((1, 2, 6, 7), (3, 2, 3, 3), pad_type="same", strides=(2, 2), pad=(1, 1, 0, 1)),
    conv((1, 2, 8), (3, 2, 3), pad_type="same", dilations=(2,), pad=(2, 2)),
    conv((1, 2, 5), (3, 2, 1), pad_type="same", strides=(3,)),
    conv((1, 2, 6), (3, 2, 3), pad_type="valid"),
    conv_custom((1, 2, 5, 6), (3, 2, 3, 3), (1, 0, 2, 3)),
    conv_custom((1, 2, 5), (3, 2, 3), (1, 2), strides=(2,)),
    conv_custom((1, 2, 3, 3, 3), (2, 2, 2, 2, 2), (1, 0, 0, 1, 1, 1)),
]
