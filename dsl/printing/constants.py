"""Which consts are written into expressions, and which are declared as weights."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from anedsl.compression import StoredData
from anedsl.data import Array, ArrayData, Data, FillData, rounded
from anedsl.graph import Node, Value
from anedsl.ops.record import Operand
from anedsl.printing.expression import POSTFIX, UNARY, Text
from anedsl.printing.numbers import nested, number
from anedsl.types import BOOL, FP16, FP64, DType, TensorType

SMALL = 16
"""Elements: a larger const that nobody declared becomes a weight, whose numbers stand beside the text."""


def literals(constants: Iterable[Node], operations: Iterable[Node]) -> dict[Value, Array]:
    """The consts that can be written in expressions, with the numbers that they were given."""
    found: dict[Value, Array] = {}
    for node in constants:
        array = _literal_array(node)
        if array is not None:
            found[node.result] = array
    for node in operations:
        _drop_unplaceable(node, found)
    return found


def _literal_array(node: Node) -> Array | None:
    """The numbers as they were given, in the const's shape."""
    data: Data = node.attributes["val"]
    type = node.result.type
    if "weight" in node.attributes or isinstance(data, StoredData) or type.dtype.kind not in ("float", "int", "uint", "bool"):
        return None
    if isinstance(data, FillData):
        array = np.asarray(data.value)
    elif isinstance(data, ArrayData):
        array = data.array
        if type.size > SMALL and not _is_uniform(array) and not _is_range(array):
            return None
    elif type.size > SMALL or not _in_program(node):
        return None
    else:
        array = np.asarray(data.load())
    if array.size == 0 or (type.dtype.is_float and not np.isfinite(rounded(array, type.dtype)).all()):
        return None
    return np.broadcast_to(array, type.shape) if array.size == 1 else array.reshape(type.shape)


def _in_program(node: Node) -> bool:
    """Whether the numbers are at hand: those of a file, or computed from undecided weights, are not."""
    from anedsl.diagnostics import Failure

    data = node.attributes["val"]
    if hasattr(data, "folder"):
        return False
    try:
        data.load()
    except Failure:
        return False
    return True


def _is_uniform(array: Array) -> bool:
    return array.size > 0 and bool((array == array.reshape(-1)[0]).all())


def _is_range(array: Array) -> bool:
    """Whether it is what `arange` makes: integers in equal steps."""
    return array.ndim == 1 and array.dtype.kind in "iu" and len(set(np.diff(array.astype(np.int64)))) == 1


def _drop_unplaceable(node: Node, literals: dict[Value, Array]) -> None:
    """Declares the consts whose element type the language would not find by itself.

    A number takes the type of the tensors that it meets; one that meets none, in its domain or at all, must say its own.
    """
    values = node.values
    if values and all(value in literals for value in values):
        del literals[values[0]]
    for operand in node.op.operands:
        given = node.operands.get(operand.name)
        parts = given if isinstance(given, tuple) else (given,) if given is not None else ()
        domain = [v for o in node.op.operands if o.domain.name == operand.domain.name for v in _parts(node, o)]
        if any(value not in literals for value in domain):
            continue
        for value in parts:
            if value in literals and _suggested(operand, literals[domain[0]], domain[0].type.dtype) is not value.type.dtype:
                del literals[value]


def _parts(node: Node, operand: Operand) -> tuple[Value, ...]:
    given = node.operands.get(operand.name)
    return given if isinstance(given, tuple) else (given,) if given is not None else ()


def _suggested(operand: Operand, array: Array, dtype: DType) -> DType:
    """The element type that the language gives to numbers which meet no tensor."""
    allowed = operand.domain.dtypes
    wanted = BOOL if dtype is BOOL else FP16
    return wanted if wanted in allowed else allowed[0]


def folded(operations: Iterable[Node], constants: Iterable[Node]) -> set[Value]:
    """The values that meet no tensor: what is computed of them when the text is compiled wants every digit."""
    known = {node.result for node in constants}
    found: set[Value] = set()
    for node in operations:
        if not node.op.constexpr and known.issuperset(node.values):
            known.update(node.results)
            found.update(node.values)
    return found


def literal(array: Array, type: TensorType, exact: bool = False) -> Text:
    """A const in an expression: a number, `full(shape, number)`, `arange(start, stop, step)`, or `tensor([...])`.

    Its numbers are the shortest that become the same in its element type; with `exact` they have all their digits.
    """
    type = _widened(type, exact)
    if not type.shape:
        text = number(array.item(), type.dtype)
        return Text(text, UNARY if text.startswith("-") else POSTFIX)
    if array.size > 1 and _is_uniform(array) and not _mixed_zeros(array):
        return Text(f"full({list(type.shape)}, {number(array.reshape(-1)[0].item(), type.dtype)})")
    if array.size > SMALL and _is_range(array):
        start, step = int(array[0]), int(array[1]) - int(array[0])
        return Text(f"arange({start}, {start + step * len(array)}{f', {step}' if step != 1 else ''})")
    return Text(f"tensor({nested(array, type.dtype)})")


def _mixed_zeros(array: Array) -> bool:
    """0.0 and -0.0 are equal, but not the same number."""
    return array.dtype.kind == "f" and len(np.unique(np.signbit(array))) > 1


def _widened(type: TensorType, exact: bool) -> TensorType:
    return type.with_dtype(FP64) if exact and type.dtype.is_float else type


def initialiser(node: Node, exact: bool = False) -> str | None:
    """What a weight is where no data is given; None for one whose numbers are too many for the text, or not there."""
    data: Data | None = node.attributes["val"]
    if isinstance(data, StoredData):
        data = data.source
    bound, data = getattr(data, "bound", None), getattr(data, "initial", data)
    data = bound or data
    type = _widened(node.result.type, exact)
    if isinstance(data, FillData):
        value = rounded(np.asarray(data.value), type.dtype).item()
        if type.dtype.is_float and not np.isfinite(value):
            return None
        return {1.0: "ones", 0.0: "zeros"}.get(value, number(value, type.dtype)) if not _is_minus_zero(value) else "-0.0"
    if data is None or type.size > SMALL or type.dtype.bits < 8:
        return None
    if not isinstance(data, ArrayData):
        return None
    array = rounded(np.broadcast_to(data.load(), type.shape), type.dtype)
    if array.size == 0 or (type.dtype.is_float and not np.isfinite(array).all()):
        return None
    return nested(array, type.dtype)


def _is_minus_zero(value: float) -> bool:
    return isinstance(value, float) and value == 0 and bool(np.signbit(value))


def storage(node: Node) -> str:
    data = node.attributes["val"]
    return f" stored {data.storage}" if isinstance(data, StoredData) else ""


def source(data: Data) -> Data:
    """The numbers of a weight before they are compressed."""
    return data.source if isinstance(data, StoredData) else data
