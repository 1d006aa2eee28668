"""Writes a program as an mlpackage for Core ML, op for op what the MIL text says."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from anedsl.codegen.features import describe
from anedsl.codegen.mil_types import UNKNOWN, Compound, compound, compound_kind, element_of
from anedsl.codegen.program import Argument, Constant, Program, Statement
from anedsl.codegen.proto import load
from anedsl.types import TensorType

VERSIONS = {"ios16": ("CoreML6", 7), "ios18": ("CoreML8", 9)}
"""The opset's name in the file and the specification version, by opset."""

WEIGHTS_PATH = "weights/weight.bin"
DATA = Path("Data") / "com.apple.CoreML"

_PROTO_DTYPES = {
    "bool": "BOOL", "string": "STRING", "fp16": "FLOAT16", "fp32": "FLOAT32", "fp64": "FLOAT64", "int8": "INT8",
    "int16": "INT16", "int32": "INT32", "int64": "INT64", "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32",
    "uint64": "UINT64", "int4": "INT4", "uint1": "UINT1", "uint2": "UINT2", "uint3": "UINT3", "uint4": "UINT4",
    "uint6": "UINT6", "bf16": "BFLOAT16",
}  # fmt: skip

_RAW = frozenset({"fp16", "int8", "uint8", "uint32"})
_FIELDS = {"bool": "bools", "fp32": "floats", "fp64": "doubles", "int64": "longInts", "uint64": "longInts"}


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
        describe(model.description, self.program)
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

    def constant(self, op: Any, item: Constant) -> None:
        self.name(op, item.name)
        self.value(op.attributes["val"], item)
        op.outputs.add(name=item.name, type=self.type(item.type))

    def statement(self, op: Any, item: Statement) -> None:
        for key, argument in item.arguments:
            self.bind(op.inputs[key].arguments, argument)
        for key, constant in item.attributes:
            self.value(op.attributes[key], constant)
        self.name(op, item.name)
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
            if type.dtype.kind == "other":
                self.compound(found, compound(type.dtype))
            else:
                self.tensor(found.tensorType, type.dtype.name, type.shape)
        return found

    def tensor(self, tensor: Any, element: str, sizes: Sequence[int | str]) -> None:
        tensor.dataType = getattr(self.mil, _PROTO_DTYPES[element])
        tensor.rank = len(sizes)
        for size in sizes:
            self.size(tensor.dimensions.add(), size)

    def size(self, dimension: Any, size: int | str) -> None:
        if size == UNKNOWN:
            dimension.unknown.variadic = False
        else:
            dimension.constant.size = int(size)

    def compound(self, found: Any, known: Compound) -> None:
        parts = [self.type(part) for part in known.parts]
        if known.kind == "tensor":
            self.tensor(found.tensorType, known.element, known.sizes)
        elif known.kind == "list":
            found.listType.type.CopyFrom(parts[0])
            self.size(found.listType.length, known.sizes[0])
        elif known.kind == "dict":
            found.dictionaryType.keyType.CopyFrom(parts[0])
            found.dictionaryType.valueType.CopyFrom(parts[1])
        elif known.kind == "tuple":
            found.tupleType.types.extend(parts)
        else:
            found.stateType.wrappedType.CopyFrom(parts[0])

    def value(self, value: Any, item: Constant) -> None:
        value.type.CopyFrom(self.type(item.type))
        if isinstance(item.value, int):
            value.blobFileValue.fileName = f"@model_path/{WEIGHTS_PATH}"
            value.blobFileValue.offset = self.offsets[item.value]
            return
        if isinstance(item.value, tuple) and compound_kind(item.type) != "tensor":
            self.parts(value.immediateValue, compound_kind(item.type), item.value)
            return
        tensor = value.immediateValue.tensor
        element = element_of(item.type)
        if element == "string":
            tensor.strings.SetInParent()
            tensor.strings.values.extend([item.value] if isinstance(item.value, str) else item.value)
            return
        assert isinstance(item.value, np.ndarray)
        if element in _RAW:
            tensor.bytes.values = item.value.tobytes()
        else:
            field = getattr(tensor, _FIELDS.get(element, "ints"))
            # Also an empty tensor says by its field what its elements are.
            field.SetInParent()
            field.values.extend(item.value.reshape(-1).tolist())

    def parts(self, value: Any, kind: str, parts: Sequence[Constant]) -> None:
        """The parts of a list, tuple or dict: each has its type again."""
        if kind != "dict":
            values = getattr(value, kind).values
            getattr(value, kind).SetInParent()
            for part in parts:
                self.value(values.add(), part)
            return
        value.dictionary.SetInParent()
        for key, item in zip(parts[::2], parts[1::2], strict=True):
            pair = value.dictionary.values.add()
            self.value(pair.key, key)
            self.value(pair.value, item)
