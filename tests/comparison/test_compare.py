"""What counts as the same program, and which difference is found first."""

from __future__ import annotations

import numpy as np
import pytest

from anedsl.codegen.comparison import Comparison, compare
from anedsl.codegen.reader import read_text
from anedsl.graph import Graph
from anedsl.types import FP16, TensorType
from tests.codegen.kernels import Builder, fp16
from tests.language.kernels import graph_of
from tests.reader.texts import program

HEAD = "kernel k() { input x, z: fp16[1, 8, 1, 4]; input i: int32[2]; weight w: fp16[1, 8, 1, 1] = 0.5; output o; "


def compared(left: str, right: str) -> Comparison:
    return compare(graph_of(f"{HEAD}{left} }}"), graph_of(f"{HEAD}{right} }}"))


def column(body: str, part: str) -> str:
    """The place of a part of a kernel's body."""
    return f"<text>:1:{len(HEAD) + body.index(part) + 1}"


SAME = (
    ("o = x * z + w", "o = x * z + w"),
    # Names.
    ("a = x * z; o = a + w", "b = x * z; o = b + w"),
    # The order of independent ops.
    ("a = tanh(x); b = exp(z); o = a + b", "b = exp(z); a = tanh(x); o = a + b"),
    # A const that is written once or twice.
    ("o = (x + tensor([1, 2, 3, 4])) * tensor([1, 2, 3, 4])", "m = tensor([1, 2, 3, 4]); o = (x + m) * m"),
    # What no output needs.
    ("o = x + z", "a = tanh(x); o = x + z"),
    # Numbers that are one number in fp16, and ways to write a const.
    ("o = x * 0.1", "o = x * 0.09998"),
    ("o = x + full([4], 2)", "o = x + tensor([2, 2, 2, 2])"),
    # Defaults.
    ("o = softmax(x)", "o = softmax(x, axis = 3)"),
    ("o = clip(x, alpha = 0.1, beta = 1)", "o = clip(x, alpha = 0.09998, beta = 1)"),
)

DIFFERENT = (
    ("o = x + z", "o = x - z", "op", "`add` and `sub`", "add", "sub"),
    ("o = tanh(x) + z", "o = exp(x) - z", "op", "`add` and `sub`", "add", "sub"),
    ("o = tanh(exp(x) + z)", "o = tanh(exp(x) - z)", "op", "`add` and `sub`", "add", "sub"),
    ("o = x + z", "o = z + x", "input", "the input `x` and the input `z`", "input", "input"),
    ("o = x + z", "o = x + tanh(x)", "input", "the input `z` and the result of `tanh`", "input", "tanh"),
    ("o = softmax(x, axis = 1)", "o = softmax(x, axis = 2)", "attribute", "`axis` of `softmax` is 1 and 2", "softmax", "softmax"),
    ("o = x * 0.1", "o = x * 0.2", "const", "1 of 1 values differ, the first at []: 0.0999755859375 and 0.199951171875",
     "const", "const"),
    ("o = x + tensor([1, 2, 3, 4])", "o = x + tensor([1, 2, 5, 6])", "const",
     "2 of 4 values differ, the first at [2]: 3.0 and 5.0", "const", "const"),
    ("o = x + 2", "o = x + full([4], 2)", "type", "`fp16` and `fp16[4]`", "const", "const"),
    ("o = x + 0.0", "o = x + -0.0", "const", "1 of 1 values differ, the first at []: 0.0 and -0.0", "const", "const"),
    ("o = concat(x, x, axis = 1)", "o = concat(x, x, x, axis = 1)", "operands",
     "`concat` of values (2), and of values (3)", "concat", "concat"),
    ("o, b = topk(x, k = 1, axis = 1)", "b, o = topk(x, k = 1, axis = 1)", "op", "result 0 and result 1 of `topk`",
     "topk", "topk"),
    ("a = tanh(x); o = a + a", "o = tanh(x) + tanh(x)", "count", "`tanh` is computed once here and twice there", "tanh", "tanh"),
    ("a = tanh(x); b = tanh(x); c = tanh(x); o = a * b - c", "a = tanh(x); o = a * a - a", "count",
     "`tanh` is computed 3 times here and once there", "tanh", "tanh"),
    # The same numbers of ops, in other places.
    ("a = exp(x); b = exp(x); c = tanh(z); o = a * b - c * c", "a = exp(x); c = tanh(z); d = tanh(z); o = a * a - c * d",
     "count", "`tanh` is computed once here and twice there", "tanh", "tanh"),
    # A difference that changes the results comes first.
    ("a = tanh(x); o = (a + a) * exp(x)", "o = (tanh(x) + tanh(x)) * exp(z)", "input", "the input `x` and the input `z`",
     "input", "input"),
)  # fmt: skip


