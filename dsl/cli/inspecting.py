"""`anedsl inspect`."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from anedsl.cli import output
from anedsl.diagnostics import Diagnostic, Failure, Sink, counted

if TYPE_CHECKING:
    from anedsl.codegen.packs import Surface
    from anedsl.codegen.reader import Module
    from anedsl.codegen.reader.blob_reader import Chunk, WeightFile
    from anedsl.codegen.reader.weights import FileData
    from anedsl.graph import Graph, Node
    from anedsl.types import TensorType

PIECE = 1 << 22
"""Bytes that are hashed at a time."""

MISSING = "ANE0479"
"""A weight file that is not there is no error: a program is often looked at without its weights."""


def inspect_target(path: Path, style: str) -> None:
    """Shows what a model or a weight file holds.

    A weight file that is missing is named as such; one that is malformed is reported after everything else.
    """
    output.set_style(style)
    sink = Sink()
    content = _weight_file(path) if path.suffix.lower() == ".bin" and path.is_file() else _model(path, sink)
    if style == output.JSON:
        output.print_json({**content, "diagnostics": output.diagnostics_json(sink.diagnostics)} if sink.diagnostics else content)
    elif content["kind"] == "weights":
        sys.stdout.write(_chunks_text(content))
    else:
        sys.stdout.write(_model_text(content))
    if sink.diagnostics and style == output.JSON:
        raise typer.Exit(1)
    sink.raise_errors()


# ---- a weight file ----


def _weight_file(path: Path) -> dict[str, Any]:
    from anedsl.codegen.reader.blob_reader import WeightFile

    file = WeightFile(path)
    found = file.chunks()
    chunks = [
        {
            "offset": chunk.offset,
            "dtype": chunk.dtype,
            "elements": chunk.elements,
            "data_offset": chunk.data_offset,
            "bytes": chunk.bytes,
            "sha256": _hash(file, chunk),
        }
        for chunk in found
    ]
    totals = {"chunks": len(chunks), "bytes": sum(chunk.bytes for chunk in found), "file_bytes": file.size}
    return {"kind": "weights", "path": str(path), "chunks": chunks, "totals": totals}


def _hash(file: WeightFile, chunk: Chunk) -> str:
    """SHA-256 of the data, as the manifest has it."""
    found = hashlib.sha256()
    for piece in file.data(chunk).region.pieces(0, chunk.bytes, PIECE):
        found.update(piece)
    return found.hexdigest()


_CHUNK = {
    "offset": "offset",
    "dtype": "type",
    "elements": "elements",
    "data_offset": "data at",
    "bytes": "bytes",
    "sha256": "sha256",
}
"""The columns of a weight file's table: the field, and its heading."""


def _chunks_text(content: dict[str, Any]) -> str:
    rows = [[str(chunk[key]) for key in _CHUNK] for chunk in content["chunks"]]
    totals = content["totals"]
    end = f"\n{counted(totals['chunks'], 'chunk')}, {totals['bytes']} bytes of data, {totals['file_bytes']} bytes in all\n"
    return output.table([list(_CHUNK.values()), *rows], frozenset({0, 2, 3, 4})) + end


# ---- a program ----


def _model(path: Path, sink: Sink) -> dict[str, Any]:
    from anedsl.codegen.reader import read

    module = read(path)
    functions = {name: _function(module, name, graph, sink) for name, graph in module.functions.items()}
    return {
        "kind": "program",
        "path": str(path),
        "name": module.name,
        "dialect": module.dialect,
        "attributes": module.attributes,
        "functions": functions,
    }


def _function(module: Module, name: str, graph: Graph, sink: Sink) -> dict[str, Any]:
    from anedsl.graph import call_of

    operations = graph.operations
    kinds = Counter(node.op.name for node in operations)
    weights = [weight for node in graph.constants if (weight := _weight(node, module, sink)) is not None]
    known = [node for node in operations if not node.op.opaque]
    return {
        "opset": module.opsets[name],
        "attributes": module.function_attributes[name],
        "inputs": _ports(graph.inputs, module.inputs if graph is module.main else None),
        "outputs": _ports(graph.outputs, module.outputs if graph is module.main else None),
        "ops": dict(sorted(kinds.items())),
        "opaque": sorted({node.op.name for node in operations if node.op.opaque}),
        "unknown_sizes": sorted({node.op.name for node in operations if node.op.opaque and _unsized(node)}),
        "weights": weights,
        "totals": {
            "ops": len(operations),
            "weights": len(weights),
            "weight_bytes": sum(weight["bytes"] for weight in weights),
            "flops": sum(node.op.flops(call_of(node), [value.type for value in node.results]) for node in known),
        },
    }


def _unsized(node: Node) -> bool:
    """Whether an op has a record, which only lacks the sizes of its tensors."""
    from anedsl.codegen.mil_types import compound_kind, is_tensor
    from anedsl.ops import OPS

    types = [value.type for value in (*node.values, *node.results)]
    return node.op.name in OPS and any(not is_tensor(type) and compound_kind(type) == "tensor" for type in types)


