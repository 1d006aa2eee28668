"""`kernel.json`: how to bind and feed a kernel, for the runner and for hosts in other languages."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from anedsl.codegen.blob import Written
from anedsl.codegen.mil_text import BlobPlace
from anedsl.codegen.options import Options
from anedsl.codegen.packs import Lowered, Place, Surface
from anedsl.codegen.program import Program
from anedsl.codegen.stored import MAIN_PARTS, PartData
from anedsl.codegen.version import VERSION
from anedsl.compression import errors
from anedsl.data import Data
from anedsl.graph import Graph, call_of
from anedsl.types import TensorType

FILE = "kernel.json"
FORMAT = "anedsl-kernel"
FORMAT_VERSION = 1

LEAST_ALLOCATION = 49152
"""Bytes: a smaller surface fails to evaluate on the in-memory route (rule S5)."""


def manifest(
    lowered: Lowered,
    graph: Graph,
    program: Program,
    options: Options,
    source_sha256: str,
    places: Sequence[BlobPlace],
    package_offsets: Sequence[int],
    written: Sequence[Written],
) -> dict[str, Any]:
    """The manifest of a physical, legal graph; keys stand in the order in which a reader wants them."""
    surfaces = {
        "inputs": _surfaces(lowered.inputs, options.route),
        "outputs": _surfaces(lowered.outputs, options.route),
    }
    weights = _weights(program, options, places, package_offsets, written)
    kinds = Counter(node.op.name for node in graph.operations)
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "kernel": graph.name,
        "doc": graph.doc,
        "parameters": _plain(dict(graph.parameters if options.params is None else options.params)),
        **({} if options.variant is None else {"variant": _plain(dict(options.variant))}),
        "target": {"dialect": program.dialect, "opset": program.opset, "chip": options.chip, "route": options.route},
        "compiler": {"name": "anedsl", "version": VERSION},
        "source": {"sha256": source_sha256},
        "files": _files(graph.name, options),
        "surfaces": surfaces,
        "inputs": [_port(surface, place) for surface in lowered.inputs for place in surface.places],
        "outputs": [_port(surface, place) for surface in lowered.outputs for place in surface.places],
        "weights": weights,
        "ops": {"total": sum(kinds.values()), "by_kind": dict(sorted(kinds.items()))},
        "flops": sum(node.op.flops(call_of(node), [value.type for value in node.results]) for node in graph.operations),
        "bytes": {
            "weights": sum(weight["bytes"] for weight in weights),
            "inputs": sum(surface.type.bytes for surface in lowered.inputs),
            "outputs": sum(surface.type.bytes for surface in lowered.outputs),
        },
    }


def to_json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _files(kernel: str, options: Options) -> dict[str, str | None]:
    emit = options.emit
    return {
        "mil": "model.mil" if "mil" in emit else None,
        "mlpackage": f"{kernel}.mlpackage" if "mlpackage" in emit else None,
        "header": f"{kernel}.h" if "header" in emit else None,
    }


def _surfaces(surfaces: Sequence[Surface], route: str) -> list[dict[str, Any]]:
    # On the in-memory route surfaces bind in alphabetical order of their names (rule S1), and all of a side
    # need one allocation size (rule S3). Core ML binds by name and allocates by itself.
    binding = {name: index for index, name in enumerate(sorted(surface.name for surface in surfaces))}
    largest = max([LEAST_ALLOCATION, *(surface.type.bytes for surface in surfaces)])
    direct = route == "inmemory"
    return [
        {
            "name": surface.name,
            **_type(surface.type),
            "binding": binding[surface.name] if direct else None,
            "allocation": largest if direct else surface.type.bytes,
            "members": [place.name for place in surface.places],
        }
        for surface in surfaces
    ]


def _port(surface: Surface, place: Place) -> dict[str, Any]:
    return {
        "name": place.name,
        **_type(place.type),
        "range": _plain(place.range),
        "surface": surface.name,
        "axis": place.axis,
        "start": place.start,
        "size": place.size,
        "byte_offset": place.byte_offset,
    }


def _weights(
    program: Program, options: Options, places: Sequence[BlobPlace], package_offsets: Sequence[int], written: Sequence[Written]
) -> list[dict[str, Any]]:
    mil, package = "mil" in options.emit, "mlpackage" in options.emit
    return [
        {
            "name": blob.weight.name if blob.weight else blob.name,
            "declared": blob.weight is not None,
            "file": place.path if mil else None,
            "offset": place.offset if mil else None,
            "package_offset": package_offset if package else None,
            **_type(blob.type),
            "sha256": done.sha256,
            **_stored(blob.data),
            "overflowed": done.overflows,
            "vanished": done.vanished,
        }
        for blob, place, package_offset, done in zip(program.blobs, places, package_offsets, written, strict=True)
    ]


def _stored(data: Data) -> dict[str, Any]:
    """What compression does to a weight, beside its main part."""
    if not isinstance(data, PartData):
        return {}
    of = {"as": str(data.stored.storage), "weight": data.stored.weight.name}
    stored: dict[str, Any] = {**of, "part": data.part, "shape": list(data.stored.shape)}
    if data.part in MAIN_PARTS:
        stored["error"] = errors(data.stored)
    return {"stored": stored}


def _type(type: TensorType) -> dict[str, Any]:
    return {"dtype": type.dtype.name, "shape": list(type.shape), "bytes": type.bytes}


def _plain(value: Any) -> Any:
    """JSON's own types; it has no infinity, so that one is written as text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
