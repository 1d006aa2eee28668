"""Runs a graph in numpy, on any machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from anedsl.diagnostics import Failure
from anedsl.graph import CONST, Graph, Node, Value
from anedsl.ops.call import MAX_CONST_ELEMENTS
from anedsl.reference.buffers import Buffers, buffers
from anedsl.reference.numerics import Numerics

Array = np.ndarray[Any, np.dtype[Any]]


def execute(
    graph: Graph,
    inputs: Mapping[str, Array],
    numerics: str = "fp16",
    observe: Callable[[Node, tuple[Array, ...]], None] | None = None,
) -> dict[str, Array]:
    """The outputs of a kernel by name.

    `inputs` holds an array of the declared shape for every input port. Outputs are float64 in fp64, float32 in fp32, and
    of their own element type in fp16. `observe` is called with every node and its results as they are held.
    """
    _check_sizes(graph)
    rounding = Numerics(numerics)
    free = buffers()
    environment: dict[Value, Array] = {}
    for port in graph.inputs:
        environment[port.value] = rounding.held(np.asarray(inputs[port.name]), port.value.type.dtype, free)
    last = _last_uses(graph)
    try:
        for position, node in enumerate(graph.nodes):
            results = _constant(node, rounding) if node.op is CONST else _compute(node, environment, rounding, free)
            if observe is not None:
                observe(node, results)
            environment.update(zip(node.results, results, strict=True))
            del results
            for value in last.get(position, ()):
                free.give(environment, value)
    finally:
        free.trim()
    return {port.name: rounding.result(environment[port.value], port.value.type.dtype) for port in graph.outputs}


def _check_sizes(graph: Graph) -> None:
    """Raises ANE0248 for a huge tensor that is made of consts alone: a few words of a program could take all memory.

    One that is no larger than what it is made of, such as a transposed weight, is left to be computed.
    """
    fixed: set[Value] = set()
    for node in graph.nodes:
        if not fixed.issuperset(node.values):
            continue
        fixed.update(node.results)
        limit = max(MAX_CONST_ELEMENTS, sum(value.type.size for value in node.values))
        for result in node.results:
            if node.op is not CONST and result.type.size > limit:
                from anedsl.diagnostics.shapes import TensorTooLarge

                count = result.type.size
                raise Failure(TensorTooLarge(span=node.span, type=str(result.type), count=count, limit=MAX_CONST_ELEMENTS))


def _last_uses(graph: Graph) -> dict[int, list[Value]]:
    """The values that are not needed any more after each node: memory holds what is alive only."""
    position: dict[Value, int] = {}
    for index, node in enumerate(graph.nodes):
        for value in (*node.values, *node.results):
            position[value] = index
    for port in graph.outputs:
        position.pop(port.value, None)
    found: dict[int, list[Value]] = {}
    for value, index in position.items():
        found.setdefault(index, []).append(value)
    return found


def _constant(node: Node, rounding: Numerics) -> tuple[Array, ...]:
    type = node.result.type
    return (rounding.held(node.attributes["val"].load().reshape(type.shape), type.dtype),)


def _compute(node: Node, environment: Mapping[Value, Array], rounding: Numerics, free: Buffers) -> tuple[Array, ...]:
    ordered = [_given(node.operands.get(operand.name), environment) for operand in node.op.operands]
    attributes = rounding.attributes(node)
    with np.errstate(all="ignore"):
        results: Any = _elementwise(node, ordered, rounding, free)
        if results is None:
            results = node.op.reference(*ordered, **attributes)
        if not isinstance(results, tuple):
            results = (results,)
        return tuple(
            rounding.computed(np.asarray(r), value.type.dtype, node.op, ordered)
            for r, value in zip(results, node.results, strict=True)
        )


def _given(operand: Any, environment: Mapping[Value, Array]) -> Any:
    if isinstance(operand, tuple):
        return tuple(environment[value] for value in operand)
    return None if operand is None else environment[operand]


def _elementwise(node: Node, operands: list[Any], rounding: Numerics, free: Buffers) -> Array | None:
    """The result in memory that is free, where the op is a function of numpy's on floats; else None."""
    # `keeping` wraps a function that may be one of numpy's own.
    function = getattr(node.op.reference, "__wrapped__", None)
    if not isinstance(function, np.ufunc) or node.op.attributes or len(node.results) != 1 or not node.result.type.dtype.is_float:
        return None
    if any(not isinstance(array, np.ndarray) or array.dtype != rounding.float for array in operands):
        return None
    out = free.take(node.result.type.shape, rounding.float)
    if out is not None:
        function(*operands, out=out)
    return out
