"""Readers of what code generation writes: the grammar of MIL text, and coremltools' own reader of packages."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from lark import Lark, Tree


@pytest.fixture(scope="session")
def parse_mil() -> Callable[[str], Tree[Any]]:
    """Parses MIL text; lark refuses what the grammar does not allow."""
    grammar = files("anedsl.grammar").joinpath("mil.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", start="program", maybe_placeholders=True).parse


class Package(NamedTuple):
    """A package as coremltools reads it: the message, and the typed program with every type inferred anew."""

    spec: Any
    program: Any

    @property
    def operations(self) -> list[Any]:
        """The operations of the message, consts among them."""
        function = self.spec.mlProgram.functions["main"]
        return list(function.block_specializations[function.opset].operations)


@pytest.fixture(scope="session")
def load_package(coremltools: Any) -> Callable[[Path], Package]:
    """Reads an mlpackage through `milproto.load`."""
    from coremltools.converters.mil.frontend.milproto.load import load
    from coremltools.proto import Model_pb2

    def read(path: Path) -> Package:
        data = path / "Data" / "com.apple.CoreML"
        spec = Model_pb2.Model()
        spec.ParseFromString((data / "model.mlmodel").read_bytes())
        program = load(spec, spec.specificationVersion, str(data / "weights"))
        return Package(spec, program)

    return read