@pytest.mark.parametrize(("left", "right"), SAME)
def test_is_the_same(left: str, right: str) -> None:
    assert compared(left, right).difference is None
    assert compared(right, left).difference is None


@pytest.mark.parametrize(("left", "right", "kind", "text", "one", "other"), DIFFERENT)
def test_is_different(left: str, right: str, kind: str, text: str, one: str, other: str) -> None:
    found = compared(left, right).difference
    assert found is not None
    assert (found.kind, found.text) == (kind, text)
    assert found.left is not None
    assert found.right is not None
    assert (found.left.op, found.right.op) == (one, other)
    assert compared(right, left).difference is not None


def test_the_first_difference_is_the_one_that_the_others_follow_from() -> None:
    found = compared("h = tanh(x); h2 = exp(h); o = h2 * 2", "g = sin(x); g2 = cos(g); o = g2 * 3").difference
    assert found is not None
    # Going up from the output, what is computed last is found first only where its op differs.
    assert found.text == "`exp` and `cos`"
    found = compared("h = tanh(x) * 2; o = exp(h) * 2", "g = tanh(x) * 3; o = exp(g) * 3").difference
    assert found is not None
    assert found.left is not None
    assert found.left.place == column("h = tanh(x) * 2; o = exp(h) * 2", "2;")


def test_both_places_are_told() -> None:
    found = compared("a = tanh(x); o = a", "zzz = 1; b = exp(x); o = b").difference
    assert found is not None
    assert found.left is not None
    assert found.right is not None
    assert (found.left.name, found.left.place) == ("a", column("a = tanh(x); o = a", "tanh"))
    assert (found.right.name, found.right.place) == ("b", column("zzz = 1; b = exp(x); o = b", "exp"))


def ports(*names: str, width: int = 4) -> Graph:
    b = Builder()
    values = [b.input(name, fp16(width)) for name in names[:-1]]
    b.output(names[-1], b.op("sub", x=values[0], y=values[-1]))
    return b.graph()


def test_ports_go_together_by_name_and_else_by_position() -> None:
    found = compare(ports("a", "b", "y"), ports("b", "c", "out"))
    assert [pair[:] for pair in found.inputs] == [("a", "c", "position"), ("b", "b", "name")]
    assert [pair[:] for pair in found.outputs] == [("y", "out", "position")]
    # a - b, and b - c with c in the place of a.
    assert found.difference is not None
    assert compare(ports("a", "b", "y"), ports("c", "d", "y")).difference is None


def test_other_ports() -> None:
    found = compare(ports("a", "b", "y"), ports("a", "y")).difference
    assert found is not None
    assert (found.kind, found.text) == ("ports", "2 inputs (`a`, `b`) and 1 (`a`)")
    found = compare(ports("a", "b", "y"), ports("a", "b", "y", width=8)).difference
    assert found is not None
    assert (found.kind, found.text) == ("type", "`fp16[4]` and `fp16[8]`")


