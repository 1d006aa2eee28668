"""Packs, and the passes that make a graph legal. The graphs that come out compute what the graphs that go in compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anedsl.codegen.artifact import Options, prepare
from anedsl.codegen.legalize import check_opset, legalize, separate_conv_bias, separate_outputs
from anedsl.codegen.packs import Lowered, Place, lower_packs
from anedsl.diagnostics import Failure
from anedsl.graph import Graph, Node, Pack, Value
from anedsl.ops.record import ANY, Attribute, Op, Operand
from anedsl.ops.rules import same_as_x
from anedsl.types import FP32, INT8, TensorType
from tests.codegen.kernels import Builder, everything, fp16, rmsnorm_bwd, span_of


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.operations]


def run(graph: Graph, inputs: dict[str, Any]) -> dict[str, Any]:
    """Runs a graph by the ops' references, in float64; ignores packs."""
    values: dict[Value, Any] = {port.value: inputs[port.name] for port in graph.inputs}
    for node in graph.nodes:
        if not node.operands:
            values[node.result] = np.asarray(node.attributes["val"].load())
            continue
        operands = [_of(values, node.operands.get(operand.name)) for operand in node.op.operands]
        attributes = {attribute.name: node.attributes.get(attribute.name) for attribute in node.op.attributes}
        found = node.op.reference(*operands, **attributes)
        results = found if isinstance(found, tuple) else (found,)
        values |= dict(zip(node.results, results, strict=True))
    return {port.name: values[port.value] for port in graph.outputs}


def _of(values: dict[Value, Any], operand: Any) -> Any:
    return tuple(values[v] for v in operand) if isinstance(operand, tuple) else values.get(operand)


def pack(lowered: Lowered, ports: dict[str, Any]) -> dict[str, Any]:
    return {s.name: np.concatenate([ports[p.name] for p in s.places], axis=s.places[0].axis) for s in lowered.inputs}


def unpack(lowered: Lowered, surfaces: dict[str, Any]) -> dict[str, Any]:
    """Takes every port out of its surface by the byte offset and the strides alone."""
    found = {}
    for surface in lowered.outputs:
        whole = np.ascontiguousarray(surfaces[surface.name]).astype(surface.type.dtype.numpy)
        assert whole.shape == surface.type.shape
        for place in surface.places:
            found[place.name] = np.ndarray(place.type.shape, whole.dtype, whole.tobytes(), place.byte_offset, whole.strides)
    return found


@pytest.mark.parametrize("route", ["inmemory", "coreml"])
@pytest.mark.parametrize("make", [rmsnorm_bwd, everything], ids=["rmsnorm_bwd", "everything"])
def test_the_physical_graph_computes_the_same(make: Any, route: str) -> None:
    graph = make()
    generator = np.random.default_rng(0)
    ports = {port.name: generator.normal(size=port.value.type.shape) for port in graph.inputs}
    expected = run(graph, ports)
    lowered = lower_packs(graph)
    found = unpack(lowered, run(legalize(lowered.graph, "1.3", route), pack(lowered, ports)))
    assert list(found) == list(expected)
    for name, value in expected.items():
        # What was read back from a surface was rounded to its element type.
        np.testing.assert_array_equal(found[name], np.asarray(value).astype(found[name].dtype))


def test_a_pack_becomes_one_input_and_a_slice_for_each_member() -> None:
    lowered = lower_packs(rmsnorm_bwd(64, 32))
    [surface] = lowered.inputs
    assert (surface.name, str(surface.type)) == ("inp", "fp16[1, 128, 1, 32]")
    assert surface.places == (
        Place("dy", fp16(1, 64, 1, 32), (-8.0, 8.0), 1, 0, 64, 0),
        Place("x", fp16(1, 64, 1, 32), None, 1, 64, 64, 64 * 32 * 2),
    )
    slices = [node for node in lowered.graph.nodes if node.op.name == "slice_by_size"]
    assert [dict(node.attributes) for node in slices] == [
        {"begin": (0, 0, 0, 0), "size": (1, 64, 1, 32)},
        {"begin": (0, 64, 0, 0), "size": (1, 64, 1, 32)},
    ]
    assert not lowered.graph.input_packs


def test_packs_along_the_last_axis_lie_interleaved() -> None:
    b = Builder()
    x, y = b.input("x", fp16(1, 4, 1, 8)), b.input("w", TensorType(fp16().dtype, (1, 4, 1, 3)))
    b.output("y", b.op("mul", x=x, y=b.op("reduce_sum", x=y, axes=(3,), keep_dims=True)))
    [surface] = lower_packs(b.graph((Pack("p", ("x", "w"), -1),))).inputs
    assert [(p.axis, p.start, p.size, p.byte_offset) for p in surface.places] == [(3, 0, 8, 0), (3, 8, 3, 16)]
    assert surface.type.shape == (1, 4, 1, 11)


