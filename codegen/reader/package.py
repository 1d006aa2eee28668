"""Reads the program of an mlpackage through Core ML's message classes, as it is written."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from anedsl.codegen.mil_types import ELEMENTS
from anedsl.codegen.mlpackage import DATA
from anedsl.codegen.proto import load
from anedsl.codegen.reader.blob_reader import unpacked
from anedsl.codegen.reader.written import (
    BlobFile,
    Entries,
    Function,
    Grouped,
    Listed,
    Literal,
    Numbers,
    Several,
    Statement,
    Texts,
    Written,
)
from anedsl.data import Array
from anedsl.diagnostics import Failure
from anedsl.weights.files import open_file, read

MAX_MODEL = 256 << 20
"""Bytes of the model itself, without weights."""

_NAMES = {
    "BOOL": "bool", "STRING": "string", "FLOAT16": "fp16", "FLOAT32": "fp32", "FLOAT64": "fp64", "BFLOAT16": "bf16",
    **{f"{sign.upper()}INT{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (1, 2, 3, 4, 6, 8, 16, 32, 64)},
}  # fmt: skip


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_@]*")


def read_package(package: Path) -> tuple[Written, Path]:
    """The program, and the folder that `@model_path` stands for. Raises ANE0484 and ANE0486."""
    path = _model_path(package)
    file, place = open_file(path)
    with file:
        if place.stamp.size > MAX_MODEL:
            _fail(package, f"{place.stamp.size} bytes are more than {MAX_MODEL}")
        content = bytes(read(file, place.stamp.size, place))
    try:
        model = load("Model_pb2").Model()
        model.ParseFromString(content)
    except Failure as failure:
        _fail(package, failure.diagnostics[0].headline)
    # The message classes raise errors of their own module, which is not ours to import.
    except Exception as error:
        if type(error).__name__ != "DecodeError":
            raise
        _fail(package, "it is not in Core ML's format")
    if model.WhichOneof("Type") != "mlProgram":
        _fail(package, "it is no ML program")
    return _PackageReader(package, model).program(), path.parent


def _model_path(package: Path) -> Path:
    """The model's file: the one that the manifest names, which must stand in the package."""
    try:
        manifest = json.loads((package / "Manifest.json").read_bytes())
        entry = manifest["itemInfoEntries"][manifest["rootModelIdentifier"]]
        path: Path = (package / "Data" / str(entry["path"])).resolve()
        if path.is_relative_to(package.resolve()):
            return path
        _fail(package, "its manifest leads out of the package")
    except FileNotFoundError:
        return package / DATA / "model.mlmodel"
    except OSError as error:
        _fail(package, (error.strerror or str(error)).lower())
    except (ValueError, KeyError, TypeError, RecursionError):
        _fail(package, "`Manifest.json` names no model")


def _fail(package: Path, reason: str) -> NoReturn:
    from anedsl.diagnostics.artifacts import MalformedPackage

    raise Failure(MalformedPackage(path=str(package), reason=reason))


