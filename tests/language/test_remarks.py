"""Calls that are valid and seldom meant, names that an import would bring; and those of which nothing is said."""

from __future__ import annotations

import pytest

from anedsl.diagnostics import Failure, Sink
from anedsl.elaborate.kernel import elaborate
from anedsl.elaborate.modules import LoadedModule, library, load_text
from anedsl.elaborate.values import Function
from tests.language.kernels import problems


def kernel(equation: str, *declarations: str, sizes: str = "1, 64, 1, 64", dtype: str = "fp16") -> str:
    lines = [f"input x: {dtype}[{sizes}]", *declarations, "output y", equation]
    return "kernel k(AXIS = 0, N = 4) {\n    " + "\n    ".join(lines) + "\n}\n"


def warnings(text: str) -> list[tuple[str, str]]:
    """Code and underlined text of all that is said."""
    return [(code, span) for code, _, span in problems(text)]


@pytest.mark.parametrize(
    ("equation", "sizes", "axis"),
    [
        ("y = max(x, 0)", "1, 64, 1, 64", "0"),
        ("y = min(x, 0)", "8, 64, 1, 64", "0"),
        ("y = max(x * 2, 2)", "1, 64, 1, 64", "2"),
        ("y = max(x, 0, keep_dims = false)", "64, 64", "0"),
    ],
)
def test_a_number_that_is_hardly_an_axis(equation: str, sizes: str, axis: str) -> None:
    assert warnings(kernel(equation, sizes=sizes)) == [("ANE0286", axis)]


@pytest.mark.parametrize(
    "equation",
    [
        "y = max(x, 1)",
        "y = max(x, 3)",
        "y = max(x, -1)",
        "y = max(x, axis = 0)",
        "y = max(x, axes = 0)",
        "y = max(x, AXIS)",
        "y = max(x, [0])",
        "y = max(x)",
        "y = sum(x, 0)",
        "y = mean(x, 2)",
        "y = maximum(x, 0)",
        "y = x * max(arange(4), 0)",
        "y = x * max([3, 4], 0)",
        "y = reduce_max(x, [0], true)",
    ],
)
def test_a_reduction_that_is_meant(equation: str) -> None:
    assert warnings(kernel(equation)) == []


def test_a_reduction_is_doubted_where_it_is_written_and_once() -> None:
    text = "fn f(x) = max(x, 0)\n" + kernel("y = f(x) + f(x * 2)")
    assert warnings(text) == [("ANE0286", "0")]


@pytest.mark.parametrize(
    ("declared", "equation", "span"),
    [
        ("weight b: fp16[64] = ones", "y = x + b", "b"),
        ("weight b: fp16[64] = ones", "y = b * x", "b"),
        ("weight b: fp16[64] = ones", "y = x * (b + 1)", "(b + 1)"),
        ("weight b[2]: fp16[64] = ones", "y = maximum(x, b[1])", "b[1]"),
        ("weight b: fp16[64] = ones", "y = where(x > b, x, 0)", "b"),
    ],
)
def test_a_vector_that_would_fit_the_channels_too(declared: str, equation: str, span: str) -> None:
    assert warnings(kernel(equation, declared)) == [("ANE0287", span)]


@pytest.mark.parametrize(
    ("sizes", "declared", "equation"),
    [
        ("1, 64, 1, 64", "weight b: fp16[1, 64, 1, 1] = ones", "y = x + b"),
        ("1, 64, 1, 64", "weight b: fp16[1, 1, 1, 64] = ones", "y = x + b"),
        ("1, 64, 1, 64", "weight b: fp16[64] = ones", "y = x + reshape(b, [1, 64, 1, 1])"),
        ("1, 64, 1, 64", "weight b: fp16[64] = ones", "y = x + reshape(b, [1, 1, 1, 64])"),
        ("1, 64, 1, 32", "weight b: fp16[32] = ones", "y = x + b"),
        ("1, 1, 1, 1", "weight b: fp16[1] = ones", "y = x + b"),
        ("64, 64", "weight b: fp16[64] = ones", "y = x + b"),
        ("64, 1, 64", "weight b: fp16[64] = ones", "y = x + b"),
        ("1, 64, 1, 64", "input b: fp16[64]", "y = x + b"),
        ("1, 64, 1, 64", "weight w: fp16[1, 64, 1, 64] = ones; weight b: fp16[64] = ones", "y = x * (w + b)"),
        ("1, 64, 1, 64", "", "y = x + arange(64)"),
        ("1, 64, 1, 64", "weight b: fp16[64] = ones", "y = layer_norm(x, axes = [3], gamma = b)"),
    ],
)
def test_a_vector_whose_axis_is_clear(sizes: str, declared: str, equation: str) -> None:
    assert warnings(kernel(equation, declared, sizes=sizes)) == []


def test_the_library_tells_which_part_defines_a_function() -> None:
    found = library()
    assert found["rmsnorm"] == "std.norms"
    assert found["softplus"] == "std.activations"
    assert found["rope"] == "std.rope"
    for name, part in found.items():
        assert isinstance(_module(part).find(name), Function), name
    assert set(found) == {name for name in _module("std.nn").names() if not name.startswith("_")}


def _module(part: str) -> LoadedModule:
    return load_text(f"import {part}\n")


def test_a_name_of_ones_own_is_proposed_without_an_import() -> None:
    module = load_text("fn rmsnorms(x) = x\n" + kernel("y = rmsnormss(x)"))
    with pytest.raises(Failure) as failure:
        elaborate(module, "k", {}, Sink())
    assert [found.help_texts for found in failure.value.diagnostics] == [["did you mean `rmsnorms`?"]]
