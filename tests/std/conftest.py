"""The reader of packages, which the tests of code generation define."""

from __future__ import annotations

from tests.codegen.conftest import load_package

__all__ = ["load_package"]
