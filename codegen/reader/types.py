"""Types as MIL writes them.

A tensor of known sizes has its `TensorType`. What is no such tensor (a tensor with an unknown size, a list, dict, tuple or
state) is held as a scalar of an element type of its own, whose name is the type as it is written: ops without a record may
pass it on, and the emitter writes it as it was.
"""

from __future__ import annotations

import re
from functools import cache

from anedsl.codegen.program import STRING
from anedsl.types import DTYPES, DType, TensorType

MAX_DIM = (1 << 31) - 1
"""The largest size of an axis: MIL counts elements in int32."""

MAX_RANK = 32

ELEMENTS: dict[str, DType] = {**DTYPES, "string": STRING}
"""Every element type that a graph can hold numbers or text of."""

KINDS = frozenset({"float", "int", "uint", "bool"})
"""The kinds of element types that are numbers."""

_TENSOR = re.compile(r"tensor<(\w+),\[(.*)\]>")


@cache
def other_dtype(text: str) -> DType:
    """The element type that stands for a type that is no tensor of known sizes."""
    return DType(text, "other", 0, "O")


def is_tensor(type: TensorType) -> bool:
    """Whether it is a tensor of numbers with known sizes."""
    return type.dtype.kind in KINDS


def read_type(text: str) -> TensorType | str:
    """The type that a text is, or what is wrong with it: `size 99999999999 of axis 0 is too large`."""
    known = ELEMENTS.get(text)
    if known is not None:
        return TensorType(known, ())
    found = _TENSOR.fullmatch("".join(text.split()))
    canonical = "".join(text.split()).replace(",", ", ")
    if found is None or found[1] not in ELEMENTS or "?" in found[2]:
        return TensorType(other_dtype(canonical), ())
    dims = found[2].split(",") if found[2] else []
    if len(dims) > MAX_RANK:
        return f"{len(dims)} axes are more than {MAX_RANK}"
    for axis, dim in enumerate(dims):
        if len(dim) > 10 or int(dim) > MAX_DIM:
            return f"size {dim[:20]} of axis {axis} is too large"
    return TensorType(ELEMENTS[found[1]], tuple(map(int, dims)))


def fits(declared: TensorType, inferred: TensorType) -> bool:
    """Whether a declared type is the inferred one; `?` is any size."""
    if declared == inferred:
        return True
    found = _TENSOR.fullmatch("".join(declared.dtype.name.split())) if declared.dtype.kind == "other" else None
    if found is None or found[1] != inferred.dtype.name:
        return False
    dims = found[2].split(",") if found[2] else []
    return len(dims) == inferred.rank and all(
        dim == "?" or dim == str(size) for dim, size in zip(dims, inferred.shape, strict=True)
    )
