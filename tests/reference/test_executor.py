"""What each numerics rounds, and when."""

from __future__ import annotations

import numpy as np
import pytest

from anedsl.codegen.reader import read_text
from anedsl.diagnostics import Failure
from anedsl.graph import Graph
from anedsl.reference import executor
from anedsl.reference.executor import execute
from anedsl.reference.numerics import Numerics
from tests.codegen.kernels import Builder, fp16
from tests.language.kernels import outputs_of
from tests.reader.texts import program


def test_fp16_rounds_after_every_op() -> None:
    x = np.array([1.0, 205.1, 0.1])
    text = "kernel k() { input x: fp16[3]; output y; y = x * x + 1 - x }"
    h = x.astype(np.float16)
    expected = h * h + np.float16(1) - h
    found = outputs_of(text, {"x": x}, "fp16")["y"]
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, expected)


def test_a_cast_rounds_and_a_slice_has_nothing_to_round() -> None:
    x = np.full(512, 0.1)
    text = "kernel k() { input x: fp32[512]; output y, z; y = cast(x, fp16)[0:300]; z = x[0:300] }"
    found = outputs_of(text, {"x": x}, "fp16")
    assert (found["y"] == np.float16(np.float32(0.1))).all()
    assert (found["z"] == np.float32(0.1)).all()


def test_fp16_accumulates_in_fp32_inside_an_op() -> None:
    x = np.full((1, 4096), 1.0)
    found = outputs_of("kernel k() { input x: fp16[1, 4096]; output y; y = sum(x, axis = 1) }", {"x": x}, "fp16")["y"]
    assert found[0, 0] == 4096  # adding ones in fp16 stops at 2048


def test_fp16_overflows_where_the_type_does() -> None:
    x = np.full((1, 768), 10.0)
    found = outputs_of("kernel k() { input x: fp16[1, 768]; output s, m; s = sum(x * x); m = mean(x * x) }", {"x": x}, "fp16")
    assert np.isinf(found["s"]).all()
    assert found["m"][0, 0] == 100


@pytest.mark.parametrize(("numerics", "dtype"), [("fp64", np.float64), ("fp32", np.float32), ("fp16", np.float16)])
def test_results_have_the_type_of_the_numerics(numerics: str, dtype: type) -> None:
    text = """kernel k() {
        input x: fp16[2]; input w: fp32[2]; output y, z, b, i
        y = x / 3; z = w / 3; b = x > 1; i = cast(x, int32)
    }"""
    found = outputs_of(text, {"x": np.ones(2), "w": np.ones(2)}, numerics)
    assert found["y"].dtype == dtype
    assert found["z"].dtype == (np.float32 if numerics == "fp16" else dtype)
    assert found["b"].dtype == np.bool_
    assert found["i"].dtype == np.int32
    assert found["z"][0] == found["z"].dtype.type(1) / found["z"].dtype.type(3)


def test_fp64_takes_inputs_numbers_and_weights_as_they_are_given() -> None:
    text = "kernel k(EPS = 1e-5) { input x: fp16[1]; weight w: fp16[1] = 0.3; output y; y = x * w + EPS }"
    assert outputs_of(text, {"x": np.array([0.1])})["y"][0] == 0.1 * 0.3 + 1e-5


def test_attributes_are_rounded_with_their_operand() -> None:
    x = np.zeros(1)
    text = "kernel k() { input x: fp16[1]; output y; y = log(x, epsilon = 1e-12) }"
    assert np.isfinite(outputs_of(text, {"x": x}, "fp64")["y"]).all()
    assert np.isneginf(outputs_of(text, {"x": x}, "fp16")["y"]).all()


@pytest.mark.parametrize(("numerics", "held"), [("fp64", 1.3), ("fp32", 1.2999999523162842), ("fp16", 1.2999999523162842)])
def test_an_attribute_that_follows_no_operand_is_fp32_as_in_a_program(numerics: str, held: float) -> None:
    b = Builder()
    x = b.input("x", fp16(1, 1, 10, 10))
    b.output("y", b.op("upsample_nearest_neighbor", x=x, scale_factor_height=1.3, scale_factor_width=2.0))
    [node] = b.graph().nodes
    assert Numerics(numerics).attributes(node) == {"scale_factor_height": held, "scale_factor_width": 2.0}


