"""The ops: one record each, by MIL's name."""

from __future__ import annotations

from anedsl.ops import (
    activation,
    attention,
    comparison,
    constexpr,
    conversion,
    elementwise,
    linear,
    normalization,
    pooling,
    quantization,
    rearranging,
    reduction,
    resampling,
    sampling,
    scattering,
    shape,
    slicing,
    sorting,
    suppression,
    transposed,
)
from anedsl.ops.record import Op

FAMILIES = (
    elementwise,
    activation,
    comparison,
    conversion,
    reduction,
    shape,
    rearranging,
    slicing,
    scattering,
    sorting,
    suppression,
    linear,
    transposed,
    pooling,
    resampling,
    sampling,
    normalization,
    attention,
    quantization,
    constexpr,
)


def _merged() -> dict[str, Op]:
    ops: dict[str, Op] = {}
    for family in FAMILIES:
        for op in family.OPS:
            assert op.name not in ops, f"two records of `{op.name}`"
            ops[op.name] = op
    return ops


OPS = _merged()
"""Every op by its name."""
