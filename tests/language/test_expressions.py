"""Operators, indexing and short names mean what numpy means by them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.language.kernels import Array, expression, graph_of, problems

RANDOM = np.random.default_rng(7)
X = RANDOM.uniform(0.5, 2.0, (1, 4, 1, 6))
Y = RANDOM.uniform(0.5, 2.0, (1, 4, 1, 6))
C = RANDOM.uniform(0.5, 2.0, (1, 4, 1, 1))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + y", X + Y),
        ("x - y", X - Y),
        ("x * y", X * Y),
        ("x / y", X / Y),
        ("x // y", X // Y),
        ("x % y", X % Y),
        ("x ** y", X**Y),
        ("-x", -X),
        ("+x", X),
        ("-x ** 2", -(X**2)),
        ("2 ** -x", 2 ** (-X)),
        ("x - y - 1", X - Y - 1),
        ("x / y / 2", X / Y / 2),
        ("2 * x + 3 * y", 2 * X + 3 * Y),
        ("(2 + x) * 3", (2 + X) * 3),
        ("1 / x", 1 / X),
        ("x ** 2", X**2),
        ("x ** 0.5", X**0.5),
        ("x ** -0.5", X**-0.5),
        ("x ** 1", X),
        ("x + -y", X - Y),
        ("x - -y", X + Y),
        ("x * 1 + 0", X),
    ],
)
def test_operators(text: str, expected: Array) -> None:
    np.testing.assert_allclose(expression(text, x=X, y=Y), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("where(x < y, x, y)", np.minimum(X, Y)),
        ("where(x >= y, 1, 0) * x", (X >= Y) * X),
        ("where(x == x and not (x > y), x, 0)", np.where(~(X > Y), X, 0)),
        ("where(x > y or x != x, x, y)", np.maximum(X, Y)),
        ("where(true, x, y)", X),
        ("x if 1 < 2 else y", X),
        ("x if not true else y", Y),
    ],
)
def test_comparisons_and_conditions(text: str, expected: Array) -> None:
    np.testing.assert_allclose(expression(text, x=X, y=Y), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x * c", X * C),
        ("c * x", X * C),
        ("x + arange(6)", X + np.arange(6)),
        ("x * tensor([[1], [2], [3], [4]])[:, 0] if false else x", X),
    ],
)
def test_broadcasting(text: str, expected: Array) -> None:
    np.testing.assert_allclose(expression(text, x=X, c=C), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x[:, 0:2]", X[:, 0:2]),
        ("x[:, 1:, :, 2:5]", X[:, 1:, :, 2:5]),
        ("x[..., ::2]", X[..., ::2]),
        ("x[..., 1::2]", X[..., 1::2]),
        ("x[..., -2:]", X[..., -2:]),
        ("x[:, :-1]", X[:, :-1]),
        ("x[:, -3:-1, ..., -4:-1]", X[:, -3:-1, ..., -4:-1]),
        ("x[:, ::-1]", X[:, ::-1]),
        ("x[..., 4:0:-2]", X[..., 4:0:-2]),
        ("x[0]", X[0]),
        ("x[0, 2]", X[0, 2]),
        ("x[0, -1, 0, 3:]", X[0, -1, 0, 3:]),
        ("x[:, 1, ..., ::3]", X[:, 1, ..., ::3]),
        ("x[...]", X),
    ],
)
def test_indexing(text: str, expected: Array) -> None:
    np.testing.assert_array_equal(expression(text, x=X), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mean(x, axis = 1)", X.mean(1, keepdims=True)),
        ("mean(x, 1)", X.mean(1, keepdims=True)),
        ("sum(x, axes = [1, 3])", X.sum((1, 3), keepdims=True)),
        ("sum(x)", X.sum(keepdims=True)),
        ("max(x, axis = -1)", X.max(-1, keepdims=True)),
        ("min(x, axis = 1, keep_dims = false)", X.min(1)),
        ("reduce_mean(x, axes = [1])", X.mean(1)),
        ("maximum(x, y)", np.maximum(X, Y)),
        ("minimum(x, 1)", np.minimum(X, 1)),
        ("concat(x, y, axis = 1)", np.concatenate([X, Y], 1)),
        ("concat([x, y], axis = 3)", np.concatenate([X, Y], 3)),
        ("stack(x, y, axis = 0)", np.stack([X, Y])),
        ("reshape(x, [1, 2, 2, 6])", X.reshape(1, 2, 2, 6)),
        ("reshape(x, [1, 2, -1])", X.reshape(1, 2, 12)),
        ("transpose(x, [0, 2, 3, 1])", X.transpose(0, 2, 3, 1)),
        ("split(x, [1, 3], axis = 1)[1]", X[:, 1:]),
        ("split(x, 2, axis = -1)[0]", X[..., :3]),
        ("matmul(x, y, transpose_y = true)", X @ Y.swapaxes(-1, -2)),
        ("transpose(x, [0, 2, 1, 3]) @ transpose(y, [0, 2, 3, 1])", X.transpose(0, 2, 1, 3) @ Y.transpose(0, 2, 3, 1)),
        ("softmax(x)", np.exp(X) / np.exp(X).sum(-1, keepdims=True)),
        ("softmax(x, axis = 1)", np.exp(X) / np.exp(X).sum(1, keepdims=True)),
        ("clip(x, 0.75, 1.5)", np.clip(X, 0.75, 1.5)),
        ("linear(x, y[0, :, 0, :])", X @ Y[0, :, 0, :].T),
    ],
)
def test_short_names(text: str, expected: Array) -> None:
    np.testing.assert_allclose(expression(text, x=X, y=Y), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bihs,biho->bohs", ((2, 3, 4, 5), (2, 3, 4, 6))),
        ("ij,jk->ik", ((3, 4), (4, 5))),
        ("ij,kj->ik", ((3, 4), (5, 4))),
        ("ji,jk->ki", ((4, 3), (4, 5))),
        ("bhqd,bhkd->bhqk", ((1, 2, 3, 4), (1, 2, 5, 4))),
        ("bhqk,bhkd->bqhd", ((1, 2, 3, 5), (1, 2, 5, 4))),
        ("bcs,oc->bos", ((2, 3, 4), (5, 3))),
        ("abc,bd->dac", ((2, 3, 4), (3, 5))),
        ("ab,cd->abcd", ((2, 3), (4, 5))),
        ("ab,ab->ab", ((2, 3), (2, 3))),
        ("ab,ab->a", ((2, 3), (2, 3))),
        ("abc,c->ab", ((2, 3, 4), (4,))),
        ("abcd,abce->abde", ((1, 2, 3, 4), (1, 2, 3, 5))),
        ("abx,bcy->ac", ((2, 3, 4), (3, 5, 2))),
    ],
)
def test_einsum_of_two(equation: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (RANDOM.uniform(-1, 1, shape) for shape in shapes)
    np.testing.assert_allclose(
        expression(f'einsum("{equation}", a, b)', a=a, b=b), np.einsum(equation, a, b), rtol=1e-12, atol=1e-14
    )


@pytest.mark.parametrize("equation", ["ijk->kij", "ijk->ik", "ijk->j", "ijk->ijk"])
def test_einsum_of_one(equation: str) -> None:
    a = RANDOM.uniform(-1, 1, (2, 3, 4))
    np.testing.assert_allclose(expression(f'einsum("{equation}", a)', a=a), np.einsum(equation, a), rtol=1e-13)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [("chw,whu->chu", ((2, 3, 4), (4, 3, 5))), ("bihj,bjho->biho", ((1, 3, 4, 5), (2, 5, 4, 6)))],
)
def test_an_einsum_by_mils_own_parameters_is_mils_own_op(equation: str, shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    a, b = (RANDOM.uniform(-1, 1, shape) for shape in shapes)
    # Batch axes of size 1 broadcast in MIL, and not in numpy.
    wide = np.broadcast_to(a, (shapes[1][0] if len(shapes[0]) == 4 else shapes[0][0], *shapes[0][1:]))
    expected = np.einsum(equation, wide, b)
    for text in (f'einsum(values = (a, b), equation = "{equation}")', f'einsum(equation = "{equation}", values = [a, b])'):
        np.testing.assert_allclose(expression(text, a=a, b=b), expected, rtol=1e-12, atol=1e-14)
    declared = f"input a: fp16{list(shapes[0])}; input b: fp16{list(shapes[1])}"
    graph = graph_of(f'kernel k() {{ {declared}; output y; y = einsum(values = (a, b), equation = "{equation}") }}')
    assert [(node.op.name, node.attributes["equation"]) for node in graph.nodes] == [("einsum", equation)]


def test_by_name_other_equations_are_computed_as_ever() -> None:
    a, b = RANDOM.uniform(-1, 1, (2, 3, 4)), RANDOM.uniform(-1, 1, (2, 5, 4))
    text = 'einsum(values = (a, b), equation = "bij,bkj->bik")'
    np.testing.assert_allclose(expression(text, a=a, b=b), np.einsum("bij,bkj->bik", a, b), rtol=1e-12, atol=1e-14)


def test_numbers_in_an_einsum_take_the_type_of_the_tensor() -> None:
    a = RANDOM.uniform(-1, 1, (1, 1, 1, 2))
    text = 'einsum("nchw,nwhu->nchu", a, tensor([[[[1, 2]], [[3, 4]]]]))'
    b = np.array([[[[1.0, 2.0]], [[3.0, 4.0]]]])
    np.testing.assert_allclose(expression(text, a=a), np.einsum("nchw,nwhu->nchu", a, b), rtol=1e-12)


def test_ops_that_take_no_tensor_are_computed() -> None:
    a = RANDOM.uniform(-1, 1, (2, 3))
    text = "a + fill(shape = [2, 3]) + fill(value = 2, shape = [2, 3]) * range_1d(end = 8, start = 2, step = 2)"
    np.testing.assert_allclose(expression(text, a=a), a + 2 * np.array([2.0, 4.0, 6.0]), rtol=1e-15)


def test_an_einsum_that_is_a_matmul_is_one_op() -> None:
    graph = graph_of('kernel k() { input a: fp16[2, 3, 4]; input b: fp16[2, 5, 4]; output y; y = einsum("bij,bkj->bik", a, b) }')
    assert [node.op.name for node in graph.nodes] == ["matmul"]


@pytest.mark.parametrize(
    ("expression_text", "code", "at"),
    [
        ("x[:, 0:9]", "ANE0233", "0:9"),
        ("x[:, 2:2]", "ANE0234", "2:2"),
        ("x[0, 0, 0, 0, 0]", "ANE0236", "x[0, 0, 0, 0, 0]"),
        ("x[..., ...]", "ANE0236", "..."),
        ("x[::0]", "ANE0217", "::0"),
        ("x[7]", "ANE0233", "7"),
        ("x[x]", "ANE0215", "x"),
        ("x[1.5]", "ANE0216", "1.5"),
        ("x.size", "ANE0237", "size"),
        ("3(x)", "ANE0214", "3"),
        ("softmax(x, axes = 1)", "ANE0211", "axes"),
        ("softmax(x, axis = 7)", "ANE0244", "7"),
        ("mean(x, axis = 1, axes = 1)", "ANE0213", "1"),
        ("split(x, [1, 1], axis = 1)", "ANE0259", "[1, 1]"),
        ("x + true", "ANE0216", "true"),
        ("x * 1e9", "ANE0232", "1e9"),
        ("x if x > 0 else y", "ANE0215", "x > 0"),
        ("x and x", "ANE0242", "x"),
        ('cast(x, dtype = "fp17")', "ANE0216", '"fp17"'),
        ("range(x)", "ANE0215", "x"),
    ],
)
def test_mistakes_point_at_the_smallest_place(expression_text: str, code: str, at: str) -> None:
    found = problems(f"kernel k() {{ input x, y: fp16[1, 4, 1, 6]; output z; z = x + y; t = {expression_text} }}")
    assert [(c, span) for c, _, span in found if c != "ANE0206"] == [(code, at)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + fill([1, 4, 1, 6], 2.0)", X + 2),  # fill(shape, value = ...)
        ('max_pool(x, [1, 2], "valid", [1, 2])', np.maximum(X[..., ::2], X[..., 1::2])),
    ],
)
def test_arguments_without_names_come_in_the_order_of_the_signature(text: str, expected: Array) -> None:
    np.testing.assert_array_equal(expression(text, x=X), expected)
