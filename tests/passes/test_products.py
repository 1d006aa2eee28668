"""Products: transposes and numbers around a matmul go where they cost least, or go altogether."""

from __future__ import annotations

import numpy as np
import pytest

from anedsl.graph import Graph
from anedsl.passes import optimize
from anedsl.passes.verify import verify
from anedsl.reference.executor import execute
from tests.language.kernels import graph_of

SHAPES = {
    # x, y: the result is larger than both, as large as one, or smaller than both.
    "large": ((2, 8, 3), (2, 3, 6)),
    "broadcast": ((3, 4), (2, 1, 4, 5)),
    "small": ((2, 3, 40), (2, 40, 5)),
}


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("tx", [False, True])
@pytest.mark.parametrize("ty", [False, True])
def test_the_transpose_of_a_product_is_a_product(shapes: tuple[tuple[int, ...], ...], tx: bool, ty: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape) for shape in shapes)
    x, y = np.swapaxes(a, -1, -2) if tx else a, np.swapaxes(b, -1, -2) if ty else b
    rank = max(a.ndim, b.ndim)
    perm = [*range(rank - 2), rank - 1, rank - 2]
    graph = optimize(
        graph_of(
            f"kernel k() {{ input x: fp16{list(x.shape)}; input y: fp16{list(y.shape)}; output z\n"
            f"z = transpose(matmul(x, y, transpose_x = {str(tx).lower()}, transpose_y = {str(ty).lower()}), {perm}) }}"
        )
    )
    verify(graph)
    assert [node.op.name for node in graph.operations] == ["matmul"]
    found = execute(graph, {"x": x, "y": y}, "fp64")["z"]
    np.testing.assert_allclose(found, np.swapaxes(a @ b, -1, -2), rtol=1e-12, atol=1e-12)


def optimized(text: str, x: str, y: str) -> Graph:
    graph = optimize(graph_of(f"kernel k() {{ input x: fp16{x}; input y: fp16{y}; output z; z = {text} }}"))
    verify(graph)
    return graph


LARGE, SMALL = ("[2, 8, 3]", "[2, 3, 6]"), ("[2, 3, 40]", "[2, 40, 5]")
"""Operands of a product that is larger than both, and of one that is smaller than both."""


@pytest.mark.parametrize(
    ("text", "factor", "large", "small"),
    [
        ("matmul(x * 0.125, y) * 3 / 2", 0.1875, "y", "x"),
        ("-(matmul(-x, y) * 0.5)", 0.5, "y", "after"),
        ("-matmul(-x, -y)", -1, "y", "after"),
        ("matmul(-x, -y)", 1, "", ""),
        ("matmul(x * 0.5, y * 0.5)", 0.25, "y", "x"),
        ("matmul(x, y) / 2", 0.5, "y", "after"),
        ("matmul(x * 8, y) / 8", 1, "", ""),
        # The product may overflow without the number before it, and an operand with a number above 1.
        ("matmul(x / 8, y) * 24", 3, "x after", "x after"),
        ("matmul(x * 2, y * 2)", 4, "x y", "x y"),
        # So small a number would lose what is small.
        ("matmul(x / 64, y / 64)", 2**-12, "x y", "x y"),
    ],
)
def test_numbers_around_a_product_are_one(text: str, factor: float, large: str, small: str) -> None:
    rng = np.random.default_rng(0)
    for shapes, expected in ((LARGE, large), (SMALL, small)):
        graph = optimized(text, *shapes)
        x, y = (rng.standard_normal(eval(shape)) for shape in shapes)
        places = {"x": x.shape, "y": y.shape, "after": (x @ y).shape}
        found = [node.result.type.shape for node in graph.operations if node.op.name == "mul"]
        assert found == [places[place] for place in expected.split()]
        assert len(graph.operations) == len(found) + 1
        outputs = execute(graph, {"x": x, "y": y}, "fp64")["z"]
        np.testing.assert_allclose(outputs, (x @ y) * factor, rtol=1e-12, atol=1e-12)


