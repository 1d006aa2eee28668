"""A number has no element type of its own: it takes that of the tensors and attributes it meets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from anedsl.reference.executor import execute
from anedsl.types import INT8, UINT8, DType
from tests.language.kernels import graph_of, problems

X = np.linspace(-20, 20, 8).reshape(1, 2, 1, 4)


def kernel(body: str) -> str:
    return f"kernel k() {{ input x: fp16[1, 2, 1, 4]; output y; {body} }}"


@pytest.mark.parametrize(
    ("zero", "dtype"),
    [("128", UINT8), ("cast(128, uint8)", UINT8), ("-128", INT8), ("5", INT8), ("5", UINT8)],
)
def test_the_zero_point_of_quantize_follows_the_type_of_its_result(zero: str, dtype: DType) -> None:
    graph = graph_of(kernel(f"y = quantize(x, scale = 0.25, zero_point = {zero}, output_dtype = {dtype})"))
    (node,) = graph.operations
    assert node.operands["zero_point"].type.dtype is dtype
    assert graph.outputs[0].value.type.dtype is dtype
    number = int(zero.removeprefix("cast(").partition(",")[0])
    low, high = (-128, 127) if dtype is INT8 else (0, 255)
    expected = torch.fake_quantize_per_tensor_affine(torch.tensor(X, dtype=torch.float32), 0.25, number, low, high)
    np.testing.assert_array_equal(execute(graph, {"x": X}, "fp64")["y"], expected.numpy() / 0.25 + number)


@pytest.mark.parametrize(("zero", "dtype"), [("128", "uint8"), ("-3", "int8")])
def test_the_zero_point_of_dequantize_follows_its_input(zero: str, dtype: str) -> None:
    quantized = f"q = quantize(x, scale = 0.25, zero_point = {zero}, output_dtype = {dtype})"
    graph = graph_of(kernel(f"{quantized}; y = dequantize(q, scale = 0.25, zero_point = {zero})"))
    found = execute(graph, {"x": X}, "fp64")["y"]
    assert np.abs(found - X).max() <= 0.125


def test_several_zero_points_follow_as_one_does() -> None:
    body = "y = quantize(x, scale = [0.25, 0.5], zero_point = [1, 200], axis = 1, output_dtype = uint8)"
    scale, zero = torch.tensor([0.25, 0.5]), torch.tensor([1, 200], dtype=torch.int32)
    numbers = torch.tensor(X, dtype=torch.float32)
    expected = torch.fake_quantize_per_channel_affine(numbers, scale, zero, 1, 0, 255)
    expected = expected / scale.reshape(2, 1, 1) + zero.reshape(2, 1, 1)
    np.testing.assert_array_equal(execute(graph_of(kernel(body)), {"x": X}, "fp64")["y"], expected.numpy())


def test_numbers_are_quantized_at_compile_time_as_tensors_are() -> None:
    steps = "quantize(tensor([1, 2, -40, 9]), scale = 0.5, zero_point = 128, output_dtype = uint8)"
    graph = graph_of(kernel(f"y = x * 0 + {steps} + dequantize({steps}, scale = 0.5, zero_point = 128)"))
    numbers = torch.tensor([1.0, 2.0, -40.0, 9.0])
    expected = torch.fake_quantize_per_tensor_affine(numbers, 0.5, 128, 0, 255)
    found = execute(graph, {"x": X}, "fp64")["y"][0, 0, 0]
    np.testing.assert_array_equal(found, (expected / 0.5 + 128 + expected).numpy())


@pytest.mark.parametrize(
    ("body", "code", "headline", "at"),
    [
        (
            "y = quantize(x, scale = 0.1, zero_point = 128, output_dtype = int8)",
            "ANE0232", "128 does not fit int8", "128",
        ),
        (
            "y = quantize(x, scale = 0.1, zero_point = 128, output_dtype = fp16)",
            "ANE0246", "invalid `output_dtype` of `quantize`: it is int8 or uint8", "fp16",
        ),
        (
            "y = quantize(x, scale = 0, output_dtype = int8)",
            "ANE0276", "`scale` of `quantize` has to be above 0, found 0", "0",
        ),
        (
            "y = quantize(x, scale = [0.5, -0.5], axis = 1, output_dtype = int8)",
            "ANE0276", "`scale` of `quantize` has to be above 0, found -0.5 in a compile-time tensor", "[0.5, -0.5]",
        ),
        (
            "y = dequantize(quantize(x, scale = 1, output_dtype = int8), scale = -1)",
            "ANE0276", "`scale` of `dequantize` has to be above 0, found -1", "-1",
        ),
        (
            "y = x * quantize(2, scale = -0.5, output_dtype = int8)",
            "ANE0276", "`scale` of `quantize` has to be above 0, found -0.5", "-0.5",
        ),
    ],
)  # fmt: skip
def test_mistakes(body: str, code: str, headline: str, at: str) -> None:
    assert problems(kernel(body)) == [(code, headline, at)]
