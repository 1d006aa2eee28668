"""Element types of fewer than 8 bits, and the ops that are kept where everything is known at compile time."""

from __future__ import annotations

import numpy as np
import pytest

from anedsl.diagnostics import Failure
from anedsl.graph import Value, make_node
from anedsl.ops import OPS
from anedsl.types import DTYPES, FP16, INT4, UINT6, TensorType

NARROW = {"int4": (-8, 7), "uint1": (0, 1), "uint2": (0, 3), "uint3": (0, 7), "uint4": (0, 15), "uint6": (0, 63)}


@pytest.mark.parametrize("name", NARROW)
def test_narrow_types_have_the_range_of_their_bits(name: str) -> None:
    dtype = DTYPES[name]
    assert (dtype.smallest, dtype.largest) == NARROW[name]
    assert np.iinfo(dtype.numpy).min <= dtype.smallest < dtype.largest <= np.iinfo(dtype.numpy).max


def test_narrow_types_are_all_that_do_not_fill_their_numpy_type() -> None:
    assert {name for name, dtype in DTYPES.items() if dtype.bits != 8 * dtype.numpy.itemsize} == set(NARROW)


def test_bytes_of_a_narrow_tensor_are_rounded_up() -> None:
    assert TensorType(INT4, (3, 3)).bytes == 5
    assert TensorType(UINT6, (4,)).bytes == 3


def test_a_table_by_numpy_type_finds_the_full_type() -> None:
    by_numpy = {dtype.numpy.str: name for name, dtype in DTYPES.items()}
    assert (by_numpy["|i1"], by_numpy["|u1"]) == ("int8", "uint8")


def test_exactly_the_compressed_forms_are_kept() -> None:
    assert {name for name, op in OPS.items() if op.constexpr} == {name for name in OPS if name.startswith("constexpr_")}


@pytest.mark.parametrize("name", [name for name in OPS if name.startswith("constexpr_")])
def test_all_operands_of_a_compressed_form_are_compile_time(name: str) -> None:
    assert all(operand.const for operand in OPS[name].operands)


@pytest.mark.parametrize(("op", "margins"), [("space_to_batch", "paddings"), ("batch_to_space", "crops")])
def test_margins_may_stand_in_one_list(op: str, margins: str) -> None:
    """In MIL they are a tensor of two rows."""
    x = Value(TensorType(FP16, (4, 2, 3, 6)))
    node = make_node(OPS[op], {"x": x}, {"block_shape": (2, 2), margins: (1, 0, 2, 0)})
    assert node.attributes[margins] == ((1, 0), (2, 0))
    again = make_node(OPS[op], {"x": x}, dict(node.attributes))
    assert (again.attributes, again.result.type) == (node.attributes, node.result.type)


def test_a_mask_with_another_number_of_ones_is_explained() -> None:
    """Only the numbers of the mask tell, when they are loaded."""
    mask = np.array([1, 0, 1, 1], np.int32)
    with pytest.raises(Failure) as failure:
        OPS["constexpr_sparse_to_dense"].reference(np.array([1.0, 2.0]), mask)
    (diagnostic,) = failure.value.diagnostics
    assert (diagnostic.code, diagnostic.headline) == ("ANE0275", "sparse data has 2 elements for 3 places")
