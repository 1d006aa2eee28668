"""`--map` with `*`: one pattern names the keys of many weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from anedsl.diagnostics import Diagnostic
from anedsl.weights.texts import as_map

STAR = "*"


class Pattern(NamedTuple):
    """`name` and `key` have equally many `*`; each stands for the same text on both sides, at least one character."""

    name: str
    key: str

    def key_for(self, weight: str) -> str | None:
        """The key of a weight, or None if its name is not of this form.

        A pattern with `[` speaks of the members of a family, `W[*]`; one without, of whole families and of other weights.
        """
        texts = _matched(self.name, weight)
        if texts is None:
            return None
        parts = self.key.split(STAR)
        return parts[0] + "".join(text + part for text, part in zip(texts, parts[1:], strict=True))


def star_texts(pattern: str, name: str) -> list[str] | None:
    """What each `*` stands for in a name, as little as possible from the left on; None if the name is not of the form."""
    first, *middle, last = pattern.split(STAR)
    end = len(name) - len(last)
    if not name.startswith(first) or not name.endswith(last) or end < len(first):
        return None
    texts = []
    at = len(first)
    for part in middle:
        found = name.find(part, at + 1, end)
        if found < 0:
            return None
        texts.append(name[at:found])
        at = found + len(part)
    return [*texts, name[at:end]] if at < end else None


def split_mapping(mapping: Mapping[str, str]) -> tuple[dict[str, str], list[Pattern], dict[str, str]]:
    """Exact names, patterns, and the patterns whose two sides have different numbers of `*`: those lead nowhere."""
    exact = {name: key for name, key in mapping.items() if STAR not in name}
    uneven = {name: key for name, key in mapping.items() if STAR in name and name.count(STAR) != key.count(STAR)}
    patterns = [Pattern(name, key) for name, key in mapping.items() if name not in exact and name not in uneven]
    return exact, patterns, uneven


def uneven_patterns(mapping: Mapping[str, str]) -> list[Diagnostic]:
    """ANE0425 for each pattern whose two sides have different numbers of `*`."""
    from anedsl.diagnostics.weights import UnevenPattern

    return [
        UnevenPattern(mapping=as_map(name, key), left=name.count(STAR), right=key.count(STAR))
        for name, key in split_mapping(mapping)[2].items()
    ]


def speaks_of(name: str, weights: Iterable[str]) -> bool:
    """Whether the left side of a `--map`, exact or a pattern, is about any of these weights or their families."""
    if STAR in name:
        return any(_matched(name, weight) is not None for weight in weights)
    return any(name in (weight, weight.partition("[")[0]) for weight in weights)


def _matched(pattern: str, weight: str) -> list[str] | None:
    return star_texts(pattern, weight if "[" in pattern else weight.partition("[")[0])
