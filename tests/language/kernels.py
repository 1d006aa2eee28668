"""Builds and runs kernels that are written in a test."""

from __future__ import annotations

from typing import Any

import numpy as np

from anedsl import frontend
from anedsl.diagnostics import Failure, Sink
from anedsl.elaborate.kernel import elaborate
from anedsl.elaborate.modules import load_text
from anedsl.graph import Graph
from anedsl.reference.executor import execute

Array = np.ndarray[Any, np.dtype[Any]]


def graph_of(text: str, **parameters: Any) -> Graph:
    """The graph of the first kernel as it is elaborated, before any pass."""
    module = load_text(text)
    return elaborate(module, next(iter(module.kernels)), parameters, Sink())


def outputs_of(text: str, inputs: dict[str, Array] | None = None, numerics: str = "fp64", **parameters: Any) -> dict[str, Array]:
    """The outputs of the first kernel, as compiled."""
    module = load_text(text)
    program = frontend.build(module, next(iter(module.kernels)), parameters, Sink())
    return execute(program.graph, inputs or {}, numerics)


def expression(text: str, **inputs: Array) -> Array:
    """The value of one expression over float inputs, in fp64."""
    declared = "".join(f"    input {name}: fp16{list(array.shape)}\n" for name, array in inputs.items())
    return outputs_of(f"kernel k() {{\n{declared}    output value\n    value = {text}\n}}", inputs)["value"]


def compile_time(text: str) -> Any:
    """A compile-time value, as a Python one: it becomes the message of an assertion that fails."""
    found = problems(f"kernel k() {{\n    assert false, {text}\n}}")
    return found[0][1]


def problems(text: str, **parameters: Any) -> list[tuple[str, str, str]]:
    """Code, headline and the text under the label of every diagnostic of the first kernel."""
    sink = Sink()
    try:
        module = load_text(text)
        elaborate(module, next(iter(module.kernels)), parameters, sink)
        found = sink.diagnostics
    except Failure as failure:
        found = failure.diagnostics
    return [(d.code, d.headline, d.span.text) for d in found]
