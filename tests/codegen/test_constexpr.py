"""Weights that are kept in a compressed form: the operands of `constexpr_*` ops stand in place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anedsl.codegen.artifact import Options, write
from anedsl.graph import Graph, Node, Value
from anedsl.ops.record import Attribute, Domain, Op, Operand
from anedsl.types import FP16, INT8, TensorType
from tests.codegen.conftest import Package
from tests.codegen.kernels import Builder, fp16

DATA, SCALE = Domain("D", (INT8,)), Domain("S", (FP16,))
DEQUANTIZE = Op(
    "constexpr_affine_dequantize",
    "",
    (Operand("quantized_data", DATA), Operand("zero_point", DATA), Operand("scale", SCALE)),
    lambda call: call.types["quantized_data"].with_dtype(FP16),
    np.array,
    (Attribute("axis", "int"),),
    since="ios16",
)


def graph() -> Graph:
    b = Builder("compressed")
    x = b.input("x", fp16(1, 16))
    operands = {
        "quantized_data": b.weight("w", np.arange(16).reshape(1, 16), TensorType(INT8, (1, 16))),
        "zero_point": b.const(np.array([8]), TensorType(INT8, (1,))),
        "scale": b.const(np.array([0.25]), fp16(1)),
    }
    result = Value(fp16(1, 16), "w_wide")
    b.nodes.append(Node(DEQUANTIZE, operands, {"axis": 0}, (result,)))
    b.output("y", b.op("mul", x=x, y=result))
    return b.graph()


@pytest.mark.parametrize("dialect", ["1.0", "1.3"])
def test_operands_stand_in_place(
    dialect: str, tmp_path: Path, load_package: Callable[[Path], Package], parse_mil: Callable[[str], Any]
) -> None:
    artifact = write(graph(), "", Options(dialect=dialect), tmp_path)
    text = (artifact.path / "model.mil").read_text(encoding="utf-8")
    parse_mil(text)
    assert "const()" not in text
    scalar, opening = ("tensor<int32, []>(0)", "()[") if dialect == "1.0" else ("int32(0)", "(")
    assert f"constexpr_affine_dequantize{opening}axis = {scalar}, quantized_data = tensor<int8, [1, 16]>(BLOBFILE(" in text
    package = load_package(artifact.path / "compressed.mlpackage")
    assert [op.type for op in package.operations] == ["constexpr_affine_dequantize", "mul"]
    [op] = [op for op in package.program.functions["main"].operations if op.op_type == "constexpr_affine_dequantize"]
    assert np.array_equal(op.materialized_val_inference(), (np.arange(16).reshape(1, 16) - 8) * 0.25)
