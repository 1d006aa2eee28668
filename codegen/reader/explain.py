"""What is wrong with a MIL text that does not parse. From lark only the position and the accepted terminals are taken."""

from __future__ import annotations

import re
from typing import cast

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from anedsl.codegen.mil_types import ELEMENTS
from anedsl.diagnostics import Diagnostic, nearest
from anedsl.diagnostics import artifacts as problems
from anedsl.source import Source, Span

_SPELLED = {
    "NAME": "a name", "INTEGER": "a number", "FLOAT": "a number", "STRING": "a string", "NUMBERS": "a list", "TRUE": "`true`",
    "FALSE": "`false`", "UNKNOWN": "`?`", "LABEL": "`[`", "FUNCTION": "a function", "VERSION": "`program(1.3)`",
    "$END": "the end of the text", "_EQUAL": "`=`", "_COMMA": "`,`", "_SEMICOLON": "`;`", "_LPAR": "`(`", "_RPAR": "`)`",
    "_LBRACE": "`{`", "_RBRACE": "`}`", "_LBRACKET": "`[`", "_RBRACKET": "`]`", "_RANGLE": "`>`", "_ARROW": "`->`",
    "_BLOBFILE": "`BLOBFILE`",
}  # fmt: skip
_TYPES = frozenset(("SCALAR", "TENSOR", "_LIST", "_DICT", "_TUPLE", "_STATE"))
_VALUES = frozenset(("INTEGER", "FLOAT", "STRING", "TRUE", "FALSE")) | _TYPES

_ENDS = frozenset(("_SEMICOLON", "_LBRACKET", "LABEL"))
"""What may follow an op's arguments."""

_TYPE = re.compile(r"tensor\s*<\s*(\w+)\s*,\s*(\[[^\]\n;]*\]?)?")
_DIMS = re.compile(r"\[\s*((\d+|\?)(\s*,\s*(\d+|\?))*)?\s*\]")
_BACK = 200
"""How far before an error a type may begin that is the cause of it."""


def explain(error: UnexpectedInput, source: Source, text: str) -> Diagnostic:
    """The diagnostic of a syntax error; `text` is the source's, possibly with statements blanked."""
    if isinstance(error, UnexpectedCharacters):
        at = error.pos_in_stream or 0
        return _bad_type(source, text, at) or _character(source, text, at)
    token_error = cast(UnexpectedToken, error)
    token = token_error.token
    # At the end of the text lark gives the start of the last token.
    at_end = token.type == "$END"
    start = len(text.rstrip()) if at_end else (token.start_pos or 0)
    end = start if at_end else (token.end_pos or start)
    if not at_end:
        bad = _bad_type(source, text, start)
        if bad is not None:
            return bad
    accepted = set(token_error.accepts or token_error.expected)
    last = len(text[:start].rstrip())
    if "_SEMICOLON" in accepted and accepted <= _ENDS and "\n" in text[last:start]:
        return problems.MissingSemicolon(span=Span(source, last - 1, last))
    lead = len(token) - len(token.lstrip())
    span = Span(source, min(start + lead, end), max(min(end, start + len(token.rstrip())), start + lead))
    return problems.UnexpectedMil(
        span=span,
        found="end of text" if at_end else _shown(token.strip()),
        expected=_expected(accepted),
        advice=_advice(token.type, accepted, text, start),
    )


def _shown(text: str) -> str:
    return f"`{text if len(text) <= 40 else text[:37] + '...'}`"


def _expected(accepted: set[str]) -> str:
    rest = set(accepted)
    words = []
    if rest >= _VALUES:
        words.append("a value")
        rest -= _VALUES | {"NUMBERS", "NAME"}
    elif rest >= _TYPES:
        words.append("a type")
        rest -= _TYPES
    words += sorted({_SPELLED.get(name, name) for name in rest})
    if len(words) > 6:
        words = [*words[:6], "..."]
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "something else"


def _advice(found: str, accepted: set[str], text: str, start: int) -> str | None:
    if "_EQUAL" in accepted and found in ("_COMMA", "_RPAR"):
        return "every argument has a name: `mul(x = a, y = b)`"
    if found == "INTEGER" and "NAME" in accepted:
        return "a name does not begin with a digit"
    if found == "NAME" and text[start : start + 1] == "x" and text[start - 1 : start] == "0":
        return "a hex float has an exponent: `0x1.8p+0`"
    return None


def _bad_type(source: Source, text: str, at: int) -> Diagnostic | None:
    """The type around an error that is the cause of it: an unknown element type, or sizes that are none."""
    begin = text.rfind("tensor", max(0, at - _BACK), at + 6)
    found = _TYPE.match(text, begin) if begin >= 0 else None
    if found is None or not begin <= at <= found.end():
        return None
    if found[1] not in ELEMENTS and found[1] != "bf16":
        close = nearest(found[1], ELEMENTS)
        return problems.UnknownElementType(span=Span(source, *found.span(1)), name=found[1], nearest=close)
    if found[2] is not None and not _DIMS.fullmatch(found[2]):
        return problems.InvalidSize(span=Span(source, *found.span(2)), reason="sizes are numbers or `?`, separated by commas")
    return None


def _character(source: Source, text: str, at: int) -> Diagnostic:
    character = text[at]
    if character == '"':
        end = text.find("\n", at)
        return problems.UnclosedMilString(span=Span(source, at, len(text) if end < 0 else end))
    advice = None
    if character in "#/":
        advice = "MIL has no comments"
    elif character == "<":
        word = re.search(r"\w+\s*$", text[max(0, at - _BACK) : at])
        close = nearest(word[0].strip(), ("tensor", "list", "dict", "tuple", "state", "func")) if word else None
        advice = f"did you mean `{close}`?" if close else None
    shown = f"`{character}`" if character.isprintable() else f"U+{ord(character):04X}"
    return problems.UnexpectedMilCharacter(span=Span(source, at, at + 1), character=shown, advice=advice)
