"""From a function as it is written to a typed graph.

Inputs and outputs of the graph are those of the function: surfaces, each with everything that was packed into it.
"""

from __future__ import annotations

import contextlib
from typing import Any

from anedsl.codegen.legalize import OPSETS
from anedsl.codegen.mil_types import is_tensor
from anedsl.codegen.program import InFile
from anedsl.codegen.reader.arguments import StopStatement, attribute, literal, opaque_argument, operand
from anedsl.codegen.reader.literals import Resolved, constant_of, resolve
from anedsl.codegen.reader.opaque import Form, opaque_op
from anedsl.codegen.reader.places import Places
from anedsl.codegen.reader.scope import Broken, Constant, Entry, Scope
from anedsl.codegen.reader.types import fits
from anedsl.codegen.reader.weights import Weights
from anedsl.codegen.reader.written import Function, Literal, Several, Statement
from anedsl.diagnostics import Diagnostic, Failure, Label, Sink, nearest
from anedsl.graph import Graph, Node, Operands, Port, Value
from anedsl.ops import OPS
from anedsl.ops.call import Call, infer
from anedsl.ops.older import OLDER
from anedsl.ops.record import REQUIRED, Attribute, Op
from anedsl.source import Span
from anedsl.types import TensorType

MAX_PROBLEMS = 100
"""Errors after which a program is not read on."""


def read_function(function: Function, name: str, places: Places, weights: Weights, sink: Sink) -> Graph | None:
    """The graph of a function, or None where something is wrong with it; what is wrong goes to `sink`."""
    return _FunctionReader(function, places, weights, sink).read(name)


