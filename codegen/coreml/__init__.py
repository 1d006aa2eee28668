"""Runs a compiled kernel by Core ML, on a Mac.

The project was written without a Mac: what calls Apple's frameworks has not been run on hardware (docs/running-on-a-mac.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anedsl.data import Array


def run(target: str | Path, inputs: Mapping[str, Any], **options: Any) -> dict[str, Array]:
    """The outputs of an artifact's folder or of an `.mlpackage`, by logical name.

    Inputs go by logical names or by the names of surfaces. The options are those of `anedsl.codegen.coreml.runner.execute`,
    which returns placement, times and warnings as well.
    """
    from anedsl.codegen.coreml.runner import execute

    return execute(Path(target), inputs, **options).outputs
