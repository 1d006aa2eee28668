"""Each function of the library against torch in float64, in two element types; and how far fp16 is from it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from anedsl.elaborate.modules import STD, load
from tests.std.all_cases import ALL
from tests.std.case import Case, kernel

each_case = pytest.mark.parametrize("case", ALL, ids=[f"{case.module}-{case.id}" for case in ALL])


@each_case
@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
def test_is_what_torch_computes(case: Case, dtype: str, tmp_path: Path) -> None:
    arrays = case.arrays()
    expected = case.expected(arrays)
    found = kernel(case.source(dtype), tmp_path).run(arrays, numerics="fp64")
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].shape == array.shape
        np.testing.assert_allclose(found[name], array, rtol=1e-10, atol=1e-10 * np.abs(array).max(), err_msg=name)


@each_case
def test_fp16_is_close(case: Case, tmp_path: Path) -> None:
    arrays = case.arrays(seed=1)
    expected = case.expected(arrays)
    found = kernel(case.source("fp16"), tmp_path).run(arrays, numerics="fp16")
    for name, array in expected.items():
        assert np.abs(found[name].astype(np.float64) - array).max() <= case.bound * np.abs(array).max(), name


@pytest.mark.parametrize("path", sorted(STD.glob("*.ane")), ids=lambda path: path.stem)
def test_every_function_has_a_case(path: Path) -> None:
    bodies = "\n".join(case.body for case in ALL if case.module == path.stem)
    called = set(re.findall(r"\w+(?=\()", bodies))
    assert {name for name in load(path).functions if not name.startswith("_")} <= called
