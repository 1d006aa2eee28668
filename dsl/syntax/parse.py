"""From the text of an .ane file to its syntax tree, with every syntax error as a diagnostic."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from lark.exceptions import UnexpectedInput

from anedsl.diagnostics import Diagnostic, Failure
from anedsl.source import Source, Span
from anedsl.syntax import tables, tree
from anedsl.syntax.builder import TreeBuilder
from anedsl.syntax.tokens import MAX_NESTING, MAX_TOKENS, LineEnds, TooDeep, TooManyTokens

if TYPE_CHECKING:
    from lark import Lark

MAX_SYNTAX_ERRORS = 10


def parse(source: Source) -> tree.Module:
    """The tree of a source. Raises `Failure` with every syntax error that can be told apart (01xx)."""
    found: list[Diagnostic] = []
    text = source.text
    while True:
        try:
            module: tree.Module = _parse(source, text, "start")
        except _SyntaxFailure as failure:
            found.append(failure.diagnostic)
            rest = None if failure.inside_brackets else _without_line(text, failure.diagnostic.span.start)
            if rest is None or len(found) == MAX_SYNTAX_ERRORS:
                raise Failure(*found) from None
            text = rest
        else:
            if found:
                raise Failure(*found)
            return module


def parse_expression(source: Source) -> tree.Expression:
    """The tree of one expression: the value of `-D NAME=...`."""
    try:
        expression: tree.Expression = _parse(source, source.text, "expression")
    except _SyntaxFailure as failure:
        raise Failure(failure.diagnostic) from None
    return expression


class _SyntaxFailure(Exception):
    def __init__(self, diagnostic: Diagnostic, inside_brackets: bool) -> None:
        super().__init__(diagnostic)
        self.diagnostic = diagnostic
        self.inside_brackets = inside_brackets


@cache
def _parser() -> tuple[Lark, TreeBuilder, Lock]:
    """The tables are bound to one builder, which is lent to one text at a time."""
    builder = TreeBuilder(Source("", ""))
    lark = tables.parser("ane", start=("start", "expression"), postlex=LineEnds(), transformer=builder)
    return lark, builder, Lock()


def _parse(source: Source, text: str, start: str) -> Any:
    lark, builder, lock = _parser()
    with lock:
        builder.source = source
        try:
            return lark.parse(text, start=start)
        except UnexpectedInput as error:
            from anedsl.syntax.explain import explain

            raise _SyntaxFailure(*explain(error, source, lark)) from None
        except TooDeep as error:
            from anedsl.diagnostics.syntax import NestedTooDeep

            at = error.token.start_pos or 0
            raise _SyntaxFailure(NestedTooDeep(span=Span(source, at, at + 1), limit=MAX_NESTING), True) from None
        except TooManyTokens as error:
            from anedsl.diagnostics.syntax import FileTooLarge

            at = error.token.start_pos or 0
            span, limit = Span(source, at, at + 1), f"{MAX_TOKENS} words"
            raise _SyntaxFailure(
                FileTooLarge(span=span, path=source.name, size=f"more than {limit}", limit=limit), True
            ) from None


def _without_line(text: str, at: int) -> str | None:
    """The text with the line of an error blanked, so that errors further down are found in the same run.

    None where the line opens or closes a block: what follows would then be read as something else.
    """
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    line = text[start:end]
    if "{" in line or "}" in line or not line.strip():
        return None
    return text[:start] + " " * len(line) + text[end:]
