"""One program of the self-test: compiled, read back by two readers, run, and compared with the reference."""

from __future__ import annotations

import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from anedsl import frontend
from anedsl.codegen.artifact import Emission, Options, prepare, write
from anedsl.codegen.comparison import compare
from anedsl.codegen.logical import Sides, logical
from anedsl.codegen.reader import read
from anedsl.codegen.selftest.programs import Program
from anedsl.data import Array
from anedsl.diagnostics import Failure, Sink
from anedsl.graph import Graph
from anedsl.running import random_inputs, run
from anedsl.statistics import errors

TOLERANCE = {"reference": 1e-3, "coreml": 2e-2}
"""How much farther from fp64 than the reference in fp16 a result may be, relative to the largest output."""

UNSUPPORTED = frozenset(("ANE0430", "ANE0433"))
"""What a target cannot take is left out, and is no fault."""

TIMEOUT = 120.0
"""Seconds that Core ML may take for one program."""

Row = dict[str, Any]


def run_program(program: Program, backend: str) -> Row:
    """What became of a program. `ok` is false where something failed; None stands for what was not tried."""
    row: Row = {
        "name": program.name, "kind": program.kind, "ok": True, "compiled": None, "read_back": None, "coremltools": None,
        "ran": None, "as_reference": None, "errors": None, "problem": None, "skipped": None, "seconds": {},
    }  # fmt: skip
    try:
        with tempfile.TemporaryDirectory(prefix="anedsl-") as folder:
            _Job(program, backend, row, Path(folder)).run()
    except Failure as failure:
        problem = "; ".join(f"{found.code}: {found.headline}" for found in failure.diagnostics if found.severity == "error")
        if {found.code for found in failure.diagnostics if found.severity == "error"} <= UNSUPPORTED:
            row["skipped"] = problem
        else:
            row |= {"ok": False, "problem": problem}
    # Whatever is wrong with one program must not end the others.
    except Exception as error:
        row |= {"ok": False, "problem": f"internal error: {type(error).__name__}: {error}"}
    return row


class _Job:
    def __init__(self, program: Program, backend: str, row: Row, folder: Path) -> None:
        self.program = program
        self.backend = backend
        self.row = row
        self.folder = folder

    def run(self) -> None:
        with self._timed("compile"):
            graph, emission, path = self._compiled()
        self.row["compiled"] = True
        with self._timed("read"):
            module = read(path)
            self.row["read_back"] = compare(emission.graph, module.main).difference is None
        self._read_by_coremltools(path, emission)
        inputs = random_inputs(graph, 0)
        exact, expected = run(graph, inputs, "fp64", Sink()), run(graph, inputs, "fp16", Sink())
        with self._timed("run"):
            if self.backend == "coreml":
                found = self._on_coreml(path, graph, inputs)
            else:
                sides = Sides(emission.lowered.inputs, emission.lowered.outputs)
                found = run(logical(module.main, sides), inputs, "fp16", Sink())
        self.row["ran"] = True
        self._judge(found, expected, exact)

    def _compiled(self) -> tuple[Graph, Emission, Path]:
        program = self.program
        path = Path(program.path) if program.path else self.folder / "program.ane"
        if not program.path:
            path.write_text(program.text, encoding="utf-8")
        module = frontend.load_file(path)
        kernel = program.kernel or next(iter(module.kernels))
        built = frontend.build(module, kernel, dict(program.parameters), Sink())
        _bind(built)
        options = Options(dialect=self._dialect(), route="coreml", emit=frozenset({"mil", "mlpackage"}))
        try:
            emission = prepare(built.graph, options)
        except Failure as failure:
            if self.backend == "coreml" or {found.code for found in failure.diagnostics} != {"ANE0433"}:
                raise
            options = options._replace(emit=frozenset({"mil"}))
            emission = prepare(built.graph, options)
        return built.graph, emission, write(built.graph, built.sha256, options, self.folder).path

    def _dialect(self) -> str:
        from anedsl.codegen.coreml.machine import macos_version

        return "1.0" if self.backend == "coreml" and macos_version() < (15,) else "1.3"

    def _read_by_coremltools(self, path: Path, emission: Emission) -> None:
        package = next(path.glob("*.mlpackage"), None)
        if package is None:
            self.row["coremltools"] = "skipped: no package"
            return
        from anedsl.codegen.selftest.coremltools_reader import operations

        with self._timed("coremltools"):
            try:
                found = operations(package)
            except ImportError as error:
                self.row["coremltools"] = f"skipped: {error}"
                return
        wanted = [(node.op.name, [result.type.shape for result in node.results]) for node in emission.graph.operations]
        self.row["coremltools"] = "equal" if found == wanted else "different"

    def _on_coreml(self, path: Path, graph: Graph, inputs: dict[str, Array]) -> dict[str, Array]:
        from anedsl.codegen.coreml.runner import execute

        return dict(execute(path, inputs, graph=graph, timeout=TIMEOUT).outputs)

    def _judge(self, found: dict[str, Array], expected: dict[str, Array], exact: dict[str, Array]) -> None:
        found, expected, exact = ({name: np.atleast_1d(a) for name, a in side.items()} for side in (found, expected, exact))
        self.row["errors"] = {name: errors(found[name], exact[name]) for name in exact}
        self.row["as_reference"] = all(np.array_equal(found[name], expected[name], equal_nan=True) for name in exact)
        problems = [f"`{name}` is wrong" for name in exact if not self._is_near(found[name], expected[name], exact[name])]
        if not self.row["read_back"]:
            problems.append("it reads back as another program")
        if self.row["coremltools"] == "different":
            problems.append("coremltools reads another program")
        if problems:
            self.row |= {"ok": False, "problem": "; ".join(problems)}

    def _is_near(self, found: Array, expected: Array, exact: Array) -> bool:
        if expected.dtype.kind != "f":
            return np.array_equal(found, expected)
        if found.shape != expected.shape or (np.isfinite(expected) & ~np.isfinite(found)).any():
            return False
        own, theirs = errors(expected, exact)["max_rel"], errors(found, exact)["max_rel"]
        return own is None or theirs is None or theirs <= 2 * own + TOLERANCE[self.backend]

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.row["seconds"][stage] = round(time.perf_counter() - start, 4)


def _bind(program: frontend.Program) -> None:
    """Random numbers for the weights that have none, small enough for the sums over them."""
    from anedsl.weights.arrays import ArraySource

    arrays = {w.data.name: _weight(w.data.name, w.data.shape) for w in program.weights if w.data.initial is None}
    frontend.bind_weights(program, [ArraySource(arrays)] if arrays else [])


def _weight(name: str, shape: tuple[int, ...]) -> Array:
    numbers = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape)
    scaled = 1 + numbers / 10 if len(shape) < 2 or shape[0] == 1 else numbers / shape[1] ** 0.5
    return np.asarray(scaled).astype(np.float16)
