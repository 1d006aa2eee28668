"""The numbers behind a const: held in memory, computed when needed, or read from a file.

A const keeps its numbers as the author or the file gave them (float64 for compile-time arithmetic, the file's type for
a weight). They are rounded to the const's element type once, where they are emitted or where the numerics ask for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from anedsl.diagnostics.base import Failure
from anedsl.half import to_half
from anedsl.source import Span
from anedsl.types import FP16, DType, Shape, TensorType

Array = np.ndarray[Any, np.dtype[Any]]

_FLOAT32 = np.dtype("<f4")

CHUNK_ELEMENTS = 1 << 22
"""How many elements a large tensor is handled at a time: 32 MB in float64."""


class Data(Protocol):
    """Numbers of a known shape, loaded only when asked for."""

    shape: Shape

    def load(self) -> Array:
        """All numbers, in the type they were given in."""
        ...

    def chunks(self) -> Iterator[Array]:
        """The numbers in row-major order, flat, a piece at a time: memory stays bounded.

        A piece may be overwritten when the next one is asked for.
        """
        ...


class ArrayData:
    """Numbers in memory."""

    __slots__ = ("array", "shape")

    def __init__(self, array: Array) -> None:
        self.array = array
        self.shape: Shape = array.shape

    def load(self) -> Array:
        return self.array

    def chunks(self) -> Iterator[Array]:
        flat = self.array.reshape(-1)
        for start in range(0, max(flat.size, 1), CHUNK_ELEMENTS):
            yield flat[start : start + CHUNK_ELEMENTS]


class FillData:
    """One number everywhere."""

    __slots__ = ("shape", "value")

    def __init__(self, value: float | int | bool, shape: Shape) -> None:
        self.value = value
        self.shape = shape

    def load(self) -> Array:
        return np.full(self.shape, self.value)

    def chunks(self) -> Iterator[Array]:
        left = int(np.prod(self.shape, dtype=np.int64))
        while left > 0:
            count = min(left, CHUNK_ELEMENTS)
            yield np.full(count, self.value)
            left -= count


class RandomData:
    """Random numbers that keep activations of variance 1 so: normal, divided by the root of what is summed over.

    Vectors (one axis longer than 1) scale activations: they lie around 1.
    """

    __slots__ = ("name", "seed", "shape", "type")

    def __init__(self, name: str, type: TensorType, seed: int) -> None:
        self.name = name
        self.type = type
        self.shape: Shape = type.shape
        self.seed = seed

    def load(self) -> Array:
        from zlib import crc32

        generator = np.random.default_rng([self.seed, crc32(self.name.encode())])
        dtype = self.type.dtype
        if not dtype.is_float:
            return generator.integers(0, 2 if dtype.kind == "bool" else 10, self.shape).astype(dtype.numpy)
        numbers = generator.standard_normal(self.shape)
        wide = sorted(size for size in self.shape if size > 1)
        if len(wide) < 2:
            numbers = 1 + numbers / 10
        else:
            numbers /= (self.type.size / self.shape[0]) ** 0.5
        return np.asarray(numbers)

    def chunks(self) -> Iterator[Array]:
        return ArrayData(self.load()).chunks()


class DerivedData:
    """Numbers computed from others when they are asked for, and not kept: large weights are folded one at a time.

    `compute` is given the numbers of `inputs`, in their order.
    """

    __slots__ = ("compute", "inputs", "shape")

    def __init__(self, shape: Shape, inputs: Sequence[Data], compute: Callable[[Sequence[Array]], Array]) -> None:
        self.shape = shape
        self.inputs = inputs
        self.compute = compute

    def load(self) -> Array:
        """The numbers. What several inputs are computed from is computed once, and dropped after its last reader."""
        steps = self._steps()
        readers = Counter(id(given) for step in steps for given in step.inputs)
        made: dict[int, Array] = {}
        for step in steps:
            made[id(step)] = step.compute([_taken(given, made, readers) for given in step.inputs])
        return made[id(self)]

    def _steps(self) -> list[DerivedData]:
        """All that must be computed, each behind its inputs: a loop on a weight makes a chain too long for recursion."""
        order: dict[int, DerivedData] = {}
        pending = [self]
        while pending:
            step = pending[-1]
            missing = [given for given in step.inputs if isinstance(given, DerivedData) and id(given) not in order]
            if missing:
                pending.extend(missing)
            else:
                order[id(pending.pop())] = step
        return list(order.values())

    def chunks(self) -> Iterator[Array]:
        return ArrayData(np.ascontiguousarray(self.load())).chunks()


def _taken(given: Data, made: dict[int, Array], readers: Counter[int]) -> Array:
    if not isinstance(given, DerivedData):
        return given.load()
    readers[id(given)] -= 1
    return made[id(given)] if readers[id(given)] else made.pop(id(given))


class WeightData:
    """The numbers of a declared weight: those that were bound to it, else those of its initialiser.

    Loading one that has neither is a 0401 diagnostic at its declaration.
    """

    __slots__ = ("bound", "initial", "name", "shape", "span", "type")

    def __init__(self, name: str, type: TensorType, initial: Data | None, span: Span) -> None:
        self.name = name
        self.type = type
        self.shape: Shape = type.shape
        self.initial = initial
        self.bound: Data | None = None
        self.span = span

    @property
    def source(self) -> Data:
        found = self.bound or self.initial
        if found is None:
            from anedsl.diagnostics.weights import MissingWeight

            raise Failure(MissingWeight(span=self.span, name=self.name, type=str(self.type)))
        return found

    def load(self) -> Array:
        return self.source.load()

    def chunks(self) -> Iterator[Array]:
        return self.source.chunks()


def rounded(array: Array, dtype: DType) -> Array:
    """The numbers in an element type: floats rounded once to nearest even, integers and booleans exact."""
    if array.dtype == _FLOAT32 and dtype is FP16:
        return to_half(array)
    with np.errstate(over="ignore"):
        return array.astype(dtype.numpy, copy=False)
