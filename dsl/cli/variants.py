"""`anedsl compile` of many variants: `-D SEQ=64,128` and `--variants FILE.toml`.

An axis is a list of choices, each some parameters; the variants are the choices' combinations.
"""

from __future__ import annotations

import hashlib
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from anedsl.cli import common, compiling, output
from anedsl.cli.compiling import Request
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.elaborate.kernel import Given, parse_override
from anedsl.elaborate.modules import LoadedModule
from anedsl.syntax import tree

if TYPE_CHECKING:
    from anedsl.cli.parallel import Outcome
    from anedsl.weights.unused import Watched

MAX_VARIANTS = 1000
MAX_NAME = 120
"""The most characters of a folder's name; a longer one is cut and ends with a hash."""


class Choice(NamedTuple):
    """Parameters that go together. `name` is the author's, or empty: then the parameters and their values are the name.

    `file` is the file they stand in; those of `-D` stand in none.
    """

    name: str
    parameters: Mapping[str, Any]
    file: str | None = None


class Variant(NamedTuple):
    """One kernel with the parameters it is given; `own` are those that make it this variant."""

    kernel: str
    folder: str
    given: dict[str, Any]
    own: dict[str, Any]


def planned(define: Sequence[str], variants: Path | None, module: LoadedModule, chosen: Sequence[str]) -> list[Variant] | None:
    """The variants of the chosen kernels in the order of the options, or None where there is no list of values.

    Raises ANE0450 for a file that describes none, ANE0451 for more than a thousand.
    """
    if variants is None and not any("," in text for text in define):
        return None
    single, axes = _defined(define, module, chosen)
    if variants is not None:
        from anedsl.cli.variants_file import read_variants

        axes.insert(0, read_variants(variants))
    if not axes:
        return None
    _check_overlap(single, axes)
    count = len(chosen) * math.prod(map(len, axes))
    if count > MAX_VARIANTS:
        from anedsl.diagnostics.variants import TooManyVariants

        raise Failure(TooManyVariants(count=count, limit=MAX_VARIANTS))
    # A kernel that does not have a parameter has no variants by it.
    return [variant for kernel in chosen for variant in _of_kernel(module, kernel, chosen, single, axes)]


def compile_variants(request: Request, plan: Sequence[Variant]) -> None:
    """Compiles all variants, writes those that compile, and reports; exits with 1 if any failed."""
    from anedsl.cli import parallel
    from anedsl.cli.linking import Links

    compiler = parallel.Compiler(request)
    links = Links()
    found: list[Outcome | None] = [None] * len(plan)
    try:
        # Closed, so that an interruption anywhere in here ends the processes.
        with closing(parallel.compile_all(compiler, plan)) as ended:
            for number, (index, outcome) in enumerate(ended, 1):
                found[index] = outcome
                if outcome.artifact is not None:
                    links.add(outcome.artifact)
                compiling.progress(number, len(plan), plan[index].folder)
    finally:
        compiling.end_progress()
    outcomes = [outcome for outcome in found if outcome is not None]
    _report(request, plan, outcomes, compiler.sources)


def _report(request: Request, plan: Sequence[Variant], outcomes: Sequence[Outcome], sources: Sequence[Watched]) -> None:
    from anedsl.cli import gathering

    mapping = common.pairs("--map", request.map)
    said = gathering.gather([(variant.folder, outcome.diagnostics) for variant, outcome in zip(plan, outcomes, strict=True)])
    complete = all(outcome.artifact for outcome in outcomes)
    if sources and complete:
        said.extend(gathering.Said(remark, []) for remark in _unused(sources, outcomes))
    if mapping and complete:
        known = {name for outcome in outcomes for name in outcome.mapped}
        try:
            compiling.check_mapping(mapping, known, outcomes[-1].declared)
        except Failure as failure:
            said.extend(gathering.Said(diagnostic, []) for diagnostic in failure.diagnostics)
    artifacts = [outcome.artifact for outcome in outcomes if outcome.artifact is not None]
    failed = [variant.folder for variant, outcome in zip(plan, outcomes, strict=True) if outcome.artifact is None]
    if request.format == output.JSON:
        output.print_json({"artifacts": compiling.as_json(artifacts), "failed": failed, "diagnostics": gathering.as_json(said)})
    else:
        output.show(gathering.told(said, len(plan), request.format))
        compiling.show_artifacts(artifacts)
        if failed:
            sys.stderr.write(f"{len(failed)} of {len(plan)} variants failed: {gathering.listed(failed)}\n")
    if failed or any(item.diagnostic.severity == "error" for item in said):
        raise typer.Exit(1)


