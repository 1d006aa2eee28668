"""The readers of what code generation writes, as its own tests have them."""

from tests.codegen.conftest import load_package, parse_mil

__all__ = ["load_package", "parse_mil"]
