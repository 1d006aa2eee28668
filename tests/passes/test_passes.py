"""Every pass keeps the graph valid and its results the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from anedsl.codegen.reader import read_text
from anedsl.data import ArrayData
from anedsl.diagnostics import Sink
from anedsl.elaborate.modules import load_text
from anedsl.frontend import build
from anedsl.graph import Graph
from anedsl.passes import PIPELINE, Pass, optimize, tidy
from anedsl.passes.fold import fold_constants
from anedsl.passes.scaling import move_scales
from anedsl.passes.verify import verify
from anedsl.reference.executor import execute
from anedsl.running import random_inputs
from tests.language.kernels import graph_of
from tests.passes.graphs import kernels
from tests.reader.texts import program

MOVE_ARITHMETIC = (fold_constants, move_scales)
"""These keep the mathematics, but round elsewhere in fp16."""


def ops(text: str) -> list[str]:
    """The ops that are left of a kernel's body with inputs x and z, after the whole pipeline."""
    graph = graph_of(f"kernel k() {{ input x, z: fp16[1, 4, 1, 2]; weight w: fp16[1, 4, 1, 1] = 0.5; output y; {text} }}")
    return [node.op.name for node in optimize(graph).operations]


@pytest.mark.parametrize("step", PIPELINE, ids=lambda step: step.__name__)
@settings(max_examples=60, deadline=None)
@given(text=kernels())
def test_each_pass_keeps_the_result(step: Pass, text: str) -> None:
    graph = graph_of(text)
    verify(graph)
    changed = step(graph)
    verify(changed)
    same(graph, changed, exact=step not in MOVE_ARITHMETIC)


@settings(max_examples=80, deadline=None)
@given(text=kernels())
def test_the_pipeline_keeps_the_result(text: str) -> None:
    graph = graph_of(text)
    optimized = optimize(graph, after=lambda step, result: verify(result))
    same(graph, optimized, exact=False)
    assert len(optimize(optimized).nodes) == len(optimized.nodes)


