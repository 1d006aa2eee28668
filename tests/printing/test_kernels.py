"""Declarations, names, weights, packs, and what cannot be printed."""

from __future__ import annotations

import numpy as np
import pytest

from anedsl.codegen.comparison import compare
from anedsl.diagnostics import Failure
from anedsl.graph import Graph
from anedsl.printing import print_kernel, printed
from anedsl.types import BOOL, FP16, FP32, INT16, INT32, TensorType
from tests.codegen.kernels import Builder, fp16
from tests.language.kernels import graph_of
from tests.printing.printing import again, lost


def test_a_kernel_is_printed_as_it_was_written() -> None:
    text = """# The gradient of RMSNorm.
# Its weights are not trained.
kernel rmsnorm_bwd {
    input  dy, x: fp16[1, 64, 1, 32] in [-8, 8]
    weight rms_w: fp16[1, 64, 1, 1] = ones
    output dx:    fp16[1, 64, 1, 32]
    pack   inp = (dy, x) along 1

    rrms = (mean(x * x, axis = 1) + 1e-5) ** -0.5
    dyw = dy * rms_w
    coeff = mean(dyw * x, axis = 1) * rrms * rrms
    dx = (dyw - x * coeff) * rrms
}
"""
    assert print_kernel(graph_of(text)) == text


def test_families_storage_and_initialisers() -> None:
    text = """kernel k {
    input  x:    fp16[1, 8, 4, 4]
    weight W[2]: fp16[8, 8, 1, 1]
    weight q:    fp16[8, 8, 1, 1] stored int8(axis = 0) = 0.5
    weight b:    fp16[4] = [1, 2, 3, -0.5]
    output o, p: fp16[1, 8, 4, 4]
    pack   out = (o, p) along 1

    h = conv(x, W[0])
    o = conv(h, W[1])
    p = conv(x, q) + b
}
"""
    assert print_kernel(graph_of(text)) == text


def test_outputs_that_are_inputs_constants_or_each_other() -> None:
    text = """kernel k {
    input  x:             fp16[1, 8]
    weight w:             fp16[1, 8]
    output x, a, b, c, d: fp16[1, 8]
    output e:             fp16[2]

    a = x + 1
    b = x
    c = a
    d = w
    e = tensor([1, 2])
}
"""
    assert print_kernel(graph_of(text)) == text


def illegal() -> Graph:
    b = Builder("my-kernel")
    x, y = b.input("x.1", fp16(1, 4)), b.input("tensor", fp16(1, 4))
    w = b.weight("in", np.ones((1, 4)))
    b.output("state", b.op("tanh", x=b.op("add", x=b.op("mul", "for", x=x, y=w), y=y)))
    return b.graph()


def test_names_that_the_language_does_not_take() -> None:
    assert (
        print_kernel(illegal())
        == """# was called 'my-kernel'
kernel my_kernel {
    input  x_1, tensor_1: fp16[1, 4]
    weight in_:           fp16[1, 4] = [[1, 1, 1, 1]]
    output state_:        fp16[1, 4]
    # x_1 was called 'x.1'
    # tensor_1 was called 'tensor'
    # state_ was called 'state'
    # in_ was called 'in'

    for_ = x_1 * in_
    state_ = tanh(for_ + tensor_1)
}
"""
    )
    assert lost(illegal()) is None


def test_a_value_does_not_hide_an_op_that_is_called() -> None:
    b = Builder()
    x = b.input("x", fp16(1, 4))
    mean = b.op("tanh", "mean", x=x)
    b.output("y", b.op("add", x=b.op("reduce_mean", x=mean, axes=(1,), keep_dims=True), y=mean))
    text = print_kernel(b.graph())
    assert "mean_1 = tanh(x)" in text
    assert "y = mean(mean_1, axis = 1) + mean_1" in text


def test_large_constants_become_weights() -> None:
    b = Builder()
    x = b.input("x", fp16(1, 64))
    b.output("y", b.op("add", x=x, y=b.const(np.arange(64.0), fp16(1, 64), "table")))
    shown = printed(b.graph())
    assert "weight table: fp16[1, 64]\n" in shown.text
    np.testing.assert_array_equal(shown.weights["table"].load().reshape(-1), np.arange(64))
    assert shown.types["table"] == fp16(1, 64)
    assert lost(b.graph()) is None


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_numbers_that_no_text_can_say_become_weights(value: float) -> None:
    b = Builder()
    b.output("y", b.op("add", x=b.input("x", fp16(4)), y=b.const(value, TensorType(FP16, ()), "limit")))
    shown = printed(b.graph())
    assert "weight limit: fp16\n" in shown.text
    assert lost(b.graph()) is None


def test_constants_that_meet_no_tensor_say_their_type() -> None:
    b = Builder()
    x = b.input("x", fp16(1, 8))
    indices = b.const(np.array([3, 1]), TensorType(INT16, (2,)), "order")
    b.output("y", b.op("gather", x=x, indices=indices, axis=1))
    assert "weight order: int16[2] = [3, 1]" in print_kernel(b.graph())
    assert lost(b.graph()) is None


@pytest.mark.parametrize(
    ("dtype", "value"),
    [(FP32, 0.1), (FP16, -0.0), (FP16, 6e-8), (INT32, -7), (BOOL, True), (FP32, 1e-38), (FP16, 65504.0)],
    ids=str,
)
def test_scalars_keep_every_bit(dtype: object, value: float) -> None:
    type = TensorType(dtype, (2,))  # type: ignore[arg-type]
    b = Builder()
    x = b.input("x", type)
    op = "logical_xor" if dtype is BOOL else "add"
    b.output("y", b.op(op, x=x, y=b.const(value, TensorType(dtype, ()))))  # type: ignore[arg-type]
    assert lost(b.graph()) is None


def test_ops_of_constants_only_stay_ops() -> None:
    b = Builder()
    two = b.const(2.0, TensorType(FP16, ()))
    b.output("y", b.op("add", x=b.input("x", fp16(4)), y=b.op("mul", x=two, y=b.const(3.0, TensorType(FP16, ())))))
    assert [node.op.name for node in again(printed(b.graph())).operations] == ["mul", "add"]
    assert lost(b.graph()) is None


def test_an_op_without_a_record_is_refused() -> None:
    from anedsl.codegen.reader import read_text

    text = """program(1.3)
{
    func main<ios18>(tensor<fp16, [4]> x) {
        tensor<fp16, [4]> y = mystery(x = x)[name = string("y")];
    } -> (y);
}
"""
    with pytest.raises(Failure) as caught:
        print_kernel(read_text(text).main)
    (found,) = caught.value.diagnostics
    assert (found.code, found.headline) == (
        "ANE0440",
        "`mystery` cannot be written in the language: it has no record in this language",
    )
    assert found.span.text == "mystery"


def test_dead_ops_are_left_out_and_unused_inputs_stay() -> None:
    graph = graph_of("kernel k() { input x, z: fp16[4]; output y; a = tanh(z); y = x + 1 }")
    text = print_kernel(graph)
    assert "tanh" not in text
    assert "input  x, z: fp16[4]" in text
    assert compare(graph, graph_of(text)).difference is None
