"""The grammar of MIL text takes what Apple prints and what its loader takes, in both dialects, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from lark import Token, UnexpectedInput

Parse = Callable[[str], Any]


def program(body: str, inputs: str = "tensor<fp16, [1, 4]> x", outputs: str = "y") -> str:
    return f"program(1.3)\n{{\n func main<ios18>({inputs}) {{\n{body}\n }} -> ({outputs});\n}}\n"


STATEMENTS = [
    'tensor<fp16, [1, 4]> y = mul(x = x, y = x)[name = string("y")];',
    "tensor<fp16, [1,4]> y=mul(x=x,y=x);",
    "fp16 y = const()[val = fp16(0x1.5p-17)];",
    'tensor<fp16, []> y = const()[name = tensor<string, []>("y"), val = tensor<fp16, []>(-0x1p+0)];',
    "fp16 y = const()[val = fp16(0.00001)];",
    "fp16 y = const()[val = fp16(-65504)];",
    "fp32 y = const()[val = fp32(1e-5)];",
    "tensor<fp32, [2, 2]> y = const()[val = tensor<fp32, [2, 2]>([[0x0p+0, -0x1p+0], [0x1p-1, 0.5]])];",
    "tensor<fp32, [2, 2]> y = const()[val = tensor<fp32, [2, 2]>([0x0p+0, -0x1p+0, 0x1p-1, 0.5])];",
    "tensor<int32, [0]> y = const()[val = tensor<int32, [0]>([])];",
    'tensor<fp16, [9]> y = const()[val = tensor<fp16, [9]>(BLOBFILE(path = string("@model_path/w.bin"), offset = uint64(64)))];',
    'fp16 y = const()[val = fp16(BLOBFILE(path = tensor<string, []>("@model_path/w.bin"), offset = tensor<uint64, []>(64)))];',
    "tensor<fp32, [1]> y = mul(x = v, y = tensor<fp32, [1]>([-0x1p+0]));",
    "tensor<fp16, [2, 4]> y = concat(axis = a, interleave = i, values = (x, z));",
    "tensor<fp16, [1, 4]> y = concat(axis = a, interleave = i, values = (x));",
    "tensor<fp16, [1, 4]> y, tensor<fp16, [1, 4]> z = split(axis = a, num_splits = n, x = x);",
    "tensor<fp16, [1, 4]> y = read_state(input = kv);",
    "write_state(data = v, input = kv);",
    "tensor<fp16, [2]> y = constexpr_affine_dequantize()[axis = tensor<int32, []>(0), data = tensor<int8, [2]>([1, -2])];",
    "tensor<uint4, [2]> y = const()[val = tensor<uint4, [2]>([1, 15])];",
    "tensor<fp16, [1, ?]> y = relu(x = x)[attribute = true];",
    "list<tensor<fp16, [4]>, ?> y = make_list(init_length = n);",
    'tensor<fp16, [1, 4]> path = relu(x = offset)[name = string("state")];',
    "tensor<fp16, [1, 4]> fp16x = relu(state = true_x, tuple = x@1);",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(statement: str, parse_mil: Parse) -> None:
    [found] = parse_mil(program(statement)).find_data("statement")
    assert found.children[1].type == "NAME"


FLEXIBLE = """program(1.3){func main<ios18>(tensor<fp32, [1, ?]> x)[FlexibleShapeInformation =
tuple<tuple<string, dict<string, tensor<int32, [?]>>>, tuple<string, dict<string, list<tensor<int32, [?]>, ?>>>>(
(("DefaultShapes", {{"x", [1, 4]}}), ("EnumeratedShapes", {{"x", [[1, 4], [1, 8]]}})))] {} -> (y);}"""

BUILD_INFO = """program(1.0)[buildInfo = dict<tensor<string, []>, tensor<string, []>>({{"a", "b"}, {"c", "d"}})]
{func main<ios16>() {} -> (y); func other<ios16>() {} -> (z);}"""

PROGRAMS = [
    program("", inputs="", outputs=""),
    program("", inputs="state<tensor<fp16, [1, 4]>> kv, tensor<fp16, [1, 4]> x"),
    'program(1.3)[buildInfo = dict<string, string>({{"a", "b"}})]{func main<ios18>() {} -> (y);}',
    "program(1.3)[]{func main<ios18>() {} -> (y);}",
    BUILD_INFO,
    FLEXIBLE,
]


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs(text: str, parse_mil: Parse) -> None:
    tree = parse_mil(text)
    assert list(tree.find_data("function"))
    assert tree.children[0].type == "VERSION"


def test_a_hand_written_kernel(parse_mil: Parse) -> None:
    text = program(
        """
        tensor<int32, [4]> sz = const()[name=string("sz"), val=tensor<int32, [4]>([1,768,1,256])];
        tensor<int32, [4]> b0 = const()[name=string("b0"), val=tensor<int32, [4]>([0,0,0,0])];
        tensor<fp16, [1,768,1,256]> dy = slice_by_size(x=inp,begin=b0,size=sz)[name=string("sdy")];
        bool kd = const()[name=string("kd"), val=bool(true)];
        fp16 eps = const()[name=string("eps"), val=fp16(0.00001)];
        """,
        inputs="tensor<fp16, [1, 1536, 1, 256]> inp",
    )
    tree = parse_mil(text)
    assert [str(s.children[1]) for s in tree.find_data("statement")] == ["const", "const", "slice_by_size", "const", "const"]
    numbers = [float(t) for t in tree.scan_values(lambda t: isinstance(t, Token) and t.type == "FLOAT")]
    assert numbers == [0.00001]


NOT_MIL = [
    program("tensor<fp16, [1, 4]> y = mul(x = x, y = x)"),
    program("tensor<fp16, [1, 4]> y = mul(x, x);"),
    program("tensor<fp16, [1, 4]> 1y = mul(x = x);"),
    program("y = mul(x = x);"),
    program("tensor<fp99, [1, 4]> y = mul(x = x);"),
    program("tensor<fp16, [1, -]> y = mul(x = x);"),
    program("fp16 y = const()[val = fp16(0x1.5)];"),
    program("fp16 y = const()[val = fp16(1 2)];"),
    program('string y = const()[val = string("a\nb")];'),
    program("# a comment\n"),
    program("// a comment\n"),
    program("", outputs="x y"),
    program("").replace("program(1.3)", "program(2)"),
    program("").replace("program(1.3)", "program"),
    program("") + program(""),
    program("")[:-3],
    "program(1.3) {}",
    "",
]


@pytest.mark.parametrize("text", NOT_MIL)
def test_what_is_not_mil_is_refused(text: str, parse_mil: Parse) -> None:
    with pytest.raises(UnexpectedInput):
        parse_mil(text)
