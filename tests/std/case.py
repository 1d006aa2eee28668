"""A case of the library: a few lines of the language, and the same in torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import anedsl

Array = np.ndarray[Any, np.dtype[Any]]
Make = Callable[[np.random.Generator, tuple[int, ...]], Array]


class Case(NamedTuple):
    """`body` defines what its last line names, from inputs of these shapes; `torch` computes the same from float64 tensors
    in that order.

    `bound` is the largest error in fp16, relative to the largest magnitude of the result. `makes` says how an input is made
    that is not normally distributed.
    """

    module: str
    id: str
    body: str
    inputs: Mapping[str, tuple[int, ...]]
    torch: Callable[..., Any]
    bound: float = 2e-3
    makes: Mapping[str, Make] = {}

    @property
    def outputs(self) -> list[str]:
        return [name.strip() for name in self.body.splitlines()[-1].partition(" = ")[0].split(",")]

    def source(self, dtype: str) -> str:
        lines = [f"import std.{self.module}", "kernel case {"]
        lines += [f"    input {name}: {dtype}{list(shape)}" for name, shape in self.inputs.items()]
        lines += [f"    output {', '.join(self.outputs)}"]
        lines += [f"    {line.strip()}" for line in self.body.splitlines()]
        return "\n".join([*lines, "}"]) + "\n"

    def arrays(self, seed: int = 0) -> dict[str, Array]:
        """Numbers that fp16 holds exactly, so that every numerics is given the same."""
        generator = np.random.default_rng(seed)
        made = {name: self.makes.get(name, normal)(generator, shape) for name, shape in self.inputs.items()}
        return {name: array.astype(np.float16).astype(np.float64) for name, array in made.items()}

    def expected(self, arrays: Mapping[str, Array]) -> dict[str, Array]:
        import torch

        found = self.torch(*(torch.tensor(arrays[name], dtype=torch.float64) for name in self.inputs))
        results = found if isinstance(found, (tuple, list)) else (found,)
        return {name: result.detach().numpy() for name, result in zip(self.outputs, results, strict=True)}


def kernel(text: str, folder: Path) -> anedsl.api.Kernel:
    """The kernel of a text."""
    path = folder / "case.ane"
    path.write_text(text, encoding="utf-8")
    return anedsl.load(path)


def ops(loaded: anedsl.api.Kernel) -> list[str]:
    """The ops of the optimised graph."""
    return [node.op.name for node in loaded.graph.operations]


def normal(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return generator.standard_normal(shape)


def wide(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Over the range in which activations bend, and beyond it."""
    return np.linspace(-30, 30, int(np.prod(shape))).reshape(shape)


def probability(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return generator.uniform(0, 1, shape)


def one_hot(axis: int) -> Make:
    """One 1 along an axis, zeros else."""

    def make(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
        chosen = generator.integers(0, shape[axis], tuple(size for i, size in enumerate(shape) if i != axis))
        return np.moveaxis(np.eye(shape[axis])[chosen], -1, axis)

    return make
