"""Writes a program as MIL text, one op a line, arguments sorted by name as Apple's printer does.

Dialect 1.3 writes a scalar as `fp16(0x1p+0)`, dialect 1.0 as `tensor<fp16, []>(0x1p+0)`.
"""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from anedsl.codegen.mil_types import STRING, compound, spelled
from anedsl.codegen.program import Argument, Constant, Program, Statement
from anedsl.codegen.version import VERSION
from anedsl.data import Array
from anedsl.types import TensorType


class BlobPlace(NamedTuple):
    """Where a blob is found: the path below the model's folder, and the position of the chunk's metadata (rule B4)."""

    path: str
    offset: int


def mil_text(program: Program, places: Sequence[BlobPlace]) -> str:
    """The whole `model.mil`; `places[i]` is the place of `program.blobs[i]`."""
    return _Writer(program, places).text()


def float_text(value: float) -> str:
    """The shortest C99 hex of a number: `0x1.5p-17`; `inf`, `-inf` and `nan` are words."""
    digits, power, exponent = value.hex().partition("p")
    if not power:
        return digits
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return f"{digits}p{exponent}"


class _Writer:
    def __init__(self, program: Program, places: Sequence[BlobPlace]) -> None:
        self.program = program
        self.places = places
        self.short = program.dialect != "1.0"
        self.types: dict[TensorType, str] = {}
        self.string = "string" if self.short else "tensor<string, []>"

    def text(self) -> str:
        program = self.program
        signature = ", ".join(f"{self.type(type)} {name}" for name, type in program.inputs)
        pairs = f'{{{{"component", "anedsl"}}, {{"version", "{VERSION}"}}}}'
        lines = [
            f"program({program.dialect})",
            f"[buildInfo = dict<{self.string}, {self.string}>({pairs})]",
            "{",
            f"    func main<{program.opset}>({signature}) {{",
            *self.lines(),
            f"    }} -> ({', '.join(program.outputs)});",
            "}",
            "",
        ]
        return "\n".join(lines)

    def lines(self) -> Iterator[str]:
        for item in self.program.statements:
            yield self.constant(item) if isinstance(item, Constant) else self.statement(item)

    def constant(self, item: Constant) -> str:
        name = item.name
        return f'        {self.type(item.type)} {name} = const()[name = {self.string}("{name}"), val = {self.value(item)}];'

    def statement(self, item: Statement) -> str:
        results = ", ".join([f"{self.type(type)} {name}" for name, type in item.results])
        arguments = ", ".join(
            [f"{key} = {value if value.__class__ is str else self.argument(value)}" for key, value in item.arguments]
        )
        attributes = [f"{key} = {self.value(value)}" for key, value in item.attributes]
        attributes.append(f'name = {self.string}("{item.name}")')
        head = f"{results} = {item.op}" if results else item.op
        return f"        {head}({arguments})[{', '.join(attributes)}];"

    def argument(self, argument: Argument) -> str:
        if isinstance(argument, str):
            return argument
        return self.value(argument) if isinstance(argument, Constant) else f"({', '.join(argument)})"

    def type(self, type: TensorType) -> str:
        text = self.types.get(type)
        if text is None:
            text = self.types[type] = spelled(type, self.short)
        return text

    def value(self, constant: Constant) -> str:
        value = constant.value
        type = self.type(constant.type)
        if isinstance(value, int):
            place = self.places[value]
            offset = "uint64" if self.short else "tensor<uint64, []>"
            path = f'{self.string}("@model_path/{place.path}")'
            return f"{type}(BLOBFILE(path = {path}, offset = {offset}({place.offset})))"
        return f"{type}({payload(constant)})"


def _bool_text(value: bool) -> str:
    return "true" if value else "false"


def _quoted(value: str) -> str:
    return f'"{value}"'


_SCALAR: dict[str, Callable[[Any], str]] = {"f": float_text, "i": str, "u": str, "b": _bool_text}
"""How a number is written, by numpy's kind of element type."""


_BRACKETS = {"list": ("[", "]"), "tuple": ("(", ")"), "dict": ("{", "}")}


def literal_text(constant: Constant) -> str:
    """A literal with its type, in dialect 1.3."""
    return f"{spelled(constant.type, True)}({payload(constant)})"


def payload(constant: Constant) -> str:
    """What stands between the parentheses of a literal. Literals within lists, tuples and dicts have no types, as Apple's
    printer has it."""
    value = constant.value
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, np.ndarray):
        return _nested(_arranged(value, constant.type).tolist(), _SCALAR[value.dtype.kind])
    assert isinstance(value, tuple)
    if constant.type.dtype is STRING or compound(constant.type.dtype).kind == "tensor":
        return _nested(_arranged(np.array(value, object), constant.type).tolist(), _quoted)
    parts = [payload(part) for part in value]
    kind = compound(constant.type.dtype).kind
    if kind == "dict":
        parts = [f"{{{key}, {item}}}" for key, item in zip(parts[::2], parts[1::2], strict=True)]
    opening, closing = _BRACKETS[kind]
    return f"{opening}{', '.join(parts)}{closing}"


def _arranged(value: Array, type: TensorType) -> Array:
    """The elements in the shape of the type; those of a tensor of unknown sizes stay one flat list."""
    if type.dtype.kind != "other":
        return value.reshape(type.shape)
    return value if compound(type.dtype).sizes else value.reshape(())


def _nested(value: Any, scalar: Any) -> str:
    if not isinstance(value, list):
        text: str = scalar(value)
        return text
    return f"[{', '.join([_nested(item, scalar) for item in value])}]"
