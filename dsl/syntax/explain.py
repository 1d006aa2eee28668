"""What is wrong with a text that does not parse, in the words of the language.

From lark only the position and the accepted terminals are taken.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, cast

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from anedsl.diagnostics import Diagnostic, Label
from anedsl.diagnostics import syntax as problems
from anedsl.source import Source, Span
from anedsl.syntax.tokens import open_brackets

if TYPE_CHECKING:
    from lark import Lark

# Terminals whose accepted set is better told by what they begin.
_VALUE = frozenset(("NAME", "INTEGER", "FLOAT", "STRING", "TRUE", "FALSE", "LPAR", "LSQB"))
_SIGNS = frozenset(("MINUS", "PLUS", "NOT"))
_OPERATORS = frozenset(
    (
        *("PLUS", "MINUS", "STAR", "SLASH", "DOUBLE_SLASH", "PERCENT", "AT", "DOUBLE_STAR"),
        *("COMPARE", "OR", "AND", "IF", "LPAR", "LSQB", "DOT"),
    )
)
_STATEMENTS = frozenset(("INPUT", "WEIGHT", "OUTPUT", "PACK", "STATE", "FOR", "ASSERT", "RETURN"))

_ITEMS = frozenset(("KERNEL", "FN", "IMPORT"))

_SPELLED = {
    "NAME": "a name", "INTEGER": "a number", "FLOAT": "a number", "STRING": "a string", "NEWLINE": "end of line",
    "$END": "end of file", "COMPARE": "a comparison", "ELLIPSIS": "`...`", "WALRUS": "`:=`", "EQUAL": "`=`",
    "PLUS": "`+`", "MINUS": "`-`", "DOUBLE_STAR": "`**`", "STAR": "`*`", "DOUBLE_SLASH": "`//`", "SLASH": "`/`",
    "PERCENT": "`%`", "AT": "`@`", "LPAR": "`(`", "RPAR": "`)`", "LSQB": "`[`", "RSQB": "`]`", "LBRACE": "`{`",
    "RBRACE": "`}`", "COLON": "`:`", "COMMA": "`,`", "DOT": "`.`",
}  # fmt: skip

# What authors write out of habit, and what stands for it here.
_HABITS = {
    "&": "write `and`", "|": "write `or`", "!": "write `not`", "'": "strings are written with `\"`",
    "^": "write `**` for a power", "?": "write `a if c else b`", "$": None, "\\": "a line goes on after a binary operator",
}  # fmt: skip


def explain(error: UnexpectedInput, source: Source, lark: Lark) -> tuple[Diagnostic, bool]:
    """The diagnostic of a syntax error, and whether it stands inside brackets that are still open."""
    if isinstance(error, UnexpectedCharacters):
        return _character(error, source), False
    return _token(cast(UnexpectedToken, error), source, lark)


def _character(error: UnexpectedCharacters, source: Source) -> Diagnostic:
    at = error.pos_in_stream or 0
    character = source.text[at]
    if character == '"':
        end = source.text.find("\n", at)
        return problems.UnterminatedString(span=Span(source, at, len(source.text) if end < 0 else end))
    shown = f"`{character}`" if character.isprintable() else f"U+{ord(character):04X}"
    return problems.UnexpectedCharacter(span=Span(source, at, at + 1), character=shown, advice=_HABITS.get(character))


def _token(error: UnexpectedToken, source: Source, lark: Lark) -> tuple[Diagnostic, bool]:
    token = error.token
    # At the end of the file lark gives the start of the last token.
    at_end = token.type == "$END"
    start = len(source.text.rstrip()) if at_end else (token.start_pos or 0)
    end = start if at_end else (token.end_pos or start)
    span = Span(source, start, end)
    accepted = set(error.accepts or error.expected)
    if not hasattr(lark, "lexer"):
        # Else `lex` would build a lexer for each error, which takes a tenth of a second.
        lark.lexer = lark._build_lexer()
    brackets = open_brackets(_lexed(lark, source.text if at_end else source.text[:start]), source, start)
    related: tuple[Label, ...] = ()
    opens_item = token.type in _ITEMS and bool(brackets)
    if brackets and (at_end or opens_item or source.text[brackets[-1].start] != "{"):
        related = (Label(brackets[-1], "still open here"),)
    inside = bool(brackets) and source.text[brackets[-1].start] != "{"
    if not inside and "NEWLINE" in accepted and not at_end and token.type in {"NAME", *_STATEMENTS, "IF"}:
        return problems.MissingNewline(span=span, found=_found(token)), False
    expected = "`}`" if at_end and "RBRACE" in accepted else _expected(accepted)
    advice = _advice(token, accepted, bool(brackets))
    diagnostic = problems.UnexpectedToken(span=span, related=related, found=_found(token), expected=expected, advice=advice)
    return diagnostic, inside or at_end


def _lexed(lark: Lark, text: str) -> list[Token]:
    """The tokens of a text up to the first character that begins none: an earlier error may stand in it."""
    tokens: list[Token] = []
    with suppress(UnexpectedInput):
        tokens.extend(lark.lex(text))
    return tokens


def _found(token: Token) -> str:
    if token.type in ("$END", "NEWLINE"):
        return "`;`" if str(token) == ";" else _SPELLED[token.type]
    return f"`{token}`"


def _expected(accepted: set[str]) -> str:
    """The accepted terminals in the order a reader expects, groups under one word."""
    if accepted.issuperset(("EQUAL", "WALRUS")):
        return "`=`"
    words: list[str] = []
    rest = set(accepted)
    if "NEWLINE" in rest:
        rest.discard("RBRACE")  # a block may end wherever a statement may
    if rest >= _VALUE:
        words.append("a value")
        rest -= _VALUE | _SIGNS
    if len(rest & _OPERATORS) >= 3 and not words:
        words.append("an operator")
        rest -= _OPERATORS
    if len(rest & _STATEMENTS) >= 3:
        words.append("a statement")
        rest -= _STATEMENTS | {"NAME", "IF"}
    words.extend(sorted({_SPELLED.get(name, f"`{name.lower()}`") for name in rest}))
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "something else"


def _advice(token: Token, accepted: set[str], in_brackets: bool) -> str | None:
    if token.type in _ITEMS and in_brackets and "RETURN" in accepted:
        return "kernels, functions and imports stand outside of blocks: is a `}` missing above?"
    if token.type == "RBRACE" and not in_brackets:
        return "no block is open here: remove it"
    if token.type == "ELSE":
        return "`else` follows the closing `}` of an `if`"
    if token.type == "STORED" and "NAME" not in accepted:
        return "`stored` stands before `=`: `weight W: fp16[O, I, 1, 1] stored int8 = ones`"
    if token.type in _STATEMENTS | {"KERNEL", "FN", "IN", "ALONG", "STORED", "IMPORT"} and "NAME" in accepted:
        return f"`{token}` is a keyword: choose another name"
    if token.type == "COMPARE" and "AND" in accepted:
        return "comparisons do not chain: write `a < b and b < c`"
    if token.type == "EQUAL" and "COMPARE" in accepted:
        return "write `==` to compare"
    return None
