"""Sizes that do not fit together are refused: nothing is dropped in silence."""

from __future__ import annotations

import pytest

from anedsl.diagnostics import Failure
from tests.examples.kernels import KERNELS, SMALL_LLAMA, SMALL_QWEN, Example

WITH_HEADS = [example for example in KERNELS if "HD" in example.parameters]


def headlines(example: Example, sizes: dict[str, int]) -> list[str]:
    try:
        example.load(sizes)
    except Failure as failure:
        return [diagnostic.headline for diagnostic in failure.diagnostics if diagnostic.severity == "error"]
    return []


@pytest.mark.parametrize("example", WITH_HEADS, ids=lambda example: example.kernel)
def test_heads_divide_the_channels(example: Example) -> None:
    """22 channels would be 4 heads of 5, and two channels left."""
    assert "HEADS must divide DIM" in headlines(example, {**SMALL_LLAMA, "DIM": 22})


@pytest.mark.parametrize("example", WITH_HEADS, ids=lambda example: example.kernel)
def test_heads_of_a_size_of_their_own_need_not(example: Example) -> None:
    assert headlines(example, {**SMALL_QWEN, "DIM": 22}) == []


def test_rope_turns_pairs() -> None:
    (example,) = [example for example in KERNELS if example.kernel == "sdpa_fwd_dynamic"]
    assert headlines(example, {**SMALL_QWEN, "HD": 5}) == ["`rope` needs heads of even size"]