def test_byte_offsets_count_the_element_type() -> None:
    b = Builder()
    x, y = b.input("x", TensorType(FP32, (2, 3))), b.input("y", TensorType(FP32, (2, 3)))
    b.output("z", b.op("add", x=x, y=y))
    [surface] = lower_packs(b.graph((Pack("p", ("y", "x"), 0),))).inputs
    assert [(p.name, p.byte_offset) for p in surface.places] == [("y", 0), ("x", 24)]


def test_a_pack_of_one_is_another_name() -> None:
    b = Builder()
    b.output("y", b.op("relu", x=b.input("x", fp16(1, 4))))
    lowered = lower_packs(b.graph((Pack("inp", ("x",), 1),), (Pack("out", ("y",), 1),)))
    assert ops(lowered.graph) == ["relu"]
    assert [s.name for s in (*lowered.inputs, *lowered.outputs)] == ["inp", "out"]
    assert [port.name for port in (*lowered.graph.inputs, *lowered.graph.outputs)] == ["inp", "out"]


def test_an_unused_member_is_not_sliced_but_keeps_its_place() -> None:
    b = Builder()
    b.input("unused", fp16(1, 4))
    b.output("y", b.op("relu", x=b.input("x", fp16(1, 4))))
    lowered = lower_packs(b.graph((Pack("p", ("unused", "x"), 1),)))
    assert ops(lowered.graph) == ["slice_by_size", "relu"]
    assert [p.start for p in lowered.inputs[0].places] == [0, 4]


def test_surfaces_stand_in_the_order_of_declaration() -> None:
    b = Builder()
    x = [b.input(name, fp16(1, 4)) for name in "dcba"]
    b.output("y", b.op("add", x=b.op("add", x=x[0], y=x[1]), y=b.op("add", x=x[2], y=x[3])))
    lowered = lower_packs(b.graph((Pack("p", ("a", "c"), 1),)))
    assert [s.name for s in lowered.inputs] == ["d", "p", "b"]
    assert [p.name for p in lowered.inputs[1].places] == ["a", "c"]


def test_each_output_is_the_result_of_an_op_of_its_own() -> None:
    b = Builder()
    x = b.input("x", fp16(4))
    y, c = b.op("relu", x=x), b.const(np.ones(4))
    for name, value in (("a", x), ("b", y), ("c", y), ("d", c), ("e", c)):
        b.output(name, value)
    graph = separate_outputs(b.graph())
    assert ops(graph) == ["relu", *["identity"] * 4]
    values = [port.value for port in graph.outputs]
    assert len(set(values)) == 5
    made = {value for node in graph.operations for value in node.results}
    assert set(values) <= made
    assert [port.name for port in graph.outputs] == list("abcde")


def test_a_graph_with_proper_outputs_is_left_as_it_is() -> None:
    graph = rmsnorm_bwd()
    assert separate_outputs(graph) is graph
    assert separate_conv_bias(graph, of_consts=True, of_values=True) is graph


def biased(runtime: bool = False) -> Graph:
    b = Builder()
    bias = b.input("b", fp16(8)) if runtime else b.weight("b", np.arange(8.0))
    x = b.input("x", fp16(1, 4, 1, 16))
    b.output("y", b.op("conv", "h", x=x, weight=b.weight("w", np.ones((8, 4, 1, 1))), bias=bias))
    return b.graph()


def test_a_bias_is_added_apart_in_memory_and_stays_on_core_ml() -> None:
    graph = legalize(biased(), "1.3", "inmemory")
    assert ops(graph) == ["conv", "add"]
    conv, add = graph.operations
    assert "bias" not in conv.operands
    assert add.values[1].type == fp16(1, 8, 1, 1)
    assert add.result is graph.outputs[0].value
    [bias] = [node for node in graph.constants if node.result is add.values[1]]
    assert bias.attributes["weight"].name == "b"
    assert ops(legalize(biased(), "1.3", "coreml")) == ["conv"]


def test_a_bias_of_run_time_is_reshaped_by_an_op() -> None:
    apart = ["reshape", "conv", "add"]
    assert ops(legalize(biased(runtime=True), "1.3", "inmemory")) == apart
    assert ops(legalize(biased(runtime=True), "1.3", "coreml")) == ["conv"]
    # Opset ios16 takes a bias of compile time only.
    assert ops(legalize(biased(runtime=True), "1.0", "coreml")) == apart
    assert ops(legalize(biased(), "1.0", "coreml")) == ["conv"]


