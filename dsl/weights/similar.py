"""Keys that may be meant by a name that no file has. A number in a name is no slip of the pen: `layers.2` is not `layers.3`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from anedsl.diagnostics import nearest

MAX_COMPARED = 5000
"""How many keys are compared with a name."""

MAX_COMPARISONS = 30_000
"""How many comparisons of keys with names are made before nothing is near any more; each takes 10 to 50 us."""

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


def alike(a: str, b: str) -> bool:
    """Whether two names may mean one thing: each word of the shorter is like one of the longer, in the same order.

    Letters alone do not tell `q_proj` from `k_proj`, nor `encoder` from `decoder`.
    """
    left, right = sorted((_words(a), _words(b)), key=len)
    if "".join(left) == "".join(right):
        return True
    rest = iter(right)
    return all(any(_are_one(word, other) for other in rest) for word in left)


@lru_cache(MAX_COMPARED * 2)
def _words(name: str) -> tuple[str, ...]:
    """The words of a name without case: `attn.qProj_2` has `attn`, `q` and `proj`."""
    parts = re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name))
    return tuple(word.casefold() for word in parts)


@lru_cache(MAX_COMPARED * 2)
def _are_one(a: str, b: str) -> bool:
    """Whether two words are one, shortened or misspelt. Short ones, and first letters, seldom are misspelt."""
    short, long = sorted((a, b), key=len)
    if long.startswith(short) or (len(short) > 3 and long.endswith(short)):
        return True
    if len(long) <= 3 or a[0] != b[0] or a[:-1] == b[:-1]:
        return False
    return nearest(a, [b]) is not None


class Keys:
    """The keys of files, prepared for many questions: each key is spelt once."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._compared = [key for key in keys if len(key) <= MAX_LENGTH][:MAX_COMPARED]
        self._plain = {key: plain(key) for key in self._compared}
        self._last = {key: plain(_path(key).rpartition(".")[2]) for key in self._compared}
        self._spelt: dict[str, list[str]] = {}
        for key in self._compared:
            for spelling in {self._plain[key], plain(_path(key)), self._last[key]}:
                self._spelt.setdefault(spelling, []).append(key)
        self._numbered: dict[tuple[str, ...], list[str]] = {}
        for key in self._compared:
            self._numbered.setdefault(tuple(digits(key)), []).append(key)
        self._found: dict[str, list[str]] = {}
        self._left = MAX_COMPARISONS

    def spelt(self, name: str) -> list[str]:
        """The keys that are `name`, but for case, punctuation, `.weight` at the end and where in a model it stands."""
        return self._spelt.get(plain(name), [])

    def nearest(self, name: str) -> str | None:
        """The key that `name` probably stands for: one with the same numbers in it."""
        candidates = self._numbered.get(tuple(digits(name)), [])
        self._left -= len(candidates)
        return None if self._left < 0 else nearest(name, [key for key in candidates if alike(name, key)])

    def similar(self, name: str) -> list[str]:
        """The keys that look most like the name of a weight, which may leave out where in a model it stands."""
        if name not in self._found:
            self._found[name] = self._similar(name)
        return self._found[name]

    def _similar(self, name: str) -> list[str]:
        same, close = self.spelt(name), self.nearest(name)
        if same or close:
            return same or [close or ""]
        wanted = plain(name)
        if len(wanted) < 3:
            return []
        # A last part that is too short says nothing.
        return [key for key, last in self._last.items() if wanted in self._plain[key] or (len(last) >= 4 and last in wanted)]


def _path(key: str) -> str:
    return key.removesuffix(".weight")


def nearest_key(name: str, keys: Iterable[str]) -> str | None:
    """As `Keys.nearest`, for one question."""
    return Keys(keys).nearest(name)
