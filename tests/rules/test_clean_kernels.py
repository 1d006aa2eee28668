"""Kernels that are known to run draw no warning at all, for any chip and route: this is what a user sees first."""

from __future__ import annotations

import pytest

from anedsl.graph import Graph, Pack, Port, Value
from anedsl.rules import CHIPS, ROUTES, Target, check
from tests.rules.maker import Maker

TARGETS = [Target(chip, route) for chip in (None, *CHIPS) for route in ROUTES]


def backward(m: Maker, dy: Value, x: Value) -> Value:
    """The gradient of RMSNorm with respect to its input."""
    weight = m.const(1, 768, 1, 1, weight=True)
    square = m.op("reduce_mean", m.op("mul", x, x), axes=(1,), keep_dims=True)
    rrms = m.op("pow", m.op("add", square, m.const()), m.const())
    scaled = m.op("mul", dy, weight)
    dot = m.op("reduce_mean", m.op("mul", scaled, x), axes=(1,), keep_dims=True)
    factor = m.op("mul", m.op("mul", dot, rrms), rrms)
    return m.op("mul", m.op("sub", scaled, m.op("mul", x, factor)), rrms)


def logical() -> Graph:
    m = Maker()
    dy, x = m.input("dy", 1, 768, 1, 256), m.input("x", 1, 768, 1, 256)
    m.input_packs.append(Pack("inp", ("dy", "x"), 1, m.span()))
    return m.graph(backward(m, dy, x))


def physical() -> Graph:
    m = Maker()
    inp = m.input("inp", 1, 1536, 1, 256)
    dy, x = (m.op("slice_by_size", inp, begin=(0, begin, 0, 0), size=(1, 768, 1, 256)) for begin in (0, 768))
    return m.graph(backward(m, dy, x))


def projections() -> Graph:
    """Three products of one input, packed into one output by a `concat`."""
    m = Maker()
    x = m.input("x", 1, 768, 1, 256)
    return m.graph(m.op("concat", *[m.op("conv", x, m.const(768, 768, 1, 1, weight=True)) for _ in range(3)], axis=1))


def attention() -> Graph:
    """Twelve heads with a causal mask, as `[1, 12, 256, 64]`."""
    m = Maker()
    inp = m.input("inp", 1, 2304, 1, 256)
    heads = []
    for begin in (0, 768, 1536):
        part = m.op("slice_by_size", inp, begin=(0, begin, 0, 0), size=(1, 768, 1, 256))
        heads.append(m.op("transpose", m.op("reshape", part, shape=(1, 12, 64, 256)), perm=(0, 1, 3, 2)))
    scores = m.op("add", m.op("matmul", heads[0], heads[1], transpose_y=True), m.const(1, 1, 256, 256))
    mixed = m.op("matmul", m.op("softmax", scores, axis=-1), heads[2])
    return m.graph(m.op("reshape", m.op("transpose", mixed, perm=(0, 1, 3, 2)), shape=(1, 768, 1, 256)))


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: f"{target.chip or 'any'}-{target.route}")
@pytest.mark.parametrize("kernel", [logical, physical, projections, attention])
def test_no_diagnostic(kernel: object, target: Target) -> None:
    graph = kernel()  # type: ignore[operator]
    assert len(graph.operations) > 3
    assert [diagnostic.headline for diagnostic in check(graph, target)] == []


def test_the_same_kernel_is_not_silent_by_accident() -> None:
    graph = physical()
    wide = Port("inp", Value(graph.inputs[0].value.type.with_shape((1, 1536, 1, 250)), "inp"))
    found = check(Graph(graph.name, (wide,), graph.outputs, graph.nodes))
    assert [diagnostic.code for diagnostic in found] == ["ANE0322"]
