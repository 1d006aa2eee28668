"""`anedsl run` on an artifact's folder, a MIL text and a package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import anedsl
from anedsl.cli.running import RunRequest, run_file
from anedsl.diagnostics import Failure
from tests.comparison.test_diff import SOURCE, STATE

PLAIN = RunRequest(Path(), None, [], None, [], None, None, [], [], "fp16", "json")


class Compiled:
    """A kernel with packed inputs, its artifact, and arrays for it."""

    def __init__(self, folder: Path) -> None:
        self.source = folder / "pair.ane"
        # 0.1 is rounded in an artifact, and not in a source.
        self.source.write_text(SOURCE.replace("SCALE = 2", "SCALE = 0.1"))
        self.kernel = anedsl.load(self.source)
        self.path = self.kernel.compile(folder / "build").path
        numbers = np.random.default_rng(0)
        self.inputs = {name: numbers.standard_normal((1, 64, 1, 64)).astype(np.float16) for name in ("a", "b")}
        self.logical, self.packed = folder / "logical.npz", folder / "packed.npz"
        np.savez(self.logical, **self.inputs)  # type: ignore[arg-type]
        np.savez(self.packed, inp=np.concatenate(list(self.inputs.values()), axis=1))


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return Compiled(tmp_path_factory.mktemp("run"))


def outputs(target: Path, tmp_path: Path, **options: Any) -> dict[str, Any]:
    """What a run saves."""
    out = tmp_path / "out.npz"
    run_file(PLAIN._replace(target=target, out=out, **options))
    with np.load(out) as found:
        return dict(found)


def test_an_artifact_has_logical_inputs_and_outputs(compiled: Compiled, tmp_path: Path) -> None:
    expected = compiled.kernel.run(compiled.inputs)
    found = outputs(compiled.path, tmp_path, inputs=compiled.logical)
    assert list(found) == ["s", "d"]
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("name", ["", "model.mil", "pair.mlpackage"])
def test_a_surface_may_be_given_as_a_whole(compiled: Compiled, name: str, tmp_path: Path) -> None:
    expected = compiled.kernel.run(compiled.inputs)
    found = outputs(compiled.path / name if name else compiled.path, tmp_path, inputs=compiled.packed)
    np.testing.assert_array_equal(found["d"], expected["d"])


def test_a_pack_of_a_source_may_be_given_as_a_whole(compiled: Compiled, tmp_path: Path) -> None:
    found = outputs(compiled.source, tmp_path, inputs=compiled.packed)
    np.testing.assert_array_equal(found["d"], compiled.kernel.run(compiled.inputs)["d"])


def test_an_input_that_is_named_takes_the_place_of_its_part_of_a_pack(compiled: Compiled, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", compiled.inputs["a"] * 2)
    found = outputs(compiled.source, tmp_path, inputs=compiled.packed, input=[f"a={tmp_path / 'a.npy'}"])
    np.testing.assert_array_equal(found["d"], compiled.kernel.run({**compiled.inputs, "a": compiled.inputs["a"] * 2})["d"])


@pytest.mark.parametrize("name", ["model.mil", "pair.mlpackage"])
def test_a_program_alone_speaks_of_surfaces_only(compiled: Compiled, name: str, tmp_path: Path) -> None:
    with pytest.raises(Failure) as caught:
        outputs(compiled.path / name, tmp_path, inputs=compiled.logical)
    assert {found.code for found in caught.value.diagnostics} == {"ANE0501", "ANE0502"}


def test_random_inputs_are_those_of_the_source(compiled: Compiled, tmp_path: Path) -> None:
    found = outputs(compiled.path, tmp_path, random=3)
    expected = outputs(compiled.source, tmp_path, random=3)
    np.testing.assert_array_equal(found["s"], expected["s"])
    # In the declared range.
    assert np.abs(found["d"]).max() <= 4


def test_constants_of_an_artifact_are_the_rounded_ones(compiled: Compiled, tmp_path: Path) -> None:
    options: dict[str, Any] = {"inputs": compiled.logical, "numerics": "fp64"}
    exact, found = outputs(compiled.source, tmp_path, **options), outputs(compiled.path, tmp_path, **options)
    difference = np.abs(exact["s"] - found["s"]).max()
    assert 0 < difference < 1e-3
    a, b = (compiled.inputs[name].astype(np.float64) for name in ("a", "b"))
    np.testing.assert_array_equal(found["s"], a * float(np.float16(0.1)) + b * 0.5)


def test_a_surface_of_a_wrong_shape_is_refused(compiled: Compiled, tmp_path: Path) -> None:
    np.savez(tmp_path / "wrong.npz", inp=np.zeros((1, 64, 1, 64)))
    with pytest.raises(Failure) as caught:
        outputs(compiled.path, tmp_path, inputs=tmp_path / "wrong.npz")
    (found,) = caught.value.diagnostics
    assert found.headline == "pack `inp` has shape [1, 64, 1, 64], the kernel wants [1, 128, 1, 64]"
    assert found.note_texts == ["it holds `a` [1, 64, 1, 64], `b` [1, 64, 1, 64], one behind the other along axis 1"]


@pytest.mark.parametrize("option", [{"define": ["SCALE=3"]}, {"weights": [Path("w.npz")]}, {"map": ["w=v"]}])
def test_what_is_compiled_has_its_parameters_and_weights(compiled: Compiled, option: dict[str, Any]) -> None:
    with pytest.raises(typer.BadParameter, match="already has its parameters and weights"):
        run_file(PLAIN._replace(target=compiled.path, random=0, **option))


def test_a_kernel_is_chosen_by_name(compiled: Compiled, capsys: pytest.CaptureFixture[str]) -> None:
    run_file(PLAIN._replace(target=compiled.path, kernel="pair", random=0))
    assert list(json.loads(capsys.readouterr().out)["outputs"]) == ["s", "d"]
    with pytest.raises(Failure) as caught:
        run_file(PLAIN._replace(target=compiled.path, kernel="piar", random=0))
    assert (caught.value.diagnostics[0].code, caught.value.diagnostics[0].nearest) == ("ANE0235", "pair")  # type: ignore[attr-defined]


TWO_FUNCTIONS = """program(1.3)
{
    func double<ios18>(tensor<fp16, [4]> x) {
        tensor<fp16, [4]> y = add(x = x, y = x);
    } -> (y);
    func negated<ios18>(tensor<fp16, [4]> x) {
        tensor<fp16, [4]> z = mul(x = x, y = fp16(-1));
    } -> (z);
}
"""


def refused(path: Path, text: str) -> list[tuple[str, str]]:
    path.write_text(text)
    with pytest.raises(Failure) as caught:
        run_file(PLAIN._replace(target=path, random=0))
    return [(found.code, found.headline) for found in caught.value.diagnostics]


def test_ops_without_a_record_are_refused_before_inputs_are_asked_for(tmp_path: Path) -> None:
    assert refused(tmp_path / "state.mil", STATE) == [
        ("ANE0482", "cannot compute `read_state`: it has no record"),
        ("ANE0482", "cannot compute `write_state`: it has no record"),
    ]
    alone = STATE.replace("read_state(input = kv)", "relu(x = x)").replace("write_state(data = x, input = kv);", "")
    reason = "its input `kv` is of type `state<tensor<fp16, [1, 4]>>`, and not a tensor of known sizes"
    assert refused(tmp_path / "alone.mil", alone) == [("ANE0508", f"cannot run `{tmp_path / 'alone.mil'}`: {reason}")]
    reason = "its input `kv` is of type `string`, and not a tensor of known sizes"
    text = alone.replace("state<tensor<fp16, [1, 4]>>", "string")
    assert refused(tmp_path / "text.mil", text) == [("ANE0508", f"cannot run `{tmp_path / 'text.mil'}`: {reason}")]


def test_an_op_without_a_record_that_no_output_needs_does_not_matter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.mil"
    path.write_text(TWO_FUNCTIONS.replace("func negated", "func other").replace("double", "main").replace(
        "tensor<fp16, [4]> y = add", "fp16 unused = mystery(x = x); tensor<fp16, [4]> y = add"
    ))  # fmt: skip
    run_file(PLAIN._replace(target=path, kernel="model", random=0))
    assert list(json.loads(capsys.readouterr().out)["outputs"]) == ["y"]


def test_one_of_several_functions_has_to_be_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "two.mil"
    path.write_text(TWO_FUNCTIONS)
    with pytest.raises(typer.BadParameter, match=r"two\.mil has several kernels: name one of double, negated") as caught:
        run_file(PLAIN._replace(target=path, random=0))
    assert caught.value.param_hint == "KERNEL"
    run_file(PLAIN._replace(target=path, kernel="negated", random=0))
    assert list(json.loads(capsys.readouterr().out)["outputs"]) == ["z"]


def test_a_folder_without_a_program_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Failure) as caught:
        run_file(PLAIN._replace(target=tmp_path))
    assert caught.value.diagnostics[0].code == "ANE0508"


def test_an_op_without_a_record_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.mil"
    path.write_text("""program(1.3)
{
    func main<ios18>(tensor<fp16, [4]> x) {
        tensor<fp16, [4]> y = mystery(x = x)[name = string("y")];
    } -> (y);
}
""")
    with pytest.raises(Failure) as caught:
        run_file(PLAIN._replace(target=path, random=0))
    assert "`mystery`" in caught.value.diagnostics[0].headline
