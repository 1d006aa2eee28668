"""Conversions between float32 and float16 in whole-array steps: two to four times as fast as numpy's own."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

BLOCK = 1 << 15
"""Elements handled at a time, so that what lies between the steps stays in the processor's cache."""

_MAGNITUDE = np.uint32(0x7FFFFFFF)
_NORMAL = np.uint32(0x38800000)  # 2**-14, the least normal float16, in float32's bits
_EXPONENT, _SIGN = np.uint32(0x7F800000), np.uint32(0x80000000)
_ABOVE = np.uint32(13 << 23 | 0x400000)  # added to the bits of a power of two, it makes 1.5 * 2^13 times as much
_LARGE = np.uint32(0x47000000)  # 2**15: from there on numbers may be too large for float16
_LARGEST_HALF = np.float32(65504)
_SHIFT = np.uint32(13)
_HALF_MAGNITUDE, _HALF_SIGN, _HALF_INFINITY = np.uint32(0x7FFF), np.uint32(0x8000), np.uint32(0x7C00)
_SIGN_SHIFT = np.uint32(16)
# The two formats count exponents from 15 and 127. A product with a power of two moves them, subnormal numbers as well.
_UP, _DOWN = np.float32(2.0**112), np.float32(2.0**-112)


def from_half(array: Array) -> Array:
    """A float16 array as float32."""
    given = np.ascontiguousarray(array).reshape(-1)
    if given.size < 256:
        return array.astype(np.float32)
    result = np.empty(given.size, np.float32)
    scratch = np.empty(min(given.size, BLOCK), np.uint32)
    for start in range(0, given.size, BLOCK):
        piece, made = given[start : start + BLOCK], result[start : start + BLOCK]
        bits, sign = made.view(np.uint32), scratch[: piece.size]
        np.copyto(bits, piece.view(np.uint16))
        np.bitwise_and(bits, _HALF_SIGN, out=sign)
        np.bitwise_and(bits, _HALF_MAGNITUDE, out=bits)
        if bits.max() >= _HALF_INFINITY:
            made[:] = piece
            continue
        np.left_shift(bits, _SHIFT, out=bits)
        np.multiply(made, _UP, out=made)
        np.left_shift(sign, _SIGN_SHIFT, out=sign)
        np.bitwise_or(bits, sign, out=bits)
    return result.reshape(array.shape)


def to_half_exactly(array: Array) -> Array:
    """A float32 array whose elements are all float16 numbers, as float16."""
    given = np.ascontiguousarray(array).reshape(-1)
    if given.size < 256:
        return array.astype(np.float16)
    result = np.empty(given.size, np.float16)
    scratch = np.empty((2, min(given.size, BLOCK)), np.uint32)
    for start in range(0, given.size, BLOCK):
        piece = given[start : start + BLOCK]
        work, sign = scratch[0, : piece.size], scratch[1, : piece.size]
        np.multiply(piece, _DOWN, out=work.view(np.float32))
        np.right_shift(work, _SIGN_SHIFT, out=sign)
        np.bitwise_and(sign, _HALF_SIGN, out=sign)
        np.bitwise_and(work, _MAGNITUDE, out=work)
        np.right_shift(work, _SHIFT, out=work)
        if work.max() >= _HALF_INFINITY:
            result[start : start + BLOCK] = piece
            continue
        np.bitwise_or(work, sign, out=result[start : start + BLOCK].view(np.uint16), casting="unsafe")
    return result.reshape(array.shape)


def round_to_half(array: Array, *, in_place: bool = False) -> Array:
    """A float32 array with every element rounded to the nearest float16 (ties to even), as float32.

    `in_place` gives the array's own memory back, where it can be used.
    """
    array = np.ascontiguousarray(array)
    with np.errstate(over="ignore", invalid="ignore"):
        if array.size < 256:
            return array.astype(np.float16).astype(np.float32)
        result = array if in_place and array.flags.writeable else np.empty(array.shape, np.float32)
        given, made = array.reshape(-1), result.reshape(-1)
        scratch = np.empty((2, min(given.size, BLOCK)), np.uint32)
        for start in range(0, given.size, BLOCK):
            _round_block(given[start : start + BLOCK], made[start : start + BLOCK], scratch)
    return result


def _round_block(given: Array, made: Array, scratch: Array) -> None:
    """Adds 1.5 * 2^13 times a number's power of two and takes it away again: what lies below float16's last place is lost,
    correctly rounded. Below 2^-14 the last place stays the same, as it does for subnormal numbers."""
    bits, work, sign = given.view(np.uint32), scratch[0, : given.size], scratch[1, : given.size]
    np.bitwise_and(bits, _SIGN, out=sign)
    np.bitwise_and(bits, _EXPONENT, out=work)
    large = None
    if work.max() >= _LARGE:
        where = np.flatnonzero(~(np.abs(given) < _LARGEST_HALF))
        large = where, given[where].astype(np.float16)
    np.maximum(work, _NORMAL, out=work)
    np.add(work, _ABOVE, out=work)
    np.add(given, work.view(np.float32), out=made)
    np.subtract(made, work.view(np.float32), out=made)
    # A negative number that is rounded to zero keeps its sign.
    np.bitwise_or(made.view(np.uint32), sign, out=made.view(np.uint32))
    if large is not None:
        made[large[0]] = large[1]
