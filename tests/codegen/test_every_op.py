"""Every op is emitted, and coremltools' reader, which infers every type anew, takes it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anedsl.codegen.artifact import Options, write
from anedsl.codegen.legalize import OPSETS
from anedsl.diagnostics import Failure
from anedsl.graph import Graph, Node, Value, make_node
from anedsl.ops import OPS
from anedsl.types import DTYPES, TensorType
from tests.codegen.conftest import Package
from tests.codegen.kernels import Builder
from tests.ops.all_cases import ALL
from tests.ops.case import Case, T

IO = ("fp16", "fp32", "int32")


def graph_of(case: Case) -> Graph:
    """The op alone: operands are inputs where Core ML passes their type, else consts; odd results are cast."""
    b = Builder("one_op")
    record = OPS[case.op]

    def value(name: str, t: T) -> Value:
        type = TensorType(DTYPES[t.dtype], t.shape)
        # MIL wants a dilated convolution's weight at compile time.
        if t.const or record.operand_index[name].const or (case.op, name) == ("conv", "weight"):
            return b.const(np.ones(t.shape) if t.data is None else np.reshape(t.data, t.shape), type, name)
        odd = t.dtype not in IO
        passed = TensorType(DTYPES["int32" if odd else t.dtype], t.shape or (1,))
        found = b.input(f"in_{len(b.inputs)}", passed)
        if not t.shape:
            found = b.op("squeeze", x=found, axes=(0,))
        return b.op("cast", x=found, dtype=type.dtype) if odd else found

    operands = {
        operand.name: value(operand.name, given)
        if isinstance(given := case.operands[operand.name], T)
        else tuple(value(operand.name, t) for t in given)
        for operand in record.operands
        if operand.name in case.operands
    }
    node = make_node(record, operands, dict(case.attributes))
    b.nodes.append(node)
    for index, result in enumerate(node.results):
        if result.type.dtype.name == "uint1":
            continue  # a mask, beside the elements
        if result.type.dtype.bits < 8:
            # MIL casts nothing from these.
            scale = b.const(np.ones([1] * result.type.rank), TensorType(DTYPES["fp16"], (1,) * result.type.rank), "scale")
            result = b.op("constexpr_blockwise_shift_scale", data=result, scale=scale)
        odd = result.type.dtype.name not in IO
        b.output(f"out_{index}", b.op("cast", x=result, dtype=DTYPES["fp16"]) if odd else result)
    if not b.inputs:
        extra = b.input("in_0", TensorType(DTYPES["fp16"], (1,)))
        b.output("out_extra", b.op("relu", x=extra))
    return b.graph()


def node_in(graph: Graph, op: str) -> Node:
    return next(node for node in graph.operations if node.op.name == op)


STRING = re.compile(r'"[^"]*"')
SHORT_SCALAR = re.compile(rf"(?<![\w<])(?:string|{'|'.join(DTYPES)}|uint64)(?:\(| \w+(?= =|,|\)))")
"""A scalar's value `bool(` or its type in front of a name `bool kd = `, outside of `tensor<bool, ...>`."""

each_case = pytest.mark.parametrize("case", ALL, ids=[case.id for case in ALL])


DO_NOTHING = {"transpose[5]perm=(0,)", "concat[2x3]axis=0"}
"""These leave their operand as it is: the compiler drops them."""


@each_case
def test_coremltools_reads_every_case(
    case: Case, tmp_path: Path, load_package: Callable[[Path], Package], parse_mil: Callable[[str], Any]
) -> None:
    graph = graph_of(case)
    artifact = write(graph, "", Options(route="coreml"), tmp_path)
    parse_mil((artifact.path / "model.mil").read_text(encoding="utf-8"))
    package = load_package(artifact.path / "one_op.mlpackage")
    if case.id in DO_NOTHING:
        assert case.op not in {op.type for op in package.operations}
        return
    [op] = [op for op in package.operations if op.type == case.op and op.type != "cast"] or [
        op for op in package.operations if op.type == case.op
    ][:1]
    node = node_in(graph, case.op)
    given = {key for key in (*node.operands, *node.attributes) if node.attributes.get(key, 0) is not None}
    assert set(op.inputs) == given


@each_case
def test_dialect_1_0_takes_a_case_or_says_why_not(case: Case, tmp_path: Path, load_package: Callable[[Path], Package]) -> None:
    graph = graph_of(case)
    options = Options(dialect="1.0", route="coreml")
    if OPSETS.index(OPS[case.op].since) <= OPSETS.index("ios16") and not uses_narrow_integers(graph):
        path = write(graph, "", options, tmp_path).path
        load_package(path / "one_op.mlpackage")
        assert_long_scalars((path / "model.mil").read_text(encoding="utf-8"))
        return
    with pytest.raises(Failure) as failure:
        write(graph, "", options, tmp_path)
    assert {found.code for found in failure.value.diagnostics} == {"ANE0430"}


def assert_long_scalars(text: str) -> None:
    """Dialect 1.0 has no scalar types: a scalar is a tensor without axes, `tensor<bool, []>(true)`."""
    code = STRING.sub('""', text)
    assert "tensor<string, []>(" in code
    assert SHORT_SCALAR.findall(code) == []


def test_short_scalars_are_recognised(tmp_path: Path) -> None:
    case = next(case for case in ALL if case.op == "reduce_mean")
    text = (write(graph_of(case), "", Options(dialect="1.3"), tmp_path).path / "model.mil").read_text(encoding="utf-8")
    assert {"string", "bool"} <= {match.split()[0].rstrip("(") for match in SHORT_SCALAR.findall(STRING.sub('""', text))}
    with pytest.raises(AssertionError):
        assert_long_scalars(text)


def uses_narrow_integers(graph: Graph) -> bool:
    """Compressed weights may be narrow in any opset."""
    values = [value for node in graph.operations if not node.op.constexpr for value in (*node.values, *node.results)]
    return any(value.type.dtype.is_integer and value.type.dtype.bits < 32 for value in values)


def test_both_outcomes_are_met() -> None:
    assert {OPS[case.op].since in ("ios15", "ios16") for case in ALL} == {True, False}
