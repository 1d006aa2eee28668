"""An infinity as an attribute: read, run, written and imported where it means something, else refused in words."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from anedsl.codegen.reader import read, read_text
from anedsl.diagnostics import Failure
from anedsl.graph import Graph
from anedsl.printing import print_kernel
from anedsl.reference.executor import execute
from tests.reader.emitting import emitted
from tests.reader.texts import program

X = np.array([[-2.0, 0.25, 0.75, 3.0]])

CLIPS = [
    ("0x1p-1", "inf", {"min": 0.5}, "y = maximum(x, 0.5)"),
    ("-inf", "0x1p-1", {"max": 0.5}, "y = minimum(x, 0.5)"),
    ("-inf", "inf", {"min": -np.inf, "max": np.inf}, "y = identity(x)"),
]


def clip(alpha: str, beta: str) -> Graph:
    return read_text(program(f"tensor<fp16, [1, 4]> y = clip(x = x, alpha = fp16({alpha}), beta = fp16({beta}));")).main


@pytest.mark.parametrize(("alpha", "beta", "bounds", "text"), CLIPS)
@pytest.mark.parametrize("numerics", ["fp16", "fp32", "fp64"])
def test_a_bound_that_bounds_nothing(alpha: str, beta: str, bounds: dict[str, float], text: str, numerics: str) -> None:
    graph = clip(alpha, beta)
    expected = torch.clamp(torch.from_numpy(X), **bounds).numpy()
    np.testing.assert_array_equal(execute(graph, {"x": X}, numerics)["y"], expected)
    assert f"    {text}\n" in print_kernel(graph)


@pytest.mark.parametrize(("alpha", "beta", "bounds", "text"), CLIPS)
@pytest.mark.parametrize("dialect", ["1.0", "1.3"])
def test_it_is_written_as_it_was_read(alpha: str, beta: str, bounds: dict[str, float], text: str, dialect: str) -> None:
    written = emitted(clip(alpha, beta), dialect)
    assert f"({alpha})" in written
    assert f"({beta})" in written
    assert emitted(read_text(written).main, dialect) == written


def padded(value: str) -> Graph:
    arguments = f'pad = tensor<int32, [4]>([0, 0, 1, 1]), mode = string("constant"), constant_val = fp16({value})'
    return read_text(program(f"tensor<fp16, [1, 6]> y = pad(x = x, {arguments});")).main


def test_a_margin_of_minus_infinity() -> None:
    graph = padded("-inf")
    expected = torch.nn.functional.pad(torch.from_numpy(X), (1, 1), value=-torch.inf).numpy()
    np.testing.assert_array_equal(execute(graph, {"x": X}, "fp64")["y"], expected)
    assert "fp16(-inf)" in emitted(graph)
    with pytest.raises(Failure) as caught:
        print_kernel(graph)
    headline = "`constant_val = -inf` of `pad` cannot be written in the language: the language has no infinity"
    assert [(found.code, found.headline) for found in caught.value.diagnostics] == [("ANE0440", headline)]


REFUSED = [
    ("clip(x = x, alpha = fp16(nan), beta = fp16(1))", "`alpha` of `clip` takes a number or an infinity, found `nan`"),
    ("leaky_relu(x = x, alpha = fp16(nan))", "`alpha` of `leaky_relu` takes a finite number, found `nan`"),
    ("elu(x = x, alpha = fp16(-inf))", "`alpha` of `elu` takes a finite number, found `-inf`"),
    ("rsqrt(x = x, epsilon = fp16(inf))", "`epsilon` of `rsqrt` takes a finite number, found `inf`"),
    ("threshold(x = x, alpha = fp16(inf))", "`alpha` of `threshold` takes a finite number, found `inf`"),
]


@pytest.mark.parametrize(("call", "headline"), REFUSED)
def test_elsewhere_it_means_nothing(call: str, headline: str) -> None:
    with pytest.raises(Failure) as caught:
        read_text(program(f"tensor<fp16, [1, 4]> y = {call};"))
    assert [(found.code, found.headline) for found in caught.value.diagnostics] == [("ANE0475", headline)]


def test_a_package_that_coremltools_wrote(coremltools: Any, tmp_path: Path) -> None:
    from coremltools.converters.mil import Builder as mb  # noqa: N813
    from coremltools.converters.mil.mil import types

    @mb.program(input_specs=[mb.TensorSpec((1, 4), dtype=types.fp16)], opset_version=coremltools.target.iOS17)
    def kernel(x: Any) -> Any:
        return mb.clip(x=x, alpha=np.float16(0.5), beta=np.float16(np.inf), name="y")

    with warnings.catch_warnings():
        # coremltools leaves a temporary folder to the garbage collector.
        warnings.simplefilter("ignore")
        model = coremltools.convert(kernel, minimum_deployment_target=coremltools.target.iOS17, skip_model_load=True)
        model.save(str(tmp_path / "k.mlpackage"))
        del model
        gc.collect()
    main = read(tmp_path / "k.mlpackage").main
    node = next(node for node in main.operations if node.op.name == "clip")
    assert node.attributes == {"alpha": 0.5, "beta": np.inf}
    np.testing.assert_array_equal(next(iter(execute(main, {"x": X}, "fp64").values())), np.maximum(X, 0.5))
