"""The Python interface: `anedsl.load(...)` gives a kernel that runs on arrays and compiles to an artifact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from anedsl import frontend
from anedsl.diagnostics import Diagnostic, Failure, Sink
from anedsl.graph import Graph
from anedsl.types import TensorType

if TYPE_CHECKING:
    from anedsl.codegen.artifact import Artifact
    from anedsl.weights import Source

Array = np.ndarray[Any, np.dtype[Any]]


def load(path: str | Path, kernel: str | None = None, **parameters: Any) -> Kernel:
    """The kernel of an `.ane` file, with its parameters decided.

        k = anedsl.load("rmsnorm_bwd.ane", DIM=1024)

    `kernel` is needed where the file has several. Raises `anedsl.Failure`, whose text shows every problem with its line.
    """
    with _in_python():
        module = frontend.load_file(Path(path))
        names = frontend.choose(module, [kernel] if kernel else [])
        if len(names) > 1:
            from anedsl.diagnostics.running import SeveralKernels

            raise Failure(SeveralKernels(path=str(path), known=", ".join(f"`{name}`" for name in names)))
        sink = Sink()
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in parameters.items()}
        return Kernel(frontend.build(module, names[0], plain, sink), sink.diagnostics)


PROMISE = "ANE0511"
"""An input outside of its promised range: the results are right, so that it stands in `diagnostics` only."""

FORMS = {
    "--weights": '`weights={"NAME": array}` or `weights=PATH`',
    "--map": '`map={"NAME": "KEY"}`',
    "--random": "`random=0`",
    "--emit": '`emit="mil"`',
    "-o": "`k.compile(DIR)`",
}
"""What options of the command line are called in Python."""


@contextmanager
def _in_python() -> Iterator[None]:
    """Notes in a failure how its advice is written in Python; a traceback shows it below the diagnostics."""
    try:
        yield
    except Failure as failure:
        said = " ".join(text for each in failure.diagnostics for text in (each.headline, *each.help_texts))
        forms = [f"`{option}` is {form}" for option, form in FORMS.items() if f"`{option} " in said]
        if forms:
            failure.add_note(f"in Python {', '.join(forms)}")
        raise


class Outputs(dict[str, Array]):
    """The outputs of a kernel by name, also as attributes: `out["dx"]` and `out.dx`."""

    def __getattr__(self, name: str) -> Array:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(self._unknown(name)) from None

    def __missing__(self, name: str) -> Array:
        raise KeyError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        known = ", ".join(f"`{known}`" for known in self)
        return f"there is no output `{name}`: the outputs are {known}"

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]


class Kernel:
    """A compiled kernel: call it on arrays, or write its artifact.

    `diagnostics` holds the warnings about the source, and those of the last `run` or `compile`.
    """

    def __init__(self, program: frontend.Program, diagnostics: list[Diagnostic]) -> None:
        self._program = program
        self._of_source = tuple(diagnostics)
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

    def __call__(
        self,
        *,
        weights: Any = None,
        map: Mapping[str, str] | None = None,
        random: int | None = None,
        numerics: str = "fp16",
        **inputs: Any,
    ) -> Outputs:
        """Runs the kernel on the reference executor; see `run`."""
        return self._run(inputs, weights, map, random, numerics)

    def run(
        self,
        inputs: Mapping[str, Any],
        *,
        weights: Any = None,
        map: Mapping[str, str] | None = None,
        random: int | None = None,
        numerics: str = "fp16",
    ) -> Outputs:
        """The outputs for arrays of the declared shapes.

        `weights` is a mapping from names to arrays, or the path of a `.npz`, `.safetensors` or folder of `.npy`; `map` gives
        the keys of weights that have other names there, as `--map` does. With the seed `random`, weights that have no data
        and no initialiser are drawn. Outputs are float16 in numerics fp16 (float32 where the output is fp32), float32 in
        fp32, float64 in fp64.

        Arrays are those of numpy, or tensors of torch. What is wrong with the numbers, such as an output that is not finite,
        is a `RuntimeWarning`, and stands with its place in `diagnostics`.
        """
        return self._run(inputs, weights, map, random, numerics)

    def _run(
        self, inputs: Mapping[str, Any], weights: Any, mapping: Mapping[str, str] | None, random: int | None, numerics: str
    ) -> Outputs:
        from anedsl.running import run

        sink = Sink()
        with _in_python():
            self._bind(weights, mapping, random, sink)
            outputs = run(self.graph, inputs, numerics, sink)
        self.diagnostics = [*self._of_source, *sink.diagnostics]
        said = [f"{each.code}: {each.headline}" for each in sink.diagnostics if each.code != PROMISE]
        if said:
            import warnings

            # The caller of `run` or of the kernel.
            warnings.warn("; ".join(said), RuntimeWarning, stacklevel=3)
        return Outputs(outputs)

    def compile(
        self,
        out: str | Path = "build",
        *,
        weights: Any = None,
        map: Mapping[str, str] | None = None,
        random: int | None = None,
        dialect: str = "1.3",
        route: str = "inmemory",
        chip: str | None = None,
        emit: str | Iterable[str] = ("mil", "mlpackage"),
        single_weight_file: bool = False,
    ) -> Artifact:
        """Writes the artifact to `OUT/NAME/` and returns it, with its path, manifest and warnings.

        `emit` holds one or more of mil, mlpackage and header, also as one text with commas. Raises ANE0512 for an option
        that is not one of those there are.
        """
        from anedsl.choices import checked_options
        from anedsl.codegen.artifact import write

        sink = Sink()
        with _in_python():
            options = checked_options(dialect, route, chip, emit, single_weight_file)
            self._bind(weights, map, random, sink)
            artifact = write(self.graph, self._program.sha256, options, Path(out))
        self.diagnostics = [*self._of_source, *sink.diagnostics, *artifact.warnings]
        return artifact

    def _bind(self, weights: Any, mapping: Mapping[str, str] | None, random: int | None, sink: Sink) -> None:
        """Gives the weights their data; ANE0428 and ANE0429 go to `sink`."""
        from anedsl.choices import check_seed

        check_seed(random)
        if weights is None or (isinstance(weights, Mapping) and not weights):
            frontend.bind_weights(self._program, (), mapping or {}, random)
            return
        from anedsl.weights.unused import unused, watched

        sources = watched([_source(weights)])
        frontend.bind_weights(self._program, sources, mapping or {}, random)
        for remark in unused(sources, [weight.data for weight in self._program.weights if weight.used]):
            sink.add(remark)


def _source(weights: Any) -> Source:
    if isinstance(weights, (str, Path)):
        from anedsl.weights import open_source

        return open_source(Path(weights))
    if not isinstance(weights, Mapping):
        from anedsl.diagnostics.running import InvalidOption

        known = "a mapping from names to arrays, or the path of a file or folder"
        raise Failure(InvalidOption(option="weights", found=f"of type `{type(weights).__name__}`", known=known))
    from anedsl.weights.arrays import ArraySource

    return ArraySource(weights)
