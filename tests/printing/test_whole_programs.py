"""Small programs in which several ops meet: as text and as package they read back, compute what numpy does, and import again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from anedsl.codegen.comparison import compare
from anedsl.codegen.reader import read
from anedsl.reference.executor import execute
from tests.language.kernels import Array
from tests.printing.test_import import compiled, imported_again, kernel_of

RNG = np.random.default_rng(0)
SHAPES = {"a": (2, 32), "b": (2, 32), "n": (1, 1), "r": (1, 3), "s": (3,), "x": (1, 8, 4, 32)}
GIVEN = {name: RNG.standard_normal(shape) for name, shape in SHAPES.items()}

PROGRAMS: dict[str, tuple[str, Callable[..., Array], int]] = {
    # the equation of y, what it is, and its ops where no chip is named
    "a factor of higher rank after floor": (
        "concat(floor(s) * full([1, 1], 0.5), r, axis = 0)",
        lambda s, r: np.concatenate([np.floor(s)[None] * 0.5, r]),
        3,
    ),
    "a factor of many elements after floor": ("floor(s) * full([4, 3], 0.5)", lambda s: np.floor(s) * np.full((4, 3), 0.5), 2),
    "a product without axes": ("n[0][0] * r", lambda n, r: n[0][0] * r, 2),
    "axes go one by one": ("squeeze(squeeze(n, axes = [0])) * r", lambda n, r: n[0, 0] * r, 2),
    "a reduction that a reshape follows": (
        "reshape(sum(x, axis = 1, keep_dims = false), [4, 32])",
        lambda x: x.sum(axis=1).reshape(4, 32),
        2,
    ),
    "parts of a concat": ("concat(a, b, a, b, axis = 0)[2:6]", lambda a, b: np.concatenate([b, a]), 1),
    "one number in two forms": (
        "concat(ceil(a) * full([1], -1), tanh(-ceil(a)), axis = 0)",
        lambda a: np.concatenate([-np.ceil(a), np.tanh(-np.ceil(a))]),
        4,
    ),
}


@pytest.mark.parametrize(("equation", "expected", "ops"), PROGRAMS.values(), ids=PROGRAMS)
def test_programs(equation: str, expected: Callable[..., Array], ops: int, tmp_path: Path) -> None:
    names = expected.__code__.co_varnames[: expected.__code__.co_argcount]
    declared = "; ".join(f"input {name}: fp16{list(SHAPES[name])}" for name in names)
    given = {name: GIVEN[name] for name in names}
    kernel = kernel_of(f"kernel k {{ {declared}; output y; y = {equation} }}", tmp_path)
    wanted = expected(**given)
    folder = compiled(kernel, tmp_path / "out")
    for target in (folder / "model.mil", folder / "k.mlpackage"):
        found = read(target).main
        assert len(found.operations) == ops
        np.testing.assert_allclose(execute(found, given, "fp64")["y"], wanted, rtol=1e-12, atol=1e-12)
    _, copy = imported_again(folder, tmp_path)
    assert compare(read(folder).main, read(copy).main).difference is None


@pytest.mark.parametrize("storage", ["int8", "int4", "palette(bits = 4)", "sparse"])
@pytest.mark.parametrize("op", ["conv", "conv_transpose"])
def test_a_compressed_bias(op: str, storage: str, tmp_path: Path) -> None:
    text = f"""kernel k {{
        input x: fp16[1, 4, 8, 8]
        weight w: fp16[4, 4, 1, 1]
        weight b: fp16[4] stored {storage}
        output y
        y = {op}(x, weight = w, bias = b)
    }}"""
    kernel = kernel_of(text, tmp_path)
    w, b = RNG.standard_normal((4, 4, 1, 1)).astype(np.float16).astype(np.float64), np.array([1.0, 0, -1, 1])
    folder = kernel.compile(tmp_path / "out", weights={"w": w, "b": b}, route="coreml").path
    # coremltools wants the bias of conv_transpose as a const.
    from coremltools.converters.mil.frontend.milproto.load import load
    from coremltools.models.utils import load_spec

    package = folder / "k.mlpackage"
    load(load_spec(str(package)), 9, str(package / "Data/com.apple.CoreML/weights"))
    x = RNG.standard_normal((1, 4, 8, 8))
    found = execute(read(package).main, {"x": x}, "fp64")["y"]
    mixed = "oi,nihw->nohw" if op == "conv" else "io,nihw->nohw"
    np.testing.assert_allclose(found, np.einsum(mixed, w[:, :, 0, 0], x) + b[:, None, None], rtol=1e-3, atol=1e-3)
