"""The Python interface: `anedsl.load(...)` gives a kernel that runs on arrays and compiles to an artifact."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anedsl import frontend
from anedsl.diagnostics import Diagnostic, Failure, Sink
from anedsl.graph import Graph
from anedsl.types import TensorType

if TYPE_CHECKING:
    from anedsl.codegen.artifact import Artifact

Array = np.ndarray[Any, np.dtype[Any]]


def load(path: str | Path, kernel: str | None = None, **parameters: Any) -> Kernel:
    """The kernel of an `.ane` file, with its parameters decided.

        k = anedsl.load("rmsnorm_bwd.ane", DIM=1024)

    `kernel` is needed where the file has several. Raises `anedsl.Failure`, whose text shows every problem with its line.
    """
    module = frontend.load_file(Path(path))
    names = frontend.choose(module, [kernel] if kernel else [])
    if len(names) > 1:
        from anedsl.diagnostics.names import UnknownKernel

        raise Failure(UnknownKernel(path=str(path), name="", known=", ".join(f"`{name}`" for name in names)))
    sink = Sink()
    return Kernel(frontend.build(module, names[0], parameters, sink), sink.diagnostics)


class Outputs(dict[str, Array]):
    """The outputs of a kernel by name, also as attributes: `out["dx"]` and `out.dx`."""

    def __getattr__(self, name: str) -> Array:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Kernel:
    """A compiled kernel: call it on arrays, or write its artifact.

    `diagnostics` holds the warnings of the compile and of the last run.
    """

    def __init__(self, program: frontend.Program, diagnostics: list[Diagnostic]) -> None:
        self._program = program
        self.diagnostics = diagnostics

    def __repr__(self) -> str:
        inputs = ", ".join(f"{name}: {type}" for name, type in self.inputs.items())
        return f"<kernel {self.name}({inputs})>"

    @property
    def name(self) -> str:
        return self.graph.name

    @property
    def graph(self) -> Graph:
        """The optimised graph."""
        return self._program.graph

    @property
    def parameters(self) -> dict[str, Any]:
        return dict(self.graph.parameters)

    @property
    def inputs(self) -> dict[str, TensorType]:
        return {port.name: port.value.type for port in self.graph.inputs}

    @property
    def outputs(self) -> dict[str, TensorType]:
        return {port.name: port.value.type for port in self.graph.outputs}

    @property
    def weights(self) -> dict[str, TensorType]:
        return {weight.data.name: weight.data.type for weight in self._program.weights}

    def __call__(self, *, weights: Any = None, numerics: str = "fp16", **inputs: Any) -> Outputs:
        """Runs the kernel on the reference executor; see `run`."""
        return self.run(inputs, weights=weights, numerics=numerics)

    def run(self, inputs: Mapping[str, Any], *, weights: Any = None, numerics: str = "fp16") -> Outputs:
        """The outputs for arrays of the declared shapes.

        `weights` is a mapping from names to arrays, or the path of a `.npz`, `.safetensors` or folder of `.npy`. Outputs are
        float16 in numerics fp16 (float32 where the output is fp32), float32 in fp32, float64 in fp64.
        """
        from anedsl.running import run

        self._bind(weights, {})
        sink = Sink()
        outputs = run(self.graph, inputs, numerics, sink)
        self.diagnostics = sink.diagnostics
        return Outputs(outputs)

    def compile(
        self,
        out: str | Path = "build",
        *,
        weights: Any = None,
        map: Mapping[str, str] | None = None,
        dialect: str = "1.3",
        route: str = "inmemory",
        chip: str | None = None,
        emit: tuple[str, ...] = ("mil", "mlpackage"),
        single_weight_file: bool = False,
    ) -> Artifact:
        """Writes the artifact to `OUT/NAME/` and returns it, with its path, manifest and warnings."""
        from anedsl.codegen.artifact import Options, write

        self._bind(weights, map or {})
        options = Options(dialect=dialect, route=route, chip=chip, emit=frozenset(emit), single_weight_file=single_weight_file)
        artifact = write(self.graph, self._program.sha256, options, Path(out))
        self.diagnostics = list(artifact.warnings)
        return artifact

    def _bind(self, weights: Any, mapping: Mapping[str, str]) -> None:
        if weights is None:
            frontend.bind_weights(self._program, (), mapping)
            return
        if isinstance(weights, (str, Path)):
            from anedsl.weights import open_source

            frontend.bind_weights(self._program, [open_source(Path(weights))], mapping)
            return
        from anedsl.weights.arrays import ArraySource

        frontend.bind_weights(self._program, [ArraySource(weights)], mapping)
