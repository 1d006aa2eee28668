"""Names and what they stand for."""

from __future__ import annotations

from typing import Any

from anedsl.source import Span


class Binding:
    """A name's value, where it was defined, and whether anything has used it.

    `kind` is parameter, input, weight, output, value (an equation), argument (of a function), turn (a loop's variable).
    """

    __slots__ = ("kind", "span", "used", "value")

    def __init__(self, value: Any, span: Span, kind: str) -> None:
        self.value = value
        self.span = span
        self.kind = kind
        self.used = False


CARRIED_KINDS = frozenset(("value", "input", "argument", "output"))
"""What a loop may define again."""


class Scope:
    """The names of a kernel or a function; a loop's turn has a scope of its own inside it."""

    __slots__ = ("names", "parent")

    def __init__(self, parent: Scope | None = None) -> None:
        self.names: dict[str, Binding] = {}
        self.parent = parent

    def find(self, name: str) -> Binding | None:
        scope: Scope | None = self
        while scope is not None:
            binding = scope.names.get(name)
            if binding is not None:
                return binding
            scope = scope.parent
        return None

    def carried(self, name: str) -> Binding | None:
        """The binding from outside the turn that an equation in a loop defines again."""
        if self.parent is None or name in self.names:
            return None
        binding = self.parent.find(name)
        return binding if binding is not None and binding.kind in CARRIED_KINDS else None

    def all_names(self) -> set[str]:
        scope: Scope | None = self
        found: set[str] = set()
        while scope is not None:
            found |= scope.names.keys()
            scope = scope.parent
        return found
