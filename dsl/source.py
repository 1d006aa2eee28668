"""Source text and the places in it that values and diagnostics point at."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple


class Source:
    """One text and the name it is shown under.

    Offsets count characters from 0; lines and columns count from 1. `is_library` is set for a file of `std`, in which the
    author of a kernel can mend nothing.
    """

    __slots__ = ("_line_starts", "is_library", "name", "text")

    def __init__(self, name: str, text: str, *, is_library: bool = False) -> None:
        self.name = name
        self.text = text
        self.is_library = is_library
        self._line_starts: list[int] | None = None

    def position(self, offset: int) -> tuple[int, int]:
        """The line and column (both from 1) of an offset."""
        starts = self._starts()
        line = bisect_right(starts, offset)
        return line, offset - starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line (from 1) without its line end."""
        starts = self._starts()
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def _starts(self) -> list[int]:
        if self._line_starts is None:
            starts = [0]
            find = self.text.find
            at = find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = find("\n", at + 1)
            self._line_starts = starts
        return self._line_starts


class Span(NamedTuple):
    """A stretch `[start, end)` of a source.

    `call` is the place in the caller when the text stands in a function that was inlined there.
    """

    source: Source
    start: int
    end: int
    call: Span | None = None

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of another."""
        return self._replace(end=max(self.end, other.end))


NOWHERE = Span(Source("<generated>", ""), 0, 0)
"""The span of what no author wrote."""
