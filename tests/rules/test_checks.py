"""Every rule that is checked: what breaks it is reported at its line, and what is just inside the limit is not."""

from __future__ import annotations

import pytest

from anedsl.graph import Pack, make_node
from anedsl.ops import OPS
from anedsl.rules import RULE, check
from anedsl.rules.checks import CHECKS
from anedsl.source import Span
from anedsl.types import INT32
from tests.rules.cases import CASES, Case, relu
from tests.rules.maker import SOURCE, Maker, checked, line_of, of_rule


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_broken_rule_is_reported_once_at_its_line(case: Case) -> None:
    [diagnostic] = of_rule(checked(case.broken, case.target), case.rule)
    assert (diagnostic.headline, diagnostic.severity, line_of(diagnostic)) == (case.headline, case.severity, case.line)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_kernel_inside_the_limit_is_not(case: Case) -> None:
    assert of_rule(checked(case.fine, case.target), case.rule) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_it_names_the_rule_its_evidence_and_a_fix(case: Case) -> None:
    [diagnostic] = of_rule(checked(case.broken, case.target), case.rule)
    rule = RULE[case.rule]
    note = diagnostic.note_texts[0]
    assert note.startswith(f"rule {rule.id}: {rule.says} (evidence ")
    assert note.endswith(f": {rule.evidence})")
    assert diagnostic.label_text
    assert diagnostic.help_texts


def test_every_check_has_a_case() -> None:
    assert {case.rule for case in CASES} == set(CHECKS)


def test_a_long_axis_is_reported_where_it_begins_and_not_at_every_op() -> None:
    def chain(m: Maker) -> None:
        x = m.op("relu", m.input("x", 1, 8, 1, 20000))
        m.op("add", m.op("exp", x), x)

    assert len(of_rule(checked(chain), "D3")) == 1


def test_a_length_that_moves_to_a_shorter_axis_is_reported_there() -> None:
    def moved(m: Maker) -> None:
        x = m.op("relu", m.input("x", 1, 20000, 1, 32))
        m.op("transpose", x, perm=(0, 2, 1, 3))

    [diagnostic] = of_rule(checked(moved), "D3")
    assert (diagnostic.headline, line_of(diagnostic)) == (
        "axis 2 of the result of `transpose` is 20000 long, the ANE takes at most 16384 on M1 to M3",
        3,
    )


def test_packing_can_make_an_axis_too_long() -> None:
    def packed(m: Maker) -> None:
        a, b = m.input("a", 1, 8, 1, 9000), m.input("b", 1, 8, 1, 9000)
        m.input_packs.append(Pack("inp", ("a", "b"), 3, m.span()))
        m.op("add", a, b)

    [diagnostic] = of_rule(checked(packed), "D3")
    assert diagnostic.headline == "axis 3 of `inp` is 18000 long, the ANE takes at most 16384 on M1 to M3"


def test_the_weight_of_a_convolution_may_have_any_number_of_channels() -> None:
    def classifier(m: Maker) -> None:
        m.op("conv", m.input("x", 1, 64, 1, 32), m.const(32000, 64, 1, 1))

    assert checked(classifier) == []


def test_what_is_computed_from_weights_alone_is_a_weight() -> None:
    def transposed(m: Maker) -> None:
        weight = m.op("transpose", m.const(64, 8, 1, 1, weight=True), perm=(1, 0, 2, 3))
        m.op("conv", m.input("x", 4, 64, 1, 32), m.op("tan", weight))

    assert checked(transposed) == []


def test_several_inputs_are_told_how_to_pack() -> None:
    def two(m: Maker) -> None:
        m.op("add", m.input("dy", 1, 32, 1, 32), m.input("x", 1, 32, 1, 32))

    [diagnostic] = of_rule(checked(two), "S11")
    assert diagnostic.help_texts == ["pack them: `pack inp = (dy, x) along 1`"]


def test_indices_are_no_arithmetic() -> None:
    def gather(m: Maker) -> None:
        m.op("gather", m.input("x", 1, 32, 1, 64), m.const(4, dtype=INT32), axis=1)

    assert of_rule(checked(gather), "Q1") == []


def test_an_op_that_is_unrolled_in_a_loop_is_reported_once() -> None:
    maker = Maker()
    value = maker.input("x", 1, 8, 1, 32)
    for _ in range(3):
        node = make_node(OPS["tan"], {"x": value}, span=Span(SOURCE, 5, 6))
        maker.nodes.append(node)
        value = node.result
    assert len(of_rule(check(maker.graph(value)), "O37")) == 1


def test_diagnostics_come_in_the_order_of_the_source() -> None:
    def many(m: Maker) -> None:
        x = m.op("tan", m.input("x", 1, 32, 1, 48))
        m.op("softmax", m.op("sinh", x), axis=3)

    lines = [line_of(diagnostic) for diagnostic in checked(many)]
    assert lines == sorted(lines)
    assert len(lines) >= 3


def test_what_is_inside_every_limit_is_silent() -> None:
    assert checked(relu(1, 32, 1, 32)) == []
