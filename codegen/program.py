"""The flat program: one list of statements from which the MIL text and the mlpackage are written, op for op."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from typing import Any, NamedTuple, NoReturn

import numpy as np

from anedsl.codegen.blob import CODES, OLD_CODES
from anedsl.codegen.legalize import OPSET_OF, ReshapedData
from anedsl.codegen.mil_types import ELEMENTS, STRING, compound
from anedsl.codegen.names import WORDS, Names, is_legal, legal, unique_files
from anedsl.codegen.stored import MAIN_PARTS, PartData
from anedsl.data import Array, Data, rounded
from anedsl.diagnostics import Failure
from anedsl.graph import Graph, Node, Value, Weight, number_type
from anedsl.ops.record import Attribute, Op, Operand
from anedsl.source import Span
from anedsl.types import BOOL, FP32, INT32, DType, TensorType

LISTING = ("ios15", "ios16", "ios17")
"""The opsets in which the operands of `constexpr` ops stand in the attribute list."""

SMALL = 10
"""A float const of fewer elements is written into the program itself; a weight never is."""


class Blob(NamedTuple):
    """Numbers that live in a weight file.

    `weight` is the author's declaration, None for a computed const. `file` is the name of its own file without ending,
    different from all others also where upper and lower case are one.
    """

    name: str
    file: str
    type: TensorType
    data: Data
    weight: Weight | None
    span: Span


class InFile(NamedTuple):
    """Numbers in a weight file of a program that was read: the path as the program names it, and the position of the
    chunk's metadata."""

    path: str
    offset: int


class Constant(NamedTuple):
    """A const: a rounded array, a text, or the index of a blob in `Program.blobs`.

    Those of an opaque op may also be a tuple of texts, in row-major order, or of the parts of a list, tuple or dict (keys and
    values in turn), which are consts without names. A tensor of unknown sizes is a flat array. A place in a file is not
    written again.
    """

    name: str
    type: TensorType
    value: Array | str | int | tuple[Any, ...] | InFile


Argument = str | tuple[str, ...] | Constant


class Statement(NamedTuple):
    """One op. Arguments are sorted by name; each is the name of a value, several names, or a const that stands in place.

    `name` is that of its first result, or one of its own; `attributes` are what else stands in the attribute list.
    """

    op: str
    arguments: tuple[tuple[str, Argument], ...]
    results: tuple[tuple[str, TensorType], ...]
    name: str
    attributes: tuple[tuple[str, Constant], ...] = ()


class Program(NamedTuple):
    """A function `main`: everything in the order in which it is written."""

    dialect: str
    opset: str
    inputs: tuple[tuple[str, TensorType], ...]
    statements: tuple[Constant | Statement, ...]
    outputs: tuple[str, ...]
    blobs: tuple[Blob, ...]


def build(graph: Graph, dialect: str) -> Program:
    """The program of a physical, legal graph.

    Every argument that is not a value is a named const (rules T5 and T6), equal ones once, placed before its first use.
    Raises ANE0431 and ANE0432.
    """
    return _Builder(graph, dialect).build()


