"""What the names in a condition stand for, for an assertion that fails."""

from __future__ import annotations

from collections.abc import Iterator

from anedsl.diagnostics import Failure
from anedsl.elaborate.arguments import literal
from anedsl.elaborate.expressions import evaluate
from anedsl.elaborate.frame import Frame
from anedsl.syntax import tree
from anedsl.types import DType

MAX_SHOWN = 6
"""More values than a reader takes in are not shown."""


def values(condition: tree.Expression, frame: Frame) -> str | None:
    """`` `H` is 8 and `K` is 3``, or None where the condition has no names."""
    found: dict[str, str] = {}
    for part in _parts(_failing(condition, frame)):
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
    """The part of `a and b and c` that is false."""
    while isinstance(condition, tree.Group):
        condition = condition.inner
    if not isinstance(condition, tree.Binary) or condition.operator != "and":
        return condition
    return _failing(condition.left if evaluate(condition.left, frame) is False else condition.right, frame)


def _parts(expression: tree.Expression) -> Iterator[tree.Expression]:
    """The largest parts that are no arithmetic: names, `x.shape`, `x.shape[1]`, `len(sizes)`."""
    if isinstance(expression, (tree.Name, tree.Attribute, tree.Subscript, tree.Call)):
        yield expression
    elif isinstance(expression, tree.Group):
        yield from _parts(expression.inner)
    elif isinstance(expression, tree.Unary):
        yield from _parts(expression.operand)
    elif isinstance(expression, tree.Binary):
        yield from _parts(expression.left)
        yield from _parts(expression.right)
