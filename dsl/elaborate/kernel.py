"""From the tree of a kernel to its typed graph."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

from anedsl.diagnostics import Failure, Sink, nearest
from anedsl.elaborate import arithmetic, declarations
from anedsl.elaborate.arguments import wrong_kind
from anedsl.elaborate.expressions import evaluate
from anedsl.elaborate.frame import MAX_ERRORS, Elaboration, Frame
from anedsl.elaborate.functions import define
from anedsl.elaborate.modules import LoadedModule
from anedsl.elaborate.names import undefined
from anedsl.elaborate.scope import Scope
from anedsl.elaborate.statements import assigned_names, execute_block
from anedsl.elaborate.values import POISON, describe, is_integer, is_number
from anedsl.graph import Graph, Port
from anedsl.source import Source, Span
from anedsl.syntax import tree
from anedsl.types import DType


class Given(dict[str, Any]):
    """The values that a kernel's parameters are given. `places` says where one was written, if not in `-D`."""

    def __init__(self, values: Mapping[str, Any], places: Mapping[str, str]) -> None:
        super().__init__(values)
        self.places = places


def elaborate(module: LoadedModule, name: str, parameters: Mapping[str, Any], sink: Sink) -> Graph:
    """The graph of a kernel. `parameters` override its defaults: numbers, booleans, strings or lists.

    Warnings and errors go to `sink`; raises `Failure` where there is an error.
    """
    kernel = module.kernels[name]
    if isinstance(kernel, tree.Derived):
        from anedsl.diagnostics.names import NotYet

        sink.add(NotYet(span=kernel.value.span, form="a derived kernel (`grad`)", advice="write the backward kernel by hand"))
        raise Failure(*sink.diagnostics)
    declared = declarations.Declarations()
    frame = Frame(Elaboration(sink), module, Scope(), declarations=declared)
    try:
        values = _bind_parameters(kernel, parameters, frame)
        execute_block(kernel.body, frame)
        outputs = _outputs(kernel, declared, frame)
        input_packs, output_packs = ([], []) if sink.errors else declarations.packs(declared, outputs, frame.scope)
    except Failure as failure:
        _add_all(failure, sink)
    if sink.errors:
        _add_unknown_names(kernel, module, sink)
        raise Failure(*sink.diagnostics)
    graph = Graph(
        name,
        tuple(declared.inputs.values()),
        tuple(outputs.values()),
        tuple(frame.builder.nodes),
        tuple(input_packs),
        tuple(output_packs),
        values,
        kernel.doc,
        kernel.name.span,
    )
    _warn_unused(graph, declared, frame)
    return graph


def _add_unknown_names(kernel: tree.Kernel, module: LoadedModule, sink: Sink) -> None:
    """The elaboration of a statement ends at the first unknown name in it."""
    codes = {diagnostic.code for diagnostic in sink.errors}
    if "ANE0201" in codes and "ANE0110" not in codes:
        for diagnostic in islice(undefined(kernel, module), MAX_ERRORS):
            sink.add(diagnostic)


def _outputs(kernel: tree.Kernel, declared: declarations.Declarations, frame: Frame) -> dict[str, Port]:
    """The outputs that have a value; what is wrong with the others is reported."""
    sink = frame.elaboration.sink
    if sink.errors:
        # An equation that stands behind an error may not have been reached.
        for name in assigned_names(kernel.body):
            binding = frame.scope.names.get(name)
            if binding is not None and binding.value is None:
                binding.value = POISON
    outputs = declarations.outputs(declared, frame)
    if not declared.outputs and not sink.errors:
        from anedsl.diagnostics.names import NoOutput

        sink.add(NoOutput(span=kernel.name.span, name=kernel.name.text))
    return outputs


def _add_all(failure: Failure, sink: Sink) -> None:
    for diagnostic in failure.diagnostics:
        sink.add(diagnostic)


def _bind_parameters(kernel: tree.Kernel, given: Mapping[str, Any], frame: Frame) -> dict[str, Any]:
    """Defaults in order, each of which may use those before it; overridden by what is given."""
    values: dict[str, Any] = {}
    sink = frame.elaboration.sink
    names = [parameter.name.text for parameter in kernel.parameters]
    for name in given:
        if name not in names:
            from anedsl.diagnostics.names import UnknownParameter

            known = ", ".join(f"`{n}`" for n in names) or None
            sink.add(
                UnknownParameter(
                    span=kernel.name.span,
                    name=name,
                    kernel=kernel.name.text,
                    place=given.places.get(name) if isinstance(given, Given) else None,
                    nearest=nearest(name, names),
                    known=known,
                )
            )
    for parameter in kernel.parameters:
        name = parameter.name.text
        try:
            value = _parameter(kernel, parameter, given, frame)
        except Failure as failure:
            _add_all(failure, sink)
            value = POISON
        define(frame.scope, name, value, parameter.name.span, "parameter")
        values[name] = value
    return values


