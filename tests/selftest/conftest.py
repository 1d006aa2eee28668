"""The pretended Mac of the tests of Core ML."""

from tests.coreml.conftest import mac

__all__ = ["mac"]
