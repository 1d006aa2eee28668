"""Writes a program as MIL text, one op a line, arguments sorted by name as Apple's printer does.

Dialect 1.3 writes a scalar as `fp16(0x1p+0)`, dialect 1.0 as `tensor<fp16, []>(0x1p+0)`.
"""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from anedsl.codegen.program import Argument, Constant, Program, Statement
from anedsl.codegen.version import VERSION
from anedsl.types import TensorType


class BlobPlace(NamedTuple):
    """Where a blob is found: the path below the model's folder, and the position of the chunk's metadata (rule B4)."""

    path: str
    offset: int


def mil_text(program: Program, places: Sequence[BlobPlace]) -> str:
    """The whole `model.mil`; `places[i]` is the place of `program.blobs[i]`."""
    return _Writer(program, places).text()


def float_text(value: float) -> str:
    """The shortest C99 hex of a finite number: `0x1.5p-17`."""
    digits, exponent = value.hex().split("p")
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
        name = f'name = {self.string}("{item.results[0][0]}")'
        if item.op.startswith("constexpr_") and self.program.opset in ("ios16", "ios17"):
            return f"        {results} = {item.op}()[{', '.join(filter(None, [arguments, name]))}];"
        return f"        {results} = {item.op}({arguments})[{name}];"

    def argument(self, argument: Argument) -> str:
        if isinstance(argument, str):
            return argument
        return self.value(argument) if isinstance(argument, Constant) else f"({', '.join(argument)})"

    def type(self, type: TensorType) -> str:
        text = self.types.get(type)
        if text is None:
            dims = ", ".join(map(str, type.shape))
            scalar = self.short and not type.shape
            text = self.types[type] = type.dtype.name if scalar else f"tensor<{type.dtype.name}, [{dims}]>"
        return text

    def value(self, constant: Constant) -> str:
        value = constant.value
        type = self.type(constant.type)
        if isinstance(value, str):
            return f'{type}("{value}")'
        if isinstance(value, int):
            place = self.places[value]
            offset = "uint64" if self.short else "tensor<uint64, []>"
            path = f'{self.string}("@model_path/{place.path}")'
            return f"{type}(BLOBFILE(path = {path}, offset = {offset}({place.offset})))"
        return f"{type}({_nested(value.tolist(), _SCALAR[constant.type.dtype.kind])})"


def _bool_text(value: bool) -> str:
    return "true" if value else "false"


_SCALAR = {"float": float_text, "int": str, "uint": str, "bool": _bool_text}


def _nested(value: Any, scalar: Any) -> str:
    if not isinstance(value, list):
        text: str = scalar(value)
        return text
    return f"[{', '.join([_nested(item, scalar) for item in value])}]"
