"""What the examples lean on: forms of the language that cost no op, or one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import anedsl
from anedsl.api import Kernel


def load(folder: Path, body: str) -> Kernel:
    path = folder / "kernel.ane"
    path.write_text(f"kernel k {{\n{body}\n}}\n", encoding="utf-8")
    return anedsl.load(path)


def ops(kernel: Kernel) -> list[str]:
    return [node.op.name for node in kernel.graph.operations]


def random(kernel: Kernel) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal(type.shape) for name, type in kernel.inputs.items()}


@pytest.mark.parametrize(
    ("equation", "a", "b", "expected"),
    [
        # A height of 1 is no axis to move: reshapes, and a product with the flag of `matmul`.
        ("bihs,biho->bohs", "[1, 4, 1, 3]", "[1, 4, 1, 5]", ["reshape", "reshape", "matmul", "reshape"]),
        ("bihs,biho->bhos", "[1, 4, 1, 3]", "[1, 4, 1, 5]", ["reshape", "reshape", "matmul"]),
        # The equation that MIL has, in either order of its operands.
        ("boxh,bhxs->boxs", "[1, 4, 1, 3]", "[1, 3, 1, 5]", ["einsum"]),
        ("bchq,bkhc->bkhq", "[2, 4, 6, 3]", "[2, 5, 6, 4]", ["einsum"]),
        # Nothing to move at all.
        ("bhqd,bhkd->bhqk", "[1, 2, 3, 4]", "[1, 2, 5, 4]", ["matmul"]),
        ("ij,jk->ik", "[2, 3]", "[3, 4]", ["matmul"]),
    ],
)
def test_einsum_moves_no_axis_without_need(tmp_path: Path, equation: str, a: str, b: str, expected: list[str]) -> None:
    kernel = load(tmp_path, f'input a: fp16{a}\ninput b: fp16{b}\noutput y\ny = einsum("{equation}", a, b)')
    arrays = random(kernel)
    assert ops(kernel) == expected
    y = kernel(numerics="fp64", **arrays)["y"]
    np.testing.assert_allclose(y, np.einsum(equation, arrays["a"], arrays["b"]), rtol=1e-12, atol=1e-12)


def test_two_reshapes_are_one(tmp_path: Path) -> None:
    kernel = load(tmp_path, "input x: fp16[2, 3]\noutput y\ny = reshape(reshape(x + x, [6]), [3, 2])")
    assert ops(kernel) == ["add", "reshape"]
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(kernel(numerics="fp64", x=x)["y"], 2 * x.reshape(3, 2))


def test_an_input_may_pass_through_to_a_packed_output(tmp_path: Path) -> None:
    body = "input a, b: fp16[1, 2, 1, 4]\noutput y, a\npack inp = (a, b) along 1\npack out = (a, y) along 1\ny = a * b"
    kernel = load(tmp_path, body)
    arrays = random(kernel)
    outputs = kernel(numerics="fp64", **arrays)
    np.testing.assert_array_equal(outputs["a"], arrays["a"])
    np.testing.assert_array_equal(outputs["y"], arrays["a"] * arrays["b"])
    surfaces = kernel.compile(tmp_path / "build").manifest["surfaces"]
    assert [surface["members"] for surface in surfaces["inputs"]] == [["a", "b"]]
    assert [surface["members"] for surface in surfaces["outputs"]] == [["a", "y"]]
