"""Every form of MIL text that is known is read, in both dialects, and means what it should."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from anedsl.codegen.reader import Module, read_text
from anedsl.data import Array
from anedsl.diagnostics import Failure
from anedsl.graph import Graph, Node
from anedsl.ops import OPS
from anedsl.passes.verify import verify
from anedsl.reference.executor import execute
from tests.reader.emitting import emitted
from tests.reader.texts import EVERYTHING, program


def graph_of(body: str, **parts: str) -> Graph:
    graph = read_text(program(body, **parts)).main
    verify(graph)
    return graph


def value_of(declaration: str) -> Array:
    """The numbers of a const, as they are kept."""
    type = declaration.partition("(")[0]
    graph = graph_of(f"{type} c = const()[val = {declaration}]; tensor<fp16, [1, 4]> y = taking(c = c);")
    array: Array = graph.constants[0].attributes["val"].load()
    return array


LITERALS: list[tuple[str, Any]] = [
    ("fp16(0.5)", 0.5),
    ("fp16(-65504)", -65504.0),
    ("fp16(0.001302)", 0.001302),
    ("fp16(1e-5)", 1e-5),
    ("fp16(0x1.5p-17)", 0x15 * 2.0**-21),
    ("fp16(-0x1p+0)", -1.0),
    ("tensor<fp16, []>(0x1.8p+1)", 3.0),
    ("fp32(3)", 3.0),
    ("int32(-7)", -7),
    ("tensor<int32, []>(2147483647)", 2**31 - 1),
    ("uint64(18446744073709551615)", 2**64 - 1),
    ("bool(true)", True),
    ("tensor<bool, [2]>([true, false])", [True, False]),
    ("tensor<bool, [2, 1]>([[true], [false]])", [[True], [False]]),
    ("tensor<int8, [3]>([-128, 0, 127])", [-128, 0, 127]),
    ("tensor<uint4, [2]>([0, 15])", [0, 15]),
    ("tensor<int4, [2]>([-8, 7])", [-8, 7]),
    ("tensor<uint1, [3]>([1, 0, 1])", [1, 0, 1]),
    ("tensor<fp16, [2, 2]>([[0x0p+0, -0x1p+0], [0x1p-1, 0.5]])", [[0.0, -1.0], [0.5, 0.5]]),
    ("tensor<fp16, [2, 2]>([1, 2, 3, 4])", [[1.0, 2.0], [3.0, 4.0]]),
    ("tensor<fp16,[1,1,2,2]>([0,-65504, 0 , 0])", [[[[0.0, -65504.0], [0.0, 0.0]]]]),
    ("tensor<fp16, [1, 2, 1]>([[[1], [2]]])", [[[1.0], [2.0]]]),
    ("tensor<fp32, [2]>([inf, -inf])", [np.inf, -np.inf]),
]


@pytest.mark.parametrize(("text", "expected"), LITERALS, ids=[text for text, _ in LITERALS])
def test_literals(text: str, expected: Any) -> None:
    found = value_of(text)
    np.testing.assert_array_equal(found, np.array(expected))
    assert found.shape == np.shape(expected)


STATEMENTS = {
    "arguments in any order": "tensor<fp16, [1, 4]> y = sub(y = h, x = x);",
    "no spaces": "tensor<fp16,[1,4]> y=sub(x=x,y=h);",
    "line ends anywhere": "tensor<fp16,\n[1,4]>\ny\n=\nsub\n(\nx=x\n,\ny=h\n)\n[\n]\n;",
    "a name that differs": 'tensor<fp16, [1, 4]> y = sub(x = x, y = h)[name = string("difference")];',
    "dialect 1.0": 'tensor<fp16, [1, 4]> y = sub(x = x, y = h)[name = tensor<string, []>("y")];',
    "a literal in place": "tensor<fp16, [1, 4]> y = sub(x = x, y = fp16(0x1p-1));",
    "a literal of dialect 1.0": "tensor<fp16, [1, 4]> y = sub(x = x, y = tensor<fp16, []>(0x1p-1));",
    "one value in parentheses": "tensor<fp16, [1, 4]> y = sub(x = (x), y = h);",
    "a bare attribute": "tensor<fp16, [1, 4]> y = sub(x = x, y = h)[exact = true];",
    "a bare attribute before the name": 'tensor<fp16, [1, 4]> y = sub(x = x, y = h)[exact = true, name = string("y")];',
    "an unknown size": "tensor<fp16, [1, ?]> y = sub(x = x, y = h);",
}


@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS.keys())
def test_spellings_of_one_statement(statement: str) -> None:
    graph = graph_of(f"fp16 h = const()[val = fp16(0.5)];\n{statement}")
    [node] = graph.operations
    assert (node.op, node.result.name, str(node.result.type)) == (OPS["sub"], "y", "fp16[1, 4]")
    assert list(node.operands) == ["x", "y"]
    result = execute(graph, {"x": np.arange(4.0).reshape(1, 4)}, "fp64")["y"]
    np.testing.assert_array_equal(result, [[-0.5, 0.5, 1.5, 2.5]])


def test_several_results_and_values() -> None:
    body = (
        "tensor<fp16, [1, 1]> a, tensor<fp16, [1, 3]> b = split(axis = 1, split_sizes = tensor<int32, [2]>([1, 3]), x = x);"
        "tensor<fp16, [1, 4]> c = concat(axis = 1, interleave = false, values = (b, a));"
        "tensor<fp16, [1, 4]> y = concat(axis = int32(1), interleave = bool(false), values = c);"
    )
    graph = graph_of(body)
    assert [value.name for value in graph.operations[0].results] == ["a", "b"]
    np.testing.assert_array_equal(execute(graph, {"x": np.arange(4.0).reshape(1, 4)}, "fp64")["y"], [[1, 2, 3, 0]])


def test_words_of_mil_are_names_elsewhere() -> None:
    chain = ("x", "path", "list", "func", "state", "program", "offset", "y")
    body = "\n".join(f"tensor<fp16, [1, 4]> {b} = relu(x = {a});" for a, b in pairwise(chain))
    assert [node.result.name for node in graph_of(body).operations] == list(chain[1:])


def test_operands_of_constexpr_ops_stand_in_either_list() -> None:
    operands = (
        "axis = int32(0), quantized_data = tensor<int8, [1, 4]>([[1, 2, 3, 4]]), scale = fp16(0x1p-1), zero_point = int8(1)"
    )
    for text in (
        program(f"tensor<fp16, [1, 4]> y = constexpr_affine_dequantize()[{operands}];", dialect="1.0", opset="ios16"),
        program(f"tensor<fp16, [1, 4]> y = constexpr_affine_dequantize({operands});"),
    ):
        graph = read_text(text).main
        np.testing.assert_array_equal(execute(graph, {"x": np.zeros((1, 4))}, "fp64")["y"], [[0, 0.5, 1, 1.5]])


def test_the_older_form_of_a_palette_is_computed() -> None:
    """228 is 11 10 01 00: the first index stands in the lowest bits."""
    arguments = "indices = tensor<uint8, [1]>([228]), lut = tensor<fp16, [4]>([1, 2, 3, 4]), shape = tensor<uint32, [1]>([4])"
    text = program(f"tensor<fp16, [4]> y = constexpr_lut_to_dense()[{arguments}];", dialect="1.0", opset="ios16")
    graph = read_text(text).main
    np.testing.assert_array_equal(execute(graph, {"x": np.zeros((1, 4))}, "fp64")["y"], [1, 2, 3, 4])


def test_an_older_form_without_a_record_is_kept_as_it_is() -> None:
    text = program("tensor<fp16, [1, 4]> y = resize(x = x);", dialect="1.0", opset="ios16")
    [node] = read_text(text).main.operations
    assert node.op.opaque
    assert list(node.operands) == ["x"]


def test_the_older_form_of_suppression_is_written_again() -> None:
    """Its boxes stand in rows, and a fourth result counts them."""
    body = (
        "tensor<fp16, [1, 2, 4]> y, tensor<fp16, [1, 2, 3]> points, tensor<int32, [1, 2]> places, tensor<int32, [1]> count ="
        " non_maximum_suppression(boxes = x, iou_threshold = fp16(0x1p-1), max_boxes = int32(2),"
        " per_class_suppression = bool(false), score_threshold = fp16(0x1p-2), scores = s);"
    )
    inputs = "tensor<fp16, [1, 9, 4]> x, tensor<fp16, [1, 9, 3]> s"
    graph = graph_of(body, inputs=inputs, outputs="y, points, places, count", dialect="1.0", opset="ios15")
    [node] = graph.operations
    assert node.op.opaque
    assert [result.type.shape for result in node.results] == [(1, 2, 4), (1, 2, 3), (1, 2), (1,)]
    [again] = read_text(emitted(graph, "1.0")).main.operations
    assert (again.op.name, list(again.operands)) == (node.op.name, list(node.operands))
    assert [result.type for result in again.results] == [result.type for result in node.results]


def test_attributes_of_program_and_function() -> None:
    module = read_text(EVERYTHING)
    assert module.attributes == {"buildInfo": {"component": "by hand", "versions": "1"}}
    assert module.function_attributes["main"] == {"shapes": (("DefaultShapes", {"x": [1, 8]}),)}
    assert (module.dialect, module.opsets, module.main.name) == ("1.3", {"main": "ios18"}, "model")


def test_several_functions() -> None:
    body = "tensor<fp16, [2]> y = tanh(x = x);"
    text = (
        program("tensor<fp16, [1, 4]> y = relu(x = x);").rstrip().removesuffix("}")
        + f" func second<ios17>(tensor<fp16, [2]> x) {{ {body} }} -> (y);\n}}"
    )
    module: Module = read_text(text, "kernels/pair.mil")
    assert {name: graph.operations[0].op.name for name, graph in module.functions.items()} == {"main": "relu", "second": "tanh"}
    assert [graph.name for graph in module.functions.values()] == ["pair", "second"]
    assert module.opsets == {"main": "ios18", "second": "ios17"}


def test_consts_that_only_set_attributes_are_no_nodes() -> None:
    consts = "int32 a = const()[val = int32(1)]; fp16 unused = const()[val = fp16(1)];"
    graph = graph_of(f"{consts} tensor<fp16, [1, 4]> y = softmax(axis = a, x = x);")
    assert graph.constants == []
    assert graph.nodes[0].attributes == {"axis": 1}


def test_places_are_those_of_the_text() -> None:
    graph = graph_of("tensor<fp16, [1, 4]> y = relu(x = x);")
    [node] = graph.nodes
    assert (node.span.text, node.result.span.text, node.span.source.position(node.span.start)) == ("relu", "y", (4, 26))


# ---- what has no record ----

OPAQUE = {
    "an unknown op": "tensor<fp16, [1, 4]> y = fancy(k = k, mode = mode, values = (x, x), x = x)",
    "several results": "tensor<fp16, [1, 4]> y, tensor<bool, [2]> z = fancy(x = x)",
    "a list": "list<tensor<fp16, [4]>, ?> y = make_list(init_length = k)",
    "an unknown size": "tensor<int32, [?, 2]> y = non_zero(x = x)",
    "types under 8 bits": "tensor<uint4, [2]> y = fancy(x = x)",
    "a dict": "dict<string, fp32> y = fancy(x = x)",
    "a list of texts": 'string y = fancy(classes = list<string, 3>(["a", "b c", ""]), x = x)',
    "a list of numbers": "int64 y = fancy(classes = list<int64, 2>([3, -4]), x = x)",
    "a list of any length": 'string y = fancy(classes = list<string, ?>(["a"]), x = x)',
    "an empty list": "string y = fancy(classes = list<string, 0>([]), x = x)",
    "a list of tensors": "fp16 y = fancy(l = list<tensor<fp16, [2]>, 2>([[0x1p+0, 0x1p+1], [0x0p+0, -0x1p-1]]), x = x)",
    "a tuple": 'fp16 y = fancy(t = tuple<string, bool, list<int32, 1>>(("a", true, [1])), x = x)',
    "a dict of numbers": 'fp16 y = fancy(d = dict<string, fp32>({{"a", 0x1p+0}, {"b", 0x1p-1}}), x = x)',
    "a tensor of texts": 'fp16 y = fancy(t = tensor<string, [2, 1]>([["a"], ["b"]]), x = x)',
    "a const of unknown size": "fp16 y = fancy(k2 = tensor<int32, [?]>([1, 2]), x = x)",
    "a const of bf16": "fp16 y = fancy(b = tensor<bf16, [2]>([0x1p+0, 0x1p-1]), c = bf16(0x1p+1), x = x)",
}


@pytest.mark.parametrize("statement", OPAQUE.values(), ids=OPAQUE.keys())
def test_what_has_no_record_is_written_again(statement: str) -> None:
    consts = (
        '        int8 k = const()[name = string("k"), val = int8(3)];\n'
        '        string mode = const()[name = string("mode"), val = string("fast")];\n'
    )
    graph = graph_of(consts + statement + ";")
    node: Node = graph.operations[0]
    assert node.op.opaque
    line = next(line for line in emitted(graph).splitlines() if node.op.name + "(" in line)
    assert line == f'        {statement}[name = string("y")];'


@pytest.mark.parametrize(("op", "said"), [("mull", "it has no record\\b.*did you mean `mul`"), ("fancy", "it has no record")])
def test_what_has_no_record_is_refused_where_it_is_computed(op: str, said: str) -> None:
    graph = graph_of(f"tensor<fp16, [1, 4]> y = {op}(x = x);")
    with pytest.raises(Failure, match=re.compile(f"ANE0482.*cannot compute `{op}`: {said}", re.DOTALL)):
        execute(graph, {"x": np.zeros((1, 4))}, "fp64")


def test_state() -> None:
    body = """
        tensor<fp16, [1, 4]> v = read_state(input = kv);
        tensor<fp16, [1, 4]> y = add(x = v, y = x);
        write_state(data = y, input = kv);
    """
    graph = graph_of(body, inputs="state<tensor<fp16, [1, 4]>> kv, tensor<fp16, [1, 4]> x")
    assert [node.op.name for node in graph.operations] == ["read_state", "add", "write_state"]
    assert str(graph.inputs[0].value.type) == "state<tensor<fp16, [1, 4]>>"
    assert graph.operations[2].results == ()
    assert [node.op.effect for node in graph.operations] == [True, False, True]


def test_ops_on_unknown_sizes_are_kept_as_they_are() -> None:
    body = "tensor<fp16, [1, ?]> h = relu(x = x); tensor<fp16, [1, ?]> y = add(x = h, y = x);"
    graph = graph_of(body, inputs="tensor<fp16, [1, ?]> x")
    assert [node.op.opaque for node in graph.operations] == [True, True]
    assert emitted(graph).count("tensor<fp16, [1, ?]>") == 3


def test_every_op_of_mil_is_read(coremltools: Any) -> None:
    from coremltools.converters.mil.mil.ops.registry import SSAOpRegistry

    names = sorted(SSAOpRegistry.core_ops)
    assert len(names) == 168
    for name in names:
        if name in OPS or name == "const":
            continue
        [node] = graph_of(f'tensor<fp16, [1, 4]> y = {name}(x = x, k = int32(3), mode = string("m"));').operations
        assert node.op.opaque
        assert str(node.result.type) == "fp16[1, 4]"
