"""Reading a long text takes at most four times what lark's lexer alone takes."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from anedsl.codegen.reader import read_text
from anedsl.codegen.reader.syntax import parse
from anedsl.source import Source
from anedsl.syntax import tables
from tests.reader.texts import program

TURN = """
        tensor<fp16, [1, 64, 1, 64]> a{0} = mul(x = h{0}, y = gain)[name = string("a{0}")];
        fp16 c{0} = const()[name = string("c{0}"), val = fp16(0x1.{0:03x}p-1)];
        tensor<fp16, [1, 64, 1, 64]> b{0} = add(x = a{0}, y = c{0})[name = string("b{0}")];
        tensor<fp16, [1, 1, 1, 64]> m{0} = reduce_mean(axes = axes, keep_dims = keep, x = b{0})[name = string("m{0}")];
        tensor<fp16, [1, 64, 1, 64]> h{1} = sub(x = b{0}, y = m{0})[name = string("h{1}")];
"""

CONSTS = """
        fp16 gain = const()[name = string("gain"), val = fp16(0x1.8p+0)];
        tensor<int32, [1]> axes = const()[name = string("axes"), val = tensor<int32, [1]>([1])];
        bool keep = const()[name = string("keep"), val = bool(true)];
"""


def long_text(turns: int) -> str:
    body = CONSTS + "".join(TURN.format(turn, turn + 1) for turn in range(turns))
    return program(body, inputs="tensor<fp16, [1, 64, 1, 64]> h0", outputs=f"h{turns}")


def seconds(action: Callable[[], object]) -> float:
    """The least processor time of some runs."""
    times = []
    for _ in range(4):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
    return min(times)


@pytest.mark.slow
def test_reading_costs_four_times_the_lexer_at_most() -> None:
    text = long_text(1000)
    lexer = tables.parser("mil", start=("program",))
    assert len(read_text(text).main.operations) == 4000
    lexing = seconds(lambda: sum(1 for _ in lexer.lex(text)))
    assert seconds(lambda: read_text(text)) < 4 * lexing


def test_a_long_list_of_numbers_is_one_token() -> None:
    numbers = ", ".join(map(str, range(100_000)))
    body = f"tensor<fp32, [100000]> c = const()[val = tensor<fp32, [100000]>([{numbers}])]; tensor<fp16, [1, 4]> y = relu(x = x);"
    written = parse(Source("model.mil", program(body)))
    assert written.functions[0].statements[0].attributes[1].payload.type == "NUMBERS"