class _Builder:
    def __init__(self, graph: Graph, dialect: str) -> None:
        self.graph = graph
        self.dialect = dialect
        self.opset = OPSET_OF[dialect]
        self.codes = CODES if self.opset == "ios18" else OLD_CODES
        self.constants = {node.result: node for node in graph.constants}
        self.value_names: dict[Value, str] = {}
        self.statements: list[Constant | Statement] = []
        self.blobs: list[Blob] = []
        self.blob_indices: dict[tuple[int, TensorType], int] = {}
        self.literals: dict[Any, str] = {}
        self.attribute_names: dict[tuple[DType, Any], str] = {}
        self.users: dict[tuple[DType, Any], set[str]] = {}
        self.slots: dict[Op, list[Operand | Attribute]] = {}

    def build(self) -> Program:
        graph = self.graph
        ports = [*graph.inputs, *graph.outputs]
        self._check_port_names()
        self.names = Names([*(port.name for port in ports), *{node.op.name: None for node in graph.operations}])
        for port in ports:
            self.value_names[port.value] = port.name
        # What an author named keeps its name; consts of the compiler's own give way.
        self.hints = {legal(value.name) for node in graph.operations for value in node.results if value.name}
        self._find_users()
        for node in graph.operations:
            self._statement(node)
        files = unique_files(blob.name for blob in self.blobs)
        return Program(
            self.dialect,
            self.opset,
            tuple((port.name, port.value.type) for port in graph.inputs),
            tuple(self.statements),
            tuple(port.name for port in graph.outputs),
            tuple(blob._replace(file=file) for blob, file in zip(self.blobs, files, strict=True)),
        )

    def _check_port_names(self) -> None:
        seen: set[str] = set()
        for kind, ports in (("an input", self.graph.inputs), ("an output", self.graph.outputs)):
            for port in ports:
                if is_legal(port.name) and port.name not in seen:
                    seen.add(port.name)
                    continue
                from anedsl.diagnostics.artifacts import ReservedName

                reason = "has a meaning in MIL" if port.name in WORDS else "is not a name in MIL"
                reason = "is taken by another input or output" if port.name in seen else reason
                proposal = f"{legal(port.name)}_0"
                raise Failure(ReservedName(span=port.span, name=port.name, kind=kind, reason=reason, proposal=proposal))

    def _find_users(self) -> None:
        """By attribute value, the parameters that have it."""
        for node in self.graph.operations:
            for attribute in node.op.attributes:
                value = _value(node, attribute)
                if value is not None and not isinstance(value, Constant):
                    self.users.setdefault(_attribute_key(node, attribute, value), set()).add(attribute.name)

    def _statement(self, node: Node) -> None:
        op = node.op
        slots = self.slots.get(op)
        if slots is None:
            slots = self.slots[op] = sorted([*op.operands, *op.attributes], key=lambda slot: slot.name)
        # Operands of constexpr ops stand in place, as Apple's printer and coremltools write them.
        in_place = op.name.startswith("constexpr_")
        arguments: list[tuple[str, Argument]] = []
        attributes: list[tuple[str, Constant]] = []
        for slot in slots:
            argument: Argument | None
            if isinstance(slot, Attribute):
                argument = self._attribute(node, slot, in_place)
                listed = slot.kind == "listed"
            else:
                argument = self._operand(node, slot, in_place)
                listed = False
            # In the list `name` is that of the op.
            listed = listed or (in_place and self.opset in LISTING and slot.name != "name")
            if listed and isinstance(argument, Constant):
                attributes.append((slot.name, argument))
            elif argument is not None:
                arguments.append((slot.name, argument))
        results = tuple((self._result_name(node, value), value.type) for value in node.results)
        name = results[0][0] if results else self.names.numbered(op.name, self.hints)
        self.statements.append(Statement(op.name, tuple(arguments), results, name, tuple(attributes)))

    def _result_name(self, node: Node, value: Value) -> str:
        name = self.value_names.get(value)
        if name is None:
            name = self.names.fresh(value.name) if value.name else self.names.numbered(node.op.name, self.hints)
            self.value_names[value] = name
        return name

    def _operand(self, node: Node, operand: Operand, in_place: bool) -> Argument | None:
        found = node.operands.get(operand.name)
        if found is None:
            return None
        if isinstance(found, tuple):
            return tuple(self._name_of(value) for value in found)
        if in_place and found in self.constants:
            return self._constant(self.constants[found], named=False)
        return self._name_of(found)

    def _name_of(self, value: Value) -> str:
        name = self.value_names.get(value)
        if name is None:
            constant = self._constant(self.constants[value], named=True)
            name = self.value_names[value] = constant.name
        return name

    def _constant(self, node: Node, named: bool) -> Constant:
        type = node.result.type
        weight = node.attributes.get("weight")
        data: Data = node.attributes["val"]
        hint = weight.name if weight else node.result.name
        in_file = type.dtype.name in self.codes and (
            weight is not None
            or (isinstance(data, PartData) and data.part in MAIN_PARTS)
            or type.dtype.bits < 8
            or (_is_data(type.dtype) and type.size >= SMALL)
        )
        if not in_file:
            array = literal(data.load(), type, node.span)
            return self._literal(hint or _value_name(array), type, array, named)
        # Two biases of one weight are two nodes, but one file.
        key = (id(data.data if isinstance(data, ReshapedData) else data), type)
        index = self.blob_indices.get(key)
        if index is not None:
            return Constant(self.blobs[index].name, type, index)
        index = self.blob_indices[key] = len(self.blobs)
        if not named:
            name = legal(hint or "const")  # only its file is named
        else:
            name = self.names.fresh(hint, self.hints) if hint else self.names.numbered("const", self.hints)
        self.blobs.append(Blob(name, "", type, data, weight, node.span))
        return self._placed(Constant(name, type, index), named)

    def _attribute(self, node: Node, attribute: Attribute, in_place: bool) -> Argument | None:
        value = _value(node, attribute)
        if value is None or isinstance(value, Constant):
            # A const holds a tensor or a text: a list stands in place, as coremltools writes the classes of `classify`.
            return None if value is None else _rounded(value, node.span)
        key = _attribute_key(node, attribute, value)
        known = None if in_place else self.attribute_names.get(key)
        if known is not None:
            return known
        dtype = key[0]
        array: Array | str
        if dtype is STRING:
            array = value if isinstance(value, str) else value.name
            type = TensorType(STRING, ())
        else:
            given = np.asarray(value, dtype=np.float64 if dtype.is_float else None)
            type = TensorType(dtype, given.shape)
            array = literal(given, type, node.span, attribute.infinite)
        # A const that serves several parameters is named by its value: `axis = groups` would mislead.
        hint = attribute.name if len(self.users[key]) == 1 else _value_name(array)
        constant = self._literal(hint, type, array, named=not in_place)
        if in_place:
            return constant
        self.attribute_names[key] = constant.name
        return constant.name

    def _literal(self, hint: str, type: TensorType, value: Array | str, named: bool) -> Constant:
        if not named:
            return Constant("", type, value)
        key = (type, value if isinstance(value, str) else value.tobytes())
        name = self.literals.get(key)
        if name is not None:
            return Constant(name, type, value)
        name = self.literals[key] = self.names.fresh(hint, self.hints)
        return self._placed(Constant(name, type, value), named)

    def _placed(self, constant: Constant, named: bool) -> Constant:
        if named:
            self.statements.append(constant)
        return constant


