"""Damaged texts: a diagnostic with a place, never a traceback and never a hang."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anedsl.codegen import blob
from anedsl.codegen.artifact import Emission, blob_places, prepare, write
from anedsl.codegen.comparison import compare
from anedsl.codegen.mil_text import mil_text
from anedsl.codegen.mlpackage import model_bytes
from anedsl.codegen.options import Options
from anedsl.codegen.reader import Module, read, read_text
from anedsl.diagnostics import Failure
from anedsl.diagnostics.render import as_json, render
from anedsl.graph import Graph
from tests.codegen import kernels
from tests.reader.texts import EVERYTHING, FOREIGN

DATA = Path(__file__).parent / "data"
TOKENS = re.compile(r'"[^"]*"|[A-Za-z_]\w*|-?[0-9][\w.+]*|\s+|.', re.DOTALL)

Edit = tuple[str, int, int, str]


def kind_of(piece: str) -> str:
    if piece[0] == "-" or piece[0].isdigit():
        return "number"
    return "word" if piece[0].isalpha() else "string" if piece[0] == '"' else piece


class Pieces:
    """A text in pieces, to be damaged."""

    def __init__(self, text: str) -> None:
        self.pieces = TOKENS.findall(text)
        self.kinds = [kind_of(piece) for piece in self.pieces]
        self.alike = {kind: [at for at, other in enumerate(self.kinds) if other == kind] for kind in self.kinds}
        """Where the pieces of a kind stand: a name in another's place leaves the syntax as it was."""

    def mutated(self, edits: list[Edit]) -> str:
        pieces = list(self.pieces)
        for kind, at, distance, word in edits:
            at = min(at, len(pieces) - 1)
            other = min(at + distance, len(pieces) - 1)
            alike = self.alike[self.kinds[at]]
            like = alike[distance * 7 % len(alike)]
            if kind == "delete":
                pieces[at] = ""
            elif kind == "double":
                pieces[at] *= 2
            elif kind == "exchange":
                pieces[at], pieces[like] = pieces[like], pieces[at]
            elif kind == "copy":
                pieces[at] = pieces[like]
            elif kind == "swap":
                pieces[at], pieces[other] = pieces[other], pieces[at]
            else:
                pieces[at] = word
        return "".join(pieces)


SOUND = Pieces(EVERYTHING)
WORDS = (*SOUND.pieces, "?", "[", "]", "tensor<fp16, [", "inf", "1e99", "state<", "0", "-1", "9" * 20, "1e400")


def edits(actions: tuple[str, ...], words: tuple[str, ...] = WORDS) -> st.SearchStrategy[Edit]:
    return st.tuples(st.sampled_from(actions), st.integers(0, 2000), st.integers(1, 40), st.sampled_from(words))


EDIT = edits(("delete", "double", "swap", "put", "exchange", "exchange"))


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
    assert "".join(SOUND.pieces) == EVERYTHING
    assert outcome(EVERYTHING) == set()


@settings(max_examples=2500, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(st.lists(EDIT, min_size=1, max_size=4))
def test_a_damaged_text_is_explained(edits: list[Edit]) -> None:
    outcome(SOUND.mutated(edits))


# What is written of a damaged text that can still be read.

TEXTS = [Pieces(text) for text in (EVERYTHING, FOREIGN, *(path.read_text() for path in sorted(DATA.glob("*.mil"))))]
GENTLE = edits(
    ("exchange", "copy", "copy", "put", "delete", "double", "swap"),
    ("0", "1", "-1", "2", "0.5", "1e99", "inf", "true", '"b"', "?", "bf16", "int4", "fp64", "uint64", "string", "list", "y", "x"),
)


def emission_of(graph: Graph, dialect: str, form: str) -> Emission | None:
    """The graph ready to be written; None where that is refused with diagnostics that can be shown."""
    try:
        return prepare(graph, Options(dialect=dialect, route="coreml", emit=frozenset({form})))
    except Failure as failure:
        problems = failure.diagnostics
    assert all(render(problem) for problem in problems)
    return None


def written_again(module: Module) -> int:
    """Writes every function in every form; what is written reads as the same program. Returns how many were."""
    count = 0
    for graph in module.functions.values():
        for dialect, form in product(("1.0", "1.3"), ("mil", "mlpackage")):
            emission = emission_of(graph, dialect, form)
            if emission is None:
                continue
            count += 1
            program = emission.program
            if form == "mlpackage":
                assert model_bytes(program, blob.offsets([item.type for item in program.blobs]))
            else:
                again = read_text(mil_text(program, blob_places(program, False))).main
                assert compare(emission.graph, again).difference is None
    return count


@pytest.mark.parametrize("pieces", TEXTS, ids=["everything", "foreign", *(path.stem for path in sorted(DATA.glob("*.mil")))])
def test_a_sound_text_is_written_again(pieces: Pieces) -> None:
    # A state is not for the older package, unknown sizes are for none.
    assert written_again(read_text("".join(pieces.pieces))) == (2 if pieces is TEXTS[1] else 4)


@settings(max_examples=700, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(which=st.sampled_from((0, 1, 1, 2)), changes=st.lists(GENTLE, min_size=1, max_size=3))
def test_what_is_read_is_written_or_refused(which: int, changes: list[Edit]) -> None:
    try:
        module = read_text(TEXTS[which].mutated(changes))
    except Failure:
        return
    written_again(module)


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
