"""How each form is printed. Most expressions are printed as an author writes them."""

from __future__ import annotations

import pytest

from tests.language.kernels import graph_of
from tests.printing.printing import DECLARED, body, built, form, lost, lost_when_optimized

UNCHANGED = (
    # Precedence: only the parentheses that are needed.
    "x + y * 2", "(x + y) * 2", "x - (y - x)", "x - y - x", "x / (y / x)", "-x ** 2", "(-x) ** 2", "x ** -y", "x ** -0.5",
    "2 ** x ** y", "(2 ** x) ** y", "-(x + y)", "x // 2 % 3", "(x + y)[:, 2:6]", "x @ y @ x", "x @ (y @ x)",
    # Numbers on either side.
    "-2 * x", "x * -2", "x - -0.5", "1 / x", "x / 3", "-1 * x", "-x", "x + -0.0", "x + 65504", "x * 1e-7", "f + 1e-8", "f * 0.1",
    # Conditions.
    "c and not (c or x > 0)", "not c", "logical_xor(c, true)", "where(c, x, 0)", "where(x < y, x, y)",
    # Subscripts.
    "x[:, 2:6]", "x[..., 1:]", "x[:, ::2, 1:3]", "x[:, 0:4]", "x[:, 1:6:2]", "x[..., ::2]",
    # Short names.
    "mean(x, axis = 1)", "sum(x)", "max(x, axis = 1, keep_dims = false)", "min(x, axes = [1, 2])", "concat(x, y, axis = 1)",
    "stack(x, y, axis = 0)", 'einsum("nchw,nwhu->nchu", x, y[:, 0:4])',
    # MIL's names, with what is not the default.
    "softmax(x, axis = 1)", "conv(x, w)", "conv(x, w, strides = [2, 2])", "matmul(x, y, transpose_y = true)", "cast(x, fp32)",
    "reshape(x, [8, 16])", "transpose(x, [0, 2, 1, 3])", "clip(x, alpha = 0, beta = 6)", 'gelu(x, mode = "TANH_APPROXIMATION")',
    "pad(x, [1, 1], constant_val = 0.1)", "gather(x, i, axis = 1)", "reduce_l2_norm(x, axes = [1], keep_dims = true)",
    "conv(x, w, bias = tensor([1, 2, 3, 4, 5, 6, 7, 8]))", "space_to_batch(x, block_shape = [2, 2], paddings = [0, 0, 2, 2])",
    # Compile-time tensors.
    "x + tensor([1, 2, 3, 4])", "x + full([1, 8, 1, 1], 0.25)", "gather(x, tensor([0, 2]), axis = 1)",
)  # fmt: skip

CHANGED = {
    "x + 0.1 + 0.2": "x + 0.1 + 0.2",
    "x * (1 / 3)": "x * 0.3333",
    # Both are what the passes look for, once they are rounded to fp16.
    "x + 0.00000001": "x + 1e-8",
    "x * 1.0001": "x * 1.0001",
    "f * (1 / 3)": "f * 0.33333334",
    "x * 2.0": "x * 2",
    "x + -1e4": "x + -1e4",
    "matmul(x, y)": "x @ y",
    "add(x, mul(y, x))": "x + y * x",
    "reduce_mean(x, axes = [1], keep_dims = true)": "mean(x, axis = 1)",
    "select(c, x, y)": "where(c, x, y)",
    "slice_by_size(x, begin = [0, 2, 0, 0], size = [1, 4, 4, 4])": "x[:, 2:6]",
    "slice_by_size(x, begin = [0, 0, 0, 0], size = [1, 8, 4, 4])": "slice_by_size(x, begin = [0, 0, 0, 0], size = [1, 8, 4, 4])",
    "x[:, 1]": "squeeze(x[:, 1:2], axes = [1])",
    "softmax(x)": "softmax(x, axis = 3)",
    "split(x, [2, 6], axis = 1)[1]": "_unused, o = split(x, [2, 6], axis = 1)",
    "where(c, 1, 0.5)": "where(c, 1, full([1, 8, 4, 4], 0.5))",
}


@pytest.mark.parametrize("expression", UNCHANGED)
def test_is_printed_as_it_is_written(expression: str) -> None:
    assert form(expression) == expression


@pytest.mark.parametrize("expression", CHANGED)
def test_is_printed_otherwise(expression: str) -> None:
    assert form(expression) == CHANGED[expression]


@pytest.mark.parametrize("expression", [*UNCHANGED, *CHANGED])
def test_means_the_same(expression: str) -> None:
    assert lost(graph_of(f"{DECLARED}o = {expression}\n}}")) is None


@pytest.mark.parametrize("expression", ["x + 1e-8", "x * 1.0001", "x * -0.99999", "x ** 1.9999", "x ** 0.50001", "x - 1e-30"])
def test_numbers_that_nearly_do_nothing_stay(expression: str) -> None:
    graph = built(f"{DECLARED}o = {expression}\n}}")
    assert len(graph.operations) == 1
    assert lost_when_optimized(graph) is None


def test_names_of_the_author_keep_their_statements() -> None:
    lines = ["scale = mean(x, axis = 1)", "o = x * scale"]
    assert body(DECLARED + "\n".join(lines) + "\n}") == lines


def test_what_nobody_named_stands_where_it_is_used() -> None:
    assert body(DECLARED + "o = tanh(x * y) + 1\n}") == ["o = tanh(x * y) + 1"]


def test_what_is_used_twice_gets_a_name() -> None:
    function = "fn twice(a) = a * a\n"
    assert body(function + DECLARED + "o = twice(x + y)\n}") == ["t1 = x + y", "o = t1 * t1"]


def test_long_expressions_are_broken_up() -> None:
    expression = "tanh(sigmoid(" * 6 + "x" + "))" * 6
    lines = body(f"{DECLARED}o = {expression}\n}}")
    assert lines == ["t1 = sigmoid(tanh(sigmoid(tanh(sigmoid(tanh(sigmoid(x)))))))", "o = tanh(sigmoid(tanh(sigmoid(tanh(t1)))))"]


def test_lines_are_short() -> None:
    numbers = ", ".join(f"{n + 0.123:.3f}" for n in range(16))
    lines = body(f"{DECLARED}o = concat(x, x, x, x, y, y, axis = 1)[:, 0:16] + reshape(tensor([{numbers}]), [1, 16, 1, 1])\n}}")
    assert len(lines) > 1
    assert all(len(line) <= 100 for line in lines)


def test_a_shared_tensor_is_written_once() -> None:
    lines = body(DECLARED + "m = tensor([1, 2, 3, 4])\no = x * m + m\n}")
    assert lines == ["m = tensor([1, 2, 3, 4])", "o = x * m + m"]
