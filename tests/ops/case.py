"""One line tests an op: which operands and attributes, and where needed an independent formula."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class T(NamedTuple):
    """A random operand: uniform in [low, high], rounded to its element type; or the numbers in `data`."""

    shape: tuple[int, ...]
    dtype: str = "fp16"
    low: float = -2.0
    high: float = 2.0
    const: bool = False
    data: Any = None


class Case(NamedTuple):
    """A use of an op.

    `torch` takes the operands as float64 (or integer, bool) torch tensors in the record's order and returns the expected
    result or a tuple of them. It is given where coremltools computes no value, and welcome everywhere.
    """

    op: str
    operands: dict[str, T | tuple[T, ...]]
    attributes: dict[str, Any] = {}  # noqa: RUF012
    torch: Callable[..., Any] | None = None

    @property
    def id(self) -> str:
        shapes = "-".join(
            "x".join(map(str, t.shape)) for o in self.operands.values() for t in (o if not isinstance(o, T) else (o,))
        )
        extra = ",".join(f"{k}={v}" for k, v in self.attributes.items())
        return f"{self.op}[{shapes}]{extra}"
