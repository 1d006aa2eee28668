"""What the records say nothing of: it is kept as it is, written again in both dialects, or refused with a reason."""

from __future__ import annotations

import pytest

from anedsl.codegen.artifact import prepare
from anedsl.codegen.options import Options
from anedsl.codegen.reader import read_text
from anedsl.diagnostics import Failure
from anedsl.graph import Graph
from tests.reader.emitting import emitted
from tests.reader.test_forms import graph_of
from tests.reader.texts import FOREIGN, program

LONG = {
    "list<string, ?>": "list<tensor<string, []>, ?>",
    "list<tensor<fp16, [4]>, 2>": "list<tensor<fp16, [4]>, 2>",
    "dict<string, fp32>": "dict<tensor<string, []>, tensor<fp32, []>>",
    "tuple<bool, list<uint4, 3>, bf16>": "tuple<tensor<bool, []>, list<tensor<uint4, []>, 3>, tensor<bf16, []>>",
    "state<tensor<fp16, [1, 4]>>": "state<tensor<fp16, [1, 4]>>",
    "tensor<fp16, [1, ?]>": "tensor<fp16, [1, ?]>",
    "bf16": "tensor<bf16, []>",
}


@pytest.mark.parametrize(("short", "long"), LONG.items(), ids=LONG.keys())
def test_each_dialect_spells_a_type_its_own_way(short: str, long: str) -> None:
    for spelling in (short, long, long.replace(", ", " ,\n")):
        graph = graph_of(f"{spelling} y = fancy(x = x);")
        assert str(graph.outputs[0].value.type) == short
        assert f"        {short} y = fancy(" in emitted(graph, "1.3")
        assert f"        {long} y = fancy(" in emitted(graph, "1.0")


@pytest.mark.parametrize("dialect", ["1.0", "1.3"])
def test_every_foreign_form_is_written_as_it_was_read(dialect: str) -> None:
    text = emitted(read_text(FOREIGN).main, dialect)
    assert emitted(read_text(text).main, dialect) == text
    for other in ("1.0", "1.3"):
        assert emitted(read_text(text).main, other) == emitted(read_text(FOREIGN).main, other)


def test_the_attribute_list_of_an_unknown_op_is_kept() -> None:
    listed = 'alpha = fp16(0x1p-1), exact = bool(true), words = list<string, 1>(["z"]), name = string("y")'
    graph = graph_of(f"fp16 y = fancy(x = x)[{listed}];")
    assert f"fp16 y = fancy(x = x)[{listed}];" in emitted(graph)
    assert [(attribute.name, attribute.kind) for attribute in graph.operations[0].op.attributes] == [
        ("alpha", "listed"), ("exact", "listed"), ("words", "listed"),
    ]  # fmt: skip


def test_the_order_of_the_arguments_of_an_unknown_op_means_nothing() -> None:
    orders = ("b = x, a = int32(1), c = fp16(2)", "c = fp16(2), a = int32(1), b = x")
    first, second = (graph_of(f"fp16 y = fancy({text});") for text in orders)
    assert list(first.operations[0].operands) == list(second.operations[0].operands) == ["a", "b", "c"]
    assert emitted(first) == emitted(second)


MISFITS = {
    "too many": ('list<string, 1>(["a", "b"])', "literal of `list<string, 1>` needs 1 element, found 2"),
    "too few": ("tuple<int32, int32>((1))", "literal of `tuple<int32, int32>` needs 2 elements, found 1"),
    "a number for a text": ("list<string, 1>([1])", "wrong literal for `string`: expected a string, found `1`"),
    "a text for a number": ('list<int64, 1>(["a"])', 'wrong literal for `int64`: expected an integer, found `"a"`'),
    "a list for a dict": ("dict<string, fp32>([1])", "wrong literal for `dict<string, fp32>`: expected a dict, found `[1]`"),
    "a dict for a list": ("list<fp32, 1>({{1, 2}})", "wrong literal for `list<fp32, 1>`: expected a list, found a dict"),
    "another type": ("list<fp32, 1>([fp16(1)])", "wrong literal for `fp32`: expected `fp32`, found a value of type `fp16`"),
    "an overflow": ("list<uint8, 1>([256])", "256 does not fit `uint8`"),
    "a state": ("state<fp16>(1)", "wrong literal for `state<fp16>`: expected no value: a state has none, found `1`"),
    "no such length": ("list<fp16, -1>([])", "invalid size in a MIL type: a list has no -1 elements"),
}


@pytest.mark.parametrize(("literal", "headline"), MISFITS.values(), ids=MISFITS.keys())
def test_a_literal_that_does_not_fit_its_type(literal: str, headline: str) -> None:
    with pytest.raises(Failure) as failure:
        graph_of(f"fp16 y = fancy(x = x, k = {literal});")
    assert [found.headline for found in failure.value.diagnostics] == [headline]


STATE_TEXT = """\
    func main<ios18>(state<tensor<fp16, [1, 4]>> kv, tensor<fp16, [1, 4]> x) {
        tensor<fp16, [1, 4]> v = read_state(input = kv)[name = string("v")];
        tensor<fp16, [1, 4]> y = add(x = v, y = x)[name = string("y")];
        write_state(data = y, input = kv)[name = string("write_state_1")];
        tensor<fp16, [1, 4]> after = read_state(input = kv)[name = string("after")];
    } -> (y);
"""


