"""Evaluates expressions: compile-time values are computed, tensors become ops of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anedsl.diagnostics import Failure, Label, nearest
from anedsl.elaborate import arithmetic, builtins, calls, indexing, names
from anedsl.elaborate.arguments import Argument, wrong_kind
from anedsl.elaborate.frame import Frame
from anedsl.elaborate.values import POISON, Builtin, ConstTensor, Function, describe, is_integer, is_number, is_tensor
from anedsl.graph import Value
from anedsl.ops import OPS
from anedsl.ops.record import Op
from anedsl.source import Span
from anedsl.syntax import tree

OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "real_div", "//": "floor_div", "%": "mod", "**": "pow", "@": "matmul",
    "==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal",
    "and": "logical_and", "or": "logical_or",
}  # fmt: skip
"""The op that an operator stands for between tensors."""


def evaluate(expression: tree.Expression, frame: Frame) -> Any:
    """The value of an expression. Raises `Failure`, which is empty where the cause is already reported."""
    elaboration = frame.elaboration
    elaboration.enter(expression.span)
    try:
        return _EVALUATORS[type(expression)](expression, frame)
    finally:
        elaboration.leave()


def _name(node: tree.Name, frame: Frame) -> Any:
    name = node.text
    binding = frame.scope.find(name)
    if binding is not None:
        binding.used = True
        if binding.value is POISON:
            raise Failure()
        if binding.value is None:
            raise _no_equation(node, frame)
        return binding.value
    own = _is_own_name(name, frame)
    found = frame.module.imported.get(name) if own else frame.module.find(name)
    if found is None:
        found = builtins.NAMES.get(name)
    if found is None:
        found = OPS.get(name)
    if found is None and own:
        found = frame.module.find(name)
    if found is None:
        known = frame.scope.all_names() | names.everywhere(frame.module)
        raise Failure(names.unknown(name, frame.at(node.span), known, frame.module))
    return found


def _no_equation(node: tree.Name, frame: Frame) -> Failure:
    """ANE0201 for an output that has no equation yet."""
    from anedsl.diagnostics.names import UnknownName
    from anedsl.elaborate import definitions

    name, at = node.text, frame.at(node.span)
    found = definitions.elsewhere(name, node.span, frame.module)
    if found is not None:
        return Failure(UnknownName(span=at, name=name, related=(found.label,), advice=found.advice))
    return Failure(UnknownName(span=at, name=name, advice=f"define `{name} = ...` above this line"))


def _is_own_name(name: str, frame: Frame) -> bool:
    """Whether this is the name of the function around it: what it hides is meant then, for a function cannot call itself."""
    return frame.callers[-1:] == (f"{frame.module.source.name}:{name}",)


def _literal(node: tree.Literal, frame: Frame) -> Any:
    if isinstance(node.value, int) and node.value.bit_length() > arithmetic.MAX_BITS:
        from anedsl.diagnostics.names import IntegerTooLarge

        detail = f"has more than {arithmetic.MAX_BITS} bits"
        raise Failure(IntegerTooLarge(span=frame.at(node.span), detail=detail))
    return arithmetic.finite(node.value, frame.at(node.span)) if isinstance(node.value, float) else node.value


def _group(node: tree.Group, frame: Frame) -> Any:
    return evaluate(node.inner, frame)


def _sequence(node: tree.Sequence, frame: Frame) -> Any:
    return frame.elaboration.counted(tuple(evaluate(item, frame) for item in node.items), frame.at(node.span))


def _unary(node: tree.Unary, frame: Frame) -> Any:
    value = evaluate(node.operand, frame)
    span = frame.at(node.span)
    if node.operator == "not":
        if isinstance(value, bool):
            return not value
        return calls.call_op(OPS["logical_not"], [Argument(None, value, frame.at(node.operand.span))], span, frame)
    if node.operator == "-":
        if isinstance(value, Value):
            # MIL has no `neg` (rule O38).
            minus_one = Argument(None, -1, span)
            return calls.call_op(OPS["mul"], [Argument(None, value, frame.at(node.operand.span)), minus_one], span, frame)
        return arithmetic.negative(value, span)
    return value if isinstance(value, Value) else arithmetic.binary("+", 0, value, span)


def _binary(node: tree.Binary, frame: Frame) -> Any:
    """A chain such as `a + b + c + ...` leans to the left: it is walked in a loop, not by recursion."""
    chain: list[tree.Binary] = []
    left: tree.Expression = node
    while isinstance(left, tree.Binary):
        chain.append(left)
        left = left.left
    value = evaluate(left, frame)
    left_span = left.span
    for link in reversed(chain):
        value = _apply(link, value, left_span, frame)
        left_span = link.span
    return value


def _apply(node: tree.Binary, left: Any, left_span: Span, frame: Frame) -> Any:
    symbol = node.operator
    if symbol in ("and", "or") and isinstance(left, bool) and left is (symbol == "or"):
        return left
    right = evaluate(node.right, frame)
    span = frame.at(node.span)
    if isinstance(left, Value) or isinstance(right, Value):
        if symbol in ("/", "//", "%") and is_number(right) and right == 0:
            from anedsl.diagnostics.names import InvalidOperation

            raise Failure(InvalidOperation(span=frame.at(node.right.span), problem="division by zero", detail="is 0"))
        arguments = [Argument(None, left, frame.at(left_span)), Argument(None, right, frame.at(node.right.span))]
        return calls.call_op(OPS[OPERATORS[symbol]], arguments, span, frame)
    if symbol in ("and", "or"):
        if isinstance(left, bool) and isinstance(right, bool):
            return right
        if is_tensor(left) or is_tensor(right):
            arguments = [Argument(None, left, frame.at(left_span)), Argument(None, right, frame.at(node.right.span))]
            return calls.call_op(OPS[OPERATORS[symbol]], arguments, span, frame)
        wrong, at = (left, left_span) if not isinstance(left, bool) else (right, node.right.span)
        raise wrong_kind(frame.at(at), "`true` or `false`", wrong)
    if symbol == "@":
        frame.elaboration.count_elements(arithmetic.product_cost(left, right), span)
    return frame.elaboration.counted(arithmetic.binary(symbol, left, right, span), span)


def _conditional(node: tree.Conditional, frame: Frame) -> Any:
    return evaluate(node.then if condition(node.condition, frame) else node.otherwise, frame)


def condition(expression: tree.Expression, frame: Frame) -> bool:
    """A compile-time condition."""
    value = evaluate(expression, frame)
    if isinstance(value, bool):
        return value
    span = frame.at(expression.span)
    if isinstance(value, Value):
        from anedsl.diagnostics.names import NotCompileTime

        raise Failure(NotCompileTime(span=span, use="a condition", advice="choose element by element: `where(c, a, b)`"))
    raise wrong_kind(span, "a condition", value, advice="compare it: `n > 0`" if is_integer(value) else None)


def _call(node: tree.Call, frame: Frame) -> Any:
    function = evaluate(node.function, frame)
    if isinstance(node.function, tree.Name) and not isinstance(function, (Op, Builtin, Function)):
        _check_hidden(node.function, function, frame)
    arguments = [
        Argument(argument.name, evaluate(argument.value, frame), frame.at(argument.value.span), frame.at(_name_span(argument)))
        if isinstance(argument, tree.Keyword)
        else Argument(None, evaluate(argument, frame), frame.at(argument.span))
        for argument in node.arguments
    ]
    return calls.call(function, arguments, frame.at(node.span), frame.at(node.function.span), frame)


def _check_hidden(node: tree.Name, value: Any, frame: Frame) -> None:
    """ANE0214 for a call of an op or a function whose name the author has given to something else."""
    name = node.text
    binding = frame.scope.find(name)
    if binding is None or name not in names.everywhere(frame.module):
        return
    from anedsl.diagnostics.names import NotCallable

    line, _ = binding.span.source.position(binding.span.start)
    what = "function" if frame.module.find(name) is not None else "op"
    advice = f"`{name}` was defined at line {line} and hides the {what}: give it another name there"
    related = (Label(binding.span, f"hides the {what}"),)
    raise Failure(NotCallable(span=frame.at(node.span), related=related, what=describe(value), advice=advice))


def _name_span(keyword: tree.Keyword) -> Span:
    return keyword.span._replace(end=keyword.span.start + len(keyword.name))


def _subscript(node: tree.Subscript, frame: Frame) -> Any:
    target = evaluate(node.target, frame)
    items = [_subscript_item(item, frame) for item in node.items]
    return indexing.subscript(target, items, frame.at(node.span), frame)


def _subscript_item(item: tree.Expression | tree.Slice | tree.Ellipsis, frame: Frame) -> indexing.Item:
    span = frame.at(item.span)
    if isinstance(item, tree.Ellipsis):
        return indexing.Item("ellipsis", span)
    if isinstance(item, tree.Slice):
        parts = [None if part is None else integer(part, frame, "a slice bound") for part in (item.start, item.stop, item.step)]
        return indexing.Item("slice", span, *parts)
    return indexing.Item("index", span, integer(item, frame, "an index"))


def integer(expression: tree.Expression, frame: Frame, use: str, bits: int = 64) -> int:
    """A compile-time integer."""
    value = evaluate(expression, frame)
    span = frame.at(expression.span)
    if is_integer(value):
        return arithmetic.check_integer(value, span, bits)
    if isinstance(value, Value):
        from anedsl.diagnostics.names import NotCompileTime

        raise Failure(NotCompileTime(span=span, use=use))
    advice = "use `//` for a whole-number division" if isinstance(value, float) else None
    raise wrong_kind(span, "an integer", value, use=f"{use} must be an integer", advice=advice)


def _attribute(node: tree.Attribute, frame: Frame) -> Any:
    target = evaluate(node.target, frame)
    members = _members(target)
    if node.name in members:
        return members[node.name]
    from anedsl.diagnostics.names import UnknownMember

    at, advice = frame.at(node.name_span), None
    if is_tensor(target):
        advice = names.instead_of_member(node, members["rank"], frame.module)
    close = nearest(node.name, members) if advice is None else None
    raise Failure(UnknownMember(span=at, what=describe(target), name=node.name, nearest=close, advice=advice))


def _members(target: Any) -> dict[str, Any]:
    """What stands behind the dot. A number is a tensor without axes, so that a function may take either."""
    if isinstance(target, Value):
        return {"shape": target.type.shape, "dtype": target.type.dtype, "rank": target.type.rank}
    if isinstance(target, ConstTensor):
        return {"shape": target.shape, "rank": len(target.shape)}
    return {"shape": (), "rank": 0} if is_number(target) else {}


_EVALUATORS: dict[type, Callable[[Any, Frame], Any]] = {
    tree.Name: _name,
    tree.Literal: _literal,
    tree.Group: _group,
    tree.Sequence: _sequence,
    tree.Unary: _unary,
    tree.Binary: _binary,
    tree.Conditional: _conditional,
    tree.Call: _call,
    tree.Subscript: _subscript,
    tree.Attribute: _attribute,
}
