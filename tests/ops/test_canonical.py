"""Type rules rewrite attributes into one spelling: axes from 0, sizes and positions computed, defaults filled in.

What is written is what is emitted, so coremltools must understand it as the author's spelling.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anedsl.graph import Value, make_node
from anedsl.ops import OPS
from anedsl.types import FP16, INT32, TensorType
from tests.ops.all_cases import ALL
from tests.ops.case import Case
from tests.ops.judges import in_floats, mil_result, miscomputed, node_of, random_operands, reference_results

WRITTEN = [case._replace(attributes=dict(node_of(case, "fp32").attributes)) for case in ALL]
"""Every case with the attributes that its node has."""

each_written = pytest.mark.parametrize("case", WRITTEN, ids=[case.id for case in ALL])


@each_written
def test_written_attributes_stay_as_they_are(case: Case) -> None:
    assert node_of(case, "fp32").attributes == case.attributes


@each_written
def test_attributes_are_complete_for_the_reference(case: Case) -> None:
    assert set(case.attributes) <= set(OPS[case.op].attribute_index)
    reference_results(case, in_floats(random_operands(case), np.float32), node_of(case, "fp32"))


@each_written
def test_coremltools_understands_what_is_written(case: Case) -> None:
    node = node_of(case, "fp32")
    judged = mil_result(case)
    assert [(v.type.dtype.name, v.type.shape) for v in node.results] == judged.types
    if miscomputed(case):
        return
    found = reference_results(case, in_floats(random_operands(case), np.float32), node)
    for array, value, result in zip(found, judged.values, node.results, strict=True):
        if value is not None and array.dtype.kind == "f":
            relative = 1e-3 if result.type.dtype is FP16 else 1e-4
            np.testing.assert_allclose(array, value, rtol=relative, atol=relative * max(1.0, float(np.max(np.abs(value)))))


def written(op: str, x: tuple[int, ...], **attributes: Any) -> dict[str, Any]:
    """The attributes of an op of `x`, as they are written."""
    return dict(make_node(OPS[op], {"x": Value(TensorType(FP16, x))}, attributes).attributes)


def test_axes_count_from_zero_and_are_sorted() -> None:
    assert written("reduce_sum", (2, 3, 4), axes=[-1, 0]) == {"axes": (0, 2), "keep_dims": False}
    assert written("reduce_sum", (2, 3, 4))["axes"] == (0, 1, 2)
    assert written("layer_norm", (2, 3, 4))["axes"] == (0, 1, 2)
    assert written("softmax", (2, 3, 4)) == {"axis": 2}
    assert written("transpose", (2, 3, 4), perm=[0, -1, -2]) == {"perm": (0, 2, 1)}
    assert written("expand_dims", (2, 3), axes=[-1, 0]) == {"axes": (0, 3)}
    assert written("squeeze", (1, 3, 1)) == {"axes": (0, 2)}


def test_sizes_are_computed() -> None:
    assert written("reshape", (2, 12), shape=[0, -1]) == {"shape": (2, 12)}
    assert written("reshape", (2, 12), shape=[3, -1, 2]) == {"shape": (3, 4, 2)}
    assert written("slice_by_size", (4, 6), begin=[-1, 2], size=[1, -1]) == {"begin": (3, 2), "size": (1, 4)}


def test_a_slice_keeps_a_mask_only_where_no_number_says_it() -> None:
    written_slice = written(
        "slice_by_index",
        (4, 5, 6),
        begin=[0, -2, 5],
        end=[0, -1, 0],
        stride=[2, 1, -1],
        begin_mask=[True, False, False],
        end_mask=[True, False, True],
    )
    assert written_slice == {
        "begin": (0, 3, 5),
        "end": (4, 4, 0),
        "stride": (2, 1, -1),
        "begin_mask": (False, False, False),
        "end_mask": (False, False, True),
        "squeeze_mask": (False, False, False),
    }


def test_a_split_into_equal_parts_is_written_by_number() -> None:
    assert written("split", (6,), split_sizes=[3, 3], axis=-1) == {"axis": 0, "num_splits": 2}
    assert written("split", (6,), num_splits=2, split_sizes=[2, 4], axis=0) == {"axis": 0, "split_sizes": (2, 4)}


def test_positions_of_the_largest_are_int32_unless_said() -> None:
    assert written("reduce_argmax", (2, 3)) == {"axis": 1, "keep_dims": False, "output_dtype": INT32}


def test_convolution_attributes_depend_on_the_rank() -> None:
    x, weight = (Value(TensorType(FP16, shape)) for shape in ((1, 2, 5), (3, 2, 1)))
    assert dict(make_node(OPS["conv"], {"x": x, "weight": weight}).attributes) == {
        "strides": (1,),
        "pad_type": "valid",
        "pad": (0, 0),
        "dilations": (1,),
        "groups": 1,
    }


def test_an_einsum_equation_has_no_spaces() -> None:
    a, b = (Value(TensorType(FP16, shape)) for shape in ((3, 2, 4), (4, 2, 5)))
    node = make_node(OPS["einsum"], {"values": (a, b)}, {"equation": "chw, whu -> chu"})
    assert node.attributes == {"equation": "chw,whu->chu"}
    assert node.result.type.shape == (3, 2, 5)