def _unused(sources: Sequence[Watched], outcomes: Sequence[Outcome]) -> list[Diagnostic]:
    """What is said of the files of weights when all variants have taken what they use."""
    from anedsl.weights.unused import remarks

    for outcome in outcomes:
        for source, keys in zip(sources, outcome.taken, strict=True):
            source.taken |= keys
    return remarks(sources, [weight for outcome in outcomes for weight in outcome.weights])


def _defined(texts: Sequence[str], module: LoadedModule, chosen: Sequence[str]) -> tuple[dict[str, Any], list[list[Choice]]]:
    """The parameters of `-D` that have one value, and an axis for each that has several."""
    single: dict[str, Any] = {}
    axes: list[list[Choice]] = []
    lists = _list_parameters(module, chosen)
    for name, text in common.pairs("-D", texts).items():
        parts = common.top_level(text)
        # For a parameter that is a list, `1,2` is a list without its brackets, which is said where it is parsed.
        if len(parts) == 1 or (name in lists and not all(part[:1] in ("[", "(") for part in parts)):
            single[name] = parse_override(name, text)
            continue
        if not all(parts):
            raise typer.BadParameter(f"a value is missing in {name}={text}", param_hint="-D")
        values = [parse_override(name, part) for part in parts]
        if repeated(values):
            raise typer.BadParameter(f"a value is given twice in {name}={text}", param_hint="-D")
        axes.append([Choice("", {name: value}) for value in values])
    return single, axes


def repeated(values: Sequence[Any]) -> bool:
    """Whether two of the values make the same variant: 64 and 64.0 do, 1 and true do not."""
    return len({repr(_plain(value)) for value in values}) < len(values)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _list_parameters(module: LoadedModule, chosen: Sequence[str]) -> set[str]:
    """Parameters whose default is a list."""
    kernels = [module.kernels[name] for name in chosen]
    return {
        parameter.name.text
        for kernel in kernels
        if isinstance(kernel, tree.Kernel)
        for parameter in kernel.parameters
        if isinstance(parameter.default, tree.Sequence)
    }


def _check_overlap(single: Mapping[str, Any], axes: Sequence[Sequence[Choice]]) -> None:
    """A parameter is given in one place."""
    seen = set(single)
    for axis in axes:
        names = {name for choice in axis for name in choice.parameters}
        for name in sorted(names & seen):
            raise typer.BadParameter(f"{name} is given by -D and by the variants", param_hint="-D")
        seen |= names


def _of_kernel(
    module: LoadedModule, kernel: str, chosen: Sequence[str], single: dict[str, Any], axes: Sequence[Sequence[Choice]]
) -> Iterator[Variant]:
    taken: set[str] = set()
    seen: set[str] = set()
    for choices in product(*axes):
        own: dict[str, Any] = {}
        parts: list[str] = []
        places: dict[str, str] = {}
        for choice in choices:
            mine = common.for_kernel(module, kernel, chosen, dict(choice.parameters))
            own.update(mine)
            places.update((name, f"`{name}` of `{choice.file}`") for name in mine if choice.file is not None)
            if choice.name and (mine or not choice.parameters):
                parts.append(choice.name)
            elif not choice.name:
                parts.extend(f"{name}{value_name(value)}" for name, value in mine.items())
        label = "-".join([kernel, *parts])
        if repr((label, own)) in seen:
            continue
        seen.add(repr((label, own)))
        given = Given({**common.for_kernel(module, kernel, chosen, single), **own}, places)
        yield Variant(kernel, folder_name(label, taken), given, own)


def value_name(value: Any) -> str:
    """A parameter's value as a part of a name: 64, 1e-05, true, 1x2x3."""
    if isinstance(value, tuple):
        return "x".join(map(value_name, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def folder_name(label: str, taken: set[str]) -> str:
    """A legal name of a folder on every system, unlike those taken also where upper and lower case are one; takes it."""
    name = re.sub(r"[^A-Za-z0-9_.+-]", "_", label).rstrip(".")
    if len(name) > MAX_NAME:
        name = f"{name[: MAX_NAME - 9]}-{hashlib.sha256(label.encode()).hexdigest()[:8]}"
    unique, number = name, 2
    while unique.lower() in taken:
        unique, number = f"{name}-{number}", number + 1
    taken.add(unique.lower())
    return unique
