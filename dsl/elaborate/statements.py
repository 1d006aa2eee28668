"""Runs the statements of kernels and functions at compile time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from anedsl.diagnostics import Failure, counted
from anedsl.elaborate import declarations
from anedsl.elaborate.arguments import wrong_kind
from anedsl.elaborate.expressions import condition, evaluate
from anedsl.elaborate.frame import Frame
from anedsl.elaborate.functions import define
from anedsl.elaborate.values import POISON, ConstTensor, Family, describe
from anedsl.graph import Value
from anedsl.syntax import tree
from anedsl.syntax.walk import defined, parts

MAX_TURNS = 100_000


class Returned(NamedTuple):
    """The value of a `return`."""

    value: Any


def execute_block(block: tree.Block, frame: Frame) -> Returned | None:
    """Runs statements in order; a failed one is reported, its names are poisoned, and the next one goes on."""
    elaboration = frame.elaboration
    elaboration.enter(block.span)
    try:
        for statement in block.statements:
            elaboration.count_statement(statement.span)
            try:
                returned = _EXECUTORS[type(statement)](statement, frame)
            except Failure as failure:
                # In a function the call as a whole has failed: the kernel's statement reports it.
                if frame.call is not None or _is_fatal(failure):
                    raise
                for diagnostic in failure.diagnostics:
                    elaboration.report(diagnostic)
                _poison(statement, frame)
                returned = None
            if returned is not None:
                return returned
    finally:
        elaboration.leave()
    return None


def _is_fatal(failure: Failure) -> bool:
    """Past a limit of size or depth there is no going on."""
    return any(diagnostic.code in ("ANE0104", "ANE0110", "ANE0220") for diagnostic in failure.diagnostics)


def _poison(statement: tree.Statement, frame: Frame) -> None:
    """Names whose definition failed exist, so that their uses report nothing more."""
    if isinstance(statement, (tree.For, tree.If)):
        for inner in _assigned(statement):
            _poison(inner, frame)
    for name in defined(statement):
        binding = frame.scope.find(name.text)
        if binding is None:
            binding = define(frame.scope, name.text, POISON, name.span, "value")
        elif binding.kind in ("value", "output"):
            binding.value = POISON
        binding.used = True


def assigned_names(block: tree.Block) -> set[str]:
    """The names that have an equation somewhere in a block."""
    return {target.text for equation in _assigned(block) for target in equation.targets}


def _assigned(statement: tree.For | tree.If | tree.Block) -> list[tree.Assign]:
    """The equations inside a loop or condition that failed as a whole."""
    return [part for part in parts(statement) if isinstance(part, tree.Assign)]


def _assign(statement: tree.Assign, frame: Frame) -> None:
    value = evaluate(statement.value, frame)
    targets = statement.targets
    if len(targets) == 1:
        _define(targets[0], value, frame)
        return
    parts = value.members if isinstance(value, Family) else value
    if not isinstance(parts, (tuple, range)) or len(parts) != len(targets):
        from anedsl.diagnostics.names import UnpackMismatch

        found = counted(len(parts), "part") if isinstance(parts, (tuple, range)) else describe(value)
        raise Failure(UnpackMismatch(span=frame.at(statement.value.span), expected=len(targets), found=found))
    for target, part in zip(targets, parts, strict=True):
        _define(target, part, frame)


def _define(target: tree.Identifier, value: Any, frame: Frame) -> None:
    name = target.text
    scope = frame.scope
    if isinstance(value, (Value, ConstTensor)) and not value.name:
        value.name = name
    carried = scope.carried(name)
    binding = carried if carried is not None else scope.names.get(name)
    if binding is not None and binding.kind == "output" and (binding.value is None or carried is not None):
        _set_output(binding, target, value, frame)
    elif carried is not None:
        carried.value = value
        # Carried to the next turn is a use: the last turn's value is what counts.
        carried.used = True
    else:
        define(scope, name, value, frame.at(target.span), "value")


def _set_output(binding: Any, target: tree.Identifier, value: Any, frame: Frame) -> None:
    if not isinstance(value, Value):
        if not isinstance(value, (ConstTensor, int, float)):
            raise wrong_kind(frame.at(target.span), "a tensor", value, use="is an output")
        declared = frame.declarations.output_type(target.text) if frame.declarations else None
        value = declarations.constant_output(value, declared, frame.at(target.span), frame)
    binding.value = value
    binding.span = frame.at(target.span)


def _for(statement: tree.For, frame: Frame) -> Returned | None:
    iterable = evaluate(statement.iterable, frame)
    span = frame.at(statement.iterable.span)
    if isinstance(iterable, Family):
        iterable = iterable.members
    if isinstance(iterable, Value):
        from anedsl.diagnostics.names import NotCompileTime

        raise Failure(NotCompileTime(span=span, use="what a loop runs over", advice="use `range(x.shape[0])`"))
    if not isinstance(iterable, (tuple, range)):
        advice = f"`range({iterable})`" if isinstance(iterable, int) and not isinstance(iterable, bool) else None
        raise wrong_kind(span, "a range or a list", iterable, advice=advice)
    if len(iterable) > MAX_TURNS:
        from anedsl.diagnostics.names import RangeTooLong

        rule = "loops are unrolled: each turn adds its ops to the program"
        raise Failure(RangeTooLong(span=span, what="turns", count=len(iterable), limit=MAX_TURNS, rule=rule))
    for item in iterable:
        frame.elaboration.count_statement(span)
        before = len(frame.elaboration.sink.errors)
        turn = frame.turn()
        define(turn.scope, statement.variable.text, item, frame.at(statement.variable.span), "turn")
        returned = execute_block(statement.body, turn)
        # What failed in one turn fails in the next: say it once.
        if returned is not None or len(frame.elaboration.sink.errors) > before:
            return returned
    return None


def _if(statement: tree.If, frame: Frame) -> Returned | None:
    chosen: tree.Block | tree.If | None = statement
    while isinstance(chosen, tree.If):
        chosen = chosen.then if condition(chosen.condition, frame) else chosen.otherwise
    return None if chosen is None else execute_block(chosen, frame)


def _assert(statement: tree.Assert, frame: Frame) -> None:
    if condition(statement.condition, frame):
        return
    message = "assertion failed"
    if statement.message is not None:
        value = evaluate(statement.message, frame)
        message = value if isinstance(value, str) else describe(value)
    from anedsl.diagnostics.names import AssertionFailed
    from anedsl.elaborate.sides import values

    at = frame.at(statement.condition.span)
    raise Failure(AssertionFailed(span=at, message=message, values=values(statement.condition, frame)))


def _return(statement: tree.Return, frame: Frame) -> Returned:
    if frame.call is None:
        from anedsl.diagnostics.names import Misplaced

        span = frame.at(statement.span)
        raise Failure(
            Misplaced(span=span, what="`return`", where="in a kernel", advice="declare `output y` and define `y = ...`")
        )
    return Returned(evaluate(statement.value, frame))


def _not_yet(form: str, advice: str | None = None) -> Callable[[Any, Frame], None]:
    def report(statement: Any, frame: Frame) -> None:
        from anedsl.diagnostics.names import NotYet

        raise Failure(NotYet(span=frame.at(statement.span), form=form, advice=advice))

    return report


_EXECUTORS: dict[type, Callable[[Any, Frame], Returned | None]] = {
    tree.Assign: _assign,
    tree.For: _for,
    tree.If: _if,
    tree.Assert: _assert,
    tree.Return: _return,
    tree.Input: declarations.declare_inputs,
    tree.Weight: declarations.declare_weights,
    tree.Output: declarations.declare_outputs,
    tree.Pack: declarations.declare_pack,
    tree.State: _not_yet("`state`", "pass the state as an input and return it as an output"),
    tree.Update: _not_yet("`:=`", "pass the state as an input and return it as an output"),
}