def same(before: Graph, after: Graph, *, exact: bool) -> None:
    """Equal in fp64; and in fp16, bit for bit, where no arithmetic was moved to compile time."""
    inputs = random_inputs(before, 0)
    for numerics in ("fp64", "fp16") if exact else ("fp64",):
        expected, found = execute(before, inputs, numerics), execute(after, inputs, numerics)
        for name in expected:
            if numerics == "fp16":
                np.testing.assert_array_equal(found[name], expected[name])
            else:
                np.testing.assert_allclose(found[name], expected[name], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = x ** 2", ["mul"]),
        ("y = x ** 1", []),
        ("y = x ** 0.5", ["sqrt"]),
        ("y = x ** -0.5", ["pow"]),
        ("y = x * 1 + 0 - 0", []),
        ("y = 1 * x / 1", []),
        ("y = 0 + x", []),
        ("y = x + -z", ["sub"]),
        ("y = x - -z", ["add"]),
        ("y = -(-x)", []),
        ("y = 2 * x + x * 2", ["mul", "add"]),
        ("y = x * z + z * x", ["mul", "add"]),
        ("y = x - z + (z - x)", ["sub", "sub", "add"]),
        ("y = reshape(x, [1, 4, 1, 2])", []),
        ("y = transpose(x, [0, 1, 2, 3])", []),
        ("y = transpose(x, [0, 3, 2, 1])", ["transpose"]),
        ("y = cast(x, fp16)", []),
        ("y = cast(x, fp32)", ["cast"]),
        ("y = x[:, :]", []),
        ("y = x[:, ::-1]", ["reverse"]),
        ("y = concat(x, axis = 1)", []),
        ("t = x * z; y = x + z", ["add"]),
        ("y = x * (w * 2 + sqrt(w))", ["mul"]),
        ("y = conv(x, transpose(w, [1, 0, 2, 3]) * 3 + full([4, 1, 1, 1], 1) * w)", ["conv"]),
        ("y = mean(x, axis = 1) + reduce_mean(x, axes = [1], keep_dims = true)", ["reduce_mean", "add"]),
        ("y = x + full([1, 4, 1, 2], 0)", []),
        ("y = reshape(reshape(x, [2, 4]), [8])", ["reshape"]),
        ("y = reshape(reshape(x, [2, 4]), [1, 4, 1, 2])", []),
        ("y = expand_dims(squeeze(x, axes = [0, 2]), axes = [0])", ["reshape"]),
        ("y = transpose(transpose(x, [0, 3, 2, 1]), [0, 3, 2, 1])", []),
        ("y = transpose(transpose(x, [3, 1, 0, 2]), [1, 0, 2, 3])", ["reshape"]),
        ("y = transpose(transpose(x, [0, 3, 2, 1]), [2, 1, 0, 3])", ["transpose"]),
        ("y = transpose(x, [2, 1, 0, 3])", []),
        ("y = reshape(transpose(x, [0, 2, 1, 3]), [4, 2])", ["reshape"]),
        ("t = x[0, :, 0]; u = z[0, :, 0]; y = transpose(t, [1, 0]) @ u", ["squeeze", "squeeze", "matmul"]),
        (
            "t = x[0, :, 0]; u = z[0, :, 0]; y = matmul(transpose(t, [1, 0]), transpose(u, [1, 0]), transpose_x = true)",
            ["squeeze", "squeeze", "matmul"],
        ),
        ("y = transpose(matmul(x, z, transpose_x = true), [0, 1, 3, 2])", ["matmul"]),
        ("s = matmul(x, z, transpose_x = true); y = s + transpose(s, [0, 1, 3, 2])", ["matmul", "transpose", "add"]),
        ("y = x[:, 1:4][:, 0:2]", ["slice_by_size"]),
        ("y = x[:, ::2][:, ::2]", ["slice_by_size"]),
        ("y = x[:, 1::2][..., 1:]", ["slice_by_index"]),
        ("c = concat(x, z, axis = 1); y = c[:, 4:8] - c[:, 0:4]", ["sub"]),
        ("c = concat(x, z, axis = 1); y = c[:, 5:7]", ["slice_by_size"]),
        ("c = concat(x, z, axis = 1); y = c[:, 3:5]", ["concat", "slice_by_size"]),
        ("y = concat(concat(x, z, axis = 1), x, axis = 1)", ["concat"]),
        ("y = concat(concat(x, z, axis = 1), concat(x, z, axis = 1), axis = 3)", ["concat", "concat"]),
        ("y = concat(x[:, 0:1], x[:, 1:3], z, axis = 1)", ["slice_by_size", "concat"]),
        ("y = concat(x[:, 0:1], x[:, 1:4], axis = 1)", []),
        (
            "a = reshape(x[:, 0:1], [1, 2]); b = reshape(x[:, 1:4], [3, 2]); y = a * b",
            ["reshape", "slice_by_size", "slice_by_size", "mul"],
        ),
        (
            "a = reshape(x[:, 0:1], [1, 2]); b = reshape(x[:, 1:4], [2, 3]); y = reshape(a, [2, 1]) * b",
            ["slice_by_size", "slice_by_size", "reshape", "reshape", "mul"],
        ),
        ("y = concat(reshape(x, [4, 2]), reshape(z, [4, 2]), axis = 0)", ["concat", "reshape"]),
        ("y = concat(reshape(x, [8]), reshape(z, [8]), axis = 0)", ["concat", "reshape"]),
        ("y = concat(reshape(x, [2, 4]), reshape(z, [2, 4]), axis = 1)", ["reshape", "reshape", "concat"]),
        (
            "a = reshape(x[:, 0:2], [2, 1, 2]); b = reshape(x[:, 2:4], [2, 1, 2]); y = a * b",
            ["reshape", "slice_by_size", "slice_by_size", "mul"],
        ),
        (
            """a = reshape(x, [1, 2, 2, 2]); b = reshape(z, [1, 2, 2, 2]); t = reshape(tanh(a), [1, 4, 1, 2])
               u = reshape(tanh(b), [1, 4, 1, 2]); y = concat(t, u, axis = 1)""",
            ["reshape", "reshape", "tanh", "tanh", "concat", "reshape"],
        ),
        ("y = squeeze(reshape(x[:, 0:1, :, 0:1], [1])) * z", ["slice_by_size", "squeeze", "mul"]),
        ("c = concat(x, z, x, axis = 1); y = c[:, 4:12]", ["concat"]),
        ("c = concat(x, z, x, axis = 1); y = c[:, 4:12, :, 0:1]", ["concat", "slice_by_size"]),
        # The slice of u stays, for the sum: no reshape goes without it.
        (
            "t = x[:, 0:2]; u = x[:, 2:4]; y = reshape(t, [4]) * reshape(u, [4]) + sum(u)",
            ["slice_by_size", "slice_by_size", "reshape", "reshape", "mul", "reduce_sum", "add"],
        ),
        ("y = (x * 2) * 3", ["mul"]),
        ("t = x * 2; y = t * 3 + t", ["mul", "mul", "add"]),
        ("y = conv(x, full([8, 4, 1, 1], 0.5)) * 0.25", ["conv"]),
        ("t = x[0, :, 0]; u = z[0, :, 0]; y = matmul(t, u, transpose_y = true) * 0.125", ["squeeze", "squeeze", "mul", "matmul"]),
        # A larger weight may not fit where its product does.
        ("y = conv(x, full([8, 4, 1, 1], 0.5)) * 4", ["conv", "mul"]),
    ],
)
def test_what_is_left(text: str, expected: list[str]) -> None:
    assert ops(text) == expected


