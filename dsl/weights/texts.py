"""How messages about weights list names and spell `--map`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from anedsl.weights.entry import shown


def listed(names: Sequence[str], limit: int = 6) -> str:
    """The first names of a list, in backquotes, and how many more there are."""
    text = ", ".join(f"`{shown(name)}`" for name in names[:limit])
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"


def as_map(name: str, key: str) -> str:
    """`NAME=KEY` as it is typed in a shell."""
    return shlex.quote(shown(f"{name}={key}"))
