"""Where an expression is evaluated: the names it sees, and the kernel it adds to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anedsl.diagnostics import Diagnostic, Failure, Sink
from anedsl.elaborate.builder import GraphBuilder
from anedsl.elaborate.scope import Scope
from anedsl.elaborate.values import ConstTensor
from anedsl.ops.call import MAX_CONST_ELEMENTS
from anedsl.source import Span
from anedsl.syntax.tokens import MAX_NESTING

if TYPE_CHECKING:
    from anedsl.elaborate.declarations import Declarations
    from anedsl.elaborate.modules import LoadedModule

MAX_STATEMENTS = 150_000
MAX_ERRORS = 20
MAX_LIST_VALUES = 2_000_000
"""How many values the lists of a kernel may hold together, each counted wherever a list holds it."""
MAX_LIST_NESTING = 32
MAX_COMPUTED = MAX_CONST_ELEMENTS
"""How many elements the compile-time tensors that a kernel computes may have together: no more than one of them alone."""


class Elaboration:
    """One kernel while it is elaborated: its graph, its problems, and what it may still spend."""

    def __init__(self, sink: Sink) -> None:
        self.builder = GraphBuilder(sink.add)
        self.sink = sink
        self.statements = 0
        self.depth = 0
        self.list_values = 0
        self.elements = 0

    def report(self, diagnostic: Diagnostic) -> None:
        """Adds a problem; ends the kernel where there are too many to be read."""
        self.sink.add(diagnostic)
        if len(self.sink.errors) > MAX_ERRORS:
            from anedsl.diagnostics.syntax import TooManyErrors

            raise Failure(TooManyErrors(span=diagnostic.span, limit=MAX_ERRORS))

    def enter(self, span: Span) -> None:
        """One level deeper in an expression, a block or a call."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            from anedsl.diagnostics.syntax import NestedTooDeep

            raise Failure(NestedTooDeep(span=span, limit=MAX_NESTING))

    def leave(self) -> None:
        self.depth -= 1

    def count_statement(self, span: Span, cost: int = 1) -> None:
        self.statements += cost
        if self.statements > MAX_STATEMENTS:
            from anedsl.diagnostics.names import ProgramTooLarge

            raise Failure(ProgramTooLarge(span=span, limit=MAX_STATEMENTS, what="compile-time statements"))

    def counted(self, value: Any, span: Span) -> Any:
        """A value that was just made: lists that share parts would otherwise grow without bound in a few lines."""
        if isinstance(value, tuple):
            self._count_list(value, span, MAX_LIST_NESTING)
        elif isinstance(value, str):
            self._spend(len(value), span)
        elif isinstance(value, ConstTensor):
            self.count_elements(value.array.size, span)
        return value

    def count_elements(self, count: int, span: Span) -> None:
        """What is computed at compile time takes time with every element."""
        self.elements += count
        if self.elements > MAX_COMPUTED:
            from anedsl.diagnostics.names import ProgramTooLarge

            raise Failure(ProgramTooLarge(span=span, limit=MAX_COMPUTED, what="elements computed at compile time"))

    def _count_list(self, items: tuple[Any, ...], span: Span, levels: int) -> None:
        if levels == 0:
            from anedsl.diagnostics.syntax import NestedTooDeep

            raise Failure(NestedTooDeep(span=span, limit=MAX_LIST_NESTING))
        self._spend(len(items), span)
        for item in items:
            if isinstance(item, tuple):
                self._count_list(item, span, levels - 1)

    def _spend(self, count: int, span: Span) -> None:
        self.list_values += count
        if self.list_values > MAX_LIST_VALUES:
            from anedsl.diagnostics.names import ProgramTooLarge

            raise Failure(ProgramTooLarge(span=span, limit=MAX_LIST_VALUES, what="values in lists and strings"))


class Frame:
    """A scope with its surroundings. `call` is the place that called the function this frame belongs to."""

    __slots__ = ("call", "callers", "declarations", "elaboration", "module", "scope")

    def __init__(
        self,
        elaboration: Elaboration,
        module: LoadedModule,
        scope: Scope,
        *,
        call: Span | None = None,
        callers: tuple[str, ...] = (),
        declarations: Declarations | None = None,
    ) -> None:
        self.elaboration = elaboration
        self.module = module
        self.scope = scope
        self.call = call
        self.callers = callers
        self.declarations = declarations

    @property
    def builder(self) -> GraphBuilder:
        return self.elaboration.builder

    def turn(self) -> Frame:
        """A frame for one turn of a loop."""
        return Frame(
            self.elaboration,
            self.module,
            Scope(self.scope),
            call=self.call,
            callers=self.callers,
            declarations=self.declarations,
        )

    def at(self, span: Span) -> Span:
        """A place in this frame's text, with the call it was inlined at."""
        return span if self.call is None else span._replace(call=self.call)
