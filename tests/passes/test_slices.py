"""Slices of slices become one, with the elements that numpy takes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anedsl.passes import optimize
from anedsl.passes.verify import verify
from anedsl.reference.executor import execute
from tests.language.kernels import graph_of

X = np.arange(9.0 * 7).reshape(9, 7)


@st.composite
def slices(draw: st.DrawFn, size: int) -> slice:
    """A slice of an axis that takes something, forwards or backwards."""
    taken = sorted({draw(st.integers(0, size - 1)) for _ in range(2)})
    low, high = taken[0], taken[-1]
    step = draw(st.integers(1, 3))
    return slice(low, high + 1, step) if draw(st.booleans()) else slice(high, low - 1 if low else None, -step)


def written(cuts: tuple[slice, ...], of: str, squeezed: list[bool]) -> str:
    masks = [str(cut.stop is None).lower() for cut in cuts]
    gone = [str(each).lower() for each in squeezed]
    return (
        f"slice_by_index({of}, begin = {[cut.start for cut in cuts]}, end = {[cut.stop or 0 for cut in cuts]}, "
        f"stride = {[cut.step for cut in cuts]}, end_mask = [{', '.join(masks)}], squeeze_mask = [{', '.join(gone)}])"
    )


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_chain_of_slices_is_one_at_most(data: st.DataObject) -> None:
    expected, text = X, "x"
    for last in (False, False, True):
        cuts = tuple(data.draw(slices(size)) for size in expected.shape)
        squeezed = [last and data.draw(st.booleans()), False]
        text = written(cuts, text, squeezed)
        expected = expected[tuple(cut.start if gone else cut for cut, gone in zip(cuts, squeezed, strict=True))]
    graph = optimize(graph_of(f"kernel k() {{ input x: fp16[9, 7]; output y; y = {text} }}"))
    verify(graph)
    assert len(graph.operations) <= 1
    np.testing.assert_array_equal(execute(graph, {"x": X}, "fp64")["y"], expected)


@pytest.mark.parametrize(
    ("text", "ops"),
    [
        ("x[1::2][1::2]", ["slice_by_index"]),
        ("x[1:, 2:][:3, ::2]", ["slice_by_index"]),
        ("x[::2, 1:][1:]", ["slice_by_index"]),
        ("x[::4][::2]", ["slice_by_index"]),
        ("x[::4][1:2]", ["slice_by_size"]),
        ("x[1:][2:][:, 1:]", ["slice_by_size"]),
        # What removes an axis stands between.
        ("x[1:3, 0][1:]", ["slice_by_size", "squeeze", "slice_by_size"]),
    ],
)
def test_as_it_is_written(text: str, ops: list[str]) -> None:
    graph = optimize(graph_of(f"kernel k() {{ input x: fp16[9, 7]; output y; y = {text} }}"))
    assert [node.op.name for node in graph.operations] == ops
    np.testing.assert_array_equal(execute(graph, {"x": X}, "fp64")["y"], eval(text, {"x": X}))
