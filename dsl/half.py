"""Conversions between float32 and float16 in whole-array steps: three to five times as fast as numpy's own."""

from __future__ import annotations

from functools import cache
from threading import local
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

BLOCK = 1 << 17
"""Elements handled at a time, so that what lies between the steps stays near the processor."""

FEW = 4096
"""Below so many elements numpy's own conversion is faster than a dozen calls."""

_EXPONENT, _SHIFT, _SIGN_SHIFT = np.uint32(0x7F800000), np.uint32(13), np.uint32(16)
_NORMAL = np.uint32(0x38800000)  # 2**-14, the least normal float16, in float32's bits
_LARGE = np.uint32(0x47000000)  # 2**15: from there on numbers may be too large for float16
_RECIPROCAL = np.uint32(264 << 23)  # less the bits of 2**e, those of 2**(10 - e)
_LARGEST_HALF = np.float32(65504)
_SIGNED = np.uint32(0x8FFFE000)  # the bits of a float16, its sign apart, where a left shift by 13 puts them
_HIDDEN = np.uint16((113 << 10) & 0xFFFF)  # what exponent 127 has more than 15, and the mantissa's hidden bit
_HALF_SIGN_SHIFT = np.uint16(15)
_HALF_MAGNITUDE, _HALF_SIGN, _HALF_INFINITY = np.uint16(0x7FFF), np.uint16(0x8000), np.uint16(0x7C00)
# The two formats count exponents from 15 and 127. A product with a power of two moves them, subnormal numbers as well.
_UP, _DOWN = np.float32(2.0**112), np.float32(2.0**-112)


def from_half(array: Array, out: Array | None = None) -> Array:
    """A float16 array as float32; `out` is a contiguous array of that shape and type that may be written into."""
    given = np.ascontiguousarray(array).reshape(-1)
    if given.size < FEW:
        return array.astype(np.float32)
    result = np.empty(array.shape, np.float32) if out is None else out
    flat = result.reshape(-1)
    scratch = _scratch()
    for start in range(0, given.size, BLOCK):
        piece, made = given[start : start + BLOCK], flat[start : start + BLOCK]
        halves, bits = piece.view(np.uint16), made.view(np.uint32)
        if np.bitwise_and(halves, _HALF_MAGNITUDE, out=scratch.halves[: piece.size]).max() >= _HALF_INFINITY:
            made[:] = piece
            continue
        # The signed copy fills the upper half with the sign, of which one bit is kept.
        np.copyto(made.view(np.int32), piece.view(np.int16))
        np.left_shift(bits, _SHIFT, out=bits)
        np.bitwise_and(bits, _SIGNED, out=bits)
        np.multiply(made, _UP, out=made)
    return result


def to_half(array: Array) -> Array:
    """A float32 array as float16, each element rounded to the nearest (ties to even): bit for bit what numpy makes of it."""
    given = np.ascontiguousarray(array).reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        if given.size < FEW:
            return array.astype(np.float16)
        result = np.empty(given.size, np.float16)
        scratch = _scratch()
        for start in range(0, given.size, BLOCK):
            _to_half_block(given[start : start + BLOCK], result[start : start + BLOCK], scratch)
    return result.reshape(array.shape)


class _Scratch(local):
    """Memory for what lies between the steps of one block, kept for each thread: to take it anew costs as much as to use it."""

    def __init__(self) -> None:
        self.bits = np.empty(BLOCK, np.uint32)
        self.numbers = np.empty(BLOCK, np.float32)
        self.halves = np.empty(BLOCK, np.uint16)
        self.signs = np.empty(BLOCK, np.bool_)


@cache
def _scratch() -> _Scratch:
    return _Scratch()


