"""The MIL text: whole programs in both dialects, and the numbers in them."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Token, Tree

from anedsl.codegen.artifact import Options, blob_places, prepare
from anedsl.codegen.legalize import OPSET_OF
from anedsl.codegen.mil_text import float_text, mil_text
from anedsl.codegen.version import VERSION
from anedsl.diagnostics import Failure
from anedsl.graph import Graph
from anedsl.types import BOOL, DTYPES, FP16, FP32, INT8, INT32, TensorType
from tests.codegen.kernels import Builder, everything, fp16, rmsnorm_bwd, span_of
from tests.golden import Golden

GRAPHS = {"rmsnorm_bwd": rmsnorm_bwd, "everything": everything}
both_dialects = pytest.mark.parametrize("dialect", OPSET_OF)


def text_of(graph: Graph, dialect: str = "1.3", *, single: bool = False, route: str = "inmemory") -> str:
    program = prepare(graph, Options(dialect, route, emit=frozenset({"mil"}))).program
    return mil_text(program, blob_places(program, single))


def line_with(text: str, part: str) -> str:
    lines = [line.strip() for line in text.splitlines() if part in line]
    assert len(lines) == 1, f"{part!r} stands on {len(lines)} lines"
    return lines[0]


@both_dialects
@pytest.mark.parametrize("name", GRAPHS)
def test_whole_text(name: str, dialect: str, golden: Golden, parse_mil: Callable[[str], Any]) -> None:
    text = text_of(GRAPHS[name](), dialect)
    parse_mil(text)
    golden.check(f"{name}-{dialect}.mil", text.replace(f'"{VERSION}"', '"VERSION"'))


def test_dialect_1_0_has_no_short_scalars() -> None:
    text = text_of(everything(), "1.0")
    for dtype in (*DTYPES, "string"):
        assert f" {dtype}(" not in text
        assert f"<{dtype}>" not in text
        assert f"<{dtype}, {dtype}>" not in text
        assert f" {dtype} " not in text


def test_one_op_stands_on_each_line_and_arguments_are_sorted(parse_mil: Callable[[str], Any]) -> None:
    text = text_of(everything())
    statements = list(parse_mil(text).find_data("statement"))
    body = [line for line in text.splitlines() if line.startswith("        ")]
    assert len(body) == len(statements) > 20
    for statement in statements:
        for arguments in statement.find_data("arguments"):
            names = [str(name) for name in arguments.children[::2]]
            assert names == sorted(names) or names == ["path", "offset"]


def test_every_argument_is_a_name(parse_mil: Callable[[str], Any]) -> None:
    arguments = [value for found in parse_mil(text_of(everything())).find_data("arguments") for value in found.children[1::2]]
    named = [value for value in arguments if isinstance(value, Token) and value.type == "NAME"]
    several = [value for value in arguments if isinstance(value, Tree) and value.data == "variadic"]
    files = [value for value in arguments if isinstance(value, Tree) and value.data == "value"]
    assert len(named) > 20
    assert len(named) + len(several) + len(files) == len(arguments)
    # Only the path and offset of a weight file are typed literals.
    assert len(files) % 2 == 0


def test_equal_consts_stand_once() -> None:
    b = Builder()
    x = b.input("x", fp16(1, 4))
    one, same, other = b.const(1.0), b.const(1.0), b.const(1.0, TensorType(FP16, (1,)))
    zero, minus_zero = b.const(0.0), b.const(-0.0)
    for value in (one, same, other, zero, minus_zero):
        x = b.op("add", x=x, y=value)
    b.output("y", x)
    consts = [line.strip() for line in text_of(b.graph()).splitlines() if "= const()" in line]
    assert [line.rpartition("val = ")[2] for line in consts] == [
        "fp16(0x1p+0)];",
        "tensor<fp16, [1]>([0x1p+0])];",
        "fp16(0x0p+0)];",
        "fp16(-0x0p+0)];",
    ]


def test_numbers_and_booleans_that_are_equal_in_python_are_different_consts() -> None:
    b = Builder()
    x = b.input("x", fp16(2, 2))
    y = b.op("reduce_sum", x=x, axes=(1,), keep_dims=True)
    b.output("y", b.op("leaky_relu", x=b.op("concat", values=(y, y), axis=1, interleave=False), alpha=1.0))
    text = text_of(b.graph())
    assert "bool(true)" in text
    assert "fp16(0x1p+0)" in text
    assert line_with(text, "int32 axis").endswith("val = int32(1)];")


@pytest.mark.parametrize(
    ("value", "type", "text"),
    [
        (np.array([[1.5, -2.0], [0.0, 0.25]]), TensorType(FP16, (2, 2)), "([[0x1.8p+0, -0x1p+1], [0x0p+0, 0x1p-2]])"),
        (np.array([0.1]), TensorType(FP32, (1,)), "([0x1.99999ap-4])"),
        (np.arange(12), TensorType(INT32, (12,)), "([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11])"),
        (np.array([-128, 127]), TensorType(INT8, (2,)), "([-128, 127])"),
        (np.array([[True], [False]]), TensorType(BOOL, (2, 1)), "([[true], [false]])"),
        (np.array([6e-8]), TensorType(FP16, (1,)), "([0x1p-24])"),
    ],
)
def test_immediate_tensors(value: Any, type: TensorType, text: str) -> None:
    b = Builder()
    b.output("y", b.op("cast", x=b.const(value, type, "c"), dtype=FP32 if type.dtype is not FP32 else FP16))
    assert f"val = tensor<{type.dtype}, [{', '.join(map(str, type.shape))}]>{text}" in text_of(b.graph())


def test_large_float_consts_and_weights_of_any_size_are_in_files() -> None:
    b = Builder()
    x = b.input("x", fp16(1, 10))
    y = b.op("add", x=x, y=b.const(np.ones((1, 10)), name="ten"))
    y = b.op("mul", x=y, y=b.const(np.ones((9, 1)), name="nine"))
    b.output("y", b.op("add", x=y, y=b.weight("g", np.ones((1, 1)))))
    text = text_of(b.graph())
    assert 'BLOBFILE(path = string("@model_path/weights/ten.bin"), offset = uint64(64))' in line_with(text, "> ten =")
    assert "BLOBFILE" not in line_with(text, "> nine =")
    assert 'BLOBFILE(path = string("@model_path/weights/g.bin"), offset = uint64(64))' in line_with(text, "> g =")


def test_integer_weights_are_immediate_where_the_opset_has_no_files_for_them() -> None:
    def graph() -> Graph:
        b = Builder()
        b.output("y", b.op("identity", x=b.weight("index", np.array([3, 1]), TensorType(INT32, (2,)))))
        return b.graph()

    assert "BLOBFILE" in line_with(text_of(graph(), "1.3"), "> index =")
    assert line_with(text_of(graph(), "1.0"), "> index =").endswith("val = tensor<int32, [2]>([3, 1])];")


def test_one_shared_weight_file_has_an_offset_for_each_weight() -> None:
    text = text_of(everything(), single=True)
    assert text.count('"@model_path/weights/weight.bin"') == text.count("BLOBFILE") == 3
    # 64 for the header, then 64 of metadata and 512, then 64 of metadata and 32 rounded up to 64.
    assert [f"offset = uint64({offset})" in text for offset in (64, 640, 768)] == [True] * 3


@given(st.floats(width=16, allow_nan=False, allow_infinity=False))
def test_fp16_text_is_exact_and_shortest(value: float) -> None:
    text = float_text(value)
    assert math.copysign(1, float.fromhex(text)) == math.copysign(1, value)
    assert float.fromhex(text) == value
    digits = text.partition("p")[0]
    assert not (digits.endswith("0") and "." in digits)
    assert not digits.endswith(".")


@pytest.mark.parametrize("dialect", OPSET_OF)
@given(value=st.floats(min_value=-65519, max_value=65519) | st.floats(-1e-4, 1e-4))
def test_a_number_is_rounded_once_to_nearest_even(dialect: str, value: float) -> None:
    b = Builder()
    b.output("y", b.op("mul", x=b.input("x", fp16(1)), y=b.const(value)))
    literal = line_with(text_of(b.graph(), dialect), "val = ").rpartition("(")[2].rstrip(")];")
    assert struct.pack("<d", float.fromhex(literal)) == struct.pack("<d", nearest_half(value))


def nearest_half(value: float) -> float:
    """Rounding to fp16 by exact fractions."""
    exponent = max(math.frexp(value)[1] - 11, -24) if value else -24
    scaled = Fraction(value) / Fraction(2) ** exponent
    return math.copysign(float(round(scaled) * Fraction(2) ** exponent), value)


def test_rounding_by_way_of_fp32_would_be_wrong() -> None:
    value = 1 + 2**-11 + 2**-40
    assert nearest_half(value) == 1 + 2**-10
    assert float(np.float16(np.float32(value))) == 1


@pytest.mark.parametrize(("value", "became"), [(65520.0, "inf"), (-1e9, "-inf"), (math.inf, "inf"), (math.nan, "nan")])
def test_a_literal_must_be_finite(value: float, became: str) -> None:
    span = span_of("y = x + 1e9", "1e9")
    b = Builder()
    b.output("y", b.op("add", x=b.input("x", fp16(1)), y=b.const(value, span=span)))
    with pytest.raises(Failure) as failure:
        text_of(b.graph())
    [found] = failure.value.diagnostics
    assert found.code == "ANE0431"
    assert found.span == span
    assert found.headline == f"{value:.9g} is not a finite number in fp16"
    assert found.label_text == f"{value:.9g} becomes {became} here"
    assert found.note_texts == ["the largest finite fp16 number is 65504"]
    sign = "-" if value < 0 else ""
    assert found.help_texts == ([] if math.isnan(value) else [f"write {sign}65504 or something smaller in magnitude"])


@pytest.mark.parametrize("value", [2**31, -(2**40), 2**70])
def test_an_integer_must_fit(value: int) -> None:
    span = span_of("y = x + 99999999999", "99999999999")
    b = Builder()
    b.output("y", b.op("add", x=b.input("x", TensorType(INT32, (1,))), y=b.const(value, TensorType(INT32, ()), span=span)))
    with pytest.raises(Failure) as failure:
        text_of(b.graph())
    [found] = failure.value.diagnostics
    assert (found.code, found.span) == ("ANE0437", span)
    assert found.headline == f"{value} does not fit int32"
    assert found.label_text == "int32 holds -2147483648 to 2147483647"


def test_the_same_numbers_are_in_one_file() -> None:
    b = Builder()
    x = b.input("x", fp16(1, 16, 1, 8))
    w, bias = b.weight("w", np.ones((16, 16, 1, 1))), b.weight("bias", np.ones(16))
    b.output("y", b.op("conv", x=b.op("conv", x=x, weight=w, bias=bias), weight=w, bias=bias))
    program = prepare(b.graph(), Options()).program
    assert [blob.name for blob in program.blobs] == ["w", "bias"]


def test_a_float_attribute_follows_its_operand() -> None:
    def epsilon(dtype: str) -> str:
        b = Builder()
        b.output("y", b.op("rsqrt", x=b.input("x", TensorType(DTYPES[dtype], (1,))), epsilon=1e-3))
        return line_with(text_of(b.graph()), "epsilon = const()")

    assert epsilon("fp16").endswith("val = fp16(0x1.064p-10)];")
    assert epsilon("fp32").endswith("val = fp32(0x1.0624dep-10)];")


def test_the_text_of_a_large_program_is_quick(parse_mil: Callable[[str], Any]) -> None:
    b = Builder()
    x = b.input("x", fp16(1, 64, 1, 64))
    for index in range(5000):
        x = b.op("relu", x=b.op("mul", f"h{index}", x=x, y=x))
    b.output("y", x)
    program = prepare(b.graph(), Options()).program
    best = math.inf
    for _ in range(5):
        start = time.process_time()
        text = mil_text(program, [])
        best = min(best, time.process_time() - start)
    assert text.count("\n") > 10_000
    assert best < 0.1
