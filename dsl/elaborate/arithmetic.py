"""Compile-time arithmetic: Python's, within limits."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from anedsl.diagnostics import Failure
from anedsl.diagnostics.base import Diagnostic
from anedsl.elaborate.values import ConstTensor, describe, is_number
from anedsl.ops.call import MAX_CONST_ELEMENTS, MAX_RANK
from anedsl.source import Span
from anedsl.types import DType

MAX_BITS = 4096
"""How large an integer may grow between operations."""
MAX_SEQUENCE = 1_000_000

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "@": operator.matmul, "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def binary(symbol: str, left: Any, right: Any, span: Span) -> Any:
    """The result of an operator on two compile-time values; a 0217 or 0218 diagnostic at `span` where there is none."""
    if isinstance(left, ConstTensor) or isinstance(right, ConstTensor):
        return _tensors(symbol, left, right, span)
    if is_number(left) and is_number(right):
        return _numbers(symbol, left, right, span)
    if symbol in ("==", "!=") and type(left) is type(right) and isinstance(left, (bool, str, DType, tuple)):
        return OPERATORS[symbol](left, right)
    if symbol == "+" and isinstance(left, str) and isinstance(right, str):
        _check_length(len(left) + len(right), "characters in one string", span)
        return left + right
    if symbol == "+" and isinstance(left, tuple) and isinstance(right, tuple):
        _check_length(len(left) + len(right), "values in one list", span)
        return left + right
    raise _invalid(span, f"`{symbol}` does not apply to {describe(left)} and {describe(right)}")


def _check_length(length: int, what: str, span: Span) -> None:
    if length > MAX_SEQUENCE:
        from anedsl.diagnostics.names import ProgramTooLarge

        raise Failure(ProgramTooLarge(span=span, limit=MAX_SEQUENCE, what=what))


def _numbers(symbol: str, left: Any, right: Any, span: Span) -> Any:
    if symbol == "@":
        raise _invalid(span, "`@` multiplies matrices, not numbers", advice="write `*`")
    if isinstance(left, int) and isinstance(right, int):
        _check_growth(symbol, left, right, span)
    try:
        result = OPERATORS[symbol](left, right)
    except ZeroDivisionError:
        raise _invalid(span, "division by zero") from None
    except OverflowError:
        raise _invalid(span, "the result is too large for a number") from None
    if isinstance(result, complex):
        raise _invalid(span, f"{left} ** {right} is not a real number")
    return finite(result, span) if isinstance(result, float) else result


def _check_growth(symbol: str, left: int, right: int, span: Span) -> None:
    """Refuses a product or power that would not fit `MAX_BITS`, before it is computed."""
    bits = 0
    if symbol == "*":
        bits = left.bit_length() + right.bit_length()
    elif symbol == "**" and right > 0 and abs(left) > 1:
        bits = left.bit_length() * right
    elif symbol == "**" and right < 0 and left != 0:
        bits = max(left.bit_length() - MAX_BITS, 0)
    if bits > MAX_BITS:
        from anedsl.diagnostics.names import IntegerTooLarge

        raise Failure(IntegerTooLarge(span=span, detail=f"the result has up to {bits} bits; the limit is {MAX_BITS}"))


def _tensors(symbol: str, left: Any, right: Any, span: Span) -> ConstTensor:
    a, b = _array(left, span, symbol), _array(right, span, symbol)
    # Divisions and negative powers leave the integers, as in Python.
    if symbol == "**" and a.dtype.kind in "iu" and b.dtype.kind in "iu" and (b < 0).any():
        a = a.astype(np.float64)
    try:
        shape = np.broadcast_shapes(a.shape, b.shape) if symbol != "@" else _product_shape(a.shape, b.shape)
        check_size(shape, span)
        with np.errstate(all="ignore"):
            return ConstTensor(np.asarray(OPERATORS[symbol](a, b)))
    except (ValueError, TypeError):
        raise _invalid(span, f"shapes {list(a.shape)} and {list(b.shape)} do not fit `{symbol}`") from None


def _product_shape(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a matrix product; vectors are refused by numpy itself where they do not fit."""
    if len(a) < 2 or len(b) < 2:
        return ()
    return (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])


def product_cost(left: Any, right: Any) -> int:
    """What `left @ right` takes, in elements of other operations; 0 where it is refused anyhow."""
    if not (isinstance(left, ConstTensor) and isinstance(right, ConstTensor)):
        return 0
    a, b = left.array, right.array
    columns = b.shape[-1] if b.ndim > 1 else 1
    if a.ndim == 0 or a.shape[-1] == 0 or a.size // a.shape[-1] * columns > MAX_CONST_ELEMENTS:
        return 0
    return work(2 * a.size * columns, integral=a.dtype.kind == b.dtype.kind == "i")


def work(flops: int, *, integral: bool) -> int:
    """Operations of a matrix product in elements of other operations. Nothing is fast with integers."""
    return flops // (2 if integral else 64)


def _array(value: Any, span: Span, symbol: str) -> Any:
    if isinstance(value, ConstTensor):
        return value.array
    if isinstance(value, (bool, int, float)):
        return number_array(value, span)
    raise _invalid(span, f"`{symbol}` does not apply to a compile-time tensor and {describe(value)}")


def number_array(value: bool | int | float, span: Span) -> Any:
    """A number as an array of rank 0 in bool, int64 or float64."""
    if isinstance(value, int) and not isinstance(value, bool):
        check_integer(value, span)
    return np.asarray(value, dtype=np.bool_ if isinstance(value, bool) else np.int64 if isinstance(value, int) else np.float64)


def check_integer(value: int, span: Span, bits: int = 64) -> int:
    """The integer, if it fits `bits` as a signed number."""
    if not -(1 << (bits - 1)) <= value < (1 << (bits - 1)):
        from anedsl.diagnostics.names import IntegerTooLarge

        raise Failure(IntegerTooLarge(span=span, detail=f"needs {value.bit_length() + 1} bits; the limit here is {bits}"))
    return value


def finite(value: int | float, span: Span) -> float:
    """The number as a float, if it has a finite one."""
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise _invalid(span, "the number is too large", detail="is not finite in double precision")
    return found


def check_rank(rank: int, span: Span) -> None:
    """Refuses a tensor of more axes than any machine takes."""
    if rank > MAX_RANK:
        from anedsl.diagnostics.names import InvalidDimension

        raise Failure(InvalidDimension(span=span, problem=f"a tensor has at most {MAX_RANK} axes", found=f"a list of {rank}"))


def check_size(shape: tuple[int, ...], span: Span) -> None:
    """Refuses a compile-time tensor that would not fit in memory, before it is made."""
    count = 1
    for dim in shape:
        count *= dim
    if count > MAX_CONST_ELEMENTS:
        from anedsl.diagnostics.shapes import TensorTooLarge

        raise Failure(TensorTooLarge(span=span, type=str(list(shape)), count=count, limit=MAX_CONST_ELEMENTS))


def negative(value: Any, span: Span) -> Any:
    if isinstance(value, ConstTensor):
        return ConstTensor(-value.array) if value.array.dtype != np.bool_ else binary("-", 0, value, span)
    if is_number(value):
        return -value
    raise _invalid(span, f"`-` does not apply to {describe(value)}")


def _invalid(span: Span, problem: str, advice: str | None = None, detail: str | None = "") -> Failure:
    from anedsl.diagnostics.names import InvalidOperation

    diagnostic: Diagnostic = InvalidOperation(span=span, problem=problem, detail=detail, advice=advice)
    return Failure(diagnostic)