class _PackageReader:
    def __init__(self, package: Path, model: Any) -> None:
        self.package = package
        self.model = model
        names = load("MIL_pb2").DataType.items()
        self.dtypes = {number: _NAMES[name] for name, number in names if name in _NAMES}

    def program(self) -> Written:
        program = self.model.mlProgram
        # Messages keep no order of functions.
        names = sorted(program.functions, key=lambda name: (name != "main", name))
        dialect = "1.0" if self.model.specificationVersion <= 8 else "1.3"
        if not names:
            _fail(self.package, "it has no function")
        return Written(
            dialect, self.attributes(program.attributes), [self.function(name, program.functions[name]) for name in names]
        )

    def function(self, name: str, function: Any) -> Function:
        block = function.block_specializations.get(function.opset)
        if block is None:
            _fail(self.package, f"function `{name}` has no block for opset `{function.opset}`")
        opset = function.opset.lower()
        if opset.startswith("coreml"):
            # Core ML counts its own versions: CoreML5 is ios15.
            opset = f"ios{int(opset[6:]) + 10}" if opset[6:].isdigit() else opset
        return Function(
            name,
            opset,
            [part for item in function.inputs for part in (self.type(item.type), item.name)],
            self.attributes(function.attributes),
            [self.statement(operation) for operation in block.operations],
            list(block.outputs),
        )

    def statement(self, operation: Any) -> Statement:
        if len(operation.blocks):
            _fail(self.package, f"`{operation.type}` has nested blocks, which are not supported")
        arguments: list[Any] = []
        for word in (operation.type, *operation.inputs, *operation.attributes):
            # Values may have any name; ops and parameters are MIL's.
            if not _WORD.fullmatch(word):
                _fail(self.package, f"{word[:40]!r} is no name of an op or a parameter")
        for key in sorted(operation.inputs):
            bindings = [self.binding(binding) for binding in operation.inputs[key].arguments]
            if not bindings:
                _fail(self.package, f"`{key}` of `{operation.type}` has no value")
            arguments += [key, bindings[0] if len(bindings) == 1 else Several(bindings)]
        results = [part for item in operation.outputs for part in (self.type(item.type), item.name)]
        return Statement(results, operation.type, arguments, self.attributes(operation.attributes))

    def binding(self, binding: Any) -> str | Literal:
        name: str = binding.name
        return name if binding.WhichOneof("binding") == "name" else self.value(binding.value)

    def attributes(self, attributes: Any) -> Sequence[Any]:
        return [part for key in sorted(attributes) for part in (key, self.value(attributes[key]))]

    def type(self, type: Any) -> str:
        """The type as MIL text writes it."""
        kind = type.WhichOneof("type")
        if kind == "tensorType":
            name = self.dtypes.get(type.tensorType.dataType, "bool")
            dims = [str(d.constant.size) if d.HasField("constant") else "?" for d in type.tensorType.dimensions]
            return f"tensor<{name}, [{', '.join(dims)}]>" if dims or type.tensorType.rank else name
        if kind == "listType":
            length = type.listType.length
            return f"list<{self.type(type.listType.type)}, {length.constant.size if length.HasField('constant') else '?'}>"
        if kind == "tupleType":
            return f"tuple<{', '.join(map(self.type, type.tupleType.types))}>"
        if kind == "dictionaryType":
            return f"dict<{self.type(type.dictionaryType.keyType)}, {self.type(type.dictionaryType.valueType)}>"
        if kind == "stateType":
            return f"state<{self.type(type.stateType.wrappedType)}>"
        _fail(self.package, "a value has no type")

    def value(self, value: Any) -> Literal:
        text = self.type(value.type)
        if value.WhichOneof("value") == "blobFileValue":
            blob = value.blobFileValue
            path = Literal("string", Texts([blob.fileName]))
            offset = Literal("uint64", Numbers(np.array(blob.offset, np.uint64)))
            return Literal(text, BlobFile(["path", path, "offset", offset]))
        immediate = value.immediateValue
        kind = immediate.WhichOneof("value")
        if kind == "tensor":
            return Literal(text, self.tensor(immediate.tensor, value.type))
        if kind == "list":
            return Literal(text, Listed([self.value(item) for item in immediate.list.values], 1))
        if kind == "tuple":
            return Literal(text, Grouped([self.value(item) for item in immediate.tuple.values], 1))
        if kind == "dictionary":
            return Literal(text, Entries([(self.value(p.key), self.value(p.value)) for p in immediate.dictionary.values], 1))
        _fail(self.package, "a const has no value")

    def tensor(self, tensor: Any, type: Any) -> Numbers | Texts:
        name = self.dtypes.get(type.tensorType.dataType, "bool")
        field = tensor.WhichOneof("value")
        if field == "strings" or name == "string":
            return Texts(list(tensor.strings.values))
        if field == "bytes":
            return Numbers(self.raw(tensor.bytes.values, name, type))
        values = [] if field is None else list(getattr(tensor, field).values)
        dtype = ELEMENTS[name] if name in ELEMENTS else ELEMENTS["fp32"]
        wide = np.dtype(np.float64 if dtype.is_float else np.bool_ if dtype.kind == "bool" else np.int64)
        return Numbers(np.array(values, np.uint64 if name == "uint64" else wide))

    def raw(self, content: bytes, name: str, type: Any) -> Array:
        dtype = ELEMENTS.get(name)
        if dtype is None or (len(content) * 8 % dtype.bits and dtype.bits >= 8):
            _fail(self.package, f"the bytes of a const are no {name} numbers")
        if dtype.bits < 8:
            count = math.prod(d.constant.size for d in type.tensorType.dimensions)
            return unpacked(content, dtype.bits, dtype.kind == "int").astype(np.int64)[:count]
        array = np.frombuffer(content, dtype.numpy)
        return array.astype(np.float64 if dtype.is_float else np.bool_ if dtype.kind == "bool" else np.int64)
