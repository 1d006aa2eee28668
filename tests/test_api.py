"""The Python interface: choosing a kernel, options, weights, outputs by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anedsl
from anedsl import Failure, Kernel

TEXT = """\
kernel double {
    input x: fp16[1, 4, 1, 8]
    weight scale: fp16[1, 4, 1, 1] = ones
    output y, z
    y = x * scale
    z = x + x
}

kernel needs {
    input x: fp16[1, 4, 1, 8]
    weight w: fp16[1, 4, 1, 1]
    output y
    y = x * w
}
"""

X = np.ones((1, 4, 1, 8))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.ane"
    path.write_text(TEXT)
    return path


@pytest.fixture
def double(file: Path) -> Kernel:
    return anedsl.load(file, "double")


@pytest.fixture
def needs(file: Path) -> Kernel:
    return anedsl.load(file, "needs")


def said(action: Callable[..., Any], *arguments: Any, **options: Any) -> list[str]:
    """Headline and helps of every diagnostic that a call ends with."""
    with pytest.raises(Failure) as caught:
        action(*arguments, **options)
    return [line for each in caught.value.diagnostics for line in (f"{each.code}: {each.headline}", *each.help_texts)]


def test_a_failure_is_readable_in_a_session(tmp_path: Path) -> None:
    (tmp_path / "k.ane").write_text("kernel k { input x: fp16[4]; output y; y = x + z }")
    with pytest.raises(Failure) as caught:
        anedsl.load(tmp_path / "k.ane")
    (diagnostic,) = caught.value.diagnostics
    assert repr(diagnostic) == "<ANE0201: unknown name `z`>"
    assert repr(caught.value) == "Failure(<ANE0201: unknown name `z`>)"


def test_the_public_names_are_listed() -> None:
    assert dir(anedsl) == ["Failure", "Kernel", "Outputs", "__version__", "load"]
    assert all(getattr(anedsl, name) is not None for name in dir(anedsl))


def test_a_file_of_several_kernels_asks_for_one(file: Path) -> None:
    assert said(anedsl.load, file) == [f"ANE0513: `{file}` has several kernels", "name one of `double`, `needs`"]


def test_outputs_are_attributes(double: Kernel) -> None:
    out = double(x=X)
    assert out.y is out["y"]
    assert {"y", "z"} <= set(dir(out))
    with pytest.raises(AttributeError, match="there is no output `w`: the outputs are `y`, `z`"):
        _ = out.w


@pytest.mark.parametrize(
    ("emit", "written"),
    [("mil", {"mil"}), ("mil, header", {"mil", "header"}), (("header",), {"header"}), (["mil", "header"], {"mil", "header"})],
)
def test_what_is_emitted(double: Kernel, tmp_path: Path, emit: Any, written: set[str]) -> None:
    path = double.compile(tmp_path / "build", emit=emit).path
    found = {"mil": (path / "model.mil").exists(), "header": (path / "double.h").exists()}
    assert {name for name, there in found.items() if there} == written
    assert not (path / "double.mlpackage").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"emit": "mill"},
            ["ANE0512: invalid emit `'mill'`", "did you mean `mil`?", "choose one of `mil`, `mlpackage`, `header`"],
        ),
        ({"emit": ""}, ["ANE0512: invalid emit `''`", "choose one of `mil`, `mlpackage`, `header`"]),
        (
            {"emit": "mlpackage", "single_weight_file": True},
            [
                "ANE0512: invalid single_weight_file `True`: an mlpackage always has one file of weights",
                'choose it where `emit` holds "mil" or "header"',
            ],
        ),
        ({"emit": 3}, ["ANE0512: invalid emit `3`", "choose one of `mil`, `mlpackage`, `header`"]),
        ({"dialect": 1.3}, ["ANE0512: invalid dialect `1.3`", "choose one of `1.0`, `1.3`"]),
        ({"route": "file"}, ["ANE0512: invalid route `'file'`", "choose one of `inmemory`, `coreml`"]),
        ({"chip": "a17"}, ["ANE0512: invalid chip `'a17'`", "choose one of `m1`, `m2`, `m3`, `m4`, `m5`"]),
        ({"single_weight_file": "no"}, ["ANE0512: invalid single_weight_file `'no'`", "choose one of `True`, `False`"]),
        ({"random": -1}, ["ANE0512: invalid random `-1`", "choose a whole number from 0 on"]),
        (
            {"weights": [1]},
            [
                "ANE0512: invalid weights of type `list`",
                "choose a mapping from names to arrays, or the path of a file or folder",
            ],
        ),
    ],
)
def test_invalid_options(double: Kernel, tmp_path: Path, options: dict[str, Any], expected: list[str]) -> None:
    assert said(double.compile, tmp_path / "build", **options) == expected
    assert not (tmp_path / "build").exists()


def test_invalid_options_are_reported_together(double: Kernel, tmp_path: Path) -> None:
    found = said(double.compile, tmp_path, route="file", chip="a17")
    assert [line for line in found if line.startswith("ANE")] == [
        "ANE0512: invalid route `'file'`",
        "ANE0512: invalid chip `'a17'`",
    ]


@pytest.mark.parametrize("call", [lambda k, **o: k(x=X, **o), lambda k, **o: k.run({"x": X}, **o)], ids=["call", "run"])
def test_weights_by_other_names_and_at_random(needs: Kernel, call: Callable[..., anedsl.Outputs]) -> None:
    mapped = call(needs, weights={"layer.w": np.full(4, 3)}, map={"w": "layer.w"})
    assert (mapped.y == 3).all()
    drawn = call(needs, random=0)
    assert np.ptp(drawn.y) > 0
    assert (drawn.y == call(needs, random=0).y).all()
    assert (drawn.y != call(needs, random=1).y).any()
    assert said(call, needs)[0] == "ANE0401: weight `w` has no data and no initialiser"


def test_a_misspelt_mapping_is_reported_before_missing_weights(needs: Kernel) -> None:
    codes = [line[:7] for line in said(needs, x=X, map={"ww": "layer.w"}) if line.startswith("ANE")]
    assert codes == ["ANE0404", "ANE0401"]


def test_weights_that_nothing_takes_are_a_warning(double: Kernel, tmp_path: Path) -> None:
    with pytest.warns(RuntimeWarning, match="ANE0428: no array of `weights` is used"):
        double(x=X, weights={"Scale": np.ones(4)})
    assert [each.headline for each in double.diagnostics] == ["no array of `weights` is used"]
    double.compile(tmp_path, weights={"Scale": np.ones(4)}, emit="mil")
    assert "ANE0428" in [each.code for each in double.diagnostics]
    double(x=X, weights={"scale": np.ones(4)})
    assert double.diagnostics == []


def test_parameters_may_be_numbers_of_numpy(tmp_path: Path) -> None:
    (tmp_path / "k.ane").write_text("kernel k(N = 4) {\n input x: fp16[N]\n output y\n y = x * 2\n}\n")
    kernel = anedsl.load(tmp_path / "k.ane", N=np.int64(8))
    assert kernel.parameters == {"N": 8}
    assert kernel(x=np.ones(8)).y.shape == (8,)


def test_rows_of_different_lengths_are_no_array(double: Kernel) -> None:
    with pytest.raises(Failure) as failure:
        double(x=[[1, 2], [3]])
    [diagnostic] = failure.value.diagnostics
    assert diagnostic.code == "ANE0504"


def test_an_output_that_there_is_not_is_named(double: Kernel) -> None:
    out = double(x=X)
    for error, ask in ((KeyError, lambda: out["zz"]), (AttributeError, lambda: out.zz)):
        with pytest.raises(error, match="there is no output `zz`: the outputs are `y`, `z`"):
            ask()
    assert "zz" not in out
    assert out.get("zz") is None


def test_tensors_of_torch(needs: Kernel, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    x = torch.linspace(-3, 3, 32).reshape(1, 4, 1, 8).to(torch.bfloat16)
    w = torch.nn.Parameter(torch.tensor([1.5, -2.25, 3.0, 0.125], dtype=torch.bfloat16))
    expected = (x.double() * w.double().reshape(1, 4, 1, 1)).detach().numpy()
    np.testing.assert_array_equal(needs(x=x, weights={"w": w}, numerics="fp64").y, expected)
    needs.compile(tmp_path, weights={"w": w}, emit="mil")
    held = np.fromfile(tmp_path / "needs/weights/w.bin", np.float16)[-4:]
    assert held.tolist() == [1.5, -2.25, 3.0, 0.125]
    single = torch.ones(1, 4, 1, 8, requires_grad=True)
    assert needs(x=single, weights={"w": np.ones(4)}).y.shape == (1, 4, 1, 8)


def test_a_tensor_that_is_no_dense_array(needs: Kernel) -> None:
    torch = pytest.importorskip("torch")
    sparse = torch.eye(4).to_sparse()
    found = said(needs, x=X, weights={"w": sparse})
    assert found == [
        "ANE0413: the array `w` in `weights` holds a value of type Tensor that numpy makes no array of",
        "give an array of numpy, a dense tensor of torch, or nested lists whose rows are equally long",
    ]
    assert said(needs, x=sparse, weights={"w": np.ones(4)})[0].startswith("ANE0504: input `x` has Tensor values")


def test_a_result_that_is_not_finite_is_a_warning_at_the_call(double: Kernel) -> None:
    for call in (lambda: double(x=X * 60000), lambda: double.run({"x": X * 60000})):
        with pytest.warns(RuntimeWarning, match="ANE0505: output `z` has 32 non-finite values") as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]
        assert [each.code for each in double.diagnostics] == ["ANE0505"]
    double(x=X)
    assert double.diagnostics == []


def test_warnings_about_the_source_stay(tmp_path: Path) -> None:
    (tmp_path / "k.ane").write_text("kernel k { input x: fp16[4]; output y; unused = x + 1; y = x * 2 }")
    kernel = anedsl.load(tmp_path / "k.ane")
    assert [each.code for each in kernel.diagnostics] == ["ANE0206"]
    kernel(x=np.ones(4))
    assert [each.code for each in kernel.diagnostics] == ["ANE0206"]


def test_advice_about_options_is_put_in_pythons_words(needs: Kernel) -> None:
    with pytest.raises(Failure) as caught:
        needs(x=X)
    assert caught.value.__notes__ == [
        'in Python `--weights` is `weights={"NAME": array}` or `weights=PATH`, `--random` is `random=0`'
    ]
