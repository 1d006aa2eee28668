"""The mlpackage: read back by coremltools, and compared op for op with the text."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lark import Tree

from anedsl.codegen.artifact import Options, write
from anedsl.codegen.legalize import OPSET_OF
from anedsl.codegen.mlpackage import VERSIONS
from anedsl.diagnostics import Failure
from anedsl.graph import Graph
from anedsl.types import BOOL, DTYPES, INT32, TensorType
from tests.codegen.conftest import Package
from tests.codegen.kernels import Builder, everything, fp16, rmsnorm_bwd, span_of

GRAPHS = {"rmsnorm_bwd": rmsnorm_bwd, "everything": everything}
Load = Callable[[Path], Package]


def written(graph: Graph, out: Path, **options: Any) -> tuple[Path, str]:
    """The package of a graph, and its text."""
    artifact = write(graph, "0" * 64, Options(**options), out)
    return artifact.path / f"{graph.name}.mlpackage", (artifact.path / "model.mil").read_text(encoding="utf-8")


def text_statements(tree: Any) -> list[tuple[str, list[str], dict[str, Any]]]:
    """Op, names of results, and arguments of every statement of a parsed text."""
    found = []
    for statement in tree.find_data("statement"):
        results, op, arguments, _ = statement.children
        names = [str(name) for name in results.children[1::2]]
        pairs = arguments.children if arguments else []
        bound = {
            str(key): [str(token) for token in (value.children if isinstance(value, Tree) else [value])]
            for key, value in zip(pairs[::2], pairs[1::2], strict=True)
        }
        found.append((str(op), names, bound))
    return found


def package_statements(package: Package) -> list[tuple[str, list[str], dict[str, Any]]]:
    return [
        (
            str(op.type),
            [str(result.name) for result in op.outputs],
            {key: [str(binding.name) for binding in op.inputs[key].arguments] for key in op.inputs},
        )
        for op in package.operations
    ]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("dialect", OPSET_OF)
@pytest.mark.parametrize("route", ["inmemory", "coreml"])
def test_the_package_says_what_the_text_says(
    name: str, dialect: str, route: str, tmp_path: Path, load_package: Load, parse_mil: Callable[[str], Any]
) -> None:
    path, text = written(GRAPHS[name](), tmp_path, dialect=dialect, route=route)
    package = load_package(path)
    statements = text_statements(parse_mil(text))
    assert len(statements) > 20
    assert package_statements(package) == statements
    opset, version = VERSIONS[OPSET_OF[dialect]]
    assert package.spec.specificationVersion == version
    assert package.spec.mlProgram.functions["main"].opset == opset


def test_types_and_shapes_of_the_interface(tmp_path: Path, load_package: Load) -> None:
    path, _ = written(everything(), tmp_path)
    description = load_package(path).spec.description
    found = {f.name: (list(f.type.multiArrayType.shape), f.type.multiArrayType.dataType) for f in description.input}
    assert found == {"xy": ([1, 16, 1, 96], 65552)}
    found = {f.name: (list(f.type.multiArrayType.shape), f.type.multiArrayType.dataType) for f in description.output}
    assert found == {"out": ([1, 16, 1, 32], 65552), "y_wide": ([1, 16, 1, 64], 65568), "same": ([1, 16, 1, 32], 65552)}


def values_of(package: Package) -> dict[str, Any]:
    """Every const by name, as coremltools reads it."""
    function = package.program.functions["main"]
    return {op.outputs[0].name: op.outputs[0].val for op in function.operations if op.op_type == "const"}


@pytest.mark.parametrize("single", [False, True])
def test_weights_have_their_values(single: bool, tmp_path: Path, load_package: Load) -> None:
    path, _ = written(everything(), tmp_path, single_weight_file=single)
    values = values_of(load_package(path))
    assert np.array_equal(values["W_0"].reshape(-1), (np.arange(256) / 256).astype(np.float16))
    assert np.array_equal(values["b"].reshape(-1), np.arange(16, dtype=np.float16))
    assert np.array_equal(values["table"].reshape(-1), np.linspace(-1, 1, 16).astype(np.float16))


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "int32", "bool"])
@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_immediate_values(dtype: str, shape: tuple[int, ...], tmp_path: Path, load_package: Load) -> None:
    type = TensorType(DTYPES[dtype], shape)
    given = np.asarray(np.arange(type.size).reshape(shape) - 2.0, DTYPES[dtype].numpy)
    b = Builder()
    picked = b.op("cast", x=b.const(given, type, "c"), dtype=DTYPES["fp32"])
    b.output("y", b.op("add", x=picked, y=b.input("x", TensorType(DTYPES["fp32"], (2, 3)))))
    path, _ = written(b.graph(), tmp_path)
    found = np.asarray(values_of(load_package(path))["c"])
    assert found.dtype == given.dtype
    assert np.array_equal(found, given)


def test_coremltools_opens_the_package(tmp_path: Path, coremltools: Any) -> None:
    path, _ = written(rmsnorm_bwd(), tmp_path)
    model = coremltools.models.MLModel(str(path), skip_model_load=True)
    assert model.get_spec().specificationVersion == 9
    assert Path(model.weights_dir, "weight.bin").stat().st_size == 128 + 128


def test_a_kernel_without_weights_has_no_weight_file(tmp_path: Path, load_package: Load, coremltools: Any) -> None:
    b = Builder()
    b.output("y", b.op("relu", x=b.input("x", fp16(4))))
    path, _ = written(b.graph(), tmp_path)
    assert sorted(p.name for p in path.rglob("*") if p.is_file()) == ["Manifest.json", "model.mlmodel"]
    assert len(json.loads((path / "Manifest.json").read_text())["itemInfoEntries"]) == 1
    assert [op.type for op in load_package(path).operations] == ["relu"]
    coremltools.models.MLModel(str(path), skip_model_load=True)


def test_integers_may_be_inputs_and_outputs(tmp_path: Path, load_package: Load) -> None:
    b = Builder()
    b.output("y", b.op("add", x=b.input("x", TensorType(INT32, (4,))), y=b.const(1, TensorType(INT32, ()))))
    path, _ = written(b.graph(), tmp_path)
    assert load_package(path).spec.description.output[0].type.multiArrayType.dataType == 131104


def test_booleans_may_not(tmp_path: Path) -> None:
    span = span_of("input c: bool[4]", "c")
    b = Builder()
    x = b.input("x", fp16(4))
    b.output("y", b.op("select", cond=b.input("c", TensorType(BOOL, (4,)), span), a=x, b=b.const(0.0)))
    with pytest.raises(Failure) as failure:
        write(b.graph(), "", Options(), tmp_path)
    [found] = failure.value.diagnostics
    assert (found.code, found.span) == ("ANE0433", span)
    assert found.headline == "Core ML takes no bool input"
    assert found.label_text == "`c` has type `bool[4]`"
    assert not list(tmp_path.iterdir())
    assert write(b.graph(), "", Options(emit=frozenset({"mil"})), tmp_path).path.is_dir()


def test_identifiers_differ_between_items_and_kernels(tmp_path: Path) -> None:
    ids = set()
    for graph in (rmsnorm_bwd(), everything()):
        path, _ = written(graph, tmp_path)
        ids |= set(json.loads((path / "Manifest.json").read_text())["itemInfoEntries"])
    assert len(ids) == 4


IN_A_FRESH_PROCESS = """
import sys
from pathlib import Path
from anedsl.codegen.artifact import Options, write
from tests.codegen.kernels import rmsnorm_bwd
write(rmsnorm_bwd(), "", Options(emit=frozenset({"mil", "mlpackage", "header"})), Path(sys.argv[1]))
print(sorted({name.partition(".")[0] for name in sys.modules} & {"coremltools", "torch", "lark", "typer"}))
"""


def test_writing_imports_neither_coremltools_nor_torch(tmp_path: Path) -> None:
    command = [sys.executable, "-c", IN_A_FRESH_PROCESS, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert done.stdout == "[]\n"


def test_without_coremltools_the_package_has_a_diagnostic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from anedsl.codegen import proto

    monkeypatch.delitem(sys.modules, proto._PACKAGE, raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Failure) as failure:
        write(rmsnorm_bwd(), "", Options(), tmp_path)
    [found] = failure.value.diagnostics
    assert found.code == "ANE0436"
    assert found.headline == "cannot write an mlpackage: coremltools is not installed"
    assert not list(tmp_path.iterdir())