def _bytes(type: TensorType) -> int | None:
    """The bytes of a tensor, or of the one in a state; None where they are not known."""
    from anedsl.codegen.mil_types import compound, is_state, is_tensor

    if is_state(type):
        [type] = compound(type.dtype).parts
    return type.bytes if is_tensor(type) else None


def _ports(ports: Any, surfaces: tuple[Surface, ...] | None) -> list[dict[str, Any]]:
    """The ports of a function, each with the logical ones in it where they are known."""
    places = {surface.name: surface.places for surface in surfaces or ()}
    return [
        {
            "name": port.name,
            "type": str(port.value.type),
            "bytes": _bytes(port.value.type),
            "members": [
                {"name": place.name, "type": str(place.type), "axis": place.axis, "start": place.start, "size": place.size}
                for place in places.get(port.name, ())
            ],
        }
        for port in ports
    ]


def _weight(node: Node, module: Module, sink: Sink) -> dict[str, Any] | None:
    """A const whose numbers are in a file."""
    from anedsl.codegen.program import InFile
    from anedsl.codegen.reader.weights import ROOT, FileData

    data = node.attributes["val"]
    if not isinstance(data, FileData):
        return None
    weight = node.attributes.get("weight")
    said = module.weights.declared.get(InFile(ROOT + data.path, data.offset))
    sha256, problem = _weight_hash(data)
    if problem is not None and problem.code != MISSING:
        sink.add(problem)
    return {
        "name": weight.name if weight else node.result.name,
        "dtype": node.result.type.dtype.name,
        "shape": list(node.result.type.shape),
        "file": data.path,
        "offset": data.offset,
        "bytes": node.result.type.bytes,
        "stored": said.stored if said else None,
        "error": said.error if said else None,
        "sha256": sha256,
        "problem": problem.code if problem is not None else None,
    }


def _weight_hash(data: FileData) -> tuple[str | None, Diagnostic | None]:
    """The hash of the numbers, or why there is none."""
    try:
        file, chunk = data.opened()
        return _hash(file, chunk), None
    except Failure as failure:
        return None, failure.diagnostics[0]


def _model_text(content: dict[str, Any]) -> str:
    parts = [f"{content['path']}: program {content['name']}, dialect {content['dialect']}\n"]
    for name, function in content["functions"].items():
        parts.append(f"\nfunction {name}, opset {function['opset']}\n")
        parts.append("\n" + _ports_text("input", function["inputs"]))
        parts.append("\n" + _ports_text("output", function["outputs"]))
        rows = [[kind, str(count)] for kind, count in function["ops"].items()]
        if rows:
            parts.append("\n" + output.table([["op", "count"], *rows], frozenset({1})))
        if function["weights"]:
            parts.append("\n" + _weights_text(function["weights"]))
        totals = function["totals"]
        least = "at least " if function["opaque"] else ""
        work = f"{least}{output.quantity(totals['flops'])} arithmetic operations"
        held = f"{counted(totals['weights'], 'weight')} with {totals['weight_bytes']} bytes"
        parts.append(f"\n{counted(totals['ops'], 'op')}, {work}, {held}\n")
        unsized = function["unknown_sizes"]
        if others := [name for name in function["opaque"] if name not in unsized]:
            parts.append(f"without a record, and not computed: {', '.join(others)}\n")
        if unsized:
            parts.append(f"on tensors of unknown sizes, and not computed: {', '.join(unsized)}\n")
    return "".join(parts)


def _ports_text(side: str, ports: list[dict[str, Any]]) -> str:
    rows = [[side, "type", "bytes", "in it"]]
    for port in ports:
        alone = [member["name"] for member in port["members"]] in ([], [port["name"]])
        members = "" if alone else ", ".join(f"{m['name']} [{m['start']}:{m['start'] + m['size']}]" for m in port["members"])
        along = f" along {port['members'][0]['axis']}" if members else ""
        size = "unknown" if port["bytes"] is None else str(port["bytes"])
        rows.append([port["name"], port["type"], size, members + along])
    return output.table(rows, frozenset({2}))


_UNREAD = {MISSING: "(no file)", "ANE0480": "(malformed)", "ANE0481": "(of another type)"}
"""What stands for the hash of numbers that could not be read."""


def _weights_text(weights: list[dict[str, Any]]) -> str:
    from anedsl.cli.compressed import percent

    rows = [["weight", "type", "file", "offset", "bytes", "stored", "error", "sha256"]]
    for w in weights:
        type = f"{w['dtype']}{w['shape']}"
        numbers = w["sha256"] or _UNREAD.get(w["problem"], "(not read)")
        lost = "" if w["error"] is None else percent(w["error"])
        rows.append([w["name"], type, w["file"], str(w["offset"]), str(w["bytes"]), w["stored"] or "", lost, numbers])
    if not any(w["stored"] for w in weights):
        rows = [[*row[:5], *row[7:]] for row in rows]
        return output.table(rows, frozenset({3, 4}))
    held = output.table(rows, frozenset({3, 4, 6}))
    return f"{held}the error is the largest one, relative to the largest magnitude of the weight\n"
