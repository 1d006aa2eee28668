"""What the names in a condition stand for, for an assertion that fails."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from anedsl.diagnostics import Failure
from anedsl.elaborate.arguments import literal
from anedsl.elaborate.expressions import evaluate
from anedsl.elaborate.frame import Frame
from anedsl.syntax import tree
from anedsl.types import DType

MAX_SHOWN = 6
"""More values than a reader takes in are not shown."""

MAX_LOOKED_AT = 100
"""So many parts of a condition are evaluated again, to be shown."""


def values(condition: tree.Expression, frame: Frame) -> str | None:
    """`` `H` is 8 and `K` is 3``, or None where the condition has no names."""
    found: dict[str, str] = {}
    for part in islice(_parts(_failing(condition, frame)), MAX_LOOKED_AT):
        text = " ".join(part.span.text.split())
        try:
            value = evaluate(part, frame)
        except Failure:
            continue
        if isinstance(value, (bool, int, float, str, tuple, DType)) and literal(value) != text:
            found[text] = literal(value)
    shown = [f"`{text}` is {value}" for text, value in found.items()][:MAX_SHOWN]
    return None if not shown else shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _failing(condition: tree.Expression, frame: Frame) -> tree.Expression:
    """The first part of `a and (b and c)` that is false."""
    while True:
        while isinstance(condition, tree.Group):
            condition = condition.inner
        whole, terms = condition, []
        while isinstance(condition, tree.Binary) and condition.operator == "and":
            terms.append(condition.right)
            condition = condition.left
        found = next((term for term in (condition, *reversed(terms)) if evaluate(term, frame) is False), None)
        if not terms or found is None:
            return whole
        condition = found


def _parts(expression: tree.Expression) -> Iterator[tree.Expression]:
    """The largest parts that are no arithmetic: names, `x.shape`, `x.shape[1]`, `len(sizes)`."""
    pending = [expression]
    while pending:
        part = pending.pop()
        if isinstance(part, (tree.Name, tree.Attribute, tree.Subscript, tree.Call)):
            yield part
        elif isinstance(part, tree.Group):
            pending.append(part.inner)
        elif isinstance(part, tree.Unary):
            pending.append(part.operand)
        elif isinstance(part, tree.Binary):
            pending.extend((part.right, part.left))
