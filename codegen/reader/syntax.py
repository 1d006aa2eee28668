"""From MIL text to the program as it is written, with every syntax error as a diagnostic."""

from __future__ import annotations

import re
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from lark import Token
from lark.exceptions import UnexpectedInput

from anedsl.codegen.reader.written import BlobFile, Entries, Function, Grouped, Listed, Literal, Several, Statement, Written
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.source import Source, Span
from anedsl.syntax import tables

if TYPE_CHECKING:
    from lark import Lark

MAX_NESTING = 64
"""How deep literals and types may nest."""

MAX_SYNTAX_ERRORS = 10
MAX_REPEATED = 1 << 20
"""Characters of text from where on only the first syntax error is reported: each further one costs another parse."""

_BRACKETS = re.compile(r'"[^"\n]*"|[][(){}]')
"""Brackets, and the strings in which a bracket is a letter."""

_FUNCTION = re.compile(r"func\s+(\w[\w@]*)\s*<\s*(\w+)\s*>", re.ASCII)
_Children = list[Any]


def parse(source: Source) -> Written:
    """The program of a text. Raises `Failure` with every syntax error that can be told apart (0460 to 0463)."""
    found: list[Diagnostic] = []
    text = source.text
    while True:
        try:
            program = _parse(text)
        except UnexpectedInput as error:
            from anedsl.codegen.reader.explain import explain

            found.append(explain(error, source, text))
        except _TooDeep as error:
            from anedsl.diagnostics.artifacts import NestedLiteral

            place = _deep(text) if error.token is None else (error.token.start_pos or 0, error.token.end_pos or 0)
            what = "literal" if error.token is None else "type"
            raise Failure(*found, NestedLiteral(span=Span(source, *place), what=what, limit=MAX_NESTING)) from None
        else:
            if found:
                raise Failure(*found)
            return program
        rest = _repaired(text, found[-1])
        if rest is None or len(found) == MAX_SYNTAX_ERRORS or len(text) > MAX_REPEATED:
            raise Failure(*found)
        text = rest


@cache
def _parser() -> tuple[Lark, Lock]:
    return tables.parser("mil", start=("program",), transformer=_Maker()), Lock()


def _parse(text: str) -> Written:
    lark, lock = _parser()
    with lock:
        program: Written = lark.parse(text)  # type: ignore[assignment]
        return program


def _deep(text: str) -> tuple[int, int]:
    """Where the brackets of a text first stand inside of more others than a literal may have."""
    depth = 0
    for found in _BRACKETS.finditer(text):
        depth += 1 if found[0] in "([{" else -1 if found[0] in ")]}" else 0
        if depth > MAX_NESTING:
            return found.span()
    return 0, 1


def _repaired(text: str, problem: Diagnostic) -> str | None:
    """The text without an error, so that those further down are found in the same run.

    The statement of the error is blanked; None where it cannot be told where that begins and ends.
    """
    at = problem.span.start
    if problem.code == "ANE0492":
        return f"{text[: at + 1]};{text[at + 2 :]}" if text[at + 1 : at + 2].isspace() else None
    start = max(text.rfind(";", 0, at), text.rfind("\n", 0, at), text.rfind("{\n", 0, at)) + 1
    end = text.find(";", at)
    if end < 0 or "\n" in text[at:end].strip() or not text[start : end + 1].strip():
        return None
    piece = text[start : end + 1]
    if "->" in piece or "func " in piece or "program" in piece:
        return None
    return text[:start] + " " * len(piece) + text[end + 1 :]


class _TooDeep(Exception):
    """A literal, or the type that begins with a token, nests too deep."""

    def __init__(self, token: Token | None = None) -> None:
        super().__init__(token)
        self.token = token


class _Maker:
    """One method a rule, called while the text is parsed: each takes the children of its rule, None for what is absent."""

    def program(self, c: _Children) -> Written:
        version, attributes, *functions = c
        return Written(version.partition("(")[2].rstrip(")").strip(), _attributes(attributes), functions)

    def function(self, c: _Children) -> Function:
        head, parameters, attributes, statements, outputs = c
        found = _FUNCTION.fullmatch(head)
        assert found is not None
        name = Token("NAME", found[1], head.start_pos + found.start(1), end_pos=head.start_pos + found.end(1))
        return Function(name, found[2], parameters or (), _attributes(attributes), statements, outputs or ())

    def statement(self, c: _Children) -> Statement:
        results, op, arguments, attributes = c
        return Statement(results or (), op, arguments or (), _attributes(attributes))

    def block(self, c: _Children) -> _Children:
        return c

    parameters = results = arguments = names = block

    def attributes(self, c: _Children) -> _Children:
        return [] if c == [None] else c

    def variadic(self, c: _Children) -> Several:
        return Several(c)

    def value(self, c: _Children) -> Literal:
        if _depth(c[1]) > MAX_NESTING:
            raise _TooDeep
        return Literal(*c)

    def blobfile(self, c: _Children) -> BlobFile:
        return BlobFile(c[0])

    def array(self, c: _Children) -> Listed:
        items = [] if c == [None] else c
        return Listed(items, _deepest(items))

    def tuple(self, c: _Children) -> Grouped:
        items = [] if c == [None] else c
        return Grouped(items, _deepest(items))

    def dict(self, c: _Children) -> Entries:
        items = [] if c == [None] else c
        return Entries(items, _deepest([part for pair in items for part in pair]))

    def entry(self, c: _Children) -> Any:
        return c[0], c[1]

    def list_type(self, c: _Children) -> Token:
        return _compound(c[0], f"list<{_canonical(c[0])}, {c[1]}>")

    def dict_type(self, c: _Children) -> Token:
        return _compound(c[0], f"dict<{_canonical(c[0])}, {_canonical(c[1])}>")

    def tuple_type(self, c: _Children) -> Token:
        return _compound(c[0], f"tuple<{', '.join(map(_canonical, c))}>")

    def state_type(self, c: _Children) -> Token:
        return _compound(c[0], f"state<{_canonical(c[0])}>")


def _attributes(found: Any) -> Any:
    """The list, without one that only names the result: that name may be left out, and may differ."""
    return () if found is None or found.__class__ is Token else found


def _depth(payload: Any) -> int:
    if isinstance(payload, (Listed, Grouped, Entries)):
        return payload.depth
    return _depth(payload.payload) + 1 if isinstance(payload, Literal) else 0


def _deepest(items: list[Any]) -> int:
    depth = 1 + max(map(_depth, items), default=0)
    if depth > MAX_NESTING:
        raise _TooDeep
    return depth


def _compound(first: Token, text: str) -> Token:
    if text.count("<") > MAX_NESTING:
        raise _TooDeep(first)
    return Token.new_borrow_pos("COMPOUND", text, first)


def _canonical(type: str) -> str:
    """A type as Apple prints it."""
    return "".join(type.split()).replace(",", ", ")
