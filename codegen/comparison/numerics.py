"""Two programs on the same random inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anedsl.codegen.comparison.graphs import Pairing
from anedsl.codegen.comparison.held import held
from anedsl.codegen.logical import Sides, logical
from anedsl.codegen.reader.ports import packed
from anedsl.data import Array
from anedsl.graph import Graph, Port
from anedsl.reference.executor import execute
from anedsl.running import random_inputs
from anedsl.statistics import errors

NUMERICS = ("fp64", "fp16")


def same_signature(left: Graph, right: Graph, inputs: Sequence[Pairing], outputs: Sequence[Pairing]) -> bool:
    """Whether every input and output of one has a partner of its type in the other."""
    return _fit(left.inputs, right.inputs, inputs) and _fit(left.outputs, right.outputs, outputs)


def _fit(left: Sequence[Port], right: Sequence[Port], pairs: Sequence[Pairing]) -> bool:
    types = [{port.name: port.value.type for port in ports} for ports in (left, right)]
    return len(left) == len(right) == len(pairs) and all(types[0][p.left] == types[1][p.right] for p in pairs)


def compare_outputs(
    left: Graph, right: Graph, inputs: Sequence[Pairing], outputs: Sequence[Pairing], sides: Sides, seed: int
) -> dict[str, dict[str, Any]]:
    """For each output of the left program, by numerics, how far the right one is from it, and `not_finite`: how many
    values are not in either, and whether they are the same ones.

    `sides` are the surfaces of the left program: ports are drawn in the ranges that they promise.
    """
    arrays = packed(sides.inputs, random_inputs(logical(left, sides), seed))
    theirs = {pair.right: arrays[pair.left] for pair in inputs}
    found: dict[str, dict[str, Any]] = {pair.left: {} for pair in outputs}
    # A program is what is compared, also where it was compiled just now: its numbers are rounded.
    left, right = held(left), held(right)
    for numerics in NUMERICS:
        ours, others = execute(left, arrays, numerics), execute(right, theirs, numerics)
        for pair in outputs:
            a, b = ours[pair.left], others[pair.right]
            found[pair.left][numerics] = {**errors(b, a), "not_finite": not_finite(a, b)}
    return found


def not_finite(a: Array, b: Array) -> dict[str, Any]:
    """How many values are infinite or NaN, and whether both have the same of them at the same places."""
    left, right = (np.where(np.isfinite(array), 0.0, array) for array in (a, b))
    same = bool(np.array_equal(left, right, equal_nan=a.dtype.kind == "f"))
    return {"left": int((~np.isfinite(a)).sum()), "right": int((~np.isfinite(b)).sum()), "same": same}


def finite_alike(found: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether no output has an infinity or a NaN that the other program's has not."""
    return all(error["not_finite"]["same"] for numerics in found.values() for error in numerics.values())
