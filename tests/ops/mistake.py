"""One wrong use of an op, and what is said of it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Mistake(NamedTuple):
    """A wrong call, and what is said of it. `at` is the operand or attribute that is underlined."""

    diagnostic: type
    op: str
    operands: dict[str, Any]
    attributes: dict[str, Any]
    at: str
    headline: str
    label: str
    help: str | None = None
