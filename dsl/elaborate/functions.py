"""Inlines functions of .ane files: arguments are matched with shape patterns, the body is elaborated at the call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anedsl.diagnostics import Failure, Label
from anedsl.elaborate.arguments import Argument, bind, missing, wrong_kind
from anedsl.elaborate.expressions import evaluate, integer
from anedsl.elaborate.frame import Frame
from anedsl.elaborate.scope import Binding, Scope
from anedsl.elaborate.values import Builtin, ConstTensor, Function, describe
from anedsl.graph import Value
from anedsl.ops.record import Op
from anedsl.source import Span
from anedsl.syntax import tree

CALL_COST = 8
"""An inlined call takes the time of so many statements."""


def inline(function: Function, arguments: Sequence[Argument], span: Span, caller: Frame) -> Any:
    """The value of a function's body, elaborated with its own names only."""
    name = function.tree.name.text
    key = f"{function.module.source.name}:{name}"
    if key in caller.callers:
        from anedsl.diagnostics.names import Recursion

        chain = [*caller.callers[caller.callers.index(key) :], key]
        raise Failure(Recursion(span=span, name=name, chain=" -> ".join(part.rpartition(":")[2] for part in chain)))
    caller.elaboration.count_statement(span, CALL_COST)
    frame = Frame(caller.elaboration, function.module, Scope(), call=span, callers=(*caller.callers, key))
    _bind(function.tree, arguments, span, frame)
    elaboration = caller.elaboration
    elaboration.enter(span)
    try:
        body = function.tree.body
        if not isinstance(body, tree.Block):
            return evaluate(body, frame)
        from anedsl.elaborate.statements import Returned, execute_block  # statements call functions

        result = execute_block(body, frame)
        if isinstance(result, Returned):
            return result.value
    finally:
        elaboration.leave()
    from anedsl.diagnostics.names import InvalidOperation

    related = (Label(function.tree.name.span, "has no `return`"),)
    advice = "end its body with `return ...`"
    problem = f"`{name}` returns no value"
    raise Failure(InvalidOperation(span=span, related=related, problem=problem, detail="has no value", advice=advice))


def _bind(function: tree.Function, arguments: Sequence[Argument], span: Span, frame: Frame) -> None:
    """Binds arguments to parameters, then defaults, which may use the parameters before them."""
    names = [parameter.name.text for parameter in function.parameters]
    given = bind(function.name.text, names, arguments, lambda: signature(function))
    for parameter in function.parameters:
        _bind_one(function, parameter, given.get(parameter.name.text), span, frame)


def _bind_one(function: tree.Function, parameter: tree.Parameter, argument: Argument | None, span: Span, frame: Frame) -> None:
    name = parameter.name.text
    if argument is None:
        if parameter.default is None:
            raise missing(function.name.text, name, span, signature(function))
        argument = Argument(name, evaluate(parameter.default, frame), frame.at(parameter.default.span))
    if isinstance(argument.value, (Op, Builtin, Function)):
        raise wrong_kind(argument.span, "a tensor or a compile-time value", argument.value)
    if parameter.pattern is not None:
        _match(function, parameter, parameter.pattern, argument, frame)
    if isinstance(argument.value, ConstTensor) and not argument.value.name:
        argument.value.name = name
    define(frame.scope, name, argument.value, frame.at(parameter.name.span), "argument")


def _match(function: tree.Function, parameter: tree.Parameter, pattern: tree.Type, argument: Argument, frame: Frame) -> None:
    """Checks an argument against `fp16[1, C, 1, S]`, and binds the names in it that are not yet known."""
    value = argument.value
    if not isinstance(value, (Value, ConstTensor)):
        raise _mismatch(function, parameter, pattern, argument, f"is {describe(value)}")
    shape = value.type.shape if isinstance(value, Value) else value.shape
    if pattern.dtype is not None and isinstance(value, Value) and value.type.dtype.name != pattern.dtype.text:
        from anedsl.elaborate.declarations import dtype_of

        dtype_of(pattern.dtype, frame)
        raise _mismatch(function, parameter, pattern, argument, f"has element type {value.type.dtype}")
    if pattern.dimensions is None:
        return
    if len(pattern.dimensions) != len(shape):
        raise _mismatch(function, parameter, pattern, argument, f"has rank {len(shape)}, not {len(pattern.dimensions)}")
    for axis, (dimension, size) in enumerate(zip(pattern.dimensions, shape, strict=True)):
        if isinstance(dimension, tree.Name) and frame.scope.find(dimension.text) is None:
            define(frame.scope, dimension.text, size, dimension.span, "argument")
            continue
        expected = integer(dimension, frame, "a dimension of a pattern")
        if expected != size:
            detail, bound = f"axis {axis} is {size}, not {expected}", _bound_by(function, parameter, dimension, expected)
            raise _mismatch(function, parameter, pattern, argument, detail, bound)


def _bound_by(function: tree.Function, here: tree.Parameter, dimension: tree.Expression, size: int) -> str | None:
    """Which parameter before this one gave a name in its pattern the size that is expected."""
    for parameter in function.parameters[: function.parameters.index(here)]:
        sizes = (parameter.pattern.dimensions or ()) if parameter.pattern is not None else ()
        for axis, size_name in enumerate(sizes):
            if isinstance(size_name, tree.Name) and size_name.text == dimension.span.text:
                return f"`{size_name.text}` is {size}, the size of axis {axis} of `{parameter.name.text}`"
    return None


def _mismatch(
    function: tree.Function,
    parameter: tree.Parameter,
    pattern: tree.Type,
    argument: Argument,
    detail: str,
    bound: str | None = None,
) -> Failure:
    from anedsl.diagnostics.names import PatternMismatch

    return Failure(
        PatternMismatch(
            span=argument.span,
            related=(Label(parameter.name.span.to(pattern.span), "the parameter"),),
            function=function.name.text,
            pattern=" ".join(pattern.span.text.split()),
            parameter=parameter.name.text,
            found=describe(argument.value),
            detail=detail,
            bound=bound,
        )
    )


def define(scope: Scope, name: str, value: Any, span: Span, kind: str) -> Binding:
    """Binds a name in a scope; a 0202 diagnostic if it already has one there."""
    earlier = scope.find(name)
    if earlier is not None:
        from anedsl.diagnostics.names import DefinedTwice

        raise Failure(DefinedTwice(span=span, related=(Label(earlier.span, "first defined here"),), name=name))
    binding = scope.names[name] = Binding(value, span, kind)
    return binding


def signature(function: tree.Function) -> str:
    """How a function is called."""
    parts = [
        parameter.name.text + ("" if parameter.default is None else f" = {' '.join(parameter.default.span.text.split())}")
        for parameter in function.parameters
    ]
    return f"{function.name.text}({', '.join(parts)})"
