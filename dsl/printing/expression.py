"""Expressions with their precedence: parentheses stand only where the grammar wants them."""

from __future__ import annotations

# Annotations of a NamedTuple that are text cost milliseconds at import; these are small enough.
from typing import NamedTuple

OR, AND, NOT, COMPARE, SUM, TERM, UNARY, POWER, POSTFIX = range(1, 10)


class Text(NamedTuple):
    """An expression: its text, how tightly it binds, and how many ops it holds."""

    text: str
    precedence: int = POSTFIX
    ops: int = 0

    def at(self, precedence: int) -> str:
        """The text where something of at least this precedence is wanted."""
        return self.text if self.precedence >= precedence else f"({self.text})"


BINARY: dict[str, tuple[str, int]] = {
    "add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", TERM), "real_div": ("/", TERM), "floor_div": ("//", TERM),
    "mod": ("%", TERM), "matmul": ("@", TERM), "pow": ("**", POWER), "equal": ("==", COMPARE), "not_equal": ("!=", COMPARE),
    "less": ("<", COMPARE), "less_equal": ("<=", COMPARE), "greater": (">", COMPARE), "greater_equal": (">=", COMPARE),
    "logical_and": ("and", AND), "logical_or": ("or", OR),
}  # fmt: skip
"""The operator of each op of two operands, and its precedence."""


def binary(op: str, left: Text, right: Text) -> Text:
    """Operators lean to the left, but `**` to the right; comparisons do not chain."""
    symbol, precedence = BINARY[op]
    sides = {POWER: (POSTFIX, UNARY), COMPARE: (SUM, SUM)}.get(precedence, (precedence, precedence + 1))
    return Text(f"{left.at(sides[0])} {symbol} {right.at(sides[1])}", precedence, left.ops + right.ops + 1)


def unary(symbol: str, operand: Text, precedence: int) -> Text:
    return Text(f"{symbol}{operand.at(precedence)}", precedence, operand.ops + 1)
