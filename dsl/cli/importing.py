"""`anedsl import`."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import typer

from anedsl.cli import output, usage
from anedsl.data import Data, rounded
from anedsl.diagnostics import Failure
from anedsl.graph import Graph

if TYPE_CHECKING:
    from anedsl.codegen.reader import Module
    from anedsl.printing import Printed
    from anedsl.types import TensorType


class Weight(NamedTuple):
    """A weight of the imported kernels, under the one name that it has in all of them."""

    type: "TensorType"
    data: Data


class Imported(NamedTuple):
    """The text of all kernels, and the numbers of their weights."""

    text: str
    kernels: tuple[str, ...]
    weights: Mapping[str, Weight]
    dialect: str


def import_model(path: Path, out: Path | None, weights_out: Path | None, style: str) -> None:
    """Writes a compiled program as text of the language, to a file or to stdout, and its weights beside."""
    output.set_style(style)
    if weights_out is not None:
        weights_out = usage.npz(weights_out, "--weights-out")
    module = _read(path)
    _spare_source(module, path, {"-o": out, "--weights-out": weights_out})
    found = imported_module(module, path)
    if weights_out is not None:
        from anedsl.cli.running import save

        # Numbers are given as the program holds them: compiled again, they are the same bytes.
        save(weights_out, {name: _numbers(weight) for name, weight in found.weights.items()})
    if out is not None:
        write_text(out, found.text)
    if style == output.JSON:
        output.print_json(_as_json(found, out))
        return
    if out is None:
        sys.stdout.write(found.text)
    _notes(found, out, weights_out)


def imported(path: Path) -> Imported:
    """The kernels of a program, one for each function. Raises ANE0440 and what the reader raises."""
    return imported_module(_read(path), path)


def _read(path: Path) -> "Module":
    from anedsl.codegen.reader import read

    return _called(read(path), path)


def imported_module(module: "Module", path: Path) -> Imported:
    """The kernels of a program that was read from there."""
    weights: dict[str, Weight] = {}
    texts: list[str] = []
    names: list[str] = []
    for graph in logical_functions(module):
        shown = _printed(graph, weights, len(module.functions) > 1)
        names.append(graph.name)
        texts.append(shown.text)
    heading = f"# From {path.name}, in dialect {module.target}.\n\n"
    return Imported(heading + "\n".join(texts), tuple(names), weights, module.target)


def _spare_source(module: "Module", path: Path, written: Mapping[str, Path | None]) -> None:
    """A usage error where a file would be written over the program, one of its weight files, or the other file."""
    read = [path, *module.weights.files()]
    for option, target in written.items():
        if target is None or not target.exists():
            continue
        # What an earlier import wrote beside a program is none of it.
        within = path.is_dir() and target.resolve().is_relative_to(path.resolve()) and target.suffix not in (".ane", ".npz")
        if within or any(same_file(target, file) for file in read):
            raise typer.BadParameter(f"{target} belongs to the program that is read", param_hint=option)
    first, second = written.values()
    if first is not None and second is not None and first.resolve() == second.resolve():
        raise typer.BadParameter(f"the text is written to {first}", param_hint="--weights-out")


def same_file(a: Path, b: Path) -> bool:
    """Whether two names are of one file; a name of none is of none."""
    try:
        return a.samefile(b)
    except OSError:
        return False


def _called(module: "Module", path: Path) -> "Module":
    """A file `model.mil` says nothing of its kernel; the folder that it lies in does."""
    folder = path.resolve().parent.name
    return module.renamed(folder) if path.name == "model.mil" and folder else module


def logical_functions(module: "Module") -> list[Graph]:
    """The functions with their packs: those of the manifest, or where there is none, those that can be recognised."""
    from anedsl.codegen.logical import Sides, logical, recognized, tidied
    from anedsl.printing.names import Names

    names = Names(())
    found = []
    for graph in module.functions.values():
        if module.inputs is not None and module.outputs is not None and graph is module.main:
            sides = Sides(module.inputs, module.outputs)
        else:
            sides = recognized(graph)
        plain = tidied(logical(graph, sides))
        name = names.fresh(plain.name)
        doc = plain.doc if name == plain.name else f"{plain.doc}\nWas called {plain.name!r}.".strip()
        ports = (plain.inputs, plain.outputs, plain.nodes, plain.input_packs, plain.output_packs)
        found.append(Graph(name, *ports, plain.parameters, doc, plain.span))
    return found


def _printed(graph: Graph, weights: dict[str, Weight], shared: bool) -> "Printed":
    """The text of a kernel; a weight that another kernel has under its name, with other numbers, gets a name of its own."""
    from anedsl.printing import printed

    shown = printed(graph)
    if shared:
        taken = {
            name for name, data in shown.weights.items() if name in weights and not _same(weights[name], data, shown.types[name])
        }
        if taken:
            shown = printed(graph, avoid=frozenset(weights))
    for name, data in shown.weights.items():
        weights.setdefault(name, Weight(shown.types[name], data))
    return shown


def _same(known: Weight, data: Data, type: "TensorType") -> bool:
    if known.type != type:
        return False
    return known.data is data or _numbers(known).tobytes() == _numbers(Weight(type, data)).tobytes()


def _numbers(weight: Weight) -> Any:
    return np.ascontiguousarray(rounded(weight.data.load().reshape(weight.type.shape), weight.type.dtype))


def write_text(path: Path, text: str) -> None:
    """Writes beside and renames: an earlier file is whole until the new one is."""
    import os

    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except (OSError, ValueError) as error:
        with suppress(OSError, ValueError):
            beside.unlink()
        from anedsl.diagnostics.running import CannotSave

        raise Failure(
            CannotSave(path=str(path), reason=(getattr(error, "strerror", None) or "not a valid path").lower())
        ) from None


def _as_json(found: Imported, out: Path | None) -> dict[str, Any]:
    return {
        "path": None if out is None else str(out),
        "text": found.text if out is None else None,
        "dialect": found.dialect,
        "kernels": list(found.kernels),
        "weights": {name: str(weight.type) for name, weight in found.weights.items()},
        "diagnostics": [],
    }


def _notes(found: Imported, out: Path | None, weights_out: Path | None) -> None:
    count = len(found.weights)
    if out is not None:
        sys.stderr.write(f"{out}: {', '.join(found.kernels)}\n")
    if count and weights_out is None:
        what = "a weight" if count == 1 else f"{count} weights"
        sys.stderr.write(f"note: the numbers of {what} are not in the text: `--weights-out FILE.npz` saves them\n")
    elif count and out is not None:
        dialect = "" if found.dialect == "1.3" else f" --dialect {found.dialect}"
        sys.stderr.write(f"compile it with: anedsl compile {out} --weights {weights_out}{dialect}\n")
