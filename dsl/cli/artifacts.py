"""Compiled programs for `run` and `diff`: read, with the ports that are packed in their surfaces."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anedsl.diagnostics import Diagnostic, Failure, nearest
from anedsl.graph import Graph, Node
from anedsl.passes.dead_code import eliminate_dead_code
from anedsl.running import check_whole

if TYPE_CHECKING:
    from anedsl.cli.running import RunRequest
    from anedsl.codegen.logical import Sides
    from anedsl.codegen.reader import Module
    from anedsl.frontend import Program


class Compiled(NamedTuple):
    """A function of a compiled program, as it was written, and the ports in its surfaces where a manifest says so.

    `dialect` is the one that a source is compiled for to be compared with it.
    """

    physical: Graph
    sides: "Sides"
    dialect: str
    opset: str

    @property
    def graph(self) -> Graph:
        """The function with logical inputs and outputs, to be run."""
        from anedsl.codegen.logical import logical

        return logical(self.physical, self.sides)


def is_compiled(path: Path) -> bool:
    """Whether a path is that of a compiled program, and not of a source."""
    return path.suffix.lower() in (".mil", ".mlpackage") or path.is_dir()


def functions(path: Path) -> dict[str, Compiled]:
    """The functions of a program by name; `main` goes by the kernel's name."""
    from anedsl.codegen.reader import read

    module = read(path)
    return {
        graph.name: Compiled(graph, _sides(module, graph), module.target, module.opsets[own])
        for own, graph in module.functions.items()
    }


def _sides(module: "Module", graph: Graph) -> "Sides":
    from anedsl.codegen.logical import Sides, plain

    if graph is module.main and module.inputs is not None and module.outputs is not None:
        return Sides(module.inputs, module.outputs)
    return plain(graph)


def chosen(path: Path, kernel: str | None) -> Compiled:
    """The function of that name, or the only one. Raises ANE0235, and a usage error where one of several has to be named."""
    found = functions(path)
    if kernel is None:
        if len(found) > 1:
            import typer

            raise typer.BadParameter(f"{path} has several kernels: name one of {', '.join(found)}", param_hint="KERNEL")
        return next(iter(found.values()))
    if kernel not in found:
        from anedsl.diagnostics.names import UnknownKernel

        listed = ", ".join(f"`{name}`" for name in found)
        raise Failure(UnknownKernel(path=str(path), name=kernel, nearest=nearest(kernel, found), known=listed))
    return found[kernel]


def program(request: "RunRequest") -> "Program":
    """The function to run. Raises ANE0508 for a folder that holds no program, and ANE0482 for one with unknown ops."""
    from anedsl.cli import usage
    from anedsl.frontend import Program

    usage.refuse({"-D": request.define, "--weights": request.weights, "--map": request.map}, usage.COMPILED)
    path = request.target
    if path.is_dir() and not any((path / name).exists() for name in ("kernel.json", "Manifest.json")):
        from anedsl.codegen.reader.reading import text_in
        from anedsl.diagnostics.running import UnsupportedTarget

        reason, text = "the folder is neither an artifact nor an mlpackage", text_in(path)
        advice = "name the folder that `compile` wrote: DIR/KERNEL" if text is None else f"give `{text}`"
        raise Failure(UnsupportedTarget(path=str(path), reason=reason, advice=advice))
    graph = eliminate_dead_code(chosen(path, request.kernel).graph)
    _check_computable(graph, path)
    return Program(graph, (), "")


def opaque(graph: Graph) -> dict[str, Node]:
    """The ops without a record that the outputs or states of a graph need, each by its name."""
    found: dict[str, Node] = {}
    for node in eliminate_dead_code(graph).operations:
        if node.op.opaque:
            found.setdefault(node.op.name, node)
    return found


def _check_computable(graph: Graph, path: Path) -> None:
    """Before inputs are asked for. Raises ANE0482 for each op without a record, ANE0508 for an input that is no tensor."""
    from anedsl.codegen.mil_types import is_tensor

    problems: list[Diagnostic] = []
    for node in opaque(graph).values():
        try:
            node.op.reference()
        except Failure as failure:
            problems.extend(failure.diagnostics)
    others = [port for port in graph.inputs if not is_tensor(port.value.type)]
    if others and not problems:
        from anedsl.diagnostics.running import UnsupportedTarget

        reason = f"its input `{others[0].name}` is of type `{others[0].value.type}`, and not a tensor of known sizes"
        problems.append(UnsupportedTarget(span=others[0].span, path=str(path), reason=reason))
    if problems:
        raise Failure(*problems)


def split_packs(graph: Graph, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays by input; one that goes by the name of a pack is cut into the inputs in it.

    Raises ANE0503 for the wrong shape, and ANE0514 where an input in it is given as well.
    """
    ports = {port.name: port for port in graph.inputs}
    found = dict(arrays)
    for pack in graph.input_packs:
        if pack.name in ports or pack.name not in found:
            continue
        if both := [member for member in pack.members if member in arrays]:
            from anedsl.diagnostics.running import GivenTwice

            raise Failure(GivenTwice(span=pack.span, pack=pack.name, members=", ".join(f"`{name}`" for name in both)))
        shapes = {member: ports[member].value.type.shape for member in pack.members}
        whole = np.asarray(found[pack.name])
        check_whole(pack.name, whole.shape, shapes, pack.axis, pack.span)
        sizes = [shape[pack.axis] for shape in shapes.values()]
        del found[pack.name]
        parts = np.split(whole, np.cumsum(sizes)[:-1].tolist(), axis=pack.axis)
        for member, part in zip(pack.members, parts, strict=True):
            found[member] = part
    return found
