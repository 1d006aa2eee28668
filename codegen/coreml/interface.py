"""What a compiled kernel takes and gives, read from an artifact's manifest or from an `.mlpackage` alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from anedsl.codegen.manifest import FILE, FORMAT, FORMAT_VERSION
from anedsl.codegen.packs import Place, Surface
from anedsl.diagnostics import Failure
from anedsl.graph import Graph, Port, Value
from anedsl.types import DTYPES, TensorType

MACOS_OF_OPSET = {"ios15": (12,), "ios16": (13,), "ios17": (14,), "ios18": (15,)}
"""The first macOS that takes an opset."""

MACOS_OF_SPECIFICATION = {6: (12,), 7: (13,), 8: (14,), 9: (15,), 10: (26,)}
"""The same by the specification version that stands in a model."""

_ARRAY_TYPES = {65552: "fp16", 65568: "fp32", 65600: "fp64", 131104: "int32", 131080: "int8"}
"""Core ML's numbers for the element types of a multi-array."""


class Interface(NamedTuple):
    """A program for Core ML: its package, the macOS it needs, and the tensors that travel with the ports in them."""

    kernel: str
    package: Path
    macos: tuple[int, ...]
    inputs: tuple[Surface, ...]
    outputs: tuple[Surface, ...]


def open_interface(target: Path) -> Interface:
    """The interface of an artifact's folder or an `.mlpackage`.

    A package that lies in its artifact has logical names; any other has those of its features. Raises ANE0522.
    """
    if target.suffix.lower() != ".mlpackage":
        if not (target / FILE).is_file():
            _refuse(target, f"it is neither an `.mlpackage` nor a folder with a `{FILE}`")
        return _from_manifest(target)
    if not target.is_dir():
        _refuse(target, "there is no such package")
    beside = _content(target.parent / FILE)
    if beside is not None and (beside.get("files") or {}).get("mlpackage") == target.name:
        return _from_manifest(target.parent)
    return _from_package(target)


def port_graph(interface: Interface) -> Graph:
    """A graph that has the ports and nothing else, for what checks or makes inputs."""
    inputs, outputs = (
        tuple(
            Port(place.name, Value(place.type, place.name), range=place.range) for surface in surfaces for place in surface.places
        )
        for surfaces in (interface.inputs, interface.outputs)
    )
    return Graph(interface.kernel, inputs, outputs, ())


def _content(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.get("format") == FORMAT else None


def _from_manifest(folder: Path) -> Interface:
    content = _content(folder / FILE)
    if content is None or content.get("format_version") != FORMAT_VERSION:
        _refuse(folder, f"its `{FILE}` is damaged or of another version of anedsl")
    try:
        name = content["files"]["mlpackage"]
        inputs, outputs = (_surfaces(content["surfaces"][side], content[side]) for side in ("inputs", "outputs"))
        macos = MACOS_OF_OPSET[content["target"]["opset"]]
        kernel = str(content["kernel"])
    except (KeyError, TypeError, ValueError):
        _refuse(folder, f"its `{FILE}` is damaged")
    if name is None:
        _refuse(folder, "it was compiled without an `.mlpackage`", "compile the kernel again with `--emit mil,mlpackage`")
    if not (folder / name).is_dir():
        _refuse(folder, f"`{name}` is missing in it", "compile the kernel again")
    return Interface(kernel, folder / name, macos, inputs, outputs)


def _surfaces(surfaces: Sequence[dict[str, Any]], ports: Sequence[dict[str, Any]]) -> tuple[Surface, ...]:
    return tuple(
        Surface(item["name"], _type(item), tuple(_place(port) for port in ports if port["surface"] == item["name"]))
        for item in surfaces
    )


def _place(port: dict[str, Any]) -> Place:
    # A manifest writes an infinite bound as text.
    bounds = None if port["range"] is None else (float(port["range"][0]), float(port["range"][1]))
    return Place(port["name"], _type(port), bounds, port["axis"], port["start"], port["size"], port["byte_offset"])


def _type(item: dict[str, Any]) -> TensorType:
    return TensorType(DTYPES[item["dtype"]], tuple(int(dim) for dim in item["shape"]))


def _from_package(package: Path) -> Interface:
    from google.protobuf.message import DecodeError

    from anedsl.codegen.proto import load

    model = load("Model_pb2").Model()
    try:
        model.ParseFromString(_model_file(package).read_bytes())
    except (OSError, KeyError, TypeError, ValueError, DecodeError):
        _refuse(package, "its manifest or its model cannot be read")
    if model.WhichOneof("Type") != "mlProgram":
        _refuse(package, "it holds no ML program")
    macos = MACOS_OF_SPECIFICATION.get(model.specificationVersion)
    if macos is None:
        _refuse(package, f"its specification version {model.specificationVersion} is not known")
    inputs, outputs = (
        tuple(_feature(package, item) for item in side) for side in (model.description.input, model.description.output)
    )
    return Interface(package.stem, package, macos, inputs, outputs)


def _model_file(package: Path) -> Path:
    manifest = json.loads((package / "Manifest.json").read_text(encoding="utf-8"))
    return package / "Data" / str(manifest["itemInfoEntries"][manifest["rootModelIdentifier"]]["path"])


def _feature(package: Path, item: Any) -> Surface:
    array = item.type.multiArrayType
    dtype = DTYPES.get(_ARRAY_TYPES.get(array.dataType, ""))
    if item.type.WhichOneof("Type") != "multiArrayType" or dtype is None:
        _refuse(package, f"its input or output `{item.name}` is no tensor of numbers")
    type = TensorType(dtype, tuple(int(dim) for dim in array.shape))
    return Surface(item.name, type, (Place(item.name, type, None, 0, 0, type.shape[0] if type.shape else 1, 0),))


def _refuse(path: Path, reason: str, advice: str | None = None) -> NoReturn:
    from anedsl.diagnostics.running import NoProgram

    raise Failure(NoProgram(path=str(path), reason=reason, advice=advice))
