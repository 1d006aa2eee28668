"""The outputs of Core ML against the reference executor's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from anedsl.data import Array
from anedsl.diagnostics import Sink
from anedsl.graph import Graph
from anedsl.running import run
from anedsl.statistics import errors

AGAINST = ("fp64", "fp16")
"""The numerics of the reference: fp64 says how wrong a result is, fp16 how far the hardware is from IEEE half precision."""


def compare(graph: Graph, inputs: Mapping[str, Any], outputs: Mapping[str, Array]) -> dict[str, dict[str, Any]]:
    """For each output, by numerics, the errors of `anedsl.statistics.errors`."""
    found: dict[str, dict[str, Any]] = {name: {} for name in outputs}
    for numerics in AGAINST:
        exact = run(graph, inputs, numerics, Sink())
        for name, array in outputs.items():
            found[name][numerics] = errors(array, exact[name])
    return found
