"""Names in a MIL program: legal, and unique over the whole program."""

from __future__ import annotations

import re
from collections.abc import Iterable

from anedsl.ops import OPS
from anedsl.types import DTYPES

WORDS = frozenset(DTYPES) | {
    "program", "func", "main", "const", "buildInfo", "name", "val", "true", "false", "inf", "nan", "BLOBFILE", "path", "offset",
    "tensor", "list", "dict", "tuple", "state", "string", "int4", "uint1", "uint2", "uint3", "uint4", "uint6", "bf16",
}  # fmt: skip
"""Words of MIL's syntax, and the names of its element types: never the name of a value."""

LONGEST = 120
"""Longer names are cut: a weight's name is also the name of a file."""

_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OTHER = re.compile(r"[^A-Za-z0-9_]+")


def is_legal(name: str) -> bool:
    """Whether MIL takes the name as it is."""
    return _LEGAL.fullmatch(name) is not None and name not in WORDS


def legal(hint: str) -> str:
    """The hint made of MIL's letters: `W[3]` becomes `W_3`."""
    if _LEGAL.fullmatch(hint) and len(hint) <= LONGEST:
        return hint
    name = _OTHER.sub("_", hint).strip("_")[:LONGEST]
    return name if name and not name[0].isdigit() else f"_{name}"


class Names:
    """Hands out each name once.

    A word of MIL or the name of an op gets a number, so that `concat = concat(...)` is never written.
    """

    def __init__(self, exact: Iterable[str] = ()) -> None:
        self._used = {*WORDS, *OPS, *exact}
        self._next: dict[str, int] = {}

    def fresh(self, hint: str, avoid: frozenset[str] | set[str] = frozenset()) -> str:
        """The hint itself if it is free and not to be avoided, else the hint with the first free number."""
        name = legal(hint)
        if name in self._used or name in avoid:
            return self.numbered(name, avoid)
        self._used.add(name)
        return name

    def numbered(self, stem: str, avoid: frozenset[str] | set[str] = frozenset()) -> str:
        """The stem with the first free number, from 1."""
        number = self._next.get(stem, 1)
        while (name := f"{stem}_{number}") in self._used or name in avoid:
            number += 1
        self._next[stem] = number + 1
        self._used.add(name)
        return name


def unique_files(names: Iterable[str]) -> list[str]:
    """File names without ending, different also where upper and lower case are one."""
    seen: set[str] = set()
    found = []
    for name in names:
        file, number = name, 1
        while file.lower() in seen:
            file, number = f"{name}_{number}", number + 1
        seen.add(file.lower())
        found.append(file)
    return found