def _value(node: Node, attribute: Attribute) -> Any:
    """The value of an attribute; a text that an opaque op is given is as those of other ops are."""
    value = node.attributes.get(attribute.name)
    return value.value if attribute.kind == "literal" and value is not None and isinstance(value.value, str) else value


def _rounded(constant: Constant, span: Span) -> Constant:
    """The const with its numbers rounded to their element types."""
    value = constant.value
    if isinstance(value, tuple):
        return constant._replace(value=tuple(_rounded(part, span) if isinstance(part, Constant) else part for part in value))
    if not isinstance(value, np.ndarray):
        return constant
    type = constant.type
    if type.dtype.kind == "other":
        type = TensorType(ELEMENTS.get(compound(type.dtype).element, FP32), value.shape)
    return constant._replace(value=literal(value, type, span))


def _is_data(dtype: DType) -> bool:
    """Floats and integers of few bits are data; wider integers and booleans are parameters, which stay inline (rule B7)."""
    return dtype.is_float or (dtype.is_integer and dtype.bits <= 8)


def _attribute_key(node: Node, attribute: Attribute, value: Any) -> tuple[DType, Any]:
    """Equal for attributes that are one const."""
    dtype = _attribute_dtype(node, attribute)
    if isinstance(value, list):
        value = tuple(value)
    # repr tells 0.0 from -0.0 and 1 from True.
    return dtype, value if dtype is INT32 or dtype is STRING else repr(value)


def _attribute_dtype(node: Node, attribute: Attribute) -> DType:
    kind = attribute.kind
    if kind in ("int", "ints"):
        return INT32 if attribute.domain is None else attribute.domain.dtypes[0]
    if kind in ("bool", "bools"):
        return BOOL
    if kind in ("string", "dtype", "literal", "listed"):
        return STRING
    return number_type(node, attribute)


def literal(given: Array, type: TensorType, span: Span, infinite: bool = False) -> Array:
    """Numbers that stand in the program itself, rounded once; ANE0431 or ANE0437 where one does not fit.

    With `infinite` a number that is given as an infinity stays one.
    """
    given, dtype = np.asarray(given), type.dtype
    if dtype.is_integer:
        for number in (given.min(initial=0), given.max(initial=0)) if given.size else ():
            if not dtype.smallest <= number <= dtype.largest:
                _fail_integer(int(number), dtype, span)
    array = rounded(given, dtype).reshape(type.shape)
    lost = ~np.isfinite(array) if dtype.is_float else np.zeros(array.shape, np.bool_)
    if infinite:
        lost &= ~np.isinf(given.reshape(array.shape))
    if lost.any():
        at = int(np.flatnonzero(lost)[0])
        _fail_float(float(given.reshape(-1)[at]), float(array.reshape(-1)[at]), dtype, span)
    return array


def _fail_integer(value: int, dtype: DType, span: Span) -> NoReturn:
    from anedsl.diagnostics.artifacts import LiteralOutOfRange

    lowest, highest = int(dtype.smallest), int(dtype.largest)
    raise Failure(LiteralOutOfRange(span=span, value=value, dtype=dtype.name, lowest=lowest, highest=highest))


def _fail_float(value: float, became: float, dtype: DType, span: Span) -> NoReturn:
    from anedsl.diagnostics.artifacts import LiteralNotFinite

    largest = f"{dtype.largest:.9g}"
    advice = f"write {'-' if value < 0 else ''}{largest} or something smaller in magnitude" if value == value else None
    raise Failure(
        LiteralNotFinite(span=span, value=f"{value:.9g}", dtype=dtype.name, rounded=f"{became:g}", largest=largest, advice=advice)
    )


def _value_name(value: Array | str) -> str:
    """A readable name of a const that has no better one: `c_0_5`, `c_1_1`, `c_valid`."""
    if isinstance(value, str):
        return f"c_{value}"
    if value.size == 0 or value.size > 6:
        return "values"
    parts = [f"{item:.6g}" if isinstance(item, float) else str(item).lower() for item in value.reshape(-1).tolist()]
    return "c_" + "_".join(parts).replace("-", "minus_").replace("+", "").replace(".", "_")
