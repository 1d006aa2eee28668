"""Each op's reference and type rule against two independent judges: torch in float64, coremltools in fp32."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anedsl.data import rounded
from anedsl.ops import OPS
from anedsl.types import FP16, TensorType
from tests.ops.all_cases import ALL, cases_of
from tests.ops.case import Case
from tests.ops.judges import (
    MISCOMPUTED,
    in_floats,
    mil_result,
    miscomputed,
    node_of,
    random_operands,
    reference_results,
    torch_results,
)

each_case = pytest.mark.parametrize("case", ALL, ids=[case.id for case in ALL])


def agree(found: Any, expected: Any, relative: float) -> None:
    """Integers and booleans are equal; floats are close to the relative accuracy, and to it at the largest magnitude."""
    expected = np.asarray(expected)
    assert found.shape == expected.shape
    if found.dtype.kind != "f":
        assert np.array_equal(found, expected)
        return
    finite = np.abs(expected[np.isfinite(expected)])
    largest = finite.max() if finite.size else 1.0
    np.testing.assert_allclose(found, expected, rtol=relative, atol=min(1.0, largest) * relative)


def check_type(array: Any, type: TensorType, floats: type | None) -> None:
    """A reference's result is an array of the inferred type: int32 stands for all integers, `floats` for all floats.

    Where no operand is a float, any floating type will do: `floats` is None.
    """
    assert isinstance(array, np.ndarray)
    assert array.shape == type.shape
    if type.dtype.is_float:
        assert array.dtype.kind == "f"
        assert floats is None or array.dtype == floats
    else:
        assert array.dtype == (np.int32 if type.dtype.is_integer else np.bool_)
        if type.dtype.is_integer and array.size:
            assert type.dtype.smallest <= array.min()
            assert array.max() <= type.dtype.largest


@each_case
@pytest.mark.parametrize("floats", [np.float64, np.float32])
def test_result_has_the_inferred_type(case: Case, floats: type) -> None:
    node = node_of(case)
    arrays = in_floats(random_operands(case), floats)
    found = reference_results(case, arrays, node)
    assert len(found) == len(node.results)
    has_floats = any(a.dtype.kind == "f" for o in arrays.values() for a in (o if isinstance(o, tuple) else (o,)))
    for array, value in zip(found, node.results, strict=True):
        check_type(array, value.type, floats if has_floats else None)


@each_case
def test_reference_leaves_its_operands_alone(case: Case) -> None:
    arrays = random_operands(case)
    reference_results(case, arrays, node_of(case))
    for name, operand in random_operands(case).items():
        np.testing.assert_equal(arrays[name], operand)


@each_case
def test_float32_is_close_to_float64(case: Case) -> None:
    node = node_of(case)
    arrays = random_operands(case)
    precise = reference_results(case, arrays, node)
    for array, expected in zip(reference_results(case, in_floats(arrays, np.float32), node), precise, strict=True):
        with np.errstate(over="ignore"):
            agree(array, expected.astype(array.dtype), 1e-4)


@pytest.mark.parametrize("case", [c for c in ALL if c.torch], ids=[c.id for c in ALL if c.torch])
def test_torch_computes_the_same(case: Case) -> None:
    arrays = random_operands(case)
    expected = torch_results(case, arrays)
    assert expected is not None
    for array, value in zip(reference_results(case, arrays, node_of(case)), expected, strict=True):
        agree(array, value, 1e-12)


def mil_values(case: Case) -> list[Any] | None:
    """coremltools' values where it computes them, and rightly."""
    values = mil_result(case).values
    return None if miscomputed(case) or any(value is None for value in values) else values


@each_case
def test_coremltools_infers_the_same_types(case: Case) -> None:
    assert [(v.type.dtype.name, v.type.shape) for v in node_of(case, "fp32").results] == mil_result(case).types


@each_case
def test_coremltools_computes_the_same(case: Case) -> None:
    expected = mil_values(case)
    if expected is None:
        pytest.skip("coremltools computes no value, or a wrong one")
    node = node_of(case, "fp32")
    found = reference_results(case, in_floats(random_operands(case), np.float32), node)
    for array, value, result in zip(found, expected, node.results, strict=True):
        type = result.type
        # coremltools computes some integer results in float, and gives the fraction that MIL cuts off.
        value = np.trunc(value) if type.dtype.is_integer else value
        agree(rounded(array, type.dtype) if type.dtype.is_float else array, value, 1e-3 if type.dtype is FP16 else 1e-5)


@pytest.mark.parametrize("op", OPS)
def test_every_op_is_judged(op: str) -> None:
    cases = cases_of(op)
    assert cases, f"`{op}` has no case"
    assert any(case.torch or mil_values(case) is not None for case in cases), f"nobody judges `{op}`"


@pytest.mark.parametrize("op", MISCOMPUTED)
def test_coremltools_still_computes_wrong_values(op: str) -> None:
    cases = [case for case in cases_of(op) if miscomputed(case)]
    pairs = [(mil_result(case).values[0], torch_results(case, random_operands(case))) for case in cases]
    assert any(not np.allclose(value, expected[0], rtol=1e-3) for value, expected in pairs if expected is not None)
