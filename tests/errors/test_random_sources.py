"""Random texts end with exit code 0 or 1; random programs that are right compute what numpy computes."""

from __future__ import annotations

import io
import re
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import typer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anedsl
from anedsl.cli.checking import CheckRequest, check_file

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.ane"))]
WORDS = re.findall(r'^[A-Z_]+: "([^"]+)"', (ROOT / "grammar" / "ane.lark").read_text(encoding="utf-8"), re.MULTILINE)
VALUES = [
    "x",
    "y",
    "k",
    "f",
    "fp16",
    "relu",
    "mean",
    "range",
    "axis",
    "1",
    "0",
    "64",
    "-1",
    "1.5",
    "1e9",
    '"s"',
    "\n",
    ";",
    "== 1",
    "<",
]
TOKEN = re.compile(r'[ \t]+|\w+|"[^"\n]*"|#[^\n]*|\n|\*\*|[<>=!:]=|.')
QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None)


def check(text: str) -> None:
    """Runs `anedsl check` without the option parser, which takes longer than all the rest; any other exception is a fault."""
    code = 0
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        path = Path(folder) / "k.ane"
        path.write_text(text, encoding="utf-8")
        try:
            check_file(CheckRequest(path, [], [], None, "1.3", None, "inmemory", False, "concise"))
        except typer.Exit as end:
            code = end.exit_code
    assert code in (0, 1), text


@settings(QUICK, max_examples=1000)
@given(st.lists(st.sampled_from(WORDS + VALUES), max_size=25))
def test_token_soup(words: list[str]) -> None:
    check(" ".join(words))


@settings(QUICK, max_examples=1000)
@given(st.lists(st.sampled_from(WORDS + VALUES), max_size=12))
def test_token_soup_in_a_kernel(words: list[str]) -> None:
    check(f"fn f(x, n = 2) = x * n\nkernel k(N = 4) {{\n input x: fp16[1, 4, 1, 8]\n output y\n y = {' '.join(words)}\n}}\n")


@settings(QUICK, max_examples=1000)
@given(st.sampled_from(EXAMPLES), st.sampled_from(["delete", "double", "swap"]), st.randoms(use_true_random=False))
def test_examples_with_a_mistake(text: str, how: str, random: object) -> None:
    tokens = TOKEN.findall(text)
    at = random.randrange(len(tokens) - 1)  # type: ignore[attr-defined]
    if how == "delete":
        del tokens[at]
    elif how == "double":
        tokens.insert(at, tokens[at])
    else:
        other = random.randrange(len(tokens))  # type: ignore[attr-defined]
        tokens[at], tokens[other] = tokens[other], tokens[at]
    check("".join(tokens))


def test_tokens_make_up_the_examples() -> None:
    assert EXAMPLES
    for text in EXAMPLES:
        assert "".join(TOKEN.findall(text)) == text


LEAVES = st.sampled_from(["a", "b", "c", "2", "0.5", "-3", "N"])
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda e: f"(-{e})"),
        inner.map(lambda e: f"maximum({e}, a)"),
        inner.map(lambda e: f"tanh({e} * 0.1 + a)"),
        inner.map(lambda e: f"mean({e} + a, axis = 1)"),
    ),
    max_leaves=8,
)


def numpy_value(expression: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
    names = {
        **arrays,
        "N": 4,
        "axis": 1,
        "maximum": np.maximum,
        "tanh": np.tanh,
        "mean": lambda x, axis: np.mean(x, axis=axis, keepdims=True),
    }
    return np.asarray(eval(expression, {"__builtins__": {}}, names))


@settings(QUICK, max_examples=300)
@given(EXPRESSIONS)
def test_programs_compute_what_numpy_computes(expression: str) -> None:
    head = "input a, b: fp16[1, 4, 1, 8]\n input c: fp16[1, 1, 1, 8]\n output y\n"
    text = f"kernel k(N = 4) {{\n {head} y = a * 0 + {expression}\n}}\n"
    generator = np.random.default_rng(0)
    shapes = {"a": (1, 4, 1, 8), "b": (1, 4, 1, 8), "c": (1, 1, 1, 8)}
    arrays = {name: generator.standard_normal(shape).astype(np.float16).astype(np.float64) for name, shape in shapes.items()}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "k.ane").write_text(text, encoding="utf-8")
        outputs = anedsl.load(Path(folder) / "k.ane").run(arrays, numerics="fp64")
    expected = np.broadcast_to(numpy_value(expression, arrays), shapes["a"])
    np.testing.assert_allclose(outputs["y"], expected, rtol=1e-9, atol=1e-9)
