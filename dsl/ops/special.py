"""Functions that numpy lacks, or that overflow when written as in a textbook: for the references of ops.

All keep the floating type of their operand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from anedsl.ops.record import Array

Reference = Callable[..., Any]

# Coefficients, lowest power first, from Chebyshev series computed in 60 digits; the first left out is below 1e-17.
# erf(x) / x for x in [0, 1], a polynomial in 2 x^2 - 1:
_CENTRE = (
    0.9654687386698673, -0.1405360890227171, 0.019852496688983708, -0.0022854855611441132, 0.00021751715604160108,
    -1.7537169441124826e-05, 1.223382738352401e-06, -7.51156928660089e-08, 4.11580059766496e-09, -2.035228404899467e-10,
    9.167606746069445e-12, -3.8078827395263415e-13, 1.454817075960679e-14,
)  # fmt: skip
# exp(x^2) erfc(x) for x in [1, 28], a polynomial in (t - 4/15) / 0.6 where t = (x - 2) / (x + 2):
_TAIL = (
    0.15719428104730335, -0.1888196531675544, 0.06526942252026152, -0.015229556143615899, 0.0014973422133497574,
    0.00033722761803766076, -0.00010767030047280742, -1.2282353138154302e-05, 7.320380136393919e-06, 9.89239189407965e-07,
    -5.426555507702741e-07, -1.279862145522964e-07, 3.7225328536404184e-08, 1.7672315532039637e-08, -1.1446055234565416e-09,
    -2.165013206431655e-09, -2.9186605073621264e-10, 1.9911550399204867e-10, 7.34012980600525e-11, -8.494316252043823e-12,
    -7.275076777732812e-12, -4.239627432469639e-13,
)  # fmt: skip
_TAIL_END = 28.0
"""From here on erfc is 0 in float64."""
_PIECE = 1 << 14


def keeping(function: Reference) -> Reference:
    """A reference whose result has the type of its first operand, and that warns of nothing.

    Overflow to infinity and NaN outside of a function's domain are values here, as in the hardware.
    """

    @wraps(function, updated=())
    def reference(first: Array, *others: Any, **attributes: Any) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(first, *others, **attributes)).astype(first.dtype, copy=False)

    return reference


def erf(x: Array) -> Array:
    """The error function, to 4e-16 relative."""
    return _by_piece(_erf, x)


def erfc(x: Array) -> Array:
    """`1 - erf(x)` without cancellation, to 5e-15 relative."""
    return _by_piece(_erfc, x)


def sigmoid(x: Array) -> Array:
    """`1 / (1 + exp(-x))`; exp never sees a positive number."""
    small = np.exp(-np.abs(x))
    result: Array = np.where(x >= 0, 1, small) / (1 + small)
    return result


def softplus(x: Array) -> Array:
    """`log(1 + exp(x))`; exp never sees a positive number."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def to_int32(x: Array, smallest: float = -(2**31), largest: float = 2**31 - 1) -> Array:
    """Floats as int32: the fraction is cut off, what lies outside of the bounds becomes the nearer one, NaN becomes 0."""
    bounded = np.clip(x.astype(np.float64), smallest, largest)
    return np.where(np.isnan(bounded), 0, bounded).astype(np.int32)


def _by_piece(function: Reference, x: Array) -> Array:
    """A float64 function of flat arrays applied to any array, a piece that fits the cache at a time."""
    flat = x.reshape(-1)
    result = np.empty_like(flat)
    for start in range(0, flat.size, _PIECE):
        piece = slice(start, start + _PIECE)
        result[piece] = function(flat[piece].astype(np.float64))
    return result.reshape(x.shape)


def _erf(x: Array) -> Array:
    magnitude = np.abs(x)
    near = magnitude < 1
    far = ~near
    result = np.empty_like(x)
    result[near] = _erf_near(x[near])
    result[far] = np.copysign(1 - _erfc_far(magnitude[far]), x[far])
    return result


def _erfc(x: Array) -> Array:
    magnitude = np.abs(x)
    near = magnitude < 1
    far = ~near
    result = np.empty_like(x)
    result[near] = 1 - _erf_near(x[near])
    tail = _erfc_far(magnitude[far])
    result[far] = np.where(x[far] > 0, tail, 2 - tail)
    return result


def _erf_near(x: Array) -> Array:
    """erf for x between -1 and 1."""
    return x * _polynomial(_CENTRE, 2 * x * x - 1)


def _erfc_far(x: Array) -> Array:
    """erfc for x of at least 1."""
    x = np.minimum(x, _TAIL_END)
    scaled = _polynomial(_TAIL, ((x - 2) / (x + 2) - 4 / 15) / 0.6)
    # x^2 is rounded, and exp would make much of it: square what fits in half the digits, and add the rest.
    high = x.astype(np.float32).astype(np.float64)
    return np.exp(-high * high) * np.exp((high - x) * (high + x)) * scaled


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    result = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        result *= x
        result += coefficient
    return result
