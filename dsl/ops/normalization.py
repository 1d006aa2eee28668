"""Normalisations with fixed and with computed statistics."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from anedsl.ops.call import Call, normal_axes
from anedsl.ops.checks import need_least, need_rank, need_shape, wrong_attribute
from anedsl.ops.record import FLOAT, Array, Attribute, Op, Operand
from anedsl.ops.reduction import all_axes
from anedsl.types import TensorType

FAMILY = "normalization"
_PER_CHANNEL = "one number for each channel, axis 1 of `x`"
_GAMMA = Operand("gamma", FLOAT, "The scale; ones by default.", optional=True, const=True)
_BETA = Operand("beta", FLOAT, "The offset; zeros by default.", optional=True, const=True)


def _epsilon(default: float) -> Attribute:
    return Attribute("epsilon", "float", default, "Added before the square root.", domain=FLOAT)


def norm_flops(call: Call, results: Sequence[TensorType]) -> int:
    """About eight operations an element: mean, centred, squared, summed, rooted, divided, scaled and shifted."""
    return 8 * results[0].size


def _channels(array: Array | None, x: Array) -> Array | None:
    """Numbers of each channel, aligned with axis 1."""
    return None if array is None else array.reshape(-1, *(1,) * (x.ndim - 2))


def _scaled(y: Array, gamma: Array | None, beta: Array | None) -> Array:
    if gamma is not None:
        y = y * gamma
    return y if beta is None else y + beta


def _centred(x: Array, axes: tuple[int, ...], epsilon: float) -> Array:
    """Mean 0 and variance 1 over some axes."""
    difference = x - np.mean(x, axis=axes, keepdims=True)
    variance = np.mean(np.square(difference), axis=axes, keepdims=True)
    return np.asarray(difference / np.sqrt(variance + x.dtype.type(epsilon)))


def _check_channels(call: Call, x: TensorType, *operands: str) -> TensorType:
    for operand in operands:
        need_shape(call, operand, x.shape[1:2], _PER_CHANNEL)
    return x


def _batch_norm(call: Call) -> TensorType:
    return _check_channels(call, need_rank(call, "x", 3, 5), "mean", "variance", "gamma", "beta")


@np.errstate(all="ignore")
def _batch_normed(x: Array, mean: Array, variance: Array, gamma: Array | None, beta: Array | None, *, epsilon: float) -> Array:
    mean, variance = (array.reshape(-1, *(1,) * (x.ndim - 2)) for array in (mean, variance))
    y = np.asarray((x - mean) / np.sqrt(variance + x.dtype.type(epsilon)))
    return _scaled(y, _channels(gamma, x), _channels(beta, x))


def _instance_norm(call: Call) -> TensorType:
    return _check_channels(call, need_rank(call, "x", 3, 4), "gamma", "beta")


@np.errstate(all="ignore")
def _instance_normed(x: Array, gamma: Array | None, beta: Array | None, *, epsilon: float) -> Array:
    return _scaled(_centred(x, tuple(range(2, x.ndim)), epsilon), _channels(gamma, x), _channels(beta, x))


def _layer_norm(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    given = tuple(call.attributes["axes"])
    if not given:
        wrong_attribute(call, "axes", "no axis to normalise", advice="leave `axes` out to normalise over all of them")
    axes = tuple(sorted(normal_axes(call, "axes", given, x)))
    call.attributes["axes"] = axes
    sizes = tuple(x.shape[axis] for axis in axes)
    if call.types.get("beta") is not None and call.types.get("gamma") is None:
        # coremltools fails on such a program when it reads it.
        from anedsl.diagnostics.shapes import NeedsCompanion

        call.fail("beta", NeedsCompanion, op="layer_norm", operand="beta", companion="gamma", advice="a weight of ones")
    for operand in ("gamma", "beta"):
        need_shape(call, operand, sizes, "the sizes of the axes that are normalised")
    return x


@np.errstate(all="ignore")
def _layer_normed(x: Array, gamma: Array | None, beta: Array | None, *, axes: tuple[int, ...], epsilon: float) -> Array:
    shape = [dim if axis in axes else 1 for axis, dim in enumerate(x.shape)]
    gamma, beta = (None if array is None else array.reshape(shape) for array in (gamma, beta))
    return _scaled(_centred(x, axes, epsilon), gamma, beta)


def _l2_norm(call: Call) -> TensorType:
    return need_rank(call, "x", 3)


@np.errstate(all="ignore")
def _l2_normed(x: Array, *, epsilon: float) -> Array:
    squares = np.sum(np.square(x), axis=(-3, -2, -1), keepdims=True)
    return np.asarray(x / np.sqrt(squares + x.dtype.type(epsilon)))


def _local_response_norm(call: Call) -> TensorType:
    x = need_rank(call, "x", 3, 4)
    need_least(call, "size", 1)
    return x


@np.errstate(all="ignore")
def _response_normed(x: Array, *, size: int, alpha: float, beta: float, k: float) -> Array:
    """Channel c is divided by a sum over the channels from c - size // 2 on, `size` of them."""
    margins = [(0, 0)] * x.ndim
    margins[1] = (size // 2, (size - 1) // 2)
    squares = np.pad(np.square(x), margins)
    channels = x.shape[1]
    total = sum((squares[:, at : at + channels] for at in range(size)), np.zeros_like(x))
    number = x.dtype.type
    return np.asarray(x / (number(k) + number(alpha / size) * total) ** number(beta))


def _norm(
    name: str, infer: object, reference: object, doc: str, example: str, operands: tuple[Operand, ...], *attributes: Attribute
) -> Op:
    return Op(
        name,
        doc,
        operands=(Operand("x", FLOAT), *operands),
        infer=infer,  # type: ignore[arg-type]
        reference=reference,  # type: ignore[arg-type]
        attributes=attributes,
        flops=norm_flops,
        example=example,
        family=FAMILY,
    )


OPS = (
    _norm(
        "batch_norm",
        _batch_norm,
        _batch_normed,
        "Each channel shifted and scaled by given statistics: `gamma * (x - mean) / sqrt(variance + epsilon) + beta`.",
        "y = batch_norm(x, mean = m, variance = v)",
        (
            Operand("mean", FLOAT, "`[channels]`", const=True),
            Operand("variance", FLOAT, "`[channels]`", const=True),
            _GAMMA,
            _BETA,
        ),
        _epsilon(1e-5),
    ),
    _norm(
        "instance_norm",
        _instance_norm,
        _instance_normed,
        "Each channel of each sample brought to mean 0 and variance 1 over its spatial axes, then scaled and shifted.",
        "y = instance_norm(x, gamma = g, beta = b)",
        (_GAMMA, _BETA),
        _epsilon(1e-5),
    ),
    _norm(
        "layer_norm",
        _layer_norm,
        _layer_normed,
        "Mean 0 and variance 1 over some axes: `gamma * (x - mean(x)) / sqrt(variance(x) + epsilon) + beta`.",
        "y = layer_norm(x, axes = [-1], gamma = g)",
        (_GAMMA, _BETA),
        Attribute("axes", "ints", all_axes, "The axes to normalise over; all of them by default."),
        _epsilon(1e-5),
    ),
    _norm(
        "l2_norm",
        _l2_norm,
        _l2_normed,
        "Divides by the Euclidean norm over the last three axes: `x / sqrt(sum(x * x) + epsilon)`.",
        "y = l2_norm(x)",
        (),
        _epsilon(1e-6),
    ),
    _norm(
        "local_response_norm",
        _local_response_norm,
        _response_normed,
        "Divides by a power of the squares of neighbouring channels: `x / (k + alpha / size * sum(x * x)) ** beta`.",
        "y = local_response_norm(x, size = 5)",
        (),
        Attribute("size", "int", doc="How many neighbouring channels."),
        Attribute("alpha", "float", 1e-4, "The weight of the squares.", domain=FLOAT),
        Attribute("beta", "float", 0.75, "The exponent.", domain=FLOAT),
        Attribute("k", "float", 1.0, "Added to the weighted squares.", domain=FLOAT),
    ),
)
