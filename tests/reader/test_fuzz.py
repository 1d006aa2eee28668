"""Damaged texts: a diagnostic with a place, never a traceback and never a hang."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anedsl.codegen.artifact import write
from anedsl.codegen.options import Options
from anedsl.codegen.reader import read, read_text
from anedsl.diagnostics import Failure
from anedsl.diagnostics.render import as_json, render
from tests.codegen import kernels
from tests.reader.texts import EVERYTHING

TOKENS = re.compile(r'"[^"]*"|[A-Za-z_]\w*|-?[0-9][\w.+]*|\s+|.', re.DOTALL)
PIECES = TOKENS.findall(EVERYTHING)


def kind_of(piece: str) -> str:
    if piece[0] == "-" or piece[0].isdigit():
        return "number"
    return "word" if piece[0].isalpha() else "string" if piece[0] == '"' else piece


KINDS = [kind_of(piece) for piece in PIECES]
ALIKE = {kind: [at for at, other in enumerate(KINDS) if other == kind] for kind in KINDS}
"""Where the pieces of a kind stand: a name in another's place leaves the syntax as it was."""

WORDS = st.sampled_from([*PIECES, "?", "[", "]", "tensor<fp16, [", "inf", "1e99", "state<", "0", "-1", "9" * 20, "1e400"])
ACTIONS = st.sampled_from(("delete", "double", "swap", "put", "exchange", "exchange"))
EDIT = st.tuples(ACTIONS, st.integers(0, len(PIECES) - 1), st.integers(1, 40), WORDS)


def mutated(edits: list[tuple[str, int, int, str]]) -> str:
    pieces = list(PIECES)
    for kind, at, distance, word in edits:
        at = min(at, len(pieces) - 1)
        other = min(at + distance, len(pieces) - 1)
        if kind == "delete":
            pieces[at] = ""
        elif kind == "double":
            pieces[at] *= 2
        elif kind == "exchange":
            alike = ALIKE[KINDS[at]]
            other = alike[distance * 7 % len(alike)]
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif kind == "swap":
            pieces[at], pieces[other] = pieces[other], pieces[at]
        else:
            pieces[at] = word
    return "".join(pieces)


def outcome(text: str) -> set[str]:
    """The codes of what is wrong with a text; every diagnostic can be shown, and has a place in the text."""
    try:
        read_text(text)
    except Failure as failure:
        problems = failure.diagnostics
    else:
        return set()
    assert problems
    for problem in problems:
        assert render(problem)
        assert as_json(problem)["line"] is not None or not text
        assert 0 <= problem.span.start <= problem.span.end <= len(text)
    return {problem.code for problem in problems}


def test_the_text_itself_is_sound() -> None:
    assert "".join(PIECES) == EVERYTHING
    assert outcome(EVERYTHING) == set()


@settings(max_examples=2500, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(EDIT, min_size=1, max_size=4))
def test_a_damaged_text_is_explained(edits: list[tuple[str, int, int, str]]) -> None:
    outcome(mutated(edits))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(alphabet='program(1.3){}[]<>tensor,fp16?;="-> \n0x\\/#\x00é', max_size=80))
def test_any_text_is_explained(text: str) -> None:
    assert outcome(text)
    assert outcome(EVERYTHING + text) or not text.strip(" \n")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    options = Options(route="coreml", emit=frozenset({"mlpackage"}))
    return write(kernels.everything(), "", options, folder).path / "everything.mlpackage"


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(edits=st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=3))
def test_a_damaged_package_is_explained(
    edits: list[tuple[int, int]], package: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    model = package / "Data" / "com.apple.CoreML" / "model.mlmodel"
    sound = model.read_bytes()
    damaged = bytearray(sound)
    for at, byte in edits:
        damaged[at % len(damaged)] = byte
    model.write_bytes(damaged)
    try:
        read(package)
    except Failure as failure:
        problems = failure.diagnostics
    else:
        problems = []
    finally:
        model.write_bytes(sound)
    assert all(render(problem) for problem in problems)


@pytest.mark.parametrize("opening", ["[", "(", "{{", "fp16(", "tensor<fp16, [1]>("])
def test_deep_nesting_is_refused(opening: str) -> None:
    assert outcome(EVERYTHING.replace("int32(1)", f"int32({opening * 30_000}1"))


def test_deep_types_are_refused() -> None:
    assert outcome(EVERYTHING.replace("tensor<fp16,[1,8]> z", "state<" * 5000 + "fp16" + ">" * 5000 + " z")) == {"ANE0463"}
