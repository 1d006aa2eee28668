"""Compressed weights as coremltools decodes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from anedsl.codegen.artifact import Artifact

Array = np.ndarray[Any, np.dtype[Any]]


def decoded(made: Artifact, coremltools: Any) -> dict[str, Array]:
    """What each `constexpr_*` op of an artifact's package gives, by the name of its result."""
    from coremltools.converters.mil.frontend.milproto.load import load

    package = made.path / f"{made.manifest['kernel']}.mlpackage"
    spec = coremltools.models.MLModel(str(package), skip_model_load=True).get_spec()
    program = load(spec, spec.specificationVersion, str(package / "Data" / "com.apple.CoreML" / "weights"))
    operations = program.functions["main"].operations
    return {op.outputs[0].name: op.materialized_val_inference() for op in operations if op.op_type.startswith("constexpr_")}
