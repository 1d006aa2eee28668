"""Writes a program as an mlpackage for Core ML, op for op what the MIL text says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from anedsl.codegen.program import Argument, Constant, Program, Statement
from anedsl.codegen.proto import load
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.graph import Graph, Port
from anedsl.types import TensorType

VERSIONS = {"ios16": ("CoreML6", 7), "ios18": ("CoreML8", 9)}
"""The opset's name in the file and the specification version, by opset."""

WEIGHTS_PATH = "weights/weight.bin"
DATA = Path("Data") / "com.apple.CoreML"

_PROTO_DTYPES = {
    "bool": "BOOL", "string": "STRING", "fp16": "FLOAT16", "fp32": "FLOAT32", "fp64": "FLOAT64", "int8": "INT8",
    "int16": "INT16", "int32": "INT32", "int64": "INT64", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32",
    "uint64": "UINT64", "int4": "INT4", "uint1": "UINT1", "uint2": "UINT2", "uint3": "UINT3", "uint4": "UINT4",
    "uint6": "UINT6",
}  # fmt: skip

_RAW = frozenset({"fp16", "int8", "uint8", "uint32"})
_FIELDS = {"bool": "bools", "fp32": "floats", "fp64": "doubles", "int64": "longInts", "uint64": "longInts"}
_IO_DTYPES = {"fp16": "FLOAT16", "fp32": "FLOAT32", "int32": "INT32"}


def check_types(graph: Graph) -> None:
    """Reports inputs and outputs of a physical graph whose element type Core ML does not pass (ANE0433)."""
    sides = (("input", graph.inputs), ("output", graph.outputs))
    problems = [_bad_type(port, side) for side, ports in sides for port in ports if port.value.type.dtype.name not in _IO_DTYPES]
    if problems:
        raise Failure(*problems)


def _bad_type(port: Port, side: str) -> Diagnostic:
    from anedsl.diagnostics.artifacts import PackageType

    type = port.value.type
    return PackageType(span=port.span, name=port.name, side=side, dtype=type.dtype.name, type=str(type))


def model_bytes(program: Program, offsets: Sequence[int], doc: str = "") -> bytes:
    """The serialized model; `offsets[i]` is where `program.blobs[i]` stands in the weight file."""
    return bytes(_ModelWriter(program, offsets).model(doc).SerializeToString(deterministic=True))


def write_package(package: Path, model: bytes, has_weights: bool) -> None:
    """Writes everything but the weight file, which belongs at `package / DATA / WEIGHTS_PATH`."""
    folder = package / DATA
    (folder / "weights").mkdir(parents=True) if has_weights else folder.mkdir(parents=True)
    (folder / "model.mlmodel").write_bytes(model)
    (package / "Manifest.json").write_text(_manifest(package.name, has_weights), encoding="utf-8")


def _manifest(name: str, has_weights: bool) -> str:
    items = [("model.mlmodel", "CoreML Model Specification")]
    if has_weights:
        items.append(("weights", "CoreML Model Weights"))
    entries = {
        _identifier(name, item): {
            "author": "com.apple.CoreML",
            "description": description,
            "name": item,
            "path": f"com.apple.CoreML/{item}",
        }
        for item, description in items
    }
    content = {
        "fileFormatVersion": "1.0.0",
        "itemInfoEntries": entries,
        "rootModelIdentifier": _identifier(name, "model.mlmodel"),
    }
    return json.dumps(content, indent=4, sort_keys=True) + "\n"


def _identifier(package: str, item: str) -> str:
    """The same for the same package and item, always: an artifact must not differ from one compile to the next."""
    from uuid import NAMESPACE_URL, uuid5

    return str(uuid5(NAMESPACE_URL, f"anedsl:{package}/{item}"))


class _ModelWriter:
    def __init__(self, program: Program, offsets: Sequence[int]) -> None:
        self.program = program
        self.offsets = offsets
        self.mil = load("MIL_pb2")
        self.types: dict[TensorType, Any] = {}

    def model(self, doc: str) -> Any:
        opset, version = VERSIONS[self.program.opset]
        model = load("Model_pb2").Model(specificationVersion=version)
        for name, type in self.program.inputs:
            self.feature(model.description.input.add(), name, type, scalar_shape=(1,))
        types = {name: type for item in self.program.statements if isinstance(item, Statement) for name, type in item.results}
        for name in self.program.outputs:
            self.feature(model.description.output.add(), name, types[name], scalar_shape=())
        if doc:
            model.description.metadata.shortDescription = doc
        model.mlProgram.version = 1
        function = model.mlProgram.functions["main"]
        function.opset = opset
        for name, type in self.program.inputs:
            function.inputs.add(name=name, type=self.type(type))
        block = function.block_specializations[opset]
        for item in self.program.statements:
            if isinstance(item, Constant):
                self.constant(block.operations.add(type="const"), item)
            else:
                self.statement(block.operations.add(type=item.op), item)
        block.outputs.extend(self.program.outputs)
        return model

    def feature(self, feature: Any, name: str, type: TensorType, scalar_shape: tuple[int, ...]) -> None:
        feature.name = name
        array = feature.type.multiArrayType
        array.dataType = array.DESCRIPTOR.enum_types_by_name["ArrayDataType"].values_by_name[_IO_DTYPES[type.dtype.name]].number
        array.shape.extend(type.shape or scalar_shape)

    def constant(self, op: Any, item: Constant) -> None:
        self.name(op, item.name)
        self.value(op.attributes["val"], item)
        op.outputs.add(name=item.name, type=self.type(item.type))

    def statement(self, op: Any, item: Statement) -> None:
        as_attributes = item.op.startswith("constexpr_") and self.program.opset in ("ios16", "ios17")
        for key, argument in item.arguments:
            if as_attributes and isinstance(argument, Constant):
                self.value(op.attributes[key], argument)
            else:
                self.bind(op.inputs[key].arguments, argument)
        self.name(op, item.results[0][0])
        for name, type in item.results:
            op.outputs.add(name=name, type=self.type(type))

    def bind(self, bindings: Any, argument: Argument) -> None:
        if isinstance(argument, str):
            bindings.add(name=argument)
        elif isinstance(argument, Constant):
            self.value(bindings.add().value, argument)
        else:
            for name in argument:
                bindings.add(name=name)

    def name(self, op: Any, name: str) -> None:
        value = op.attributes["name"]
        value.type.tensorType.dataType = self.mil.STRING
        value.immediateValue.tensor.strings.values.append(name)

    def type(self, type: TensorType) -> Any:
        found = self.types.get(type)
        if found is None:
            found = self.types[type] = self.mil.ValueType()
            tensor = found.tensorType
            tensor.dataType = getattr(self.mil, _PROTO_DTYPES[type.dtype.name])
            tensor.rank = type.rank
            for dim in type.shape:
                tensor.dimensions.add().constant.size = dim
        return found

    def value(self, value: Any, item: Constant) -> None:
        value.type.CopyFrom(self.type(item.type))
        if isinstance(item.value, int):
            value.blobFileValue.fileName = f"@model_path/{WEIGHTS_PATH}"
            value.blobFileValue.offset = self.offsets[item.value]
            return
        tensor = value.immediateValue.tensor
        dtype = item.type.dtype.name
        if isinstance(item.value, str):
            tensor.strings.values.append(item.value)
        elif dtype in _RAW:
            tensor.bytes.values = item.value.tobytes()
        else:
            field = getattr(tensor, _FIELDS.get(dtype, "ints"))
            # Also an empty tensor says by its field what its elements are.
            field.SetInParent()
            field.values.extend(item.value.reshape(-1).tolist())
