"""The programs of the self-test: every op has one, and each compiles. The compiler may write another op for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from anedsl import frontend
from anedsl.codegen.artifact import Options, prepare
from anedsl.codegen.selftest import Program, all_programs
from anedsl.codegen.selftest.table import FOLDED, KERNELS, SIZES, USES
from anedsl.diagnostics import Sink
from anedsl.elaborate.kernel import elaborate
from anedsl.elaborate.modules import load_text
from anedsl.ops import OPS

PROGRAMS = all_programs()
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_uses_what_it_is_called_after_and_compiles(program: Program) -> None:
    module = load_text(program.text)
    kernel = next(iter(module.kernels))
    written = elaborate(module, kernel, {}, Sink())
    if program.kind == "op":
        assert program.name.removeprefix("op-") in {node.op.name for node in written.operations}
    built = frontend.build(module, kernel, {}, Sink())
    assert prepare(built.graph, Options(dialect="1.3", route="coreml")).graph.operations


def test_every_op_has_a_program() -> None:
    names = [program.name for program in PROGRAMS]
    assert len(set(names)) == len(names)
    assert {name.removeprefix("op-") for name in names if name.startswith("op-")} == OPS.keys() - FOLDED
    assert OPS.keys() >= USES.keys() | FOLDED
    assert sum(program.kind == "kernel" for program in PROGRAMS) == len(KERNELS)


def test_examples_come_in_small_sizes() -> None:
    found = [program for program in all_programs(EXAMPLES) if program.kind == "example"]
    assert len(found) >= 29
    (one,) = (program for program in found if program.name == "rmsnorm_bwd-rmsnorm_bwd")
    assert dict(one.parameters) == {"DIM": SIZES["DIM"], "SEQ": SIZES["SEQ"]}
