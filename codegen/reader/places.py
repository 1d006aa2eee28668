"""Where the parts of a written program stand, and the types that its texts name."""

from __future__ import annotations

from typing import Any

from lark import Token

from anedsl.codegen.reader.types import read_type
from anedsl.codegen.reader.written import BlobFile, Entries, Grouped, Listed, Literal, Several
from anedsl.diagnostics import Failure
from anedsl.source import Source, Span
from anedsl.types import TensorType


class Places:
    """The places of one source. What comes from a package has none: its diagnostics show the file only."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._types: dict[str, TensorType] = {}

    def span(self, *items: Any) -> Span:
        """From the first token in the items to the last."""
        tokens = [token for item in items for token in (first_token(item), last_token(item)) if token is not None]
        if not tokens:
            return Span(self.source, 0, 0)
        return Span(self.source, min(t.start_pos or 0 for t in tokens), max(t.end_pos or 0 for t in tokens))

    def type(self, text: str) -> TensorType:
        """Raises ANE0464 for sizes that no tensor has."""
        found = self._types.get(text)
        if found is None:
            read = read_type(text)
            if isinstance(read, str):
                from anedsl.diagnostics.artifacts import InvalidSize

                raise Failure(InvalidSize(span=self.span(text), reason=read))
            found = self._types[text] = read
        return found


def first_token(item: Any) -> Token | None:
    """The token with which a part begins."""
    return next(_tokens(item, 1), None)


def last_token(item: Any) -> Token | None:
    return next(_tokens(item, -1), None)


def _tokens(item: Any, step: int) -> Any:
    if isinstance(item, Token):
        yield item
    elif isinstance(item, Literal):
        for part in (item.type, item.payload)[::step]:
            yield from _tokens(part, step)
    elif isinstance(item, (Listed, Grouped, Entries, Several)):
        for part in item.items[::step]:
            yield from _tokens(part, step)
    elif isinstance(item, BlobFile):
        yield from _tokens(item.arguments, step)
    elif isinstance(item, (list, tuple)):
        for part in item[::step]:
            yield from _tokens(part, step)
