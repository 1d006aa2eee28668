"""How coremltools reads a package: every type is inferred anew."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _modules() -> tuple[Any, Any]:
    """Takes seconds, once a process. Raises ImportError where coremltools is not there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from coremltools.converters.mil.frontend.milproto.load import load
        from coremltools.proto import Model_pb2
    return load, Model_pb2


def operations(package: Path) -> list[tuple[str, list[tuple[int, ...]]]]:
    """The ops of a package but for consts, with the shapes of their results."""
    load, messages = _modules()
    data = package / "Data" / "com.apple.CoreML"
    spec = messages.Model()
    spec.ParseFromString((data / "model.mlmodel").read_bytes())
    function = load(spec, spec.specificationVersion, str(data / "weights")).functions["main"]
    return [(op.op_type, [tuple(result.shape) for result in op.outputs]) for op in function.operations if op.op_type != "const"]
