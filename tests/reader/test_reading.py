"""Models where they lie: files, artifacts and packages; weight files are read late, and only inside of the model's folder."""

from __future__ import annotations

import gc
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anedsl.codegen.artifact import write
from anedsl.codegen.options import Options
from anedsl.codegen.reader import read, read_text
from anedsl.data import Array
from anedsl.diagnostics import Failure
from anedsl.graph import Graph
from anedsl.passes.verify import verify
from tests.codegen import kernels
from tests.reader.emitting import emitted
from tests.reader.texts import program

WEIGHT = 'tensor<fp16, [2, 64]> w = const()[val = tensor<fp16, [2, 64]>(BLOBFILE(path = string("PATH"), offset = uint64(64)))];'
USE = "tensor<fp16, [2, 64]> y = add(x = x, y = w);"


def code_of(action: Any) -> str:
    with pytest.raises(Failure) as failure:
        action()
    [found] = failure.value.diagnostics
    return found.code


def weights_of(graph: Graph) -> dict[str, Array]:
    return {node.result.name: node.attributes["val"].load() for node in graph.constants}


# ---- packages ----


@pytest.mark.parametrize("dialect", ["1.0", "1.3"])
@pytest.mark.parametrize("make", [kernels.rmsnorm_bwd, kernels.everything], ids=["rmsnorm_bwd", "everything"])
def test_text_and_package_give_equal_graphs(make: Any, dialect: str, tmp_path: Path) -> None:
    graph = make()
    path = write(graph, "", Options(dialect=dialect, route="coreml", single_weight_file=True), tmp_path).path
    text, package = read(path / "model.mil"), read(path / f"{graph.name}.mlpackage")
    verify(package.main)
    assert (package.dialect, package.opsets) == (text.dialect, text.opsets)
    assert emitted(package.main, dialect, single=True) == emitted(text.main, dialect, single=True)
    of_text, of_package = weights_of(text.main), weights_of(package.main)
    assert of_text.keys() == of_package.keys()
    for name, array in of_text.items():
        np.testing.assert_array_equal(of_package[name], array)


def test_an_artifact_without_text_is_read_from_its_package(tmp_path: Path) -> None:
    path = write(kernels.rmsnorm_bwd(), "", Options(route="coreml", emit=frozenset({"mlpackage"})), tmp_path).path
    module = read(path)
    assert module.inputs is not None
    assert [place.name for place in module.inputs[0].places] == ["dy", "x"]
    assert weights_of(module.main)["rms_w"].shape == (1, 64, 1, 1)


def test_a_package_of_coremltools_itself(coremltools: Any, tmp_path: Path) -> None:
    from coremltools.converters.mil import Builder as mb  # noqa: N813
    from coremltools.converters.mil.mil import types

    @mb.program(input_specs=[mb.TensorSpec((1, 8, 4), dtype=types.fp16)], opset_version=coremltools.target.iOS18)
    def kernel(x: Any) -> Any:
        scaled = mb.mul(x=x, y=np.linspace(0, 1, 32, dtype=np.float16).reshape(1, 8, 4))
        parts = mb.split(x=scaled, num_splits=2, axis=1)
        return mb.concat(values=[parts[1], mb.softmax(x=parts[0], axis=-1)], axis=1)

    with warnings.catch_warnings():
        # coremltools leaves a temporary folder to the garbage collector.
        warnings.simplefilter("ignore")
        model = coremltools.convert(
            kernel,
            minimum_deployment_target=coremltools.target.iOS18,
            pass_pipeline=coremltools.PassPipeline.EMPTY,
            compute_precision=coremltools.precision.FLOAT16,
            skip_model_load=True,
        )
        model.save(str(tmp_path / "k.mlpackage"))
        del model
        gc.collect()
    module = read(tmp_path / "k.mlpackage")
    verify(module.main)
    assert [node.op.name for node in module.main.operations] == ["mul", "split", "softmax", "concat"]
    assert module.name == "k"


