"""Activations: elementwise functions with MIL ops of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from anedsl.ops import special
from anedsl.ops.call import Call
from anedsl.ops.checks import need_choice, need_rank, need_shape
from anedsl.ops.elementwise import unary
from anedsl.ops.record import FLOAT, Array, Attribute, Op, Operand
from anedsl.ops.rules import same_as_x
from anedsl.ops.special import Reference, keeping
from anedsl.types import TensorType

GELU_MODES = ("EXACT", "TANH_APPROXIMATION", "SIGMOID_APPROXIMATION")
CHANNELS = "the channels are axis 1: `[batch, channels, 1, positions]`"


def constant(name: str, doc: str) -> Attribute:
    """A required number in the element type of `x`."""
    return Attribute(name, "float", doc=doc, domain=FLOAT)


def activation(name: str, reference: Reference, doc: str, *constants: Attribute, **more: Any) -> Op:
    """An activation of `x` with constants; `more` are further fields of the record."""
    return unary(name, reference, doc, attributes=constants, family="activation", **more)


def per_channel(name: str, reference: Reference, doc: str, infer: Callable[[Call], TensorType], *constants: Operand) -> Op:
    """An activation whose constants have one number a channel."""
    return Op(
        name,
        doc,
        operands=(Operand("x", FLOAT), *constants),
        infer=infer,
        reference=keeping(reference),
        example=f"y = {name}(x, {', '.join(f'{c.name} = {c.name}' for c in constants)})",
        family="activation",
    )


def channel_constant(name: str, doc: str) -> Operand:
    return Operand(name, FLOAT, doc, const=True)


def _relu6(x: Array) -> Array:
    return np.clip(x, 0, 6)


def _leaky_relu(x: Array, *, alpha: float) -> Array:
    return np.where(x >= 0, x, alpha * x)


def _clamped_relu(x: Array, *, alpha: float, beta: float) -> Array:
    return np.minimum(beta, np.where(x >= 0, x, alpha * x))


def _thresholded_relu(x: Array, *, alpha: float) -> Array:
    return np.where(x < alpha, 0, x)


def _elu(x: Array, *, alpha: float) -> Array:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _gelu(x: Array, *, mode: str) -> Array:
    # `1 + erf` and `1 + tanh` cancel for negative x; erfc and sigmoid do not.
    if mode == "EXACT":
        return 0.5 * x * special.erfc(-x * np.sqrt(0.5))
    if mode == "TANH_APPROXIMATION":
        return x * special.sigmoid(2 * np.sqrt(2 / np.pi) * (x + 0.044715 * x * x * x))
    return x * special.sigmoid(1.702 * x)


def _silu(x: Array) -> Array:
    return x * special.sigmoid(x)


def _sigmoid_hard(x: Array, *, alpha: float, beta: float) -> Array:
    return np.clip(alpha * x + beta, 0, 1)


def _scaled_tanh(x: Array, *, alpha: float, beta: float) -> Array:
    return np.asarray(alpha * np.tanh(beta * x))


def _softsign(x: Array) -> Array:
    return np.asarray(x / (1 + np.abs(x)))


def _linear_activation(x: Array, *, alpha: float, beta: float) -> Array:
    return alpha * x + beta


def _along_channels(constant: Array, x: Array) -> Array:
    """Numbers of channels, shaped to broadcast with `x` at axis 1."""
    return constant.reshape(-1, *(1,) * (x.ndim - 2))


def _prelu(x: Array, alpha: Array) -> Array:
    return np.where(x > 0, x, _along_channels(alpha, x) * x)


def _softplus_parametric(x: Array, alpha: Array, beta: Array) -> Array:
    return _along_channels(alpha, x) * special.softplus(_along_channels(beta, x) * x)


def _prelu_type(call: Call) -> TensorType:
    need_rank(call, "x", 3, 5, CHANNELS)
    return _with_channels(call, "alpha")


def _softplus_parametric_type(call: Call) -> TensorType:
    need_rank(call, "x", 3, advice=CHANNELS)
    return _with_channels(call, "alpha", "beta")


def _with_channels(call: Call, *constants: str) -> TensorType:
    """The type of `x`, after a check that each constant has one number a channel."""
    x: TensorType = call["x"]
    for name in constants:
        need_shape(call, name, (x.shape[1],), "it has one number for each channel of `x` (axis 1)")
    return x


def _gelu_type(call: Call) -> TensorType:
    need_choice(call, "mode")
    return same_as_x(call)


_SLOPE = constant("alpha", "the slope for negative `x`")

OPS = (
    activation("relu", lambda x: np.maximum(x, 0), "The rectifier `max(x, 0)`."),
    activation("relu6", _relu6, "The rectifier that ends at 6: `min(max(x, 0), 6)`."),
    activation(
        "leaky_relu", _leaky_relu, "`x if x >= 0 else alpha * x`.", _SLOPE,
        example="y = leaky_relu(x, alpha = 0.01)",
    ),
    activation(
        "clamped_relu", _clamped_relu, "A leaky rectifier with an upper end: `min(beta, x if x >= 0 else alpha * x)`.",
        _SLOPE, constant("beta", "the upper end"),
        example="y = clamped_relu(x, alpha = 0, beta = 6)",
    ),
    activation(
        "thresholded_relu", _thresholded_relu, "`x if x >= alpha else 0`.", constant("alpha", "the threshold"),
        example="y = thresholded_relu(x, alpha = 1)",
    ),
    per_channel(
        "prelu", _prelu,
        "A leaky rectifier with a slope for each channel: `x if x > 0 else alpha * x`. Only at rank 4 may the slopes differ.",
        _prelu_type,
        channel_constant("alpha", "the slopes for negative `x`, `[channels]`"),
    ),
    activation(
        "elu", _elu, "The exponential linear unit `x if x > 0 else alpha * (exp(x) - 1)`.",
        constant("alpha", "`-alpha` is the limit for large negative `x`"),
        example="y = elu(x, alpha = 1)",
    ),
    activation(
        "gelu", _gelu,
        "The Gaussian error linear unit `0.5 * x * (1 + erf(x / sqrt(2)))`, or an approximation of it: "
        "`0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))` or `x * sigmoid(1.702 * x)`.",
        Attribute("mode", "string", "EXACT", "which formula", choices=GELU_MODES),
        infer=_gelu_type,
        example='y = gelu(x, mode = "TANH_APPROXIMATION")',
    ),
    activation("sigmoid", special.sigmoid, "The logistic function `1 / (1 + exp(-x))`."),
    activation("silu", _silu, "The sigmoid linear unit `x * sigmoid(x)`."),
    activation(
        "sigmoid_hard", _sigmoid_hard, "A sigmoid of straight lines: `min(max(alpha * x + beta, 0), 1)`.",
        constant("alpha", "the slope"), constant("beta", "the value at 0"),
        example="y = sigmoid_hard(x, alpha = 0.2, beta = 0.5)",
    ),
    activation(
        "scaled_tanh", _scaled_tanh, "`alpha * tanh(beta * x)`.",
        constant("alpha", "scales the result"), constant("beta", "scales `x`"),
        example="y = scaled_tanh(x, alpha = 1.7159, beta = 0.6667)",
    ),
    activation("softplus", special.softplus, "The smooth rectifier `log(1 + exp(x))`."),
    per_channel(
        "softplus_parametric", _softplus_parametric,
        "A smooth rectifier with constants for each channel: `alpha * log(1 + exp(beta * x))`.", _softplus_parametric_type,
        channel_constant("alpha", "scales the result, `[channels]`"), channel_constant("beta", "scales `x`, `[channels]`"),
    ),
    activation("softsign", _softsign, "`x / (1 + |x|)`."),
    activation(
        "linear_activation", _linear_activation, "The straight line `alpha * x + beta`.",
        constant("alpha", "the slope"), constant("beta", "the value at 0"),
        example="y = linear_activation(x, alpha = 2, beta = 1)",
    ),
)  # fmt: skip
