"""`anedsl explain` and `anedsl ops`: what readers look up."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from anedsl.cli.explaining import diagnostic_classes, explain_code
from anedsl.cli.reference import show_ops
from anedsl.ops import OPS
from anedsl.rules import RULE
from tests.errors.command import anedsl

RULE_TEXT = """\
rule O14: `scaled_dot_product_attention` ignores its mask without a word

  action      error
  fix         write attention out: `matmul`, add the mask, `softmax`, `matmul`
  chips       all
  route       in memory
  confidence  A: an exact boundary, measured and confirmed by a second source
  evidence    mechramc/Orion, maderix/ANE
"""

GATHER_SUPPORT = """\
on the ANE
    in memory  refused
    Core ML    works
    chips      m1 native, m2 native, m3 native, m4 native, m5 native
    instead    multiply by a one-hot matrix with `matmul`, or gather on the host
"""


def printed(*args: str) -> str:
    result = anedsl(*args)
    assert (result.code, result.err) == (0, "")
    return result.out


def written(command: Callable[..., None], *args: Any) -> str:
    """What a command writes, without the command line in front of it: for hundreds of calls."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        command(*args)
    return out.getvalue()


@pytest.mark.parametrize("word", ["ANE0402", "ane0402", "0402", "402"])
def test_fields_are_named_in_angle_brackets(word: str) -> None:
    text = printed("explain", word)
    assert text.startswith("error[ANE0402]: weight `<name>` has another shape in `<file>`\n\n")
    assert text.endswith("\n\nnote: the key `<array>` has the shape <found>\n")


def test_advice_that_comes_from_the_place_of_the_error_is_left_out() -> None:
    assert printed("explain", "ANE0203") == (
        "error[ANE0203]: `<op>` operands have incompatible inner dimensions\n\n"
        "`matmul` and `linear` contract one axis of each operand; both must be equally long.\n"
    )


def test_an_ending_that_not_every_message_has_is_left_out() -> None:
    assert printed("explain", "ANE0304").startswith("error[ANE0304]: `<op>` does not run on the ANE\n")


@pytest.mark.parametrize("code", diagnostic_classes())
def test_no_template_is_printed(code: str) -> None:
    head, _, rest = written(explain_code, code, "text").partition("\n\n")
    advice = [line for line in rest.splitlines() if line.startswith(("note: ", "help: "))]
    for line in (head, *advice):
        # Braces that a message shows to its reader come in pairs with something to read between.
        assert not re.search(r"\{\w*\}", line)
        assert not re.fullmatch(r"(note|help): <\w+>", line)


def test_the_json_of_a_diagnostic_has_its_templates() -> None:
    assert json.loads(printed("explain", "ANE0402", "--format", "json"))["notes"] == [
        "the key `{array}` has the shape {found}",
        "{rule}",
        "{more}",
    ]


@pytest.mark.parametrize("word", ["O14", "o14"])
def test_a_rule(word: str) -> None:
    assert printed("explain", word) == RULE_TEXT


@pytest.mark.parametrize("id", RULE)
def test_every_rule_is_explained(id: str) -> None:
    rule = RULE[id]
    lines = written(explain_code, id, "text").splitlines()
    assert lines[0] == f"rule {id}: {rule.says}"
    assert any(line.endswith(f"  {rule.fix}") for line in lines)
    assert any(line.startswith("  not checked") for line in lines) == bool(rule.unchecked)
    assert json.loads(written(explain_code, id, "json"))["evidence"] == rule.evidence


@pytest.mark.parametrize(
    ("word", "nearest"), [("ANE0299", "ANE029"), ("O144", "O14"), ("nonsense", None)], ids=["code", "rule", "nothing"]
)
def test_an_unknown_code(word: str, nearest: str | None) -> None:
    result = anedsl("explain", word)
    assert (result.code, result.out) == (2, "")
    assert f"unknown code '{word}'" in result.err
    assert ("did you mean" in result.err) == (nearest is not None)


def test_what_is_known_of_an_op() -> None:
    text = printed("ops", "gather")
    assert text.endswith(GATHER_SUPPORT)
    assert "{" not in text.partition("on the ANE")[2]


def test_an_op_that_sources_disagree_about() -> None:
    assert "    in memory  disputed: public sources contradict each other\n" in printed("ops", "cumsum")


@pytest.mark.parametrize("name", OPS)
def test_every_op_says_where_it_runs(name: str) -> None:
    lines = written(show_ops, name, "text").splitlines()
    at = lines.index("on the ANE")
    assert lines[at + 1].startswith("    in memory  ")
    assert lines[at + 2].startswith("    Core ML    ")


def test_the_json_of_an_op_has_its_support() -> None:
    [found] = json.loads(printed("ops", "gather", "--format", "json"))
    assert found["support"]["verdict"] == {"inmemory": "refused", "coreml": "works"}
    assert found["support"]["chips"]["m1"] == "native"
    assert {"name", "kind", "family", "signature", "doc", "since", "example", "operands", "attributes"} < found.keys()


def test_sentences_of_the_list_are_whole() -> None:
    lines = [line.strip() for line in printed("ops").splitlines() if line.startswith("      ")]
    assert "The compile-time tensor start, start + step, ... below stop." in lines
    for line in lines:
        assert line.endswith("."), line
        assert not line.endswith(("..", ",.", ", .")), line


@pytest.mark.parametrize(
    ("op", "known"),
    [
        ("add", "works"),
        ("conv", "no trial on record; works on the e5 route"),
        ("non_maximum_suppression", "no trial on record; runs on the e5 route, where its results were not compared"),
        ("expand_dims", "compiles; no public source has run it"),
        ("gather", "refused"),
    ],
)
def test_what_is_known_is_not_made_more_of(op: str, known: str) -> None:
    lines = [line.split(maxsplit=2) for line in anedsl("ops", op).out.splitlines()]
    assert ["in", "memory", known] in lines
