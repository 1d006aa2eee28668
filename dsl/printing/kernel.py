"""A graph as the text of a kernel.

A value that is used once, and that no author named, stands where it is used, as long as the line stays readable.
"""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from anedsl.data import Data
from anedsl.graph import Graph, Node, Value
from anedsl.passes.dead_code import eliminate_dead_code
from anedsl.passes.fold import fold_sources
from anedsl.printing.calls import expression, function_names
from anedsl.printing.constants import folded, literal, literals
from anedsl.printing.declarations import Declared, declarations, declared_weights
from anedsl.printing.expression import Text
from anedsl.printing.layout import INDENT, WIDTH, wrapped
from anedsl.printing.limits import check_expressible
from anedsl.printing.names import KEYWORDS, Names, is_generated, is_legal, legal
from anedsl.types import DTYPES, TensorType

MOST_OPS = 7
"""Ops in one expression: more are hard to read, also where they fit on a line."""


class Printed(NamedTuple):
    """The text of a kernel, and the numbers and types of its weights by the names that they have in it.

    `renamed` holds, by the name in the text, what an input, output or weight was called before.
    """

    text: str
    weights: Mapping[str, Data]
    types: Mapping[str, TensorType]
    renamed: Mapping[str, str]


def print_kernel(graph: Graph) -> str:
    """The text of a graph: elaborated again, it computes the same ops. Raises ANE0440 for what the language cannot say."""
    return printed(graph).text


def printed(graph: Graph, avoid: frozenset[str] = frozenset()) -> Printed:
    """As `print_kernel`, with the numbers of the weights, those of large unnamed consts among them.

    No weight gets one of the names to avoid.
    """
    graph = fold_sources(eliminate_dead_code(graph))
    check_expressible(graph)
    return _Printer(graph, avoid).print()


class _Printer:
    def __init__(self, graph: Graph, avoid: frozenset[str]) -> None:
        self.graph = graph
        self.avoid = avoid
        self.operations = graph.operations
        self.literals = literals(graph.constants, self.operations)
        self.exact = folded(self.operations, graph.constants)
        self.names = Names({*KEYWORDS, *DTYPES, *function_names(self.operations)})
        self.renamed: dict[str, str] = {}
        self.texts: dict[Value, Text] = {}
        self.pending: dict[Value, Text] = {}
        self.lines: list[str] = []
        self.outputs: dict[Value, str] = {}
        self.uses = Counter(value for node in self.operations for value in node.values)

    def print(self) -> Printed:
        graph = self.graph
        inputs = self._inputs()
        ports = self._outputs(inputs)
        # A pack is an input or output of the program: no value may have its name.
        packs = {pack.name: self.names.fresh(pack.name) for pack in (*graph.input_packs, *graph.output_packs)}
        weights = self._weights()
        for node in self.operations:
            self._node(node)
        for port, name in zip(graph.outputs, ports, strict=True):
            if self.outputs.get(port.value) != name and self._text(port.value).text != name:
                self._line(name, self._text(port.value).text)
        names = {port.name: name for port, name in zip(graph.inputs, inputs, strict=True)}
        outputs = {port.name: name for port, name in zip(graph.outputs, ports, strict=True)}
        head = declarations(graph, names, outputs, packs, weights, self.renamed)
        kernel = graph.name if is_legal(graph.name) else legal(graph.name)
        doc = [f"# {line}".rstrip() for line in graph.doc.splitlines()]
        if kernel != graph.name:
            doc.append(f"# was called {graph.name!r}")
        body = [*head, *([""] if self.lines else []), *self.lines]
        text = "\n".join([*doc, f"kernel {kernel} {{", *body, "}"]) + "\n"
        data = {weight.name: weight.data for weight in weights}
        return Printed(text, data, {weight.name: weight.type for weight in weights}, self.renamed)

    # ---- names ----

    def _inputs(self) -> list[str]:
        found = []
        for port in self.graph.inputs:
            name = self._port(port.name)
            self.texts[port.value] = Text(name)
            found.append(name)
        return found

    def _outputs(self, inputs: list[str]) -> list[str]:
        """The names of the outputs; an input that is passed on under its own name keeps it."""
        computed = {result for node in self.operations for result in node.results}
        passed = {port.name: (port.value, name) for port, name in zip(self.graph.inputs, inputs, strict=True)}
        found = []
        for port in self.graph.outputs:
            value, name = passed.get(port.name, (None, ""))
            if value is not port.value:
                name = self._port(port.name)
                if port.value in computed:
                    self.outputs.setdefault(port.value, name)
            found.append(name)
        return found

    def _port(self, wanted: str) -> str:
        name = self.names.fresh(wanted)
        if name != wanted:
            self.renamed[name] = wanted
        return name

    def _weights(self) -> list[Declared]:
        declared = [node for node in self.graph.constants if node.result not in self.literals]
        weights = declared_weights(declared, self.names, self.renamed, self.avoid, self.exact)
        for node, weight in zip(declared, weights, strict=True):
            self.texts[node.result] = Text(weight.name)
        return weights

    # ---- statements ----

    def _node(self, node: Node) -> None:
        build = self._builder(node)
        if len(node.results) > 1:
            targets = [self._name(value) for value in node.results]
            self._fit(node, build, len(", ".join(targets)))
            text = build()
            for value, name in zip(node.results, targets, strict=True):
                self.texts[value] = Text(name)
            self._line(", ".join(targets), text.text)
            return
        value = node.result
        output = self.outputs.get(value)
        if output is None and self.uses[value] == 1 and (not value.name or is_generated(value.name)):
            self._fit(node, build, 12)
            self.pending[value] = build()
            return
        self._fit(node, build, len(output or value.name))
        self._define(value, build())

    def _builder(self, node: Node) -> Callable[[], Text]:
        def build() -> Text:
            operands = {
                key: tuple(self._text(v) for v in operand) if isinstance(operand, tuple) else self._text(operand)
                for key, operand in node.operands.items()
            }
            return expression(node, operands, self.literals)

        return build

    def _fit(self, node: Node, build: Callable[[], Text], taken: int) -> None:
        """Gives operands statements of their own, the longest first, until the expression reads well."""
        for value in node.values:
            if value in self.literals and value.type.shape and self.uses[value] > 1 and value not in self.texts:
                self._define(value, self._literal(value))
        while True:
            text = build()
            inner = [value for value in node.values if value in self.pending]
            if not inner or (len(text.text) + taken + len(INDENT) + 3 <= WIDTH and text.ops <= MOST_OPS):
                return
            longest = max(inner, key=lambda value: (self.pending[value].ops, len(self.pending[value].text)))
            self._define(longest, self.pending.pop(longest))

    def _define(self, value: Value, text: Text) -> None:
        name = self.outputs.get(value) or self._name(value)
        self.texts[value] = Text(name)
        self._line(name, text.text)

    def _name(self, value: Value) -> str:
        name = self.outputs.get(value)
        if name is not None:
            return name
        if not self.uses[value] and value not in self.literals:
            return self.names.fresh(f"_{value.name or 'unused'}")
        return self.names.fresh(value.name) if value.name else self.names.numbered("t")

    def _line(self, target: str, text: str) -> None:
        self.lines.append(wrapped(f"{target} = {text}"))

    def _text(self, value: Value) -> Text:
        found = self.texts.get(value) or self.pending.get(value)
        return found if found is not None else self._literal(value)

    def _literal(self, value: Value) -> Text:
        return literal(self.literals[value], value.type, value in self.exact)
