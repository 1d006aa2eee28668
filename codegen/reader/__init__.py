"""Reads MIL text, Core ML packages and weight files back into typed graphs."""

from anedsl.codegen.reader.module import Module, read_text
from anedsl.codegen.reader.reading import read

__all__ = ["Module", "read", "read_text"]
