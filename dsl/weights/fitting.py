"""Whether an array of a file may stand for a declared weight: shapes, element types, ranges."""

from __future__ import annotations

from anedsl.data import Data
from anedsl.diagnostics import Diagnostic
from anedsl.diagnostics.weights import WeightOutOfRange, WrongWeightDType, WrongWeightShape
from anedsl.source import Span
from anedsl.types import DTYPES, Shape, TensorType
from anedsl.weights.entry import STORED, Entry, shown


def fits(found: Shape, expected: Shape) -> bool:
    """Whether two shapes differ in axes of size 1 only: the numbers then stand in the same order."""
    return _squeezed(found) == _squeezed(expected)


def shape_problem(name: str, type: TensorType, span: Span, entry: Entry, file: str, stack: int | None) -> Diagnostic | None:
    """ANE0402 if an array's shape does not fit. `stack` is the size of the family that the array is to hold."""
    expected = type.shape if stack is None else (stack, *type.shape)
    if fits(entry.shape, expected):
        return None
    rule = f"`W[{stack}]` stacked in one array has the shape {list(expected)}" if stack is not None else None
    return WrongWeightShape(
        span=span,
        name=name,
        expected=str(type),
        found=str(list(entry.shape)),
        file=file,
        array=shown(entry.key),
        rule=rule.replace("W[", name.split("[")[0] + "[", 1) if rule else None,
        advice=_transposed(name, type, entry.shape) if stack is None else None,
    )


def dtype_problem(name: str, type: TensorType, span: Span, entry: Entry, file: str) -> Diagnostic | None:
    """ANE0403 if the declared element type cannot take an array's numbers."""
    given, wanted = STORED[entry.dtype].kind, type.dtype.kind
    numbers = given != "bool" and wanted != "bool"
    if (numbers and (wanted == "float" or given != "float")) or given == wanted:
        return None
    return WrongWeightDType(
        span=span,
        name=name,
        expected=type.dtype.name,
        found=entry.dtype,
        file=file,
        array=shown(entry.key),
        suggested="fp16" if given == "float" else entry.dtype,
    )


def range_problem(name: str, type: TensorType, span: Span, entry: Entry, file: str, data: Data) -> Diagnostic | None:
    """ANE0407 if integers do not fit a narrower integer type. Reads the numbers, but only where they might not fit."""
    dtype = type.dtype
    given = DTYPES.get(entry.dtype)
    if given is None or not (given.is_integer and dtype.is_integer):
        return None
    lowest, highest = int(dtype.smallest), int(dtype.largest)
    if lowest <= given.smallest and given.largest <= highest:
        return None
    bounds = [(int(chunk.min()), int(chunk.max())) for chunk in data.chunks() if chunk.size]
    smallest, largest = min((low for low, _ in bounds), default=0), max((high for _, high in bounds), default=0)
    if lowest <= smallest and largest <= highest:
        return None
    return WeightOutOfRange(
        span=span,
        name=name,
        expected=dtype.name,
        found=given.name,
        lowest=lowest,
        highest=highest,
        smallest=smallest,
        largest=largest,
        file=file,
        array=shown(entry.key),
    )


def _squeezed(shape: Shape) -> Shape:
    return tuple(dim for dim in shape if dim != 1)


def _transposed(name: str, type: TensorType, found: Shape) -> str | None:
    """What to write in the kernel when the file has a matrix the other way round."""
    axes = [axis for axis, dim in enumerate(type.shape) if dim != 1]
    if len(axes) != 2 or _squeezed(found) != _squeezed(type.shape)[::-1]:
        return None
    perm = list(range(type.rank))
    perm[axes[0]], perm[axes[1]] = perm[axes[1]], perm[axes[0]]
    turned = type.with_shape(tuple(type.shape[axis] for axis in perm))
    return f"its transpose fits: declare `{name}: {turned}` and use `transpose({name}, {perm})`"
