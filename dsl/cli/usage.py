"""Options that mean nothing in a combination: said as a usage error, because what is ignored in silence seems to have worked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from anedsl.cli import common

if TYPE_CHECKING:
    from anedsl.cli.diffing import DiffRequest

COMPILED = "what is compiled already has its parameters and weights"


def refuse(options: Mapping[str, object], reason: str) -> None:
    """A usage error for the first of these options that was given."""
    for option, given in options.items():
        if given:
            raise typer.BadParameter(reason, param_hint=option)


def npz(path: Path, option: str) -> Path:
    """The file of arrays that an option names; the ending may be left out."""
    if path.suffix.lower() == ".npz":
        return path
    if path.suffix:
        raise typer.BadParameter(f"an .npz file is written: {path} has another ending", param_hint=option)
    return path.with_name(f"{path.name}.npz")


def coreml_only(backend: str, options: Mapping[str, object]) -> None:
    """Refuses what only Core ML can be told, where the reference executor runs."""
    if backend != "coreml":
        refuse(options, "the reference executor has no use for it: add --backend coreml")


def mapping(texts: Sequence[str], weights: Sequence[Path]) -> dict[str, str]:
    """The names and keys of `--map`, which speaks of the files of `--weights`."""
    if not weights:
        refuse({"--map": texts}, "it names keys of a file of weights: give the file with --weights")
    return common.pairs("--map", texts)


def single_weight_file(single: bool, emitted: frozenset[str]) -> None:
    if emitted == {"mlpackage"}:
        refuse({"--single-weight-file": single}, "an mlpackage always has one file of weights; this is for the MIL text")


def check_diff(request: DiffRequest, compiled: bool) -> None:
    """Where both sides are compiled there is no source that an option could be for."""
    if compiled:
        refuse({"-D": request.define, "--weights": request.weights, "--map": request.map}, COMPILED)
        refuse({"--dialect": request.dialect, "--route": request.route}, "both sides are compiled already")
    mapping(request.map, request.weights)
