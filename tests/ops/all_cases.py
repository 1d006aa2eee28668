"""Every case of every op."""

from __future__ import annotations

from tests.ops import (
    cases_activation,
    cases_attention,
    cases_comparison,
    cases_conversion,
    cases_elementwise,
    cases_linear,
    cases_normalization,
    cases_pooling,
    cases_quantization,
    cases_rearranging,
    cases_reduction,
    cases_resampling,
    cases_sampling,
    cases_shape,
    cases_slicing,
    cases_sorting,
    cases_suppression,
)
from tests.ops.case import Case

FAMILIES = (
    cases_elementwise,
    cases_activation,
    cases_comparison,
    cases_conversion,
    cases_reduction,
    cases_shape,
    cases_slicing,
    cases_linear,
    cases_normalization,
    cases_attention,
    cases_pooling,
    cases_rearranging,
    cases_resampling,
    cases_sampling,
    cases_sorting,
    cases_suppression,
    cases_quantization,
)

ALL: list[Case] = [case for family in FAMILIES for case in family.CASES]


def cases_of(op: str) -> list[Case]:
    return [case for case in ALL if case.op == op]
