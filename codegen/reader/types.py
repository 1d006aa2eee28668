"""Types as MIL writes them."""

from __future__ import annotations

import re

from anedsl.codegen.mil_types import ELEMENTS, UNKNOWN, canonical, compound, is_tensor, typed
from anedsl.types import TensorType

MAX_DIM = (1 << 31) - 1
"""The largest size of an axis: MIL counts elements in int32."""

MAX_RANK = 32

_SIZES = re.compile(r"\[([^\]]*)\]")
_LENGTH = re.compile(r", (-?\d+)>")


def read_type(text: str) -> TensorType | str:
    """The type that a text is, or what is wrong with it: `size 99999999999 of axis 0 is too large`."""
    known = ELEMENTS.get(text)
    if known is not None:
        return TensorType(known, ())
    text = canonical(text)
    for sizes in _SIZES.findall(text):
        dims = sizes.split(", ") if sizes else []
        if len(dims) > MAX_RANK:
            return f"{len(dims)} axes are more than {MAX_RANK}"
        for axis, dim in enumerate(dims):
            if dim != UNKNOWN and (len(dim) > 10 or int(dim) > MAX_DIM):
                return f"size {dim[:20]} of axis {axis} is too large"
    for length in _LENGTH.findall(text):
        if len(length) > 10 or not 0 <= int(length) <= MAX_DIM:
            return f"a list has no {length[:20]} elements"
    return typed(text)


def fits(declared: TensorType, inferred: TensorType) -> bool:
    """Whether a declared type is the inferred one; `?` is any size."""
    if declared == inferred:
        return True
    if declared.dtype.kind != "other" or not is_tensor(inferred):
        return False
    known = compound(declared.dtype)
    return (
        known.kind == "tensor"
        and known.element == inferred.dtype.name
        and len(known.sizes) == inferred.rank
        and all(dim in (UNKNOWN, str(size)) for dim, size in zip(known.sizes, inferred.shape, strict=True))
    )
