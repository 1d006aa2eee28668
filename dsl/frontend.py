"""From a file to an optimised graph: what every command and the Python interface share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from anedsl.compression import StoredData, forget
from anedsl.data import Data, RandomData, WeightData
from anedsl.diagnostics import Diagnostic, Failure, Sink, nearest
from anedsl.elaborate.kernel import elaborate
from anedsl.elaborate.modules import LoadedModule, load
from anedsl.graph import CONST, Graph, Node
from anedsl.passes import optimize
from anedsl.passes.dead_code import eliminate_dead_code
from anedsl.passes.stored import UnstoredData
from anedsl.source import Span

if TYPE_CHECKING:
    from anedsl.weights import Declared, Source


class DeclaredWeight(NamedTuple):
    """A weight of a kernel: its data is bound before anything is computed from it."""

    data: WeightData
    members: int
    used: bool


class Program(NamedTuple):
    """A kernel with its parameters decided."""

    graph: Graph
    weights: tuple[DeclaredWeight, ...]
    sha256: str
    """Of the source text and of all that it imports."""


def load_file(path: Path) -> LoadedModule:
    """A file that holds something. Raises `Failure` (01xx, 02xx)."""
    module = load(path)
    if not (module.tree.kernels or module.tree.functions or module.tree.imports):
        raise Failure(_empty(module))
    return module


def _empty(module: LoadedModule) -> Diagnostic:
    from anedsl.diagnostics.syntax import EmptyFile

    return EmptyFile(span=Span(module.source, 0, 0), path=module.source.name)


def choose(module: LoadedModule, names: Sequence[str]) -> list[str]:
    """The kernels of those names, or all of the file. Raises `Failure` (0105, 0235)."""
    known = list(module.kernels)
    if not known:
        raise Failure(_empty(module))
    for name in names:
        if name not in known:
            from anedsl.diagnostics.names import UnknownKernel

            listed = ", ".join(f"`{k}`" for k in known)
            raise Failure(UnknownKernel(path=module.source.name, name=name, nearest=nearest(name, known), known=listed))
    return list(dict.fromkeys(names)) or known


def build(module: LoadedModule, kernel: str, parameters: Mapping[str, Any], sink: Sink) -> Program:
    """Elaborates and optimises a kernel. Problems go to `sink`; raises `Failure` where there is an error."""
    graph = elaborate(module, kernel, parameters, sink)
    optimized = optimize(graph)
    _warn_storage_lost(optimized, sink)
    return Program(optimized, _declared(graph), source_hash(module))


def _warn_storage_lost(optimized: Graph, sink: Sink) -> None:
    """Compressed weights that compile-time arithmetic has turned into other tensors; each is said once."""
    said: set[str] = set()
    for node in optimized.constants:
        data = node.attributes["val"]
        for stored, op, span in data.lost if isinstance(data, UnstoredData) else ():
            name = stored.weight.name
            if name in said:
                continue
            said.add(name)
            from anedsl.diagnostics.names import StorageLost

            sink.add(StorageLost(span=span, name=name, storage=str(stored.storage), op=op))


def source_hash(module: LoadedModule) -> str:
    digest = hashlib.sha256(module.source.text.encode())
    for text in module.text_hash_parts:
        digest.update(b"\0" + text.encode())
    return digest.hexdigest()


def _declared(graph: Graph) -> tuple[DeclaredWeight, ...]:
    used = {id(node) for node in eliminate_dead_code(graph).nodes}
    families: dict[str, int] = {}
    nodes = [node for node in graph.nodes if node.op is CONST and "weight" in node.attributes]
    for node in nodes:
        family = node.attributes["weight"].name.partition("[")[0]
        families[family] = families.get(family, 0) + 1
    return tuple(
        DeclaredWeight(_weight_data(node), families[node.attributes["weight"].name.partition("[")[0]], id(node) in used)
        for node in nodes
    )


def _weight_data(node: Node) -> WeightData:
    data = node.attributes["val"]
    found = data.source if isinstance(data, StoredData) else data
    assert isinstance(found, WeightData)
    return found


def bind_weights(
    program: Program, sources: Sequence[Source] = (), mapping: Mapping[str, str] | None = None, random: int | None = None
) -> None:
    """Gives every declared weight its data.

    With a seed in `random`, weights that have neither data nor initialiser are drawn at random. Otherwise raises `Failure`
    (04xx) where one that is used has none.
    """
    forget()
    for weight in program.weights:
        weight.data.bound = None
    missing = [w for w in program.weights if w.used and w.data.initial is None]
    found: dict[str, Data] = {}
    if sources or mapping or (missing and random is None):
        from anedsl.weights import bind

        found = bind(weight_declarations(program.weights, optional=random is not None), sources, mapping)
    for weight in program.weights:
        weight.data.bound = found.get(weight.data.name)
    if random is not None:
        for weight in missing:
            if weight.data.bound is None:
                weight.data.bound = RandomData(weight.data.name, weight.data.type, random)


def weight_declarations(weights: Iterable[DeclaredWeight], optional: bool = False) -> list[Declared]:
    """What the search for weights in files is told of them; optional ones may be left out."""
    from anedsl.weights import Declared

    return [
        Declared(
            w.data.name,
            w.data.type,
            w.data.span,
            optional or w.data.initial is not None or not w.used,
            w.members if "[" in w.data.name else None,
        )
        for w in weights
    ]