def test_memory_holds_only_what_is_alive() -> None:
    import tracemalloc

    chain = "\n".join(f"h{i + 1} = h{i} + 1" for i in range(40))
    text = f"kernel k() {{\ninput h0: fp16[1, 1000, 1, 250]\noutput y\n{chain}\ny = h40\n}}"
    x = np.zeros((1, 1000, 1, 250))
    tracemalloc.start()
    outputs_of(text, {"h0": x}, "fp32")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12 * x.size * 4


@pytest.mark.parametrize("numerics", ["fp16", "fp32", "fp64"])
def test_a_result_without_axes_has_none(numerics: str) -> None:
    text = "kernel k() { input x: fp16[4]; output y; y = sum(x, axis = 0, keep_dims = false) }"
    found = outputs_of(text, {"x": np.arange(4.0)}, numerics)["y"]
    assert (found.shape, found.item()) == ((), 6.0)


def of_consts(op: str) -> Graph:
    """A program that makes a tensor of consts alone, beside what it does with its input."""
    body = f"""
        tensor<fp16, [2, 4]> c = const()[val = tensor<fp16, [2, 4]>([1, 2, 3, 4, 5, 6, 7, 8])];
        tensor<{op};
        tensor<fp16, [1, 4]> y = relu(x = x);
    """
    return read_text(program(body, outputs="y, r")).main


@pytest.mark.parametrize(
    "op",
    [
        "int32, [9]> r = range_1d(start = 0, end = 9, step = 1)",
        "fp16, [9]> r = fill(shape = tensor<int32, [1]>([9]), value = fp16(1))",
        "fp16, [4, 4]> r = tile(x = c, reps = tensor<int32, [2]>([2, 1]))",
    ],
    ids=["range_1d", "fill", "tile"],
)
def test_a_huge_tensor_made_of_consts_is_refused(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, x = of_consts(op), np.ones((1, 4), np.float16)
    execute(graph, {"x": x})
    monkeypatch.setattr(executor, "MAX_CONST_ELEMENTS", 8)
    with pytest.raises(Failure, match="ANE0248"):
        execute(graph, {"x": x})


def test_a_huge_const_may_be_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "MAX_CONST_ELEMENTS", 4)
    graph = of_consts("fp16, [4, 2]> r = transpose(x = c, perm = tensor<int32, [2]>([1, 0]))")
    found = execute(graph, {"x": np.ones((1, 4), np.float16)})["r"]
    np.testing.assert_array_equal(found, np.arange(1, 9).reshape(2, 4).T)


def test_what_comes_of_an_input_may_be_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "MAX_CONST_ELEMENTS", 4)
    body = "tensor<fp16, [3, 4]> y = tile(x = x, reps = tensor<int32, [2]>([3, 1]));"
    found = execute(read_text(program(body)).main, {"x": np.ones((1, 4), np.float16)})["y"]
    assert found.shape == (3, 4)


def test_memory_is_not_written_again_while_a_view_of_it_lives() -> None:
    """`b` is a view of what `a` was computed into; `a` itself is not needed any more when the others are computed."""
    text = """kernel k {
        input x: fp16[64, 128]
        output y
        a = x * 2
        b = reshape(a, [128, 64])
        c = a + 1
        d = c * 3
        e = d - 4
        y = reshape(b, [64, 128]) + e * 0
    }"""
    x = np.linspace(-1, 1, 64 * 128).reshape(64, 128)
    for numerics in ("fp64", "fp32", "fp16"):
        np.testing.assert_allclose(outputs_of(text, {"x": x}, numerics)["y"], x * 2, rtol=2e-3, atol=1e-3)


def test_what_the_caller_gave_and_got_is_left_alone() -> None:
    text = "kernel k { input x: fp16[64, 128]; output a, b, c; a = x * 2; b = a + 1; c = b * b - a }"
    x = np.ones((64, 128), np.float32)
    first = outputs_of(text, {"x": x}, "fp32")
    kept = {name: array.copy() for name, array in first.items()}
    outputs_of(text, {"x": x * 3}, "fp32")
    assert (x == 1).all()
    assert all((first[name] == kept[name]).all() for name in kept)
    assert [float(first[name][0, 0]) for name in "abc"] == [2, 3, 7]