def _to_half_block(given: Array, result: Array, scratch: _Scratch) -> None:
    """The exponent and, rounded to an integer, the mantissa: their sum carries into the exponent where it has to."""
    size = given.size
    bits, numbers, halves, signs = scratch.bits[:size], scratch.numbers[:size], scratch.halves[:size], scratch.signs[:size]
    made = result.view(np.uint16)
    large = _split(given, bits, numbers.view(np.uint32))
    np.multiply(given, numbers, out=numbers)
    np.rint(numbers, out=numbers)
    np.right_shift(bits, _SHIFT, out=bits)
    np.copyto(made, bits, casting="unsafe")
    np.copyto(halves.view(np.int16), numbers, casting="unsafe")
    np.abs(halves.view(np.int16), out=halves.view(np.int16))
    np.add(made, halves, out=made)
    np.subtract(made, _HIDDEN, out=made)
    np.signbit(given, out=signs)
    np.copyto(halves, signs.view(np.uint8))
    np.left_shift(halves, _HALF_SIGN_SHIFT, out=halves)
    np.bitwise_or(made, halves, out=made)
    if large is not None:
        result[large[0]] = large[1]


def _split(given: Array, bits: Array, scale: Array) -> tuple[Array, Array] | None:
    """Lays the exponents of numbers into `bits`, and into `scale` the powers of two that make float16's last place 1.

    Below 2^-14 the last place stays the same, as it does for subnormal numbers. Numbers that may be too large for float16
    are returned: where they are, and as float16.
    """
    np.bitwise_and(given.view(np.uint32), _EXPONENT, out=bits)
    large = None
    if bits.max() >= _LARGE:
        where = np.flatnonzero(~(np.abs(given) < _LARGEST_HALF))
        large = where, given[where].astype(np.float16)
    np.clip(bits, _NORMAL, _EXPONENT, out=bits)
    np.subtract(_RECIPROCAL, bits, out=scale)
    return large


def to_half_exactly(array: Array) -> Array:
    """A float32 array whose elements are all float16 numbers, as float16."""
    given = np.ascontiguousarray(array).reshape(-1)
    if given.size < FEW:
        return array.astype(np.float16)
    result = np.empty(given.size, np.float16)
    scratch = _scratch()
    for start in range(0, given.size, BLOCK):
        piece, made = given[start : start + BLOCK], result[start : start + BLOCK].view(np.uint16)
        bits, sign = scratch.bits[: piece.size], scratch.halves[: piece.size]
        with np.errstate(invalid="ignore"):
            np.multiply(piece, _DOWN, out=bits.view(np.float32))
        np.right_shift(bits, _SHIFT, out=bits)
        np.copyto(made, bits, casting="unsafe")
        np.bitwise_and(made, _HALF_MAGNITUDE, out=made)
        if made.max() >= _HALF_INFINITY:
            result[start : start + BLOCK] = piece
            continue
        np.right_shift(piece.view(np.uint32), _SIGN_SHIFT, out=bits)
        np.copyto(sign, bits, casting="unsafe")
        np.bitwise_and(sign, _HALF_SIGN, out=sign)
        np.bitwise_or(made, sign, out=made)
    return result.reshape(array.shape)


def round_to_half(array: Array, *, in_place: bool = False) -> Array:
    """A float32 array with every element rounded to the nearest float16 (ties to even), as float32.

    `in_place` gives the array's own memory back, where it can be used.
    """
    # Of a number without axes `ascontiguousarray` would make an array with one.
    array = array if array.flags.c_contiguous else np.ascontiguousarray(array)
    with np.errstate(over="ignore", invalid="ignore"):
        if array.size < FEW:
            return array.astype(np.float16).astype(np.float32)
        result = array if in_place and array.flags.writeable else np.empty(array.shape, np.float32)
        given, made = array.reshape(-1), result.reshape(-1)
        scratch = _scratch()
        for start in range(0, given.size, BLOCK):
            piece = given[start : start + BLOCK]
            _round_block(piece, made[start : start + BLOCK], scratch.bits[: piece.size])
    return result


def _round_block(given: Array, made: Array, scale: Array) -> None:
    """Rounds each number, times the power of two that makes float16's last place 1, to an integer."""
    large = _split(given, scale, scale)
    np.multiply(given, scale.view(np.float32), out=made)
    np.rint(made, out=made)
    np.divide(made, scale.view(np.float32), out=made)
    if large is not None:
        made[large[0]] = large[1]