def test_a_number_that_spreads_a_tensor_is_kept() -> None:
    graph = graph_of("kernel k() { input x: fp16[1, 1, 1, 2]; output y; y = x + full([1, 4, 1, 1], 0) }")
    assert [node.op.name for node in optimize(graph).operations] == ["add"]


def test_folded_weights_are_computed_only_when_they_are_asked_for() -> None:
    text = (
        "kernel k() { input x: fp16[1, 4, 8, 8]; weight w: fp16[64, 4, 8, 1]; output y; y = conv(x, transpose(w, [0, 1, 3, 2])) }"
    )
    graph = optimize(graph_of(text))  # the weight has no data yet: computing anything would fail
    (const,) = [node for node in graph.constants if node.result.type.size > 1]
    assert const.result.name == "w_transpose"


def test_a_part_of_a_weight_that_is_used_twice_is_one_const() -> None:
    for stored in ("", " stored int8"):
        text = f"kernel k() {{ input x: fp16[4]; weight W: fp16[8]{stored} = ones; output y, z; y = W[0:4] + x; z = W[0:4] * x }}"
        assert [node.result.type.shape for node in optimize(graph_of(text)).constants] == [(4,)]


def test_weights_are_never_merged() -> None:
    text = "kernel k() { input x: fp16[4]; weight a, b: fp16[4] = ones; output y; y = x * a + x * b }"
    assert len(optimize(graph_of(text)).constants) == 2


def read(body: str, inputs: str = "tensor<fp16, [1, 4]> x") -> Graph:
    return read_text(program(body, inputs=inputs)).main


def test_ops_with_an_effect_stay_in_their_place() -> None:
    body = """
        tensor<fp16, [1, 4]> v = read_state(input = kv);
        tensor<fp16, [1, 4]> s = add(x = x, y = x);
        write_state(data = s, input = kv);
        tensor<fp16, [1, 4]> after = read_state(input = kv);
        tensor<fp16, [1, 4]> unused = tanh(x = x);
        tensor<fp16, [1, 4]> y = mul(x = after, y = x);
    """
    graph = optimize(read(body, "tensor<fp16, [1, 4]> x, state<tensor<fp16, [1, 4]>> kv"))
    assert [node.op.name for node in graph.nodes] == ["read_state", "add", "write_state", "read_state", "mul"]


def test_ops_that_only_have_the_name_of_a_known_one_are_left_alone() -> None:
    body = """
        tensor<fp16, [1, ?]> a = reshape(x = u, shape = tensor<int32, [2]>([1, -1]));
        tensor<fp16, [1, ?]> b = reshape(shape = tensor<int32, [2]>([1, -1]), x = a);
        tensor<fp16, [1, ?]> c = slice_by_size(begin = tensor<int32, [2]>([0, 0]), size = tensor<int32, [2]>([1, 2]), x = b);
        tensor<fp16, [1, ?]> d = mul(x = c, y = fp16(1));
        tensor<fp16, [1, ?]> y = concat(values = d);
    """
    graph = read(body, "tensor<fp16, [1, ?]> u")
    for step in (*PIPELINE, tidy):
        assert [node.op for node in step(graph).operations] == [node.op for node in graph.operations]


def test_ops_that_take_nothing_are_folded() -> None:
    body = """
        tensor<int32, [3]> r = range_1d(start = 1, end = 7, step = 2);
        tensor<int32, [3]> y = add(x = x, y = r);
    """
    graph = fold_constants(read(body, "tensor<int32, [3]> x"))
    assert [node.op.name for node in graph.operations] == ["add"]
    np.testing.assert_array_equal(graph.constants[0].attributes["val"].load(), [1, 3, 5])


LOOP = """kernel k(N = 4) {{
    input x: fp16[8, 8]
    weight w: fp16[8, 8]{}
    output y
    h = w
    for i in range(N) {{ h = {} }}
    y = x + h
}}"""


@pytest.mark.parametrize("stored", ["", " stored int8"])
def test_what_is_computed_from_a_weight_takes_as_long_as_its_ops(stored: str) -> None:
    """Not as many steps as there are ways through them, and no recursion."""
    w = np.random.default_rng(0).standard_normal((8, 8))
    for text, turns, expected in (
        ("h * 0.5 + h * 0.25", 60, w * 0.75**60),
        ("h + 1", 3000, w + 3000),
    ):
        program = build(load_text(LOOP.format(stored, text)), "k", {"N": turns}, Sink())
        program.weights[0].data.bound = ArrayData(w)
        found = execute(program.graph, {"x": np.zeros((8, 8))}, "fp64")["y"]
        np.testing.assert_allclose(found, expected, rtol=1e-9)
