"""Compiled programs for `run` and `diff`: read, with the ports that are packed in their surfaces."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anedsl.diagnostics import Failure, nearest
from anedsl.graph import Graph

if TYPE_CHECKING:
    from anedsl.cli.running import RunRequest
    from anedsl.codegen.logical import Sides
    from anedsl.codegen.reader import Module
    from anedsl.frontend import Program


class Compiled(NamedTuple):
    """A function of a compiled program, as it was written, and the ports in its surfaces where a manifest says so."""

    physical: Graph
    sides: "Sides"
    dialect: str

    @property
    def graph(self) -> Graph:
        """The function with logical inputs and outputs, to be run."""
        from anedsl.codegen.logical import logical

        return logical(self.physical, self.sides)


def is_compiled(path: Path) -> bool:
    """Whether a path is that of a compiled program, and not of a source."""
    return path.suffix in (".mil", ".mlpackage") or path.is_dir()


def functions(path: Path) -> dict[str, Compiled]:
    """The functions of a program by name; `main` goes by the kernel's name."""
    from anedsl.codegen.reader import read

    module = read(path)
    return {graph.name: Compiled(graph, _sides(module, graph), module.dialect) for graph in module.functions.values()}


def _sides(module: "Module", graph: Graph) -> "Sides":
    from anedsl.codegen.logical import Sides, plain

    if graph is module.main and module.inputs is not None and module.outputs is not None:
        return Sides(module.inputs, module.outputs)
    return plain(graph)


def chosen(path: Path, kernel: str | None) -> Compiled:
    """The function of that name, or the only one. Raises ANE0235."""
    found = functions(path)
    if kernel is None and len(found) == 1:
        return next(iter(found.values()))
    if kernel is None or kernel not in found:
        from anedsl.diagnostics.names import UnknownKernel

        listed = ", ".join(f"`{name}`" for name in found)
        close = None if kernel is None else nearest(kernel, found)
        raise Failure(UnknownKernel(path=str(path), name=kernel or "", nearest=close, known=listed))
    return found[kernel]


def program(request: "RunRequest") -> "Program":
    """The function to run. Raises ANE0508 for a folder that holds no program."""
    import typer

    from anedsl.frontend import Program

    for option, given in (("-D", request.define), ("--weights", request.weights), ("--map", request.map)):
        if given:
            raise typer.BadParameter("what is compiled already has its parameters and weights", param_hint=option)
    path = request.target
    if path.is_dir() and not any((path / name).exists() for name in ("kernel.json", "Manifest.json")):
        from anedsl.diagnostics.running import UnsupportedTarget

        reason = "the folder is neither an artifact nor an mlpackage"
        raise Failure(UnsupportedTarget(path=str(path), reason=reason, advice="name the folder that `compile` wrote: DIR/KERNEL"))
    return Program(chosen(path, request.kernel).graph, (), "")


def split_packs(graph: Graph, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays by input; one that goes by the name of a pack is cut into the inputs in it."""
    ports = {port.name: port for port in graph.inputs}
    found = dict(arrays)
    for pack in graph.input_packs:
        if pack.name in ports or pack.name not in found:
            continue
        sizes = [ports[member].value.type.shape[pack.axis] for member in pack.members]
        whole = np.asarray(found[pack.name])
        first = ports[pack.members[0]].value.type.shape
        if whole.shape != (*first[: pack.axis], sum(sizes), *first[pack.axis + 1 :]):
            continue  # reported as an input that the kernel does not have
        del found[pack.name]
        parts = np.split(whole, np.cumsum(sizes)[:-1].tolist(), axis=pack.axis)
        for member, part in zip(pack.members, parts, strict=True):
            found.setdefault(member, part)
    return found
