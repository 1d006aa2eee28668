"""Element types and tensor types, under MIL's names."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class DType:
    """An element type.

    `numpy` is how one element is kept in memory, `bits` how many it takes in a file. Types of fewer than 8 bits are kept
    in a byte each.
    """

    __slots__ = ("bits", "kind", "name", "numpy")

    def __init__(self, name: str, kind: str, bits: int, numpy: str) -> None:
        self.name = name
        self.kind = kind
        self.bits = bits
        self.numpy = np.dtype(numpy)

    def __repr__(self) -> str:
        return self.name

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def largest(self) -> float:
        """The largest finite value."""
        if self.kind == "bool":
            return 1
        if self.is_float:
            return float(np.finfo(self.numpy).max)
        return (1 << (self.bits - (self.kind == "int"))) - 1

    @property
    def smallest(self) -> float:
        """The lowest finite value."""
        if self.is_float:
            return -self.largest
        return -(1 << (self.bits - 1)) if self.kind == "int" else 0


BOOL = DType("bool", "bool", 8, "bool")
FP16 = DType("fp16", "float", 16, "<f2")
FP32 = DType("fp32", "float", 32, "<f4")
FP64 = DType("fp64", "float", 64, "<f8")
INT4 = DType("int4", "int", 4, "<i1")
INT8 = DType("int8", "int", 8, "<i1")
INT16 = DType("int16", "int", 16, "<i2")
INT32 = DType("int32", "int", 32, "<i4")
INT64 = DType("int64", "int", 64, "<i8")
UINT1 = DType("uint1", "uint", 1, "<u1")
UINT2 = DType("uint2", "uint", 2, "<u1")
UINT3 = DType("uint3", "uint", 3, "<u1")
UINT4 = DType("uint4", "uint", 4, "<u1")
UINT6 = DType("uint6", "uint", 6, "<u1")
UINT8 = DType("uint8", "uint", 8, "<u1")
UINT16 = DType("uint16", "uint", 16, "<u2")
UINT32 = DType("uint32", "uint", 32, "<u4")
UINT64 = DType("uint64", "uint", 64, "<u8")

# A type that fills its numpy type stands after those that do not: a table by numpy type keeps the last.
DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        INT4, UINT1, UINT2, UINT3, UINT4, UINT6,
        BOOL, FP16, FP32, FP64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64,
    )
}  # fmt: skip

Shape = tuple[int, ...]


class TensorType(NamedTuple):
    """An element type and a shape; rank 0 is a scalar."""

    dtype: DType
    shape: Shape

    def __str__(self) -> str:
        if not self.shape:
            return self.dtype.name
        return f"{self.dtype.name}[{', '.join(map(str, self.shape))}]"

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for dim in self.shape:
            count *= dim
        return count

    @property
    def bytes(self) -> int:
        return (self.size * self.dtype.bits + 7) // 8

    def with_shape(self, shape: Shape) -> TensorType:
        return TensorType(self.dtype, shape)

    def with_dtype(self, dtype: DType) -> TensorType:
        return TensorType(dtype, self.shape)