def test_a_bias_serves_any_number_of_spatial_axes() -> None:
    b = Builder()
    w = b.weight("w", np.ones((8, 4, 1)))
    b.output("y", b.op("conv", x=b.input("x", fp16(1, 4, 16)), weight=w, bias=b.weight("b", np.arange(8.0))))
    _, add = legalize(b.graph(), "1.3", "inmemory").operations
    assert add.values[1].type == fp16(1, 8, 1)


NEW = Op("new_op", "", (Operand("x", ANY),), same_as_x, np.array, since="ios17")
GREW = Op("grew", "", (Operand("x", ANY),), same_as_x, np.array, (Attribute("extra", "bool", False, since="ios18"),))


def narrow() -> Graph:
    source = "y = new_op(x)"
    b = Builder()
    b.output("y", b.op("cast", x=b.input("x", fp16(4)), dtype=INT8, span=span_of(source, "new_op(x)")))
    return b.graph()


def one_op(op: Op, **attributes: Any) -> Graph:
    source = "y = new_op(x)"
    b = Builder()
    x = b.input("x", fp16(4))
    result = Value(x.type)
    b.nodes.append(Node(op, {"x": x}, attributes, (result,), span_of(source, "new_op(x)")))
    b.output("y", result)
    return b.graph()


@pytest.mark.parametrize(
    ("graph", "what", "since"),
    [
        (one_op(NEW), "`new_op`", "ios17"),
        (one_op(GREW, extra=True), "`extra` of `grew`", "ios18"),
        (narrow(), "`cast` with int8", "ios17"),
    ],
    ids=["op", "attribute", "dtype"],
)
def test_what_the_opset_does_not_have_is_reported(graph: Graph, what: str, since: str) -> None:
    with pytest.raises(Failure) as failure:
        check_opset(graph, "1.0")
    [found] = failure.value.diagnostics
    assert found.code == "ANE0430"
    assert found.span.text == "new_op(x)"
    assert found.headline == f"{what} needs opset {since}, but dialect 1.0 has ios16"
    assert found.label_text == "not in opset ios16"
    assert found.help_texts == ["use `--dialect 1.3`"]
    assert check_opset(graph, "1.3") is graph


def test_a_new_attribute_with_its_default_is_left_out() -> None:
    graph = one_op(GREW, extra=False)
    assert dict(check_opset(graph, "1.0").operations[0].attributes) == {}
    assert dict(check_opset(graph, "1.3").operations[0].attributes) == {"extra": False}


def test_all_problems_are_reported_at_once_and_those_of_a_loop_once() -> None:
    b = Builder()
    x = b.input("x", fp16(4))
    one, two, three = (span_of("one two three", text) for text in ("one", "two", "three"))
    for place in (one, two, three, three):
        result = Value(x.type)
        b.nodes.append(Node(NEW, {"x": x}, {}, (result,), place))
        x = result
    b.output("y", x)
    with pytest.raises(Failure) as failure:
        prepare(b.graph(), Options(dialect="1.0"))
    assert [each.span.text for each in failure.value.diagnostics] == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("equation", "chip", "expected"),
    [
        ("y = reduce_sum(x, axes = [1])", None, ["reduce_sum", "squeeze"]),
        ("y = sum(x, axis = 1)", None, ["reduce_sum"]),
        ("y = softplus(x)", None, ["abs", "mul", "softplus", "relu", "add"]),
        ("y = softplus(x)", "m5", ["abs", "mul", "softplus", "relu", "add"]),
        ("y = softplus(x)", "m1", ["softplus"]),
        ("y = softplus(-abs(x))", None, ["abs", "mul", "softplus"]),
        ("y = floor(x) * 0.5", None, ["floor", "mul"]),
        ("y = square(x)", None, ["mul"]),
    ],
)
def test_what_the_ane_computes_wrong_is_written_another_way(equation: str, chip: str | None, expected: list[str]) -> None:
    from anedsl.codegen.avoidance import avoid
    from anedsl.passes import optimize
    from anedsl.passes.verify import verify
    from anedsl.reference.executor import execute
    from anedsl.running import random_inputs
    from tests.language.kernels import graph_of

    graph = optimize(graph_of(f"kernel k() {{ input x: fp16[1, 4, 1, 8] in [-20, 20]; output y; {equation} }}"))
    made = avoid(graph, chip)
    verify(made)
    assert [node.op.name for node in made.operations] == expected
    assert avoid(made, chip).operations[-1].op is made.operations[-1].op
    assert len(avoid(made, chip).operations) == len(made.operations)
    inputs = random_inputs(graph, 0)
    np.testing.assert_allclose(execute(made, inputs, "fp64")["y"], execute(graph, inputs, "fp64")["y"], rtol=1e-13, atol=1e-15)
    if "floor" in expected:
        assert made.constants[-1].result.type.shape == (1, 4, 1, 8)