def damaged_package(tmp_path: Path, damage: Any) -> Path:
    path = write(kernels.rmsnorm_bwd(), "", Options(route="coreml"), tmp_path).path / "rmsnorm_bwd.mlpackage"
    damage(path)
    return path


DAMAGES = {
    "no format": lambda path: (path / "Data/com.apple.CoreML/model.mlmodel").write_bytes(b"\xff" * 100),
    "nothing": lambda path: (path / "Data/com.apple.CoreML/model.mlmodel").write_bytes(b""),
    "cut": lambda path: (model := path / "Data/com.apple.CoreML/model.mlmodel").write_bytes(model.read_bytes()[:-100]),
    "no manifest": lambda path: (path / "Manifest.json").write_text("{}"),
    "manifest of another kind": lambda path: (path / "Manifest.json").write_text("[1]"),
    "manifest that leads out": lambda path: (path / "Manifest.json").write_text(
        json.dumps({"rootModelIdentifier": "a", "itemInfoEntries": {"a": {"path": "../../model.mil"}}})
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_package(damage: Any, tmp_path: Path) -> None:
    assert code_of(lambda: read(damaged_package(tmp_path, damage))) == "ANE0486"


# ---- manifests ----


def changed(**changes: Any) -> Any:
    return lambda content: content.update(changes)


def _move(content: dict[str, Any]) -> None:
    content["inputs"][1]["start"] = 32


def _retype(content: dict[str, Any]) -> None:
    content["inputs"][0]["dtype"] = "fp32"


def _unhook(content: dict[str, Any]) -> None:
    content["outputs"][0]["surface"] = "elsewhere"


MANIFESTS = {
    "another format": changed(format="other"),
    "another version": changed(format_version=2),
    "no kernel": changed(kernel=None),
    "no files": changed(files=None),
    "a file elsewhere": changed(files={"mil": "../model.mil"}),
    "no inputs": changed(inputs=None),
    "inputs of another kind": changed(inputs=[1]),
    "weights of another kind": changed(weights=[{}]),
    "a hole": _move,
    "another type": _retype,
    "a port in no surface": _unhook,
}


@pytest.mark.parametrize("change", MANIFESTS.values(), ids=MANIFESTS.keys())
def test_a_manifest_that_does_not_fit(change: Any, tmp_path: Path) -> None:
    path = write(kernels.rmsnorm_bwd(), "", Options(emit=frozenset({"mil"})), tmp_path).path
    content = json.loads((path / "kernel.json").read_text())
    change(content)
    (path / "kernel.json").write_text(json.dumps(content))
    assert code_of(lambda: read(path)) == "ANE0485"


NO_JSON = {
    "{": "it is no valid JSON (expecting property name enclosed in double quotes at 1:2)",
    "": "it is no valid JSON (expecting value at 1:1)",
    "[" * 100_000: "it is no valid JSON (a number or the nesting is too large)",
    "1" * 5000: "it is no valid JSON (a number or the nesting is too large)",
    "[]": "its `format` is not `anedsl-kernel`",
}


@pytest.mark.parametrize(("text", "reason"), NO_JSON.items(), ids=["cut", "empty", "deep", "long", "a list"])
def test_a_manifest_that_is_no_json(text: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "kernel.json").write_text(text)
    with pytest.raises(Failure) as failure:
        read(tmp_path)
    assert failure.value.diagnostics[0].code == "ANE0485"
    assert failure.value.diagnostics[0].headline.endswith(f"is no manifest of this program: {reason}")


# ---- paths ----


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    assert code_of(lambda: read(tmp_path)) == "ANE0484"


@pytest.mark.parametrize(
    ("files", "named"), [(["model.mil", "a.mil"], "model.mil"), (["k.mil"], "k.mil"), (["a.mil", "b.mil"], None)]
)
def test_a_text_in_a_folder_without_manifest_is_named(files: list[str], named: str | None, tmp_path: Path) -> None:
    for file in files:
        (tmp_path / file).write_text("")
    with pytest.raises(Failure) as failure:
        read(tmp_path)
    [advice] = failure.value.diagnostics[0].help_texts
    assert advice == (f"give `{tmp_path / named}`" if named else "give a `.mil` file, an artifact's folder or an `.mlpackage`")


def test_a_file_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    assert code_of(lambda: read(tmp_path / "a.txt")) == "ANE0484"
    assert code_of(lambda: read(tmp_path / "b.txt")) == "ANE0484"
    assert code_of(lambda: read(tmp_path / "b.mil")) == "ANE0410"


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.mil").write_bytes(b"program(1.3)\xff")
    assert code_of(lambda: read(tmp_path / "a.mil")) == "ANE0484"


INSIDE = "@model_path/"
ESCAPES = [
    *("w.bin", "/etc/passwd", "@model_path", INSIDE),
    *(INSIDE + path for path in ("../w.bin", "a/../../w.bin", "/w.bin", "./w.bin", "C:/w.bin", "..\\w.bin", "w\x07.bin")),
]


@pytest.mark.parametrize("path", ESCAPES)
def test_a_path_that_leads_out_is_refused_at_once(path: str) -> None:
    assert code_of(lambda: read_text(program(WEIGHT.replace("PATH", path) + USE, inputs="tensor<fp16, [2, 64]> x"))) == "ANE0478"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A program with one weight file, `weights/w.bin`, below a folder that holds other things."""
    folder = tmp_path / "model"
    folder.mkdir()
    graph = kernels.Builder()
    weight = graph.weight("w", np.arange(128.0).reshape(2, 64))
    graph.output("y", graph.op("add", x=graph.input("x", kernels.fp16(2, 64)), y=weight))
    path = write(graph.graph(), "", Options(emit=frozenset({"mil"})), tmp_path).path
    (path / "weights").rename(folder / "weights")
    (path / "model.mil").rename(folder / "model.mil")
    return folder


def load(folder: Path) -> Array:
    [const] = read(folder / "model.mil").main.constants
    array: Array = const.attributes["val"].load()
    return array


def test_a_weight_is_read_when_it_is_loaded(model: Path) -> None:
    data = read(model / "model.mil").main.constants[0].attributes["val"]
    assert data.shape == (2, 64)
    np.testing.assert_array_equal(data.load(), np.arange(128.0).reshape(2, 64))
    np.testing.assert_array_equal(np.concatenate(list(data.chunks())), np.arange(128.0))


def test_a_missing_weight_is_reported_when_it_is_loaded(model: Path) -> None:
    (model / "weights" / "w.bin").unlink()
    assert read(model / "model.mil").main.operations
    assert code_of(lambda: load(model)) == "ANE0479"


def test_a_link_that_leads_out_is_refused(model: Path) -> None:
    outside = model.parent / "outside.bin"
    (model / "weights" / "w.bin").rename(outside)
    (model / "weights" / "w.bin").symlink_to(outside)
    assert code_of(lambda: load(model)) == "ANE0478"


def test_a_link_inside_is_followed(model: Path) -> None:
    (model / "weights" / "w.bin").rename(model / "other.bin")
    (model / "weights" / "w.bin").symlink_to(model / "other.bin")
    assert load(model).shape == (2, 64)


@pytest.mark.parametrize("change", [("tensor<fp16, [2, 64]>", "tensor<fp16, [2, 63]>"), ("tensor<fp16", "tensor<fp32")])
def test_a_weight_of_another_type(change: tuple[str, str], model: Path) -> None:
    path = model / "model.mil"
    path.write_text(path.read_text().replace(*change))
    assert code_of(lambda: load(model)) == "ANE0481"


def test_a_weight_at_another_offset(model: Path) -> None:
    path = model / "model.mil"
    path.write_text(path.read_text().replace("uint64(64)", "uint64(128)"))
    assert code_of(lambda: load(model)) == "ANE0480"


def test_a_weight_that_is_a_folder(model: Path) -> None:
    (model / "weights" / "w.bin").unlink()
    (model / "weights" / "w.bin").mkdir()
    assert code_of(lambda: load(model)) == "ANE0410"
