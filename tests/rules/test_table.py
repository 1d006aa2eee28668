"""The table itself: complete, consistent, and equal to the page that documents it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anedsl.diagnostics import Diagnostic
from anedsl.diagnostics import rules as texts
from anedsl.rules import CHIPS, ROUTES, RULE, RULES, Rule
from anedsl.rules.checks import CHECKS
from anedsl.rules.table import markdown

PAGE = Path(__file__).parents[2] / "docs" / "ane-rules.md"
CLASSES = [kind for kind in vars(texts).values() if isinstance(kind, type) and issubclass(kind, Diagnostic) and kind.code]


def test_ids_are_unique() -> None:
    assert len(RULES) == len(RULE) > 80


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_an_error_or_warning_has_a_check_or_a_reason_why_not(rule: Rule) -> None:
    reported = rule.action in ("error", "warn")
    assert (rule.id in CHECKS) + bool(rule.unchecked) == reported


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_its_fields_are_of_the_known_kinds(rule: Rule) -> None:
    assert rule.confidence in {"A", "B", "C", "D"}
    assert rule.action in {"error", "warn", "rewrite", "host", "info"}
    assert rule.effect in {"refused", "wrong", "invalid"}
    assert rule.chips == tuple(chip for chip in CHIPS if chip in rule.chips) != ()
    assert rule.routes
    assert set(rule.routes) <= {*ROUTES, "e5"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_its_texts_are_one_sentence_in_the_style_of_notes(rule: Rule) -> None:
    for text in (rule.says, rule.fix):
        assert re.match(r"[a-z`]|[A-Z0-9][A-Za-z0-9]* ", text), text
        assert not text.endswith(".")
        assert text.count("`") % 2 == 0
        assert "|" not in text
    assert rule.evidence


def test_checks_belong_to_rules() -> None:
    assert set(CHECKS) <= set(RULE)


def test_the_page_is_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown()


def test_every_diagnostic_has_a_code_of_its_own_and_an_explanation_with_a_fix() -> None:
    codes = [kind.code for kind in CLASSES]
    assert len(codes) == len(set(codes)) > 20
    assert all("ANE0301" <= code <= "ANE0359" for code in codes)
    for kind in CLASSES:
        assert kind.__doc__, kind
        if issubclass(kind, texts.RuleBroken):
            assert kind.__doc__.count("\n\n") >= 1, f"{kind.__name__}: what is wrong, an empty line, what to do"
