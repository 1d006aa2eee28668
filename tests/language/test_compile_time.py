"""Compile-time values: Python's arithmetic within limits, and tensors that become weights."""

from __future__ import annotations

import math

import numpy as np
import pytest

from anedsl.graph import CONST
from tests.language.kernels import compile_time, graph_of, outputs_of, problems


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7 / 2", "3.5"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("-7 % 3", "2"),
        ("2 ** 10", "1024"),
        ("2 ** -1", "0.5"),
        ("-2 ** 2", "-4"),
        ("2 ** 3 ** 2", "512"),
        ("1e3", "1000.0"),
        ("0x10", "16"),
        ("1_000", "1000"),
        (".5 + 1.", "1.5"),
        ("10 ** 18 + 1", "1000000000000000001"),
        ("sqrt(16)", "4.0"),
        ("maximum(3, 4)", "4"),
        ("int(3.9)", "3"),
        ("float(2)", "2.0"),
        ("len([1, 2, 3])", "3"),
        ("[1, 2, 3][-1]", "3"),
        ("(4, 5)[0]", "4"),
        ("range(2, 10, 3)[1]", "5"),
        ("full([2, 3], 1).shape[1]", "3"),
        ("arange(4)[3]", "3"),
        ("arange(0, 1, 0.25)[2]", "0.5"),
        ("max(arange(5), axis = 0)[0]", "4"),
        ("mean(arange(4), axis = 0)[0]", "1.5"),
        ("sum(tensor([[1, 2], [3, 4]]))[0, 0]", "10"),
        ("(arange(3) / 2)[1]", "0.5"),
        ("(arange(3) // 2)[2]", "1"),
        ("(arange(3) ** 2)[2]", "4"),
        ("transpose(tensor([[1, 2], [3, 4]]), [1, 0])[0, 1]", "3"),
        ("causal_mask(3)[0, 0, 0, 1]", "-10000.0"),
        ("causal_mask(3)[0, 0, 1, 0]", "0.0"),
    ],
)
def test_numbers(text: str, expected: str) -> None:
    assert compile_time(text) == f"the number {expected}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 < 2", "`true`"),
        ("1 == 1.0", "`true`"),
        ('"a" == "b"', "`false`"),
        ("fp16 == fp16", "`true`"),
        ("true and false", "`false`"),
        ("false or true", "`true`"),
        ("not true", "`false`"),
        ("false and 1 / 0 > 0", "`false`"),
        ("true or 1 / 0 > 0", "`true`"),
    ],
)
def test_booleans(text: str, expected: str) -> None:
    assert compile_time(text) == expected


def test_strings() -> None:
    assert compile_time('"a \\"quoted\\" " + "word \\\\"') == 'a "quoted" word \\'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("1 / 0", "ANE0217"),
        ("1 // 0", "ANE0217"),
        ("0 ** -1", "ANE0217"),
        ("(-1) ** 0.5", "ANE0217"),
        ("1e308 * 10 ** 309", "ANE0217"),
        ("9 ** 9 ** 9", "ANE0218"),
        ("2 ** 100000", "ANE0218"),
        ("[1] * 3", "ANE0217"),
        ('"a" + 1', "ANE0217"),
        ("true + 1", "ANE0217"),
        ("1 if 3 else 2", "ANE0216"),
        ("full([10 ** 6, 10 ** 6], 0)", "ANE0248"),
        ("full([2 ** 31], 0)", "ANE0248"),
        ("arange(10 ** 12)", "ANE0248"),
        ("arange(0, 1, 1e-300)", "ANE0248"),
        ("arange(5) * full([6], 1)", "ANE0217"),
        ("tile(full([1000], 1), [10 ** 9])", "ANE0248"),
        ("arange(10 ** 5) + reshape(arange(10 ** 5), [10 ** 5, 1])", "ANE0248"),
        ("log(0.0 - 1)", "ANE0217"),
        ("causal_mask(0)", "ANE0227"),
        ("full([2.5], 0)", "ANE0227"),
        ("tensor([[1, 2], [3]])", "ANE0216"),
    ],
)
def test_what_has_no_value_says_so(text: str, code: str) -> None:
    assert [found[0] for found in problems(f"kernel k() {{ assert false, {text} }}")] == [code]


def test_a_number_is_rounded_once() -> None:
    # 1/3 in float32 and then in fp16 would be the same; this number is not: it lies just above the middle of two halfs.
    number = 1 + 2**-11 + 2**-30
    x = np.ones((1, 4))
    text = f"kernel k() {{ input x: fp16[1, 4]; output y; y = x * {number!r} }}"
    assert outputs_of(text, {"x": x}, "fp16")["y"][0, 0] == np.float16(number) == 1 + 2**-10
    assert outputs_of(text, {"x": x}, "fp64")["y"][0, 0] == number


def test_a_compile_time_tensor_keeps_its_precision_until_it_meets_a_tensor() -> None:
    text = "kernel k() { input x: fp16[1, 64]; output y; y = x * cos(arange(64) * 1000.1) }"
    found = outputs_of(text, {"x": np.ones((1, 64))})["y"][0]
    assert found.tolist() == [math.cos(i * 1000.1) for i in range(64)]


def test_arithmetic_on_weights_is_folded_into_one_weight() -> None:
    text = """kernel k() {
        input x: fp16[1, 3, 1, 2]
        weight W: fp16[3, 5, 1, 1] = 0.1
        output y
        y = conv(x, transpose(W, [1, 0, 2, 3]) * 0.3)
    }"""
    from anedsl.passes import optimize

    graph = optimize(graph_of(text))
    assert [node.op.name for node in graph.operations] == ["conv"]
    assert len([node for node in graph.nodes if node.op is CONST]) == 1
    expected = np.full((1, 5, 1, 2), 3 * 0.1 * 0.3)
    np.testing.assert_allclose(outputs_of(text, {"x": np.ones((1, 3, 1, 2))})["y"], expected, rtol=1e-15)


def test_equal_numbers_are_one_const() -> None:
    graph = graph_of("kernel k() { input x: fp16[4]; output y; y = (x + 2) * 2 + (x * 2) }")
    assert len(graph.constants) == 1


def test_the_members_of_a_tensor() -> None:
    text = """kernel k(N = 3) {
        input x: fp16[1, N, 1, 2]
        output y
        assert x.rank == 4 and x.shape[1] == N and x.dtype == fp16
        y = reshape(x, [x.shape[0], x.shape[1] * x.shape[3]])
    }"""
    assert outputs_of(text, {"x": np.zeros((1, 3, 1, 2))})["y"].shape == (1, 6)
