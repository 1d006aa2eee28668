"""Whether two programs are the same but for the names in them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from anedsl.codegen.blob import Written
from anedsl.codegen.program import Argument, Constant, Program, Statement


def fingerprint(program: Program, written: Sequence[Written]) -> str:
    """A hash of the MIL text with every name replaced by its number in the order of the text, and every weight by its hash.

    Inputs and outputs bind in alphabetical order (rule S1): their places in it count, so that hosts may swap the programs.
    """
    return _Renaming(program, written).hash()


class _Renaming:
    def __init__(self, program: Program, written: Sequence[Written]) -> None:
        self.program = program
        self.written = written
        self.numbers: dict[str, int] = {}

    def hash(self) -> str:
        program = self.program
        digest = hashlib.sha256(repr((program.dialect, program.opset)).encode())
        ports = sorted(name for name, _ in program.inputs)
        for name, type in program.inputs:
            digest.update(repr((self.number(name), ports.index(name), str(type))).encode())
        for item in program.statements:
            digest.update(repr(self.statement(item) if isinstance(item, Statement) else self.constant(item)).encode())
        ports = sorted(program.outputs)
        for name in program.outputs:
            digest.update(repr((self.number(name), ports.index(name))).encode())
        return digest.hexdigest()

    def number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    def statement(self, item: Statement) -> Any:
        arguments = [(key, self.argument(value)) for key, value in (*item.arguments, *item.attributes)]
        return item.op, arguments, [(self.number(name), str(type)) for name, type in item.results]

    def argument(self, value: Argument) -> Any:
        if isinstance(value, str):
            return self.number(value)
        return self.constant(value) if isinstance(value, Constant) else [self.number(name) for name in value]

    def constant(self, item: Constant) -> Any:
        value: Any = item.value
        if isinstance(value, int):
            value = ("file", self.written[value].sha256)
        elif isinstance(value, np.ndarray):
            value = value.tobytes()
        elif isinstance(value, tuple):
            value = [self.constant(part) if isinstance(part, Constant) else part for part in value]
        return self.number(item.name) if item.name else "", str(item.type), value