def _parameter(kernel: tree.Kernel, parameter: tree.Parameter, given: Mapping[str, Any], frame: Frame) -> Any:
    name = parameter.name.text
    if name in given:
        value = given[name]
        span = parameter.name.span
        if parameter.default is not None:
            default = evaluate(parameter.default, frame)
            default = tuple(default) if isinstance(default, range) else default
            place = given.places.get(name) if isinstance(given, Given) else None
            _check_same_kind(place or f"`-D {name}=...`", value, default, span)
            if is_integer(default) and isinstance(value, float):
                value = int(value)
    elif parameter.default is None:
        from anedsl.diagnostics.names import MissingParameter

        raise Failure(MissingParameter(span=parameter.name.span, name=name, kernel=kernel.name.text))
    else:
        value, span = evaluate(parameter.default, frame), parameter.default.span
    if isinstance(value, range):
        value = tuple(value)
    if not isinstance(value, (bool, int, float, str, tuple, DType)):
        raise wrong_kind(span, "a number, boolean, string or list", value, use="the value of a parameter")
    if is_integer(value):
        arithmetic.check_integer(value, span)
    if isinstance(value, float):
        arithmetic.finite(value, span)
    return value


def _check_same_kind(place: str, value: Any, default: Any, span: Span) -> None:
    """`-D` may not turn a number into a string, or the like."""
    if type(value) is type(default) or (is_number(value) and is_number(default)):
        if isinstance(default, int) and isinstance(value, float) and not value.is_integer():
            raise wrong_kind(span, "an integer", value, use=place)
        return
    raise wrong_kind(span, f"a value like {describe(default)}", value, use=place)


def parse_override(name: str, text: str) -> Any:
    """The value of `-D NAME=TEXT`: a number, boolean, string or list; a bare word is a string."""
    from anedsl.elaborate.modules import LoadedModule
    from anedsl.syntax.parse import parse_expression

    source = Source(f"-D {name}", text)
    try:
        try:
            expression = parse_expression(source)
        except Failure as failure:
            raise _one_value(failure, name, text) from None
        module = LoadedModule(tree.Module(source, (), (), ()))
        value = evaluate(expression, Frame(Elaboration(Sink()), module, Scope()))
    except Failure:
        if text.replace("_", "a").replace("-", "a").isalnum() and not text[:1].isdigit():
            return text
        raise
    if isinstance(value, range):
        return tuple(value)
    if isinstance(value, (bool, int, float, str, tuple)):
        return value
    return text


def _one_value(failure: Failure, name: str, text: str) -> Failure:
    """The syntax error of a value, with what is mostly meant by it."""
    from anedsl.diagnostics.syntax import UnexpectedToken

    [problem] = failure.diagnostics
    if not isinstance(problem, UnexpectedToken):
        return failure
    advice = problem.advice
    if problem.found == "`,`":
        advice = f"a list stands in brackets: write `[{text}]`"
    elif problem.found == "`:`":
        advice = f"write every value: `-D {name}=32,64` makes a variant of each with `anedsl compile`, `[32,64]` is one list"
    return Failure(UnexpectedToken(span=problem.span, found=problem.found, expected="the end of the value", advice=advice))


def _warn_unused(graph: Graph, declared: declarations.Declarations, frame: Frame) -> None:
    """Inputs and weights no output depends on; equations nobody reads."""
    from anedsl.diagnostics.names import UnusedInput, UnusedName

    sink = frame.elaboration.sink
    used = frame.builder.used_values([port.value for port in graph.outputs])
    for port in graph.inputs:
        if port.value not in used:
            sink.add(UnusedInput(span=port.span, kind="input", name=port.name))
    for name, span, members in declared.weights:
        if not any(member in used for member in members):
            sink.add(UnusedInput(span=span, kind="weight", name=name))
    for name, binding in frame.scope.names.items():
        if binding.kind == "value" and not binding.used and not name.startswith("_"):
            sink.add(UnusedName(span=binding.span, name=name))
