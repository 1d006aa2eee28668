"""Which line ends end a statement: the filter between the lexer and the parser."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lark import Token

from anedsl.source import Source, Span

MAX_NESTING = 200
"""How deep brackets and braces may nest: far beyond any kernel, and within every recursion of the compiler."""

MAX_TOKENS = 300_000
"""How many tokens a file may have: a few seconds of parsing."""

# A line end after one of these continues the statement.
_CONTINUES = frozenset(
    (
        *("LBRACE", "COMMA", "EQUAL", "WALRUS", "NEWLINE", "COMPARE", "OR", "AND", "NOT"),
        *("PLUS", "MINUS", "STAR", "DOUBLE_STAR", "SLASH", "DOUBLE_SLASH", "PERCENT", "AT"),
    )
)
# A line end before one of these does not end a statement.
_JOINS = frozenset(("RBRACE", "ELSE", "NEWLINE"))
_OPEN = frozenset(("LPAR", "LSQB"))
_CLOSE = frozenset(("RPAR", "RSQB"))


class LineEnds:
    """Drops the NEWLINE tokens that do not separate statements."""

    always_accept = ()

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        depth = braces = 0
        previous = "NEWLINE"
        held: Token | None = None
        for count, token in enumerate(stream):
            if count == MAX_TOKENS:
                raise TooManyTokens(token)
            kind = token.type
            if kind == "NEWLINE":
                if depth == 0 and previous not in _CONTINUES:
                    held = token
                    previous = "NEWLINE"
                continue
            if held is not None:
                if kind not in _JOINS:
                    yield held
                held = None
            if kind in _OPEN:
                depth += 1
                if depth > MAX_NESTING:
                    raise TooDeep(token)
            elif kind in _CLOSE:
                depth = max(depth - 1, 0)
            elif kind == "LBRACE":
                braces += 1
                if braces > MAX_NESTING:
                    raise TooDeep(token)
            elif kind == "RBRACE":
                braces -= 1
            previous = kind
            yield token


class TooDeep(Exception):
    """Brackets nest deeper than `MAX_NESTING`."""

    def __init__(self, token: Token) -> None:
        super().__init__(token)
        self.token = token


class TooManyTokens(Exception):
    """The text has more than `MAX_TOKENS` tokens."""

    def __init__(self, token: Token) -> None:
        super().__init__(token)
        self.token = token


def open_brackets(tokens: Iterable[Token], source: Source, until: int) -> list[Span]:
    """The brackets and braces still open at an offset, innermost last."""
    found: list[Span] = []
    for token in tokens:
        start = token.start_pos or 0
        if start >= until:
            break
        if token.type in _OPEN or token.type == "LBRACE":
            found.append(Span(source, start, start + 1))
        elif (token.type in _CLOSE or token.type == "RBRACE") and found:
            found.pop()
    return found


__all__ = ["MAX_NESTING", "LineEnds", "TooDeep", "TooManyTokens", "open_brackets"]
