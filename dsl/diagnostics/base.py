"""What a diagnostic is: a small record with a code, a headline and typed fields.

A diagnostic class writes its texts as templates over its fields:

    class UnknownName(Error):
        '''The text that `anedsl explain ANE0201` prints.'''

        code = "ANE0201"
        title = "unknown name `{name}`"
        label = "not defined here"
        helps = ("did you mean `{nearest}`?",)
        name: str
        nearest: str | None = None

A note or help whose template names a field that is None is left out, so that optional advice needs no code. A word behind
a colon is counted: `{count:value}` is `1 value` or `2 values`.
"""

from __future__ import annotations

from string import Formatter
from typing import Any, ClassVar, NamedTuple, dataclass_transform

from anedsl.source import NOWHERE, Span

_LONGEST = 400


class Label(NamedTuple):
    """A text beside a place in the source."""

    span: Span
    text: str


@dataclass_transform(kw_only_default=True)
class _Record:
    """Tells type checkers that subclasses take their annotated fields as keywords."""


class Diagnostic(_Record):
    """The base of all diagnostics; use `Error` or `Warning`.

    `span` is the smallest place that is wrong; `related` are places that explain it.
    """

    severity: ClassVar[str] = "error"
    code: ClassVar[str] = ""
    title: ClassVar[str] = ""
    label: ClassVar[str] = ""
    notes: ClassVar[tuple[str, ...]] = ()
    helps: ClassVar[tuple[str, ...]] = ()

    span: Span = NOWHERE
    related: tuple[Label, ...] = ()

    # Not a stdlib dataclass: generating code for each of some seventy classes
    # would cost every start of the program 20 ms.
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)

    def __repr__(self) -> str:
        return f"<{self.code}: {self.headline}>"

    @property
    def headline(self) -> str:
        return self._filled(self.title) or self.title

    @property
    def label_text(self) -> str:
        return self._filled(self.label) or ""

    @property
    def note_texts(self) -> list[str]:
        return self._texts(self.notes)

    @property
    def help_texts(self) -> list[str]:
        return self._texts(self.helps)

    @property
    def key(self) -> tuple[object, ...]:
        """Two diagnostics with one key are the same for the reader."""
        return (self.code, self.span[:3], self.headline, self.label_text)

    def _texts(self, templates: tuple[str, ...]) -> list[str]:
        return [text for text in map(self._filled, templates) if text]

    def _filled(self, template: str) -> str | None:
        parts = []
        for literal, field, word, _ in Formatter().parse(template):
            parts.append(literal)
            if field is not None:
                value = getattr(self, field)
                if value is None:
                    return None
                parts.append(counted(value, word) if word else _shown(value))
        return "".join(parts)


def _shown(value: object) -> str:
    """A field's text as a terminal may show it: long ones cut in the middle, control characters replaced."""
    text = str(value)
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]} ... {text[-_LONGEST // 4 :]}"
    return (
        text if text.isprintable() else "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)
    )


class Error(Diagnostic):
    """A diagnostic that stops the command with exit code 1."""


class Warning(Diagnostic):
    """A diagnostic that is shown, and fails only `check --strict`."""

    severity = "warning"


class Failure(Exception):
    """Carries the diagnostics that ended a stage. The one exception that crosses modules."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        # An unrolled loop meets the same problem at every turn.
        self.diagnostics = list({diagnostic.key: diagnostic for diagnostic in diagnostics}.values())
        super().__init__(*self.diagnostics)

    def __str__(self) -> str:
        from anedsl.diagnostics.render import render

        return "\n" + "\n".join(render(diagnostic) for diagnostic in self.diagnostics)


class Sink:
    """Collects diagnostics, each once, in the order they were found."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._seen: set[tuple[object, ...]] = set()

    def add(self, diagnostic: Diagnostic) -> None:
        if diagnostic.key not in self._seen:
            self._seen.add(diagnostic.key)
            self.diagnostics.append(diagnostic)

    @property
    def errors(self) -> list[Diagnostic]:
        return [d for d in self.diagnostics if d.severity == "error"]

    def raise_errors(self) -> None:
        """Ends the stage, with warnings and errors alike, if there is an error."""
        if self.errors:
            raise Failure(*self.diagnostics)


def counted(number: int, word: str) -> str:
    """A number of things: `1 value`, `2 values`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def nearest(name: str, candidates: Any) -> str | None:
    """The candidate that was probably meant by `name`, or None.

    One letter in four may be wrong, three at most: short words are near to everything. Case, `_`, `-` and `.` do not count.
    Else one of the two may begin or end with the other, and be half as long again at most, or their words may be shortened, as
    in `up_w` for `up_weight`. A long name, such as a key of a checkpoint, may also lack a part in the middle.
    """
    wanted = _letters(name)
    close: list[tuple[int, int, str]] = []
    allowed = min((len(wanted) + 1) // 4, 3)
    for candidate in sorted(set(candidates) - {name}):
        letters = _letters(candidate)
        distance = _slips(wanted, letters, allowed) if abs(len(letters) - len(wanted)) <= allowed else allowed + 1
        if distance <= allowed or _is_part(wanted, letters) or _is_shortened(name, candidate):
            close.append((distance, _slips(name, candidate, 3), candidate))
    if close:
        return min(reversed(close), key=lambda found: found[:2])[2]
    return _nearly_equal(name, candidates) if len(name) >= 12 else None


def _is_part(a: str, b: str) -> bool:
    short, long = (a, b) if len(a) < len(b) else (b, a)
    return bool(short) and len(long) <= max(len(short) * 3 // 2, 2) and (long.startswith(short) or long.endswith(short))


def _is_shortened(a: str, b: str) -> bool:
    """Whether two names of several words have the same words, some of them shortened to their beginning."""
    left, right = a.split("_"), b.split("_")
    same = len(left) == len(right) > 1
    return same and all(x and y and (x.startswith(y) or y.startswith(x)) for x, y in zip(left, right, strict=True))


def _letters(name: str) -> str:
    return name.casefold().translate({ord(sign): None for sign in "_-. "})


def _slips(a: str, b: str, most: int) -> int:
    """How many letters were left out, added, exchanged or swapped with their neighbour; counting ends above `most`."""
    while a and b and a[0] == b[0]:
        a, b = a[1:], b[1:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    before: list[int] = []
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, 1):
        # Further from the diagonal than `most` there are more slips than that.
        low, high = max(1, i - most), min(len(b), i + most)
        earlier, before, row = before, row, [most + 1] * (len(b) + 1)
        row[0] = i
        for j in range(low, high + 1):
            right = b[j - 1]
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (left != right))
            if i > 1 and j > 1 and left == b[j - 2] and right == a[i - 2]:
                cost = min(cost, earlier[j - 2] + 1)
            row[j] = cost
        if min(row) > most:
            return most + 1
    return row[-1]


def _nearly_equal(name: str, candidates: Any) -> str | None:
    from difflib import get_close_matches

    matches = get_close_matches(name, sorted(set(candidates) - {name}), n=1, cutoff=0.8)
    return matches[0] if matches else None