def test_ops_on_states_are_written_in_their_order() -> None:
    body = """
        tensor<fp16, [1, 4]> v = read_state(input = kv);
        tensor<fp16, [1, 4]> unused = tanh(x = v);
        tensor<fp16, [1, 4]> y = add(x = v, y = x);
        write_state(data = y, input = kv)[name = string("w")];
        tensor<fp16, [1, 4]> after = read_state(input = kv);
    """
    graph = graph_of(body, inputs="state<tensor<fp16, [1, 4]>> kv, tensor<fp16, [1, 4]> x")
    assert STATE_TEXT in emitted(graph)
    old = STATE_TEXT.replace("ios18", "ios16").replace("= string(", "= tensor<string, []>(")
    assert old in emitted(graph, "1.0")


# ---- what cannot be written ----


def refused(graph: Graph, dialect: str = "1.3", *emit: str) -> list[tuple[str, str]]:
    with pytest.raises(Failure) as failure:
        prepare(graph, Options(dialect=dialect, route="coreml", emit=frozenset(emit or {"mil"})))
    return [(found.code, found.headline) for found in failure.value.diagnostics]


def test_an_older_form_is_not_written_for_an_opset_that_has_another() -> None:
    arguments = "indices = tensor<uint8, [1]>([228]), lut = tensor<fp16, [4]>([1, 2, 3, 4]), shape = tensor<uint32, [1]>([4])"
    text = program(f"tensor<fp16, [4]> y = constexpr_lut_to_dense()[{arguments}];", dialect="1.0", opset="ios16")
    graph = read_text(text).main
    assert "constexpr_lut_to_dense()[indices = tensor<uint8, [1]>([228]), lut = " in emitted(graph, "1.0")
    reason = "this is its form up to ios17, and the dialect has opset ios18"
    assert refused(graph, "1.3") == [("ANE0439", f"`constexpr_lut_to_dense` cannot be written in dialect 1.3: {reason}")]


OLDER = """
error[ANE0439]: `resize` cannot be written in dialect 1.3: this is its form up to ios16, and the dialect has opset ios18
 --> model.mil:4:26
  |
4 | tensor<fp16, [1, 4]> y = resize(x = x);
  |                          ^^^^^^
"""


def test_the_place_of_what_cannot_be_written_is_shown() -> None:
    graph = read_text(program("tensor<fp16, [1, 4]> y = resize(x = x);", dialect="1.0", opset="ios16")).main
    with pytest.raises(Failure) as failure:
        prepare(graph, Options(emit=frozenset({"mil"})))
    assert str(failure.value) == OLDER


def test_an_op_on_unknown_sizes_is_as_new_as_its_record() -> None:
    graph = graph_of("tensor<fp16, [1, ?]> y = scaled_dot_product_attention(query = x, key = x, value = x);",
                     inputs="tensor<fp16, [1, ?]> x")  # fmt: skip
    assert [code for code, _ in refused(graph, "1.0")] == ["ANE0430"]
    assert "scaled_dot_product_attention(key = x" in emitted(graph)


ARRAY = "tensor<fp16, [1, 4]> y = relu(x = x);"
SIZES = "its description says which sizes `?` may be, and the program does not"
HELD = "Core ML keeps fp16 tensors of known sizes as states, and this one is `fp32[2]`"
PACKAGES = {
    "unknown sizes": (
        "tensor<fp16, [1, ?]> y = relu(x = x);", "tensor<fp16, [1, ?]> x",
        ("ANE0439", f"input `x` of type `tensor<fp16, [1, ?]>` cannot be written in an mlpackage: {SIZES}"),
    ),
    "a state of fp32": (
        ARRAY, "tensor<fp16, [1, 4]> x, state<tensor<fp32, [2]>> s",
        ("ANE0439", f"state `s` cannot be written in an mlpackage: {HELD}"),
    ),
    "a list": (ARRAY, "tensor<fp16, [1, 4]> x, list<fp16, 2> l", ("ANE0433", "Core ML takes no list<fp16, 2> input")),
    "a text": ("string y = fancy(x = x);", "fp16 x", ("ANE0433", "Core ML takes no string output")),
    "bf16": (
        "fp16 y = fancy(b = bf16(1), x = x);", "fp16 x",
        ("ANE0439", "`b` of `fancy` cannot be written in an mlpackage: it has no numbers of type bf16"),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "inputs", "expected"), PACKAGES.values(), ids=PACKAGES.keys())
def test_what_a_package_cannot_say(body: str, inputs: str, expected: tuple[str, str]) -> None:
    graph = graph_of(body, inputs=inputs)
    assert emitted(graph)
    assert refused(graph, "1.3", "mlpackage") == [expected]


def test_a_state_needs_a_newer_package() -> None:
    graph = graph_of(ARRAY, inputs="tensor<fp16, [1, 4]> x, state<tensor<fp16, [2]>> s")
    assert refused(graph, "1.0", "mlpackage") == [
        ("ANE0430", "state `s` of an mlpackage needs opset ios18, but dialect 1.0 has ios16")
    ]


def test_a_literal_in_a_weight_file_is_not_written_again() -> None:
    place = 'BLOBFILE(path = string("@model_path/w.bin"), offset = uint64(64))'
    reason = "numbers of type `tensor<bf16, [4]>` in a weight file are not supported"
    graph = graph_of(f"fp16 y = fancy(b = tensor<bf16, [4]>({place}), x = x);")
    assert refused(graph) == [("ANE0439", f"`b` of `fancy` cannot be written again: {reason}")]


def test_a_number_that_is_not_finite_is_refused() -> None:
    graph = graph_of("fp16 y = fancy(l = list<fp32, 2>([1, inf]), x = x);")
    assert [code for code, _ in refused(graph)] == ["ANE0431"]