def test_a_weight_without_numbers_is_not_compared_and_named() -> None:
    text = "kernel k() { input x: fp16[4]; weight w: fp16[4]; output y; y = x * w }"
    found = compare(graph_of(text), graph_of(text.replace("weight w: fp16[4]", "weight w: fp16[4] = 2")))
    assert found.difference is None
    assert found.missing == ("w",)


def test_weights_with_numbers_are_compared() -> None:
    def graph(value: float) -> Graph:
        b = Builder()
        w = b.weight("w", np.full((1000,), value), TensorType(FP16, (1000,)))
        b.output("y", b.op("add", x=b.input("x", fp16(1000)), y=w))
        return b.graph()

    assert compare(graph(1), graph(1)).difference is None
    found = compare(graph(1), graph(2)).difference
    assert found is not None
    assert found.text == "1000 of 1000 values differ, the first at [0]: 1.0 and 2.0"


def test_deep_and_shared_graphs_take_no_time() -> None:
    def graph() -> Graph:
        b = Builder()
        value = b.input("x", fp16(4))
        for _ in range(3000):
            value = b.op("add", x=value, y=value)
        b.output("y", value)
        return b.graph()

    assert compare(graph(), graph()).difference is None


# ---- states, which no record knows ----

READ = "tensor<fp16, [1, 4]> v = read_state(input = kv);"
WRITE = "write_state(data = s, input = kv);"
SUM = "tensor<fp16, [1, 4]> s = add(x = x, y = x);"
OUT = "tensor<fp16, [1, 4]> y = mul(x = v, y = x);"


def with_state(*lines: str) -> Graph:
    inputs = "tensor<fp16, [1, 4]> x, state<tensor<fp16, [1, 4]>> kv"
    return read_text(program("\n".join(lines), inputs=inputs)).main


def test_states_are_read_and_written_in_the_same_order() -> None:
    assert compare(with_state(SUM, READ, WRITE, OUT), with_state(READ, OUT, SUM, WRITE)).difference is None


@pytest.mark.parametrize(
    ("left", "right", "kind", "text", "ops"),
    [
        ((SUM, READ, WRITE, OUT), (SUM, WRITE, READ, OUT), "effect", "`read_state` is op 1 and op 2 on states",
         ("read_state", "read_state")),
        ((SUM, READ, WRITE, OUT), (SUM, READ, OUT), "effect", "only one has this `write_state`", ("write_state", None)),
        ((READ, OUT), (READ, OUT, READ.replace("v", "w", 1)), "effect", "only one has this `read_state`", (None, "read_state")),
        ((SUM, READ, WRITE, OUT), (SUM, READ, WRITE.replace("data = s", "data = x"), OUT), "input",
         "the result of `add` and the input `x`", ("add", "input")),
        ((SUM, READ, WRITE, OUT), (SUM, READ, WRITE.replace("write", "clear"), OUT), "effect",
         "`write_state` and `clear_state`", ("write_state", "clear_state")),
    ],
    ids=["order", "more", "fewer", "what is written", "another op"],
)  # fmt: skip
def test_another_use_of_a_state_is_a_difference(
    left: tuple[str, ...], right: tuple[str, ...], kind: str, text: str, ops: tuple[str | None, str | None]
) -> None:
    found = compare(with_state(*left), with_state(*right)).difference
    assert found is not None
    assert (found.kind, found.text) == (kind, text)
    assert tuple(None if where is None else where.op for where in (found.left, found.right)) == ops


def test_lists_are_compared_by_what_is_in_them() -> None:
    line = "string y = classify(probabilities = x, classes = {});"
    texts = ('list<string, 2>(["a", "b"])', 'list<tensor<string, []>, 2>([string("a"), "b"])', 'list<string, 2>(["a", "c"])')
    first, same, other = (read_text(program(line.format(text))).main for text in texts)
    assert compare(first, same).difference is None
    found = compare(first, other).difference
    assert found is not None
    assert found.text == f"`classes` of `classify` is {texts[0]} and {texts[2]}"
