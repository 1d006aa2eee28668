"""Declarations, functions, loops, conditions and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from anedsl.diagnostics import Failure
from anedsl.elaborate.modules import load
from tests.language.kernels import graph_of, outputs_of, problems

X = np.arange(8.0).reshape(1, 4, 1, 2)


def test_statements_end_at_a_line_end_or_a_semicolon_and_go_on_where_they_must() -> None:
    text = """
    kernel k(
        N = 4,
    ) {
        input x: fp16[1, N,
                      1, 2]; output y
        a = x +
            1
        b =
            a * 2   # a comment
        y = maximum(
            a,
            b
        )
    }
    """
    np.testing.assert_array_equal(outputs_of(text, {"x": X})["y"], np.maximum(X + 1, (X + 1) * 2))


def test_parameters() -> None:
    text = """kernel k(N = 4, HALF = N // 2, MODE = "double", ON = true) {
        input x: fp16[N]; output y
        y = (x * 2 if MODE == "double" else x) + HALF if ON else x
    }"""
    x = np.ones(4)
    assert outputs_of(text, {"x": x})["y"].tolist() == [4] * 4
    assert outputs_of(text, {"x": x}, MODE="single")["y"].tolist() == [3] * 4
    assert outputs_of(text, {"x": x}, ON=False)["y"].tolist() == [1] * 4
    assert outputs_of(text, {"x": np.ones(8)}, N=8)["y"].tolist() == [6] * 8


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"M": 3}, "ANE0229"),
        ({"N": "four"}, "ANE0216"),
        ({"N": 2.5}, "ANE0216"),
        ({"N": 2**70}, "ANE0218"),
        ({"N": True}, "ANE0216"),
        ({}, "ANE0228"),
    ],
)
def test_wrong_parameters(parameters: dict[str, object], code: str) -> None:
    default = "" if not parameters else " = 4"
    assert code in [p[0] for p in problems(f"kernel k(N{default}) {{ input x: fp16[N]; output y; y = x }}", **parameters)]


def test_packs_keep_their_order_and_axis() -> None:
    graph = graph_of(
        """kernel k() {
            input a: fp16[1, 2, 1, 4]; input b: fp16[1, 6, 1, 4]
            output c, d
            pack inp = (b, a) along 1
            pack out = (d, c) along -1
            c = mean(b, axis = 1)
            d = mean(a, axis = 1)
        }"""
    )
    assert [(p.name, p.members, p.axis) for p in graph.input_packs] == [("inp", ("b", "a"), 1)]
    assert [(p.name, p.members, p.axis) for p in graph.output_packs] == [("out", ("d", "c"), 3)]


@pytest.mark.parametrize(
    ("pack", "at"),
    [
        ("pack p = (a, y) along 1", "y"),
        ("pack p = (a, zz) along 1", "zz"),
        ("pack p = (a, a) along 1", "a"),
        ("pack p = (a, b) along 0", "b"),
        ("pack p = (a, b) along 7", "7"),
        ("pack p = (a, h) along 1", "h"),
    ],
)
def test_invalid_packs(pack: str, at: str) -> None:
    text = f"""kernel k() {{
        input a: fp16[1, 2, 1, 4]; input b: fp16[1, 6, 1, 4]; input h: fp32[1, 6, 1, 4]
        output y
        {pack}
        y = concat(a, b, cast(h, fp16), axis = 1)
    }}"""
    assert [(code, span) for code, _, span in problems(text)] == [("ANE0225", at)]


def test_families_and_loops() -> None:
    text = """kernel k(DEPTH = 3) {
        input x: fp16[1, 4, 1, 2]
        weight W[DEPTH]: fp16[4, 4, 1, 1] = 0.5
        output y
        h = x
        for i in range(DEPTH) { h = conv(h, W[i]) + i }
        y = h
    }"""
    h = X
    for i in range(3):
        h = h.sum(1, keepdims=True) * 0.5 + i + 0 * X
    np.testing.assert_allclose(outputs_of(text, {"x": X})["y"], h)


def test_an_output_can_be_carried_through_a_loop() -> None:
    text = "kernel k() { input x: fp16[1, 4, 1, 2]; output y; y = x; for i in range(3) { t = y * 2; y = t + i } }"
    expected = X
    for i in range(3):
        expected = expected * 2 + i
    np.testing.assert_array_equal(outputs_of(text, {"x": X})["y"], expected)


def test_loops_over_lists_and_families() -> None:
    text = """kernel k() {
        input x: fp16[1, 4, 1, 2]; weight W[2]: fp16[1] = 3; output y
        h = x
        for scale in [2, 0.5] { h = h * scale }
        for w in W { h = h * w }
        y = h
    }"""
    np.testing.assert_array_equal(outputs_of(text, {"x": X})["y"], X * 9)


def test_a_name_of_a_turn_is_local_to_it() -> None:
    text = "kernel k() { input x: fp16[4]; output y; for i in range(2) { t = x + i }\n y = t }"
    assert [(code, span) for code, _, span in problems(text)] == [("ANE0201", "t")]


def test_conditions_choose_statements() -> None:
    text = "kernel k(N = 1) { input x: fp16[4]; output y; if N == 1 { y = x } else if N == 2 { y = x * 2 }\n else { y = x * 3 } }"
    for n, factor in ((1, 1), (2, 2), (9, 3)):
        assert outputs_of(text, {"x": np.ones(4)}, N=n)["y"].tolist() == [factor] * 4


def test_functions_bind_shapes_defaults_and_names() -> None:
    text = """
    fn scaled(x: [1, C, 1, S], factor = C, shift = factor + S) = x * factor + shift
    fn both(x) { a = x + 1; return a, a * 2 }
    kernel k() {
        input x: fp16[1, 4, 1, 2]
        output y, z
        p, q = both(x)
        y = scaled(p) + scaled(q, shift = 0)
        z = scaled(x, 2, shift = 1)
    }"""
    found = outputs_of(text, {"x": X})
    np.testing.assert_array_equal(found["y"], (X + 1) * 4 + 6 + (X + 1) * 2 * 4)
    np.testing.assert_array_equal(found["z"], X * 2 + 1)


def test_a_file_may_define_what_an_op_is_called() -> None:
    text = "fn silu(x) = x * 3\nkernel k() { input x: fp16[4]; output y; y = silu(x) }"
    assert outputs_of(text, {"x": np.ones(4)})["y"].tolist() == [3] * 4


def test_functions_return_early() -> None:
    text = """fn f(x, n) { if n > 1 { return x * n }; for i in range(3) { if i == 1 { return x + i } }; return x }
    kernel k() { input x: fp16[4]; output y; y = f(x, 5) + f(x, 0) }"""
    assert outputs_of(text, {"x": np.ones(4)})["y"].tolist() == [7] * 4


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("fn f(x) = f(x)\nkernel k() { input x: fp16[4]; output y; y = f(x) }", "ANE0207", "f(x)"),
        ("fn f(x) = g(x)\nfn g(x) = f(x)\nkernel k() { input x: fp16[4]; output y; y = f(x) }", "ANE0207", "f(x)"),
        ("fn f(x: [1, C], g: [C]) = x * g\nkernel k() { input x: fp16[1, 4]; input g: fp16[5]; output y; y = f(x, g) }",
         "ANE0222", "g"),
        ("fn f(x: fp32[1, C]) = x\nkernel k() { input x: fp16[1, 4]; output y; y = f(x) }", "ANE0222", "x"),
        ("fn f(x, g) = x\nkernel k() { input x: fp16[4]; output y; y = f(x) }", "ANE0210", "f(x)"),
        ("fn f(x) = x\nkernel k() { input x: fp16[4]; output y; y = f(x, 3) }", "ANE0212", "3"),
        ("fn f(x) = x\nkernel k() { input x: fp16[4]; output y; y = f(x, gg = 3) }", "ANE0211", "gg"),
        ("fn f(x) = x\nkernel k() { input x: fp16[4]; output y; y = f(x, x = x) }", "ANE0213", "x"),
        ("fn f(x) { a = x }\nkernel k() { input x: fp16[4]; output y; y = f(x) }", "ANE0217", "f(x)"),
        ("kernel k() { input x: fp16[4]; output y; y = x; return x }", "ANE0231", "return x"),
        ("kernel k() { input x: fp16[4]; output y; y = x; for i in range(2) { weight w: fp16[4] } }",
         "ANE0231", "weight w: fp16[4]"),
        ("kernel k() { input x: fp16[4]; output y; a, b = x; y = x }", "ANE0223", "x"),
        ("kernel k() { input x: fp16[4]; output y: fp16[5]; y = x }", "ANE0224", "y"),
        ("kernel k() { input x: fp17[4]; output y; y = x }", "ANE0226", "fp17"),
        ("kernel k() { input x: fp16[0]; output y; y = x }", "ANE0227", "0"),
        ("kernel k() { input x: fp16[7 / 2]; output y; y = x }", "ANE0227", "7 / 2"),
        ("kernel k() { input x: fp16[10 ** 12]; output y; y = x }", "ANE0248", "fp16[10 ** 12]"),
        ("kernel k() { input x: fp16[4]; input x: fp16[4]; output y; y = x }", "ANE0202", "x"),
        ("kernel k() { input x: fp16[4]; output y; y = x; y = x }", "ANE0202", "y"),
        ("kernel k() { input x: fp16[4]; output y, z; y = x }", "ANE0204", "z"),
        ("kernel k() { input x: fp16[4]; output y; z = y; y = x }", "ANE0201", "y"),
        ("kernel k() { input x: fp16[4]; output y; y = x; for i in range(10 ** 12) { y = y } }", "ANE0219", "range(10 ** 12)"),
        ("kernel k() { input x: fp16[4]; output y; y = x; for i in x { y = y } }", "ANE0215", "x"),
        ("kernel k() { input x: fp16[4]; output y; y = x; for i in 3 { y = y } }", "ANE0216", "3"),
        ("kernel k(N = 3) { input x: fp16[4]; output y; y = x; assert N > 3, \"too small\" }", "ANE0221", "N > 3"),
        ("kernel k() { input x: fp16[4]; output y; y = x; state s: fp16[4] }", "ANE0230", "state s: fp16[4]"),
        ("kernel k() { input x: fp16[4]; weight w: fp16[4] = [1, 2]; output y; y = x * w }", "ANE0247", "[1, 2]"),
        ("kernel k() { input x: fp16[4] in 3; output y; y = x }", "ANE0216", "3"),
        ("kernel k() { input x: fp16[4]; output y; y = \"a\" }", "ANE0216", "y"),
    ],
)  # fmt: skip
def test_mistakes(text: str, code: str, at: str) -> None:
    found = [(c, span) for c, _, span in problems(text) if c not in ("ANE0205", "ANE0206")]
    assert found == [(code, at)]


def test_every_mistake_is_reported_once_and_nothing_that_follows_from_it() -> None:
    text = """kernel k() {
        input x: fp16[4]
        output y
        a = nope(x)
        b = a * 2
        c = x + neither
        y = b + c + x[9]
    }"""
    assert [(code, span) for code, _, span in problems(text)] == [("ANE0201", "nope"), ("ANE0201", "neither")]


def test_warnings() -> None:
    text = "kernel k() { input x, unused: fp16[4]; weight w: fp16[4] = ones; output y; t = x + 1; _u = x; y = x }"
    assert [(code, span) for code, _, span in problems(text)] == [("ANE0205", "unused"), ("ANE0205", "w"), ("ANE0206", "t")]


def test_imports(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.ane").write_text('import "b.ane"\nfn twice(x) = double(x)\n')
    (tmp_path / "lib" / "b.ane").write_text("fn double(x) = x * 2\n")
    main = tmp_path / "main.ane"
    main.write_text('import "lib/a.ane"\nimport "lib/b.ane"\nkernel k() { input x: fp16[4]; output y; y = twice(x) + double(x) }')
    module = load(main)
    assert module.names() == {"twice", "double"}


@pytest.mark.parametrize(
    ("files", "code"),
    [
        ({"main.ane": 'import "../x.ane"\n'}, "ANE0209"),
        ({"main.ane": 'import "/etc/passwd"\n'}, "ANE0209"),
        ({"main.ane": 'import "nothing.ane"\n'}, "ANE0107"),
        ({"main.ane": 'import "a.ane"\n', "a.ane": 'import "main.ane"\n'}, "ANE0208"),
        ({"main.ane": 'import "main.ane"\n'}, "ANE0208"),
        ({"main.ane": "import std.nothing\n"}, "ANE0238"),
        ({"main.ane": "import other.nn\n"}, "ANE0238"),
        ({"main.ane": 'import "a.ane"; import "b.ane"\n', "a.ane": "fn f(x) = x\n", "b.ane": "fn f(x) = x\n"}, "ANE0239"),
        ({"main.ane": "fn f(x) = x\nfn f(x) = x\n"}, "ANE0202"),
    ],
)
def test_wrong_imports(tmp_path: Path, files: dict[str, str], code: str) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(Failure) as failure:
        load(tmp_path / "main.ane")
    assert [d.code for d in failure.value.diagnostics] == [code]


def test_linear_takes_compile_time_tensors_of_any_rank_and_a_bias_of_run_time() -> None:
    found = outputs_of(
        "kernel k() { input x: fp16[1, 1]; output y; y = linear(ones([1, 1, 2, 4]), tensor([[1, 2, 3, 4]])) + x }",
        {"x": np.array([[0.5]])},
    )
    np.testing.assert_array_equal(found["y"], np.full((1, 1, 2, 1), 10.5))
    b = np.array([1.0, -2])
    found = outputs_of(
        "kernel k() { input x: fp16[3, 4]; input b: fp16[2]; weight w: fp16[2, 4] = 0.5; output y; y = linear(x, w, b) }",
        {"x": np.ones((3, 4)), "b": b},
    )
    np.testing.assert_array_equal(found["y"], np.full((3, 2), 2.0) + b)


def test_linear_goes_along_the_last_axis_of_any_rank() -> None:
    """MIL's own `linear` has at most three axes: beyond them it is a `matmul`."""
    x = np.random.default_rng(0).standard_normal((2, 3, 5, 8))
    text = """kernel k { input x: fp16[2, 3, 5, 8]; output y
        weight w: fp16[4, 8] = reshape(arange(32) / 32, [4, 8])
        weight b: fp16[4] = arange(4)
        y = linear(x, w, b)
    }"""
    expected = x @ (np.arange(32).reshape(4, 8) / 32).T + np.arange(4)
    np.testing.assert_allclose(outputs_of(text, {"x": x})["y"], expected, rtol=1e-12)
