"""Names that nothing defines are found wherever they stand, each once, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from anedsl.cli.app import register
from anedsl.diagnostics import Failure, Sink
from anedsl.elaborate.kernel import elaborate
from anedsl.elaborate.modules import STD, load, load_text
from anedsl.elaborate.names import undefined

ROOT = Path(__file__).parents[2]
K = "kernel k(N = 4) {{ input x: fp16[1, N]; weight W[2]: fp16[N] = ones; output y; {} }}"


def unknown(text: str) -> list[str]:
    module = load_text(text)
    found = [d for item in (*module.tree.functions, *module.tree.kernels) for d in undefined(item, module)]
    assert {d.code for d in found} <= {"ANE0201"}
    return sorted(d.span.text for d in found)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("fn f(x) { return x * g + sigmoidd(x) }", ["g", "sigmoidd"]),
        ("fn f(x) = x if flag else -x", ["flag"]),
        ("fn f(x, eps = tiny) = x + eps", ["tiny"]),
        ("fn f(x: [1, C, H * C]) = reshape(x, [C, H])", ["H", "H"]),
        ("fn f(x: half[1, C]) = x", []),
        ("fn f(x: [1, C]) { for i in range(C) { x = x + i * j }; return x }", ["j"]),
        ("fn f(x) { if x.rank > lowest { y = x } else { y = x[0:last, ..., ::step] }; return y }", ["last", "lowest", "step"]),
        ('fn f(x) { assert x.rank == r, "of rank " + name; return x }', ["name", "r"]),
        ("fn f(x) { a, b = split(x, 2, axis = 0); return (a, b, c) }", ["c"]),
        ("fn f(x) = relu(x, alpha = beta)", ["beta"]),
        ("fn f(x) = g(x)\nfn g(x) = mean(x, axis = 1).shape", []),
        ("import std.nn\nfn f(x) = silu(rmsnorm(x, x, eps = EPS))", ["EPS"]),
        ("fn f(x) = rmsnorm(x, x)", ["rmsnorm"]),
        (K.format("if N > 100 { y = nowhere(x) } else { y = x * W[i] }"), ["i", "nowhere"]),
        (K.format("pack p = (x) along AXIS; y = cast(x, fp32)"), ["AXIS"]),
        ("kernel k() { input x: fp16[1, DIM] in [low, 1]; output y: fp16[1, DIM]; y = x }", ["DIM", "DIM", "low"]),
        ("kernel k() { weight w: fp16[C, 8] stored int8(axis = 0) = init; output y; y = w + 0 }", ["C", "init"]),
        ("kernel k() { weight W[DEPTH]: fp16[8] = zeros; output y; y = W[0] + 0 }", ["DEPTH"]),
    ],
)
def test_every_unknown_name_and_no_other(text: str, names: list[str]) -> None:
    assert unknown(text) == names


@pytest.mark.parametrize("path", sorted([*ROOT.glob("examples/*.ane"), *STD.glob("*.ane")]), ids=lambda path: path.stem)
def test_what_we_ship_has_none(path: Path) -> None:
    module = load(path)
    assert [d for item in (*module.tree.functions, *module.tree.kernels) for d in undefined(item, module)] == []


def test_a_kernel_that_has_one_shows_all() -> None:
    module = load_text("fn f(x) = x * a + b\n" + K.format("u = foo + bar(x); v = f(x); y = u + v + baz"))
    with pytest.raises(Failure) as failure:
        elaborate(module, "k", {}, Sink())
    assert sorted(d.span.text for d in failure.value.diagnostics) == ["a", "bar", "baz", "foo"]


def test_check_reads_functions_that_nobody_calls(tmp_path: Path) -> None:
    file = tmp_path / "lib.ane"
    file.write_text("fn norm(x, g) {\n    return x * rsqrtt(mean(x * x, axis = 1)) * gg\n}\n")
    done = CliRunner().invoke(register(None), ["check", str(file)])
    assert done.exit_code == 1
    assert "unknown name `rsqrtt`" in done.output
    assert "did you mean `rsqrt`?" in done.output
    assert done.output.endswith("2 errors\n")
    file.write_text("fn norm(x, g) = x * rsqrt(mean(x * x, axis = 1)) * g\n")
    done = CliRunner().invoke(register(None), ["check", str(file)])
    assert (done.exit_code, done.output) == (0, f"{file}: no kernel; its functions name nothing unknown\n")


def test_a_name_in_a_called_function_is_reported_once(tmp_path: Path) -> None:
    file = tmp_path / "k.ane"
    file.write_text("fn f(x) = x * a\n" + K.format("y = f(x) + f(x * x)"))
    done = CliRunner().invoke(register(None), ["check", str(file)])
    assert done.output.count("ANE0201") == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (K.format("y = x + " + " + ".join(f"u{i}" for i in range(3000))), "ANE0201"),
        (K.format("assert " + " + ".join(["N"] * 5000) + " == 0; y = x"), "ANE0221"),
        (K.format("assert " + " and ".join(["N == 4"] * 5000) + " and N == 5; y = x"), "ANE0221"),
        (K.format("if N == 0 { y = x }" + " else if N == 1 { y = x }" * 1000 + " else { y = x + u }"), "ANE0201"),
    ],
    ids=["names", "sum", "and", "else if"],
)
def test_long_texts_have_their_diagnostics_too(text: str, code: str, tmp_path: Path) -> None:
    file = tmp_path / "k.ane"
    file.write_text(text)
    done = CliRunner().invoke(register(None), ["check", str(file), "--format", "concise"])
    assert done.exit_code == 1
    assert code in done.output
    assert done.output.count("ANE0201") <= 21


def test_a_function_with_many_unknown_names_shows_some(tmp_path: Path) -> None:
    file = tmp_path / "k.ane"
    file.write_text("fn f(x) = x + " + " + ".join(f"u{i}" for i in range(500)))
    done = CliRunner().invoke(register(None), ["check", str(file), "--format", "concise"])
    assert done.output.count("ANE0201") == 20
    assert "ANE0110" in done.output.splitlines()[-1]
