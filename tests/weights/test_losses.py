"""What fp16 cannot hold is counted while it is written, and said where it matters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anedsl
from anedsl.codegen.blob import converted
from anedsl.codegen.losses import Losses
from anedsl.types import FP16
from tests.weights.build import safetensors, tensor, text

SIZE = 200_000
KERNEL = f"""
kernel k {{
    input  x: fp16[1, {SIZE}]
    weight w: fp16[1, {SIZE}]
    output y
    y = x * w
}}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> anedsl.api.Kernel:
    (tmp_path / "k.ane").write_text(KERNEL)
    return anedsl.load(tmp_path / "k.ane")


def counted(array: Any) -> Losses:
    losses = Losses()
    converted(array, FP16, losses)
    return losses


def test_ordinary_tiny_values_are_counted_and_not_said(kernel: Any, tmp_path: Path) -> None:
    values = np.ones(SIZE, np.float32)
    values[:200] = 1e-9
    artifact = kernel.compile(tmp_path / "out", weights={"w": values})
    assert artifact.warnings == []
    [weight] = artifact.manifest["weights"]
    assert (weight["overflowed"], weight["vanished"]) == (0, 200)


def test_more_than_a_thousandth_of_the_nonzero_values(kernel: Any, tmp_path: Path) -> None:
    values = np.zeros(SIZE, np.float32)
    values[:1000] = 1.0
    values[1000:1003] = [2e-8, -2.5e-8, 1e-30]
    [warning] = kernel.compile(tmp_path / "out", weights={"w": values}).warnings
    assert text(warning) == (
        "warning[ANE0421]: weight `w` loses small values in fp16\n"
        "^ values that become zero: 3, 0.30% of those that were not; largest magnitude: 2.5e-08\n"
        "help: scale the weight up and divide the result, or declare it fp32 if the target allows it"
    )


@pytest.mark.parametrize("dtype", ["F32", "BF16", "F64"])
def test_both_ends_of_a_file(kernel: Any, tmp_path: Path, dtype: str) -> None:
    values = np.ones(SIZE, "<f4")
    values[5:1005] = 2.0**-40
    values[-2:] = [-(2.0**17), np.inf]
    raw = {"F32": values, "F64": values.astype("<f8"), "BF16": (values.view("<u4") >> 16).astype("<u2")}[dtype]
    path = safetensors(tmp_path / "w.safetensors", {"w": tensor(0, raw.nbytes, dtype, (SIZE,))}, raw.tobytes())
    artifact = kernel.compile(tmp_path / "out", weights=path)
    assert [warning.label_text for warning in artifact.warnings] == [
        "values that are infinite or NaN: 1",
        "values that become infinite: 1; largest magnitude: 131072.0",
        "values that become zero: 1000, 0.50% of those that were not; largest magnitude: 9.09e-13",
    ]
    [weight] = artifact.manifest["weights"]
    assert (weight["overflowed"], weight["vanished"]) == (1, 1000)


def test_numbers_that_are_fp16_already_lose_nothing(kernel: Any, tmp_path: Path) -> None:
    values = np.full(SIZE, 2.0**-24, np.float16)
    [weight] = kernel.compile(tmp_path / "out", weights={"w": values}).manifest["weights"]
    assert weight["vanished"] == 0


@given(st.lists(st.integers(0, 2**32 - 1), min_size=64, max_size=200))
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_any_bits(bits: list[int]) -> None:
    array = np.array([*bits, 0, 0x80000000, 0x33000000, 0x33000001], np.uint32).view(np.float32)
    with np.errstate(invalid="ignore"):
        # Some bits are a signalling NaN, which numpy remarks when it is converted.
        wide = array.astype(np.float64)
    for part in (array, wide, array[-5:]):
        with np.errstate(all="ignore"):
            made = part.astype(np.float16)
        losses = counted(part)
        assert losses.vanished == int(((made == 0) & (part != 0)).sum()) >= 1
        assert losses.zeros == int((part == 0).sum()) >= 2
        assert losses.overflowed == int((np.isinf(made) & np.isfinite(part)).sum())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_was_not_finite_before_is_said(kernel: Any, tmp_path: Path, dtype: str) -> None:
    values = np.ones(SIZE, dtype)
    values[[3, 70_000, SIZE - 1]] = [np.nan, np.inf, -np.inf]
    artifact = kernel.compile(tmp_path / "out", weights={"w": values})
    [warning] = artifact.warnings
    assert text(warning).splitlines()[:2] == [
        "warning[ANE0409]: weight `w` holds values that are not finite",
        "^ values that are infinite or NaN: 3",
    ]
    [weight] = artifact.manifest["weights"]
    assert (weight["overflowed"], weight["vanished"]) == (0, 0)