def test_a_number_that_something_else_reads_stays() -> None:
    graph = optimized("matmul(x * 0.5, y) * 0.5 + mean(x * 0.5, axes = [1, 2])", *SMALL)
    assert [node.op.name for node in graph.operations] == ["mul", "matmul", "mul", "reduce_mean", "add"]


@pytest.mark.parametrize(
    ("text", "factor"),
    [("x / 4", 0.25), ("x * 3 / 2", 1.5), ("x / 2 / 3", 1 / 6), ("x / 2 * 6", 3), ("x * 60000 / 60000", None)],
)
def test_a_chain_of_numbers_is_one(text: str, factor: float | None) -> None:
    graph = optimized(text, "[4]", "[4]")
    assert [node.op.name for node in graph.operations] == ([] if factor is None else ["mul"])
    x = np.array([1.0, -3.0, 1000.0, 0.001])
    np.testing.assert_allclose(execute(graph, {"x": x, "y": x}, "fp64")["z"], x * (factor or 1), rtol=1e-12)


@pytest.mark.parametrize("text", ["x / 3", "x * 0.001 / 1000", "x / 30000 / 30000", "x * 300 * 300", "x / 1e-7", "2 / x"])
def test_what_fp16_could_not_hold_stays(text: str) -> None:
    before = graph_of(f"kernel k() {{ input x: fp16[4]; output z; z = {text} }}")
    after = optimize(before)
    assert [node.op for node in after.operations] == [node.op for node in before.operations]


def test_division_by_a_power_of_two_is_exact() -> None:
    """Every finite fp16 number, with its bits."""
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    x = x[np.isfinite(x)]
    with np.errstate(over="ignore"):
        for power in range(-14, 15):
            expected = x / np.float16(2.0**power)
            np.testing.assert_array_equal((x * np.float16(2.0**-power)).view(np.uint16), expected.view(np.uint16))
    assert [node.op.name for node in optimized(f"x / {2**14}", "[4]", "[4]").operations] == ["mul"]
    assert [node.op.name for node in optimized(f"x / {2**15}", "[4]", "[4]").operations] == ["real_div"]


@pytest.mark.parametrize(
    "text",
    [
        "s = matmul(x, y) * 0.5; z = softmax(s); a = s * 0.25; b = s * 0.125",
        "m = matmul(x, y); v = m * -0.3; z = v; a = -v; b = v + 1",
        "s = matmul(x * 0.5, y * 0.5); z = s * 0.5; a = s * 0.25; b = tanh(s)",
        "s = transpose(matmul(x, y), [0, 2, 1]); z = transpose(s, [0, 2, 1]) * 0.5; a = s; b = s * 2",
        "s = conv(expand_dims(x, axes = [3]), full([8, 8, 1, 1], 0.1)) * 0.5; z = s * 0.25; a = s * 0.5; b = -s",
    ],
)
def test_a_product_with_several_readers_is_computed_once(text: str) -> None:
    shapes = "input x: fp16[2, 8, 3]; input y: fp16[2, 3, 6]"
    graph = optimize(graph_of(f"kernel k() {{ {shapes}; output z; output a; output b\n{text} }}"))
    assert sum(node.op.name in ("matmul", "conv") for node in graph.operations) == 1


@pytest.mark.parametrize(
    ("text", "size", "error"),
    [
        ("matmul(-x, y) / 1e-5", 1e-3, 5e-3),  # 1e-5 itself has few digits in fp16
        ("matmul(-x, y) / 60000", 30, 1e-3),
    ],
)
def test_a_number_that_fp16_does_not_hold_is_not_made(text: str, size: float, error: float) -> None:
    graph = optimized(text, *SMALL)
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(eval(shape)) * size for shape in SMALL)
    found = execute(graph, {"x": x, "y": y}, "fp16")["z"].astype(np.float64)
    exact = execute(graph, {"x": x, "y": y}, "fp64")["z"]
    assert np.abs(found - exact).max() < error * np.abs(exact).max()