class _FunctionReader:
    def __init__(self, function: Function, places: Places, weights: Weights, sink: Sink) -> None:
        self.function = function
        self.places = places
        self.sink = sink
        self.scope = Scope(places, weights)
        known = OPSETS.index(function.opset) if function.opset in OPSETS else len(OPSETS)
        self.later = frozenset(OPSETS[known + 1 :])
        """Opsets after the function's own: the form of an op that came with one of them is not the function's."""

    def read(self, name: str) -> Graph | None:
        before = len(self.sink.errors)
        inputs = self._inputs()
        for statement in self.function.statements:
            try:
                self._statement(statement)
            except StopStatement:
                self._define_declared(statement)
            except Failure as failure:
                for diagnostic in failure.diagnostics:
                    self.sink.add(diagnostic)
                if len(self.sink.diagnostics) >= MAX_PROBLEMS:
                    return None
                self._define_declared(statement)
        outputs = self._outputs()
        if len(self.sink.errors) > before:
            return None
        return Graph(name, tuple(inputs), tuple(outputs), tuple(self.scope.nodes), span=self.places.span(self.function.name))

    def _inputs(self) -> list[Port]:
        ports = []
        parameters = self.function.parameters
        for text, token in zip(parameters[::2], parameters[1::2], strict=True):
            name = str(token)
            try:
                value = Value(self._declared_type(text), name, self.places.span(token))
                self.scope.define(name, value, token)
            except Failure as failure:
                self._report(failure)
                self.scope.entries.setdefault(name, Broken())
                self.scope.spans.setdefault(name, self.places.span(token))
                continue
            ports.append(Port(name, value, value.span))
        return ports

    def _outputs(self) -> list[Port]:
        ports = []
        for token in self.function.outputs:
            try:
                entry = self.scope.find(token)
                if isinstance(entry, Broken):
                    continue
                value = entry if isinstance(entry, Value) else self.scope.as_value(entry, token)
            except Failure as failure:
                self._report(failure)
                continue
            ports.append(Port(str(token), value, self.places.span(token)))
        return ports

    def _report(self, failure: Failure) -> None:
        for diagnostic in failure.diagnostics:
            self.sink.add(diagnostic)

    def _declared_type(self, text: str) -> TensorType:
        """The type of a value: one of computed tensors has no axis of size 0."""
        type = self.places.type(text)
        if 0 in type.shape:
            from anedsl.diagnostics.artifacts import InvalidSize

            raise Failure(InvalidSize(span=self.places.span(text), reason="only a const may have an axis of size 0"))
        return type

    def _define_declared(self, statement: Statement) -> None:
        """Results of a statement with an error: their users are read on with the declared types."""
        results = statement.results
        for text, token in zip(results[::2], results[1::2], strict=True):
            name = str(token)
            if name in self.scope.entries:
                continue
            entry: Entry = Broken()
            if statement.op != "const":
                with contextlib.suppress(Failure):
                    entry = Value(self._declared_type(text), name, self.places.span(token))
            self.scope.define(name, entry, token)

    # ---- one statement ----

    def _statement(self, statement: Statement) -> None:
        if statement.op == "const":
            self._const(statement)
            return
        record = OPS.get(statement.op)
        if record is None:
            self._opaque(statement, Form())
            return
        if record.since in self.later:
            record = OLDER.get(statement.op, record)
        if record.since in self.later:
            self._opaque(statement, Form(until=OPSETS[OPSETS.index(record.since) - 1]))
            return
        operands: dict[str, Any] = {}
        attributes: dict[str, Any] = {}
        scope = self.scope
        pairs = _pairs(statement, record)
        for key, item in pairs:
            slot = record.operand_index.get(key)
            if key in operands or key in attributes:
                self._duplicate(statement, key)
            if slot is not None:
                operands[slot.name] = operand(scope, item, slot)
                continue
            setting = record.attribute_index.get(key)
            if setting is None:
                self._unknown(key, record)
            else:
                attributes[setting.name] = attribute(scope, item, setting, record.name)
        if len(operands) > 1:
            operands = {slot.name: operands[slot.name] for slot in record.operands if slot.name in operands}
        self._compute(statement, record, operands, attributes, pairs)

    def _compute(
        self,
        statement: Statement,
        record: Op,
        operands: dict[str, Operands],
        attributes: dict[str, Any],
        pairs: list[tuple[Any, Any]],
    ) -> None:
        types: dict[str, Any] = {
            key: tuple([value.type for value in found]) if isinstance(found, tuple) else found.type
            for key, found in operands.items()
        }
        span = self._span(statement.op)
        call = Call(record, types, dict(attributes), span)
        try:
            inferred = infer(call)
        except Failure:
            if not all(is_tensor(type) for found in types.values() for type in (found if found.__class__ is tuple else (found,))):
                self._opaque(statement, Form(record.since, record.until))
                return
            self._check_missing(statement, record, types, attributes)
            # Places are worth their price only where something is wrong.
            spans = {name: span for key, item in pairs for name, span in self._spans(str(key), item)}
            infer(Call(record, types, attributes, span, spans))
            raise
        values = self._results(statement, inferred)
        self.scope.nodes.append(Node(record, operands, call.attributes, values, span))

    def _spans(self, key: str, item: Any) -> list[tuple[str, Span]]:
        """The places of an argument, and of each of several values."""
        parts = item.items if isinstance(item, Several) else ()
        own = [(f"{key}[{index}]", self.places.span(part)) for index, part in enumerate(parts)]
        return [(key, self.places.span(item)), *own]

    def _span(self, token: Any) -> Span:
        start = getattr(token, "start_pos", None)
        return Span(self.places.source, 0, 0) if start is None else Span(self.places.source, start, token.end_pos)

    def _results(self, statement: Statement, inferred: tuple[TensorType, ...]) -> tuple[Value, ...]:
        """The values of the results: of the inferred types, which must be the declared ones."""
        results = statement.results
        if len(results) != 2 * len(inferred):
            from anedsl.diagnostics.artifacts import ResultCount

            span = self.places.span(*results, statement.op)
            raise Failure(ResultCount(span=span, op=statement.op, expected=len(inferred), found=len(results) // 2))
        values = []
        for index, type in enumerate(inferred):
            text, token = results[2 * index], results[2 * index + 1]
            declared = self.places.type(text)
            # The users of a result with a wrong declaration are read on with the type that it has.
            value = Value(type, str(token), self._span(token))
            self.scope.define(value.name, value, token)
            values.append(value)
            if declared != type and not fits(declared, type):
                label = Label(self._span(statement.op), f"`{statement.op}` gives `{type}`")
                self.sink.add(self._declared_otherwise(statement, index, type, label))
        return tuple(values)

    def _declared_otherwise(self, statement: Statement, index: int, found: TensorType, label: Label) -> Diagnostic:
        """ANE0476 at the declaration of a result."""
        from anedsl.diagnostics.artifacts import DeclaredType

        text, token = statement.results[2 * index], statement.results[2 * index + 1]
        place = self.places.span(text)
        return DeclaredType(
            span=place,
            related=(label,) if place.end else (),
            op=str(statement.op),
            name=str(token),
            declared=str(self.places.type(text)),
            inferred=str(found),
        )

    def _const(self, statement: Statement) -> None:
        found = [item for key, item in _all_pairs(statement) if key == "val"]
        if len(found) != 1 or len(statement.results) != 2:
            from anedsl.diagnostics.artifacts import InvalidConst

            raise Failure(InvalidConst(span=self.places.span(*statement.results, statement.op)))
        item = found[0] if isinstance(found[0], Literal) else Literal(statement.results[0], found[0])
        text, token = statement.results
        declared = self.places.type(text)
        if item.type is not None and not fits(declared, self.places.type(item.type)):
            label = Label(self.places.span(item.type), "has another type")
            raise Failure(self._declared_otherwise(statement, 0, self.places.type(item.type), label))
        resolved = resolve(item, self.places)
        if isinstance(resolved.value, InFile):
            self.scope.weights.data(resolved.value, resolved.type, self.places.span(item.payload))
        self.scope.define(str(token), Constant(str(token), resolved, self._span(token)), token)

    def _opaque(self, statement: Statement, form: Form) -> None:
        """An op that the records say nothing of: its results are what is declared."""
        operands: dict[str, Operands] = {}
        slots: dict[str, Attribute] = {}
        attributes: dict[str, Any] = {}
        pairs = [(key, item, "literal") for key, item in _pairs(statement, None)]
        pairs += [(key, item, "listed") for key, item in _listed(statement)]
        # The order of arguments means nothing; that of a record is not known.
        for key, item, kind in sorted(pairs, key=lambda pair: str(pair[0])):
            name = str(key)
            if name in operands or name in attributes:
                self._duplicate(statement, key)
            found = opaque_argument(self.scope, item) if kind == "literal" else literal(self.scope, item).resolved
            if isinstance(found, Resolved):
                slots[name] = Attribute(name, kind)
                attributes[name] = constant_of(found)
            else:
                operands[name] = found
        results = statement.results
        types = tuple(self._declared_type(text) for text in results[::2])
        span = self._span(statement.op)
        record = opaque_op(str(statement.op), operands, slots, types, span, form)
        self.scope.nodes.append(Node(record, operands, attributes, self._results(statement, types), span))

    # ---- what can be wrong ----

    def _duplicate(self, statement: Statement, key: Any) -> None:
        from anedsl.diagnostics.artifacts import DuplicateArgument

        raise Failure(DuplicateArgument(span=self.places.span(key), op=str(statement.op), name=str(key)))

    def _unknown(self, key: Any, record: Op) -> None:
        from anedsl.diagnostics.artifacts import UnknownArgument

        known = [*record.operand_index, *record.attribute_index]
        close = nearest(str(key), known)
        listed = ", ".join(f"`{name}`" for name in known)
        raise Failure(UnknownArgument(span=self.places.span(key), op=record.name, name=str(key), nearest=close, known=listed))

    def _check_missing(self, statement: Statement, record: Op, types: dict[str, Any], attributes: dict[str, Any]) -> None:
        missing = [slot.name for slot in record.operands if not slot.optional and slot.name not in types]
        missing += [slot.name for slot in record.attributes if slot.default is REQUIRED and slot.name not in attributes]
        if missing:
            from anedsl.diagnostics.artifacts import MissingArguments

            names = " and ".join(f"`{name}`" for name in missing)
            raise Failure(MissingArguments(span=self._span(statement.op), op=record.name, names=names))


def _all_pairs(statement: Statement) -> list[tuple[Any, Any]]:
    items = (*statement.arguments, *statement.attributes)
    return list(zip(items[::2], items[1::2], strict=True))


def _pairs(statement: Statement, record: Op | None) -> list[tuple[Any, Any]]:
    """Arguments by name, with those that stand in the attribute list.

    There `constexpr` ops have their operands up to ios17. Other attributes than an op's own say nothing of what a known op
    computes, and are left out; those of an unknown one are `_listed`.
    """
    items = statement.arguments
    found = list(zip(items[::2], items[1::2], strict=True))
    if statement.attributes:
        items = statement.attributes
        for key, item in zip(items[::2], items[1::2], strict=True):
            if key == "name" and (record is None or key not in record.attribute_index):
                continue
            known = record is not None and (key in record.operand_index or key in record.attribute_index)
            if known or statement.op.startswith("constexpr_"):
                found.append((key, item))
    return found


def _listed(statement: Statement) -> list[tuple[Any, Any]]:
    """The attribute list of an op that the compiler does not know, but for its name: it may say what the op computes."""
    if statement.op.startswith("constexpr_"):
        return []
    items = statement.attributes
    return [(key, item) for key, item in zip(items[::2], items[1::2], strict=True) if key != "name"]
