"""Keys that may be meant by a name that no file has. A number in a name is no slip of the pen: `layers.2` is not `layers.3`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from anedsl.diagnostics import nearest

MAX_COMPARED = 5000
"""How many keys are compared with a name; each takes about 10 us."""

MAX_LENGTH = 200
"""The most characters of a key that is compared."""


def digits(name: str) -> list[str]:
    """The numbers in a name: `w1` and `w2` are two weights, not one that is misspelt."""
    return re.findall(r"\d+", name)


def plain(name: str) -> str:
    """A name without case and punctuation."""
    return "".join(c for c in name.lower() if c.isalnum())


def differ_in_digits(a: str, b: str) -> bool:
    """Whether numbers are all that two names differ in."""
    return digits(a) != digits(b) and re.sub(r"\d", "", plain(a)) == re.sub(r"\d", "", plain(b))


def spellings(key: str) -> set[str]:
    """A key without case and punctuation; also its last part, and that before `.weight`."""
    path = key.removesuffix(".weight")
    return {plain(key), plain(path), plain(path.rpartition(".")[2])}


def nearest_key(name: str, keys: Iterable[str]) -> str | None:
    """The key that `name` probably stands for: one with the same numbers in it."""
    wanted = digits(name)
    candidates = [key for key in keys if len(key) <= MAX_LENGTH and digits(key) == wanted]
    return nearest(name, candidates[:MAX_COMPARED])


def similar_keys(name: str, keys: Sequence[str]) -> list[str]:
    """The keys that look most like the name of a weight, which may leave out where in a model it stands."""
    compared = [key for key in keys if len(key) <= MAX_LENGTH][:MAX_COMPARED]
    wanted = plain(name)
    same = [key for key in compared if wanted in spellings(key)]
    close = nearest_key(name, compared)
    if same or close:
        return same or [close or ""]
    if len(wanted) < 3:
        return []
    return [key for key in compared if wanted in plain(key) or _last(key) in wanted]


def _last(key: str) -> str:
    """The last part of a key; one that is too short to say anything is in no name."""
    last = plain(key.removesuffix(".weight").rpartition(".")[2])
    return last if len(last) >= 4 else "-"
