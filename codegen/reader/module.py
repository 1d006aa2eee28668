"""What a model's text or package holds, once it was read."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from anedsl.codegen.legalize import OPSET_OF, OPSETS
from anedsl.codegen.packs import Surface
from anedsl.codegen.program import InFile
from anedsl.codegen.reader.function import read_function
from anedsl.codegen.reader.literals import plain
from anedsl.codegen.reader.places import Places
from anedsl.codegen.reader.weights import Declared, Weights
from anedsl.codegen.reader.written import Function, Written
from anedsl.diagnostics import Failure, Sink
from anedsl.graph import Graph
from anedsl.source import Source

MAX_TEXT = 64 << 20
"""Characters of MIL text."""


class Module(NamedTuple):
    """A program: its functions as physical graphs, whose inputs and outputs are surfaces.

    `dialect` is the version in the header, `opsets` the opset of each function. `attributes` and `function_attributes`
    hold what the program and each function say of themselves, in Python's terms. `inputs` and `outputs` are the surfaces
    with the logical ports in them where a manifest lists them, else None.
    """

    name: str
    functions: dict[str, Graph]
    dialect: str
    opsets: dict[str, str]
    attributes: dict[str, Any]
    function_attributes: dict[str, dict[str, Any]]
    weights: Weights
    inputs: tuple[Surface, ...] | None = None
    outputs: tuple[Surface, ...] | None = None

    @property
    def target(self) -> str:
        """The dialect to compile a kernel for that is to be this program again: the nearest one that is emitted."""
        return nearest_dialect(self.dialect, self.opsets.values())

    @property
    def main(self) -> Graph:
        """The function `main`, or the first one."""
        return self.functions.get("main") or next(iter(self.functions.values()))

    def renamed(self, name: str) -> "Module":
        """The same with another name for the program and its function `main`."""
        functions = {key: _renamed(graph, name) if key == "main" else graph for key, graph in self.functions.items()}
        return self._replace(name=name, functions=functions)


def nearest_dialect(version: str, opsets: Iterable[str]) -> str:
    """The dialect that is emitted for a program of this version: an older text becomes the older one, if that has its ops."""
    oldest, newest = OPSET_OF
    known = OPSETS[: OPSETS.index(OPSET_OF[oldest]) + 1]
    return oldest if _numbers(version) < _numbers(newest) and all(opset in known for opset in opsets) else newest


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def _renamed(graph: Graph, name: str) -> Graph:
    return Graph(name, graph.inputs, graph.outputs, graph.nodes, span=graph.span)


def read_text(
    text: str, name: str = "model.mil", folder: Path | None = None, declared: Mapping[InFile, Declared] | None = None
) -> Module:
    """The program of a MIL text; `name` is what diagnostics show, `folder` what `@model_path` stands for,
    `declared` what a manifest says of weights by their place.

    Names of inputs and outputs are the program's own: what was packed stays packed.
    Weight files are opened when their numbers are asked for. Raises 0460 to 0475 with every error that can be told
    apart, and 02xx where an op's type rule is not kept.
    """
    from anedsl.codegen.reader.syntax import parse

    if len(text) > MAX_TEXT:
        from anedsl.diagnostics.artifacts import TextTooLarge

        raise Failure(TextTooLarge(path=name, size=len(text), limit=MAX_TEXT))
    source = Source(name, text or "\n")  # what a text without lines lacks is missing in the first one
    stem = name.replace("\\", "/").rpartition("/")[2].partition(".")[0]
    return module(parse(source), source, stem, Weights(folder, declared))


def module(written: Written, source: Source, name: str, weights: Weights) -> Module:
    """The typed program of a written one. The graph of `main` is called `name`."""
    places, sink = Places(source), Sink()
    graphs: dict[str, Graph] = {}
    seen: set[str] = set()
    for function in written.functions:
        own = str(function.name)
        if own in seen:
            _repeated(function, places, sink)
        seen.add(own)
        graph = read_function(function, name if own == "main" and name else own, places, weights, sink)
        if graph is not None:
            graphs[own] = graph
    sink.raise_errors()
    opsets = {str(function.name): function.opset for function in written.functions}
    own_attributes = {str(function.name): _attributes(function.attributes) for function in written.functions}
    return Module(name, graphs, written.dialect, opsets, _attributes(written.attributes), own_attributes, weights)


def _attributes(items: Sequence[Any]) -> dict[str, Any]:
    return {str(key): plain(value) for key, value in zip(items[::2], items[1::2], strict=True)}


def _repeated(function: Function, places: Places, sink: Sink) -> None:
    from anedsl.diagnostics.artifacts import Redefined

    sink.add(Redefined(span=places.span(function.name), name=str(function.name)))
