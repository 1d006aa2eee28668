"""Programs that coremltools wrote, read and written again: states, classifiers and lists, judged by coremltools' own reader."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anedsl.codegen.artifact import write
from anedsl.codegen.comparison import compare
from anedsl.codegen.options import Options
from anedsl.codegen.reader import read
from anedsl.diagnostics import Failure
from tests.codegen.conftest import Package

TARGETS = {"1.0": "iOS16", "1.3": "iOS18"}
"""The deployment target for which coremltools writes a package of each dialect."""


class Foreign:
    """Programs of coremltools by name, as packages in a folder."""

    def __init__(self, coremltools: Any, folder: Path) -> None:
        self.ct = coremltools
        self.folder = folder

    def package(self, name: str, dialect: str) -> Path:
        path = self.folder / f"{name}_{dialect.replace('.', '_')}.mlpackage"
        if not path.exists():
            target = getattr(self.ct.target, TARGETS[dialect])
            options: dict[str, Any] = {}
            if name in LABELS:
                options["classifier_config"] = self.ct.ClassifierConfig(LABELS[name])
            self._save(BUILD.get(name, _softmax)(target), target, path, options)
        return path

    def _save(self, program: Any, target: Any, path: Path, options: dict[str, Any]) -> None:
        with warnings.catch_warnings():
            # coremltools leaves a temporary folder to the garbage collector.
            warnings.simplefilter("ignore")
            model = self.ct.convert(
                program,
                minimum_deployment_target=target,
                pass_pipeline=self.ct.PassPipeline.EMPTY,
                compute_precision=self.ct.precision.FLOAT16,
                skip_model_load=True,
                **options,
            )
            model.save(str(path))
            del model
            gc.collect()


LABELS: dict[str, list[Any]] = {
    "texts": ["cat", "dog", "a bird"],
    "numbers": [3, -4, 5],
    "odd": ["cat", 'a "bird"', "two\nlines"],
}


def _softmax(target: Any) -> Any:
    from coremltools.converters.mil import Builder as mb  # noqa: N813
    from coremltools.converters.mil.mil import types

    @mb.program(input_specs=[mb.TensorSpec((1, 3), dtype=types.fp32)], opset_version=target)
    def program(x: Any) -> Any:
        return mb.softmax(x=x, axis=-1)

    return program


def _state(target: Any) -> Any:
    from coremltools.converters.mil import Builder as mb  # noqa: N813
    from coremltools.converters.mil.mil import types

    specs = [mb.TensorSpec((1, 4), dtype=types.fp16), mb.StateTensorSpec((1, 4), dtype=types.fp16)]

    @mb.program(input_specs=specs, opset_version=target)
    def program(x: Any, s: Any) -> Any:
        total = mb.add(x=mb.read_state(input=s), y=x)
        kept = mb.coreml_update_state(state=s, value=total)
        product = mb.mul(x=kept, y=x)
        mb.coreml_update_state(state=s, value=product)
        return product

    return program


def _list(target: Any) -> Any:
    from coremltools.converters.mil import Builder as mb  # noqa: N813
    from coremltools.converters.mil.mil import types

    @mb.program(input_specs=[mb.TensorSpec((1, 4), dtype=types.fp32)], opset_version=target)
    def program(x: Any) -> Any:
        items = mb.make_list(init_length=2, dynamic_length=True, elem_shape=(1, 4), dtype="fp32")
        items = mb.list_write(ls=mb.list_write(ls=items, index=0, value=x), index=1, value=x)
        return mb.list_read(ls=items, index=1), mb.list_gather(ls=items, indices=np.array([0, 1], np.int32))

    return program


BUILD: dict[str, Callable[[Any], Any]] = {"state": _state, "list": _list}
PROGRAMS = [("state", "1.3"), *((name, dialect) for name in ("texts", "numbers", "list") for dialect in TARGETS)]


@pytest.fixture(scope="module")
def foreign(coremltools: Any, tmp_path_factory: pytest.TempPathFactory) -> Foreign:
    return Foreign(coremltools, tmp_path_factory.mktemp("foreign"))


each_program = pytest.mark.parametrize(("name", "dialect"), PROGRAMS)


@each_program
def test_a_package_is_what_it_was(
    name: str, dialect: str, foreign: Foreign, load_package: Callable[[Path], Package], tmp_path: Path
) -> None:
    path = foreign.package(name, dialect)
    graph = read(path).main
    options = Options(dialect=dialect, route="coreml", emit=frozenset({"mlpackage"}))
    again = write(graph, "", options, tmp_path).path / f"{graph.name}.mlpackage"
    theirs, ours = load_package(path), load_package(again)
    assert ours.spec.specificationVersion == theirs.spec.specificationVersion
    for package in (theirs, ours):
        package.spec.description.metadata.Clear()
    assert ours.spec.description == theirs.spec.description
    assert signatures(ours) == signatures(theirs)
    assert compare(read(again).main, graph).difference is None


def signatures(package: Package) -> list[tuple[Any, ...]]:
    """Every op but consts: its type, its parameters with the values that stand in place, and the types of its results."""
    found = []
    for op in package.operations:
        if op.type == "const":
            continue
        values = {
            key: [binding.value.SerializeToString(deterministic=True) for binding in argument.arguments]
            for key, argument in op.inputs.items()
        }
        types = [output.type.SerializeToString(deterministic=True) for output in op.outputs]
        found.append((op.type, sorted(values.items()), types))
    return found


@each_program
@pytest.mark.parametrize("written", TARGETS)
def test_a_text_says_the_same(name: str, dialect: str, written: str, foreign: Foreign, tmp_path: Path) -> None:
    graph = read(foreign.package(name, dialect)).main
    path = write(graph, "", Options(dialect=written, route="coreml", emit=frozenset({"mil"})), tmp_path).path
    for found in (read(path), read(path / "model.mil")):
        assert compare(found.main, graph).difference is None


def test_a_label_that_a_text_cannot_hold(foreign: Foreign, load_package: Callable[[Path], Package], tmp_path: Path) -> None:
    graph = read(foreign.package("odd", "1.3")).main
    with pytest.raises(Failure) as failure:
        write(graph, "", Options(route="coreml", emit=frozenset({"mil"})), tmp_path)
    [found] = failure.value.diagnostics
    reason = "it holds a quotation mark, a backslash or a line end, and no escapes are known of MIL text"
    assert (found.code, found.headline) == ("ANE0439", f"`classes` of `classify` cannot be written as MIL text: {reason}")
    options = Options(route="coreml", emit=frozenset({"mlpackage"}))
    package = load_package(write(graph, "", options, tmp_path).path / f"{graph.name}.mlpackage")
    [classes] = [op.inputs["classes"].arguments[0].value for op in package.operations if op.type == "classify"]
    assert [item.immediateValue.tensor.strings.values[0] for item in classes.immediateValue.list.values] == LABELS["odd"]
