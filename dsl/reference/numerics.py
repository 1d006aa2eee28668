"""How the reference executor rounds."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from anedsl.graph import Node, complete_attributes, number_type
from anedsl.half import from_half, round_to_half, to_half_exactly
from anedsl.ops.record import Op
from anedsl.reference.buffers import Buffers
from anedsl.types import FP16, DType

Array = np.ndarray[Any, np.dtype[Any]]

NAMES = ("fp16", "fp32", "fp64")


class Numerics:
    """One way to compute.

    `fp64` holds every float in float64 and rounds nothing. `fp32` holds every float in float32. `fp16` computes each op in
    float32 and rounds its result to the result's own element type, as IEEE does; a float16 is held as the float32 of the
    same value.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.float = np.dtype(np.float64 if name == "fp64" else np.float32)

    def held(self, array: Array, dtype: DType, free: Buffers | None = None) -> Array:
        """Numbers as they are held between ops: rounded to the element type where these numerics round."""
        if not dtype.is_float:
            # Integers of every width are held in int32; MIL has no wider ones.
            return array.astype(np.bool_ if dtype.kind == "bool" else np.int32, copy=False)
        if self.name == "fp16" and dtype is FP16 and array.dtype == np.float64:
            # Once from float64 to float16: by way of float32 it would be rounded twice.
            with np.errstate(over="ignore"):
                return array.astype(np.float16).astype(np.float32)
        if array.dtype == np.float16 and self.float == np.float32:
            return from_half(array, None if free is None else free.take(array.shape, self.float))
        array = array.astype(self.float, copy=False)
        return round_to_half(array) if self.name == "fp16" and dtype is FP16 else array

    def computed(self, array: Array, dtype: DType, op: Op, operands: Collection[Any]) -> Array:
        """The result of an op as it is held; what only moves data has nothing to round."""
        if op.moves_data and array.dtype == self.float:
            return array
        if self.name == "fp16" and dtype is FP16 and array.dtype == np.float32:
            own = array.base is None and not any(array is operand for operand in operands)
            return round_to_half(array, in_place=own)
        return self.held(array, dtype)

    def result(self, array: Array, dtype: DType) -> Array:
        """Numbers as they are given to the caller: float64 in fp64, float32 in fp32, the element type itself in fp16."""
        if self.name == "fp16" and dtype is FP16:
            return to_half_exactly(array)
        if not dtype.is_float or self.name == "fp16":
            with np.errstate(over="ignore"):
                return array.astype(dtype.numpy)
        return array.astype(self.float, copy=False)

    def attributes(self, node: Node) -> dict[str, Any]:
        """All attributes of an op, floats rounded as a program holds them."""
        attributes = complete_attributes(node)
        if self.name == "fp64":
            return attributes
        for attribute in node.op.attributes:
            if attribute.kind != "float" or attribute.name not in attributes:
                continue
            dtype = number_type(node, attribute)
            if dtype.is_float:
                exact = np.float16 if self.name == "fp16" and dtype is FP16 else np.float32
                with np.errstate(over="ignore"):
                    attributes[attribute.name] = float(exact(attributes[attribute.name]))
        return attributes
