"""What a package says of a program's inputs and outputs beside the program: Core ML's feature descriptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anedsl.codegen.legalize import OPSET_OF
from anedsl.codegen.mil_types import STRING, UNKNOWN, compound, compound_kind, element_of, is_state, sizes_of
from anedsl.codegen.program import Program, Statement
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.graph import Graph, Port
from anedsl.types import FP16, INT64, TensorType

_ARRAYS = {"fp16": "FLOAT16", "fp32": "FLOAT32", "int32": "INT32"}
"""The element types of arrays that Core ML passes, under its names."""

_KEYS = {STRING: "stringKeyType", INT64: "int64KeyType"}
_LABELS = {STRING: "stringType", INT64: "int64Type"}
"""What the label of a class may be, as the key of a dict and alone."""

STATES_SINCE = "ios18"


def check_types(graph: Graph, dialect: str) -> None:
    """Reports inputs and outputs of a physical graph that the description cannot say (ANE0433, ANE0430, ANE0439)."""
    problems = [found for port in graph.inputs if (found := _bad_input(port, dialect)) is not None]
    pairs = [pair for node in graph.operations if node.op.name == "classify" for pair in enumerate(node.results)]
    classes = {value for index, value in pairs if _classifies(value.type, index)}
    outputs = [port for port in graph.outputs if not _is_array(port.value.type) and port.value not in classes]
    problems += [_bad_type(port, "output") for port in outputs]
    if problems:
        raise Failure(*problems)


def _bad_input(port: Port, dialect: str) -> Diagnostic | None:
    type = port.value.type
    array = not is_state(type)
    if array and _is_array(type) and UNKNOWN not in sizes_of(type):
        return None
    from anedsl.diagnostics.artifacts import NeedsNewerOpset, NotWritable

    if array:
        if not _is_array(type):
            return _bad_type(port, "input")
        reason = "its description says which sizes `?` may be, and the program does not"
        return NotWritable(span=port.span, what=f"input `{port.name}` of type `{type}`", where="in an mlpackage", reason=reason)
    [held] = compound(type.dtype).parts
    if held.dtype is not FP16:
        reason = f"Core ML keeps fp16 tensors of known sizes as states, and this one is `{held}`"
        return NotWritable(span=port.span, what=f"state `{port.name}`", where="in an mlpackage", reason=reason)
    if OPSET_OF[dialect] >= STATES_SINCE:
        return None
    what, advice = f"state `{port.name}` of an mlpackage", "use `--dialect 1.3`"
    opset = OPSET_OF[dialect]
    return NeedsNewerOpset(span=port.span, what=what, since=STATES_SINCE, dialect=dialect, opset=opset, advice=advice)


def _bad_type(port: Port, side: str) -> Diagnostic:
    from anedsl.diagnostics.artifacts import PackageType

    type = port.value.type
    return PackageType(span=port.span, name=port.name, side=side, dtype=type.dtype.name, type=str(type))


def _is_array(type: TensorType) -> bool:
    return element_of(type) in _ARRAYS


def _classifies(type: TensorType, result: int) -> bool:
    """Whether a type is that of a result of `classify`: the label of a class, and the probability of each by its label."""
    if result == 0:
        return not type.shape and type.dtype in _LABELS
    return compound_kind(type) == "dict" and compound(type.dtype).parts[0].dtype in _KEYS


def describe(description: Any, program: Program) -> None:
    """Fills in a model's description. Classes and their probabilities are those of a `classify` whose results are outputs."""
    for name, type in program.inputs:
        if is_state(type):
            [held] = compound(type.dtype).parts
            feature = description.state.add(name=name)
            _array(feature.type.stateType.arrayType, held, ())
        else:
            _array(description.input.add(name=name).type.multiArrayType, type, (1,))
    types = {name: type for item in _statements(program) for name, type in item.results}
    for name in program.outputs:
        _output(description.output.add(name=name).type, types[name])
    for item in _statements(program):
        if item.op == "classify" and {name for name, _ in item.results} <= set(program.outputs):
            description.predictedFeatureName, description.predictedProbabilitiesName = (name for name, _ in item.results)


def _statements(program: Program) -> Iterator[Statement]:
    return (item for item in program.statements if isinstance(item, Statement))


def _output(feature: Any, type: TensorType) -> None:
    if _is_array(type):
        _array(feature.multiArrayType, type, ())
    elif compound_kind(type) == "dict":
        getattr(feature.dictionaryType, _KEYS[compound(type.dtype).parts[0].dtype]).SetInParent()
    else:
        getattr(feature, _LABELS[type.dtype]).SetInParent()


def _array(array: Any, type: TensorType, scalar_shape: tuple[int, ...]) -> None:
    """A scalar input is an array of one element; an array of unknown sizes is described without them."""
    kinds = array.DESCRIPTOR.enum_types_by_name["ArrayDataType"].values_by_name
    array.dataType = kinds[_ARRAYS[element_of(type)]].number
    sizes = sizes_of(type) or scalar_shape
    if UNKNOWN not in sizes:
        array.shape.extend(map(int, sizes))
