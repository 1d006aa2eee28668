"""Names of the language: legal, unique in a kernel, and none of those that the kernel's own calls need."""

from __future__ import annotations

import re
from collections.abc import Iterable

from anedsl.ops import OPS
from anedsl.types import DTYPES

KEYWORDS = frozenset((
    "kernel", "fn", "import", "input", "weight", "output", "pack", "along", "state", "stored", "for", "in", "if", "else",
    "assert", "return", "or", "and", "not", "true", "false",
))  # fmt: skip

LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OTHER = re.compile(r"[^A-Za-z0-9_]+")
_SUFFIX = re.compile(r"(_cast_fp(16|32)|_to_fp(16|32))+$")
_NUMBERED = re.compile(r"(.+?)_\d+")
_STEMS = frozenset((*OPS, "var", "op", "tensor", "values"))


def is_legal(name: str) -> bool:
    """Whether the language takes a name as it is."""
    return LEGAL.fullmatch(name) is not None and name not in KEYWORDS and name not in DTYPES


def legal(hint: str) -> str:
    """The hint made of letters that a name may have: `x.1` becomes `x_1`."""
    name = hint if LEGAL.fullmatch(hint) else _OTHER.sub("_", hint).strip("_") or "t"
    name = f"_{name}" if name[0].isdigit() else name
    return name if is_legal(name) else f"{name}_"


def is_generated(name: str) -> bool:
    """Whether a compiler, and no author, gave this name: `mul_3`, `var_12`, `linear_0_cast_fp16`."""
    stem = _SUFFIX.sub("", name)
    found = _NUMBERED.fullmatch(stem)
    return stem in _STEMS or (found is not None and found[1] in _STEMS)


class Names:
    """Hands out each name once. `reserved` are names that keep their meaning, such as those of the ops in use."""

    def __init__(self, reserved: Iterable[str]) -> None:
        self._used = set(reserved)
        self._next: dict[str, int] = {}

    def fresh(self, hint: str, avoid: frozenset[str] = frozenset()) -> str:
        """The hint if it is legal and free, else one like it with a number."""
        name = legal(hint)
        if name in self._used or name in avoid:
            stem = name.rstrip("_") or "t"
            number = self._next.get(stem, 1)
            while (name := f"{stem}_{number}") in self._used or name in avoid:
                number += 1
            self._next[stem] = number + 1
        self._used.add(name)
        return name

    def numbered(self, stem: str) -> str:
        """`t1`, `t2`, ... for values that nobody named."""
        number = self._next.get(f"{stem} ", 1)
        while (name := f"{stem}{number}") in self._used:
            number += 1
        self._next[f"{stem} "] = number + 1
        self._used.add(name)
        return name
