"""The protobuf classes of Core ML's formats, which coremltools ships, without importing coremltools itself.

Its `__init__` takes seconds and hundreds of megabytes; the generated message modules alone take 30 ms. They are loaded
under a package name of our own. A later `import coremltools` in the same process finds the same message types.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from pathlib import Path
from typing import Any, NoReturn

from anedsl.diagnostics import Failure

_PACKAGE = "_anedsl_coremltools_proto"


def load(module: str) -> Any:
    """A generated module such as `Model_pb2`. Raises ANE0436 without coremltools."""
    if _PACKAGE not in sys.modules:
        spec = importlib.util.find_spec("coremltools")
        if spec is None or spec.origin is None:
            _fail("coremltools is not installed")
        package = types.ModuleType(_PACKAGE)
        package.__path__ = [str(Path(spec.origin).parent / "proto")]
        sys.modules[_PACKAGE] = package
    try:
        return importlib.import_module(f"{_PACKAGE}.{module}")
    except ImportError as error:
        _fail(f"coremltools' message classes cannot be loaded ({error})")


def _fail(reason: str) -> NoReturn:
    from anedsl.diagnostics.artifacts import NoPackageFormat

    raise Failure(NoPackageFormat(reason=reason))
