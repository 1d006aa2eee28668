"""Consts by value."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from anedsl.data import Data, rounded
from anedsl.diagnostics import Failure
from anedsl.graph import Node
from anedsl.types import TensorType

ABSENT = frozenset(("ANE0401", "ANE0479"))
"""A declared weight without data, and a weight file that is not there."""


class Constants:
    """The numbers of consts, hashed once each; `missing` collects the weights that have none."""

    def __init__(self) -> None:
        self.missing: dict[str, None] = {}
        self._known: dict[int, tuple[Data, str | None]] = {}

    def digest(self, node: Node) -> str | None:
        """A hash of the numbers as a program holds them; None for a weight that has none."""
        data = node.attributes["val"]
        known = self._known.get(id(data))
        if known is None:
            # The data is kept with its hash: another one could get its id.
            known = self._known[id(data)] = (data, self._hashed(node))
        return known[1]

    def _hashed(self, node: Node) -> str | None:
        type = node.result.type
        found = hashlib.sha256()
        try:
            for chunk in node.attributes["val"].chunks():
                found.update(_held(chunk, type).tobytes())
        except Failure as failure:
            if any(problem.code not in ABSENT for problem in failure.diagnostics):
                raise
            weight = node.attributes.get("weight")
            self.missing[weight.name if weight is not None else node.result.name] = None
            return None
        return found.hexdigest()


def _held(array: Any, type: TensorType) -> Any:
    array = np.asarray(array)
    if type.dtype.kind not in ("float", "int", "uint", "bool"):
        return np.frombuffer(repr(array.tolist()).encode(), np.uint8)
    return np.ascontiguousarray(rounded(array, type.dtype))


def first_difference(left: Node, right: Node) -> str:
    """Where the numbers of two consts of one type begin to differ, and how many do."""
    a, b = (_held(node.attributes["val"].load(), node.result.type).reshape(-1) for node in (left, right))
    if a.shape != b.shape or left.result.type.dtype.kind not in ("float", "int", "uint", "bool"):
        return "its values differ"
    different = np.flatnonzero(a.view(f"u{a.itemsize}") != b.view(f"u{b.itemsize}"))
    if not different.size:
        return "its values differ"
    at = int(different[0])
    index = [int(i) for i in np.unravel_index(at, left.result.type.shape or (1,))] if left.result.type.shape else []
    return f"{different.size} of {a.size} values differ, the first at {index}: {a[at].item()!r} and {b[at].item()!r}"
