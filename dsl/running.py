"""Runs a kernel on arrays: inputs are checked against what the kernel declares, outputs against what is finite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from anedsl.diagnostics import Failure, Sink, counted, nearest
from anedsl.diagnostics import running as problems
from anedsl.graph import CONST, Graph, Node, Port
from anedsl.reference.executor import execute
from anedsl.reference.numerics import NAMES
from anedsl.source import NOWHERE, Span
from anedsl.tensors import as_array
from anedsl.types import Shape

Array = np.ndarray[Any, np.dtype[Any]]


def run(
    graph: Graph, inputs: Mapping[str, Any], numerics: str, sink: Sink, exact: Mapping[str, Array] | None = None
) -> dict[str, Array]:
    """The outputs by name. Raises `Failure` (0501 to 0504, 0507); warnings (0505, 0506, 0510, 0511) go to `sink`.

    With `exact`, the outputs in fp64, two more runs look for the op that overflows (0510) where one in fp16 is far from them.
    """
    if numerics not in NAMES:
        known = " or ".join(f"`{name}`" for name in NAMES)
        raise Failure(problems.UnknownNumerics(name=numerics, known=known))
    arrays = check_inputs(graph, inputs, numerics, sink)
    graph = emitted(graph)
    outputs = execute(graph, arrays, numerics)
    explained: set[str] = set()
    # An input that is infinite already has been reported: the ops that read it are not to blame.
    blameless = any(isinstance(diagnostic, problems.InputOverflow) for diagnostic in sink.diagnostics)
    if exact is not None and numerics == "fp16" and not blameless:
        from anedsl.overflow import warn_overflow

        explained = warn_overflow(graph, arrays, outputs, exact, sink)
    broken = [port for port in graph.outputs if port.name not in explained and not _is_finite(outputs[port.name])]
    if broken:
        _warn_not_finite(graph, arrays, numerics, {port: outputs[port.name] for port in broken}, sink)
    return outputs


def _warn_not_finite(graph: Graph, arrays: Mapping[str, Array], numerics: str, broken: Mapping[Port, Array], sink: Sink) -> None:
    """ANE0505 for these outputs; the run is repeated to find the op where each began."""
    from anedsl.overflow import values_for

    nodes: list[Node] = []

    def watch(node: Node, results: tuple[Array, ...]) -> None:
        if node.op is not CONST and not all(map(_is_finite, results)):
            nodes.append(node)

    execute(graph, arrays, numerics, observe=watch)
    for port, array in broken.items():
        needed = values_for(graph, port.value)
        op = next((node.op.name for node in nodes if not needed.isdisjoint(node.results)), None)
        count = int((~np.isfinite(array)).sum())
        sink.add(problems.NotFinite(span=port.value.span, name=port.name, count=count, op=op))


def emitted(graph: Graph) -> Graph:
    """The ops that the program has on the in-memory route: results are rounded where the program rounds them.

    A program that was read may have forms of ops that newer opsets have not: they are computed as well.
    """
    from anedsl.codegen.legalize import legal_forms

    return legal_forms(graph, "1.3", "inmemory")


def _is_finite(array: Array) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def check_inputs(graph: Graph, inputs: Mapping[str, Any], numerics: str, sink: Sink) -> dict[str, Array]:
    """The arrays of all inputs, with every problem reported together."""
    names = [port.name for port in graph.inputs]
    found: list[Any] = []
    for name in inputs:
        if name not in names:
            known = ", ".join(f"`{n}`" for n in names) or None
            found.append(problems.UnknownInput(kernel=graph.name, name=name, nearest=nearest(name, names), known=known))
    arrays: dict[str, Array] = {}
    for port in graph.inputs:
        if port.name not in inputs:
            close = nearest(port.name, set(inputs) - set(names))
            found.append(problems.MissingInput(span=port.span, name=port.name, type=str(port.value.type), nearest=close))
            continue
        try:
            arrays[port.name] = _checked(port, inputs[port.name], numerics, sink)
        except Failure as failure:
            found.extend(failure.diagnostics)
    if found:
        raise Failure(*found)
    return arrays


def check_whole(name: str, found: Shape, parts: Mapping[str, Shape], axis: int, span: Span = NOWHERE) -> None:
    """Raises ANE0503 where the array of a whole pack has not the shape of its parts, one behind the other along `axis`."""
    first = next(iter(parts.values()))
    expected = (*first[:axis], sum(shape[axis] for shape in parts.values()), *first[axis + 1 :]) if first else first
    if found == expected:
        return
    holds = "it holds " + ", ".join(f"`{part}` {list(shape)}" for part, shape in parts.items())
    if len(parts) > 1:
        holds += f", one behind the other along axis {axis}"
    raise Failure(
        problems.WrongInputShape(
            span=span, kind="pack", name=name, found=str(list(found)), expected=str(list(expected)), holds=holds
        )
    )


def _checked(port: Port, given: Any, numerics: str, sink: Sink) -> Array:
    type = port.value.type
    try:
        array = as_array(given)
    except Exception:  # Foreign array types raise what they like.
        found = "ragged" if isinstance(given, (list, tuple)) else given.__class__.__name__
        expected = f"an array of shape {list(type.shape)}"
        raise Failure(problems.WrongInputType(span=port.span, name=port.name, found=found, expected=expected)) from None
    kinds = {"float": "fiu", "int": "iu", "uint": "iu", "bool": "b"}[type.dtype.kind]
    if array.dtype.kind not in kinds:
        raise Failure(
            problems.WrongInputType(span=port.span, name=port.name, found=str(array.dtype), expected=f"values for `{type.dtype}`")
        )
    if array.shape != type.shape:
        advice = None
        if array.size == type.size:
            advice = "it has the same number of elements: reshape it, if their order is the same"
        raise Failure(
            problems.WrongInputShape(
                span=port.span, name=port.name, found=str(list(array.shape)), expected=str(list(type.shape)), advice=advice
            )
        )
    if type.dtype.is_integer and array.size and (array.min() < type.dtype.smallest or array.max() > type.dtype.largest):
        raise Failure(
            problems.WrongInputType(
                span=port.span, name=port.name, found="out-of-range", expected=f"values that fit `{type.dtype}`"
            )
        )
    if numerics == "fp16" and type.dtype.is_float:
        with np.errstate(over="ignore"):
            count = int((np.isfinite(array) & ~np.isfinite(array.astype(type.dtype.numpy))).sum())
        if count:
            sink.add(problems.InputOverflow(span=port.span, name=port.name, count=count, dtype=type.dtype.name))
    if port.range is not None:
        _check_range(port, port.range, array, sink)
    return array


def _check_range(port: Port, bounds: tuple[float, float], array: Array, sink: Sink) -> None:
    """ANE0511 where values are outside the promised range, with the bounds as the input's element type has them."""
    low, high = bounds
    # A bound such as 0.1 is no number of fp16: the one beside it is not outside.
    held = np.asarray(bounds, np.float64).astype(port.value.type.dtype.numpy).astype(np.float64)
    lowest, highest = min(low, held[0]), max(high, held[1])
    outside = array[~((array >= lowest) & (array <= highest))].astype(np.float64)
    if not outside.size:
        return
    beyond = np.maximum(lowest - outside, outside - highest)
    worst = outside[np.argmax(np.where(np.isnan(beyond), np.inf, beyond))]
    sink.add(
        problems.OutOfRange(
            span=port.span,
            name=port.name,
            count=counted(outside.size, "value"),
            are="is" if outside.size == 1 else "are",
            low=f"{low:g}",
            high=f"{high:g}",
            worst=f"{worst:g}",
        )
    )


def random_inputs(graph: Graph, seed: int) -> dict[str, Array]:
    """Random arrays for every input: floats uniform in its range, or standard normal where it declares none.

    Each input has a stream of its own, so that one more input leaves the others as they were.
    """
    import zlib

    arrays: dict[str, Array] = {}
    for port in graph.inputs:
        generator = np.random.default_rng([seed, zlib.crc32(port.name.encode())])
        type = port.value.type
        if type.dtype.kind == "bool":
            arrays[port.name] = generator.integers(0, 2, type.shape).astype(np.bool_)
        elif type.dtype.is_integer:
            low, high = port.range or (0, min(type.dtype.largest, 9))
            arrays[port.name] = generator.integers(int(low), int(high) + 1, type.shape).astype(type.dtype.numpy)
        else:
            bounds = port.range
            array = generator.standard_normal(type.shape) if bounds is None else generator.uniform(*bounds, type.shape)
            # What the kernel would be given: numbers that its inputs can hold, the same ones in every numerics.
            arrays[port.name] = array.astype(type.dtype.numpy).astype(np.float64)
    return arrays
