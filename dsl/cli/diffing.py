"""`anedsl diff`."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from anedsl import frontend
from anedsl.cli import artifacts, common, output, usage
from anedsl.cli.artifacts import Compiled
from anedsl.data import WeightData
from anedsl.diagnostics import Failure, Sink, counted, nearest
from anedsl.weights.unused import Watched, unused, watched

if TYPE_CHECKING:
    from anedsl.codegen.comparison import Comparison
    from anedsl.codegen.comparison.graphs import Where


class DiffRequest(NamedTuple):
    """The options of one comparison."""

    left: Path
    right: Path
    kernel: str | None
    define: list[str]
    weights: list[Path]
    map: list[str]
    random: int | None
    dialect: str | None
    route: str | None
    format: str


class Row(NamedTuple):
    """One kernel of both sides; `errors` are by output and numerics, `not_run` says why there are none.

    `alike` says whether the outputs that were computed have the same infinities and NaN.
    """

    left: str
    right: str
    ops: tuple[int, int]
    result: "Comparison"
    errors: Mapping[str, Any] | None
    not_run: str | None
    opsets: tuple[str, str]
    alike: bool


def diff_targets(request: DiffRequest) -> None:
    """Compares the kernels of two targets. Exits with 1 where they differ."""
    output.set_style(request.format)
    if request.random is not None and request.random < 0:
        raise typer.BadParameter("the seed is not negative", param_hint="--random")
    usage.check_diff(request, compiled=artifacts.is_compiled(request.left) and artifacts.is_compiled(request.right))
    given = Given(watched(common.open_weights(request.weights)), [])
    left, right = _load(request, request.left, request.right, given), _load(request, request.right, request.left, given)
    # A file may be meant for one side only.
    remarks = unused(given.sources, given.weights)
    pairs, alone = _pairs(request, left, right)
    rows = [_compare(request, left[a], right[b]) for a, b in pairs]
    same = not alone and all(row.result.difference is None and row.alike for row in rows)
    if request.format == output.JSON:
        shown = {"same": same, "kernels": [_row_json(row) for row in rows], "alone": alone}
        output.print_json({**shown, "diagnostics": output.diagnostics_json(remarks)})
    else:
        output.show(remarks)
        for row in rows:
            sys.stdout.write(_row_text(request, row))
        for name, path in alone.items():
            sys.stdout.write(f"{name}: only in {path}\n")
    if not same:
        raise typer.Exit(1)


# ---- both sides ----


class Given(NamedTuple):
    """What `--weights` gave, and the weights of both sides that were looked for in it."""

    sources: list[Watched]
    weights: list[WeightData]


def _load(request: DiffRequest, path: Path, other: Path, given: Given) -> dict[str, Compiled]:
    return artifacts.functions(path) if artifacts.is_compiled(path) else _sources(request, path, other, given)


def _sources(request: DiffRequest, path: Path, other: Path, given: Given) -> dict[str, Compiled]:
    """The kernels of a source, compiled for the other side's target."""
    from anedsl.codegen.artifact import Options, physical
    from anedsl.codegen.legalize import OPSET_OF
    from anedsl.codegen.logical import Sides

    dialect, route = _target(other)
    options = Options(dialect=request.dialect or dialect, route=request.route or route, emit=frozenset({"mil"}))
    module = frontend.load_file(path)
    names = frontend.choose(module, [request.kernel] if request.kernel in module.kernels else [])
    parameters, mapping = common.parameters(request.define), common.pairs("--map", request.map)
    found = {}
    for name in names:
        program = frontend.build(module, name, common.for_kernel(module, name, names, parameters), Sink())
        # Numbers are drawn where both sides draw them: those of a compiled program are its own.
        seed = None if artifacts.is_compiled(other) else request.random
        if request.weights or seed is not None:
            frontend.bind_weights(program, given.sources, mapping, seed)
            given.weights.extend(weight.data for weight in program.weights if weight.used)
        lowered, graph = physical(program.graph, options)
        found[name] = Compiled(graph, Sides(lowered.inputs, lowered.outputs), options.dialect, OPSET_OF[options.dialect])
    return found


def _target(path: Path) -> tuple[str, str]:
    """Dialect and route of a compiled program; a program alone does not say its route."""
    if not artifacts.is_compiled(path):
        return "1.3", "inmemory"
    dialect = next((item.dialect for item in artifacts.functions(path).values()), "1.3")
    try:
        route = json.loads((path / "kernel.json").read_text(encoding="utf-8"))["target"]["route"]
    except (OSError, ValueError, KeyError, TypeError):
        return dialect, "coreml" if path.suffix.lower() == ".mlpackage" else "inmemory"
    return dialect, route if route in ("inmemory", "coreml") else "inmemory"


def _pairs(
    request: DiffRequest, left: Mapping[str, Compiled], right: Mapping[str, Compiled]
) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """The kernels that belong together, and those of one side only with its path."""
    if request.kernel is not None:
        return [(_named(request.kernel, left, request.left), _named(request.kernel, right, request.right))], {}
    if len(left) == 1 and len(right) == 1:
        return [(next(iter(left)), next(iter(right)))], {}
    both = [name for name in left if name in right]
    if both and 1 in (len(left), len(right)):
        return [(both[0], both[0])], {}
    alone = {
        name: str(path) for side, path in ((left, request.left), (right, request.right)) for name in side if name not in both
    }
    return [(name, name) for name in both], alone


def _named(name: str, side: Mapping[str, Compiled], path: Path) -> str:
    if name in side:
        return name
    if len(side) == 1 and artifacts.is_compiled(path):
        return next(iter(side))  # a program alone is called as its file is
    from anedsl.diagnostics.names import UnknownKernel

    listed = ", ".join(f"`{known}`" for known in side)
    raise Failure(UnknownKernel(path=str(path), name=name, nearest=nearest(name, side), known=listed))


def _compare(request: DiffRequest, left: Compiled, right: Compiled) -> Row:
    from anedsl.codegen.comparison import compare

    result = compare(left.physical, right.physical)
    errors = None
    not_run = None
    alike = True
    if request.random is not None:
        from anedsl.codegen.comparison.numerics import compare_outputs, finite_alike, same_signature

        if not same_signature(left.physical, right.physical, result.inputs, result.outputs):
            not_run = "their inputs or outputs differ"
        elif result.missing:
            not_run = "there are weights without numbers"
        elif unknown := {**artifacts.opaque(left.physical), **artifacts.opaque(right.physical)}:
            not_run = f"there are ops without a record ({', '.join(f'`{name}`' for name in unknown)})"
        else:
            errors = compare_outputs(left.physical, right.physical, result.inputs, result.outputs, left.sides, request.random)
            alike = finite_alike(errors)
    ops = len(left.physical.operations), len(right.physical.operations)
    opsets = left.opset, right.opset
    return Row(left.physical.name, right.physical.name, ops, result, errors, not_run, opsets, alike)


# ---- the report ----


def _row_json(row: Row) -> dict[str, Any]:
    result = row.result
    difference = result.difference
    where = None
    if difference is not None:
        places = {side: place and place._asdict() for side, place in (("left", difference.left), ("right", difference.right))}
        where = {"kind": difference.kind, "text": difference.text, **places}
    return {
        "left": row.left,
        "right": row.right,
        "same": difference is None,
        "ops": list(row.ops),
        "opsets": list(row.opsets),
        "difference": where,
        "inputs": [pair._asdict() for pair in result.inputs],
        "outputs": [pair._asdict() for pair in result.outputs],
        "weights_not_compared": list(result.missing),
        "errors": row.errors,
        "not_run": row.not_run,
    }


def _row_text(request: DiffRequest, row: Row) -> str:
    result = row.result
    name = row.left if row.left == row.right else f"{row.left} and {row.right}"
    difference = result.difference
    if difference is None:
        lines = [f"{name}: the same program, {counted(row.ops[0], 'op')}"]
    else:
        lines = [f"{name}: different, first in {_KINDS[difference.kind]}: {difference.text}"]
        for side, path, place in (("A", request.left, difference.left), ("B", request.right, difference.right)):
            if place is not None:
                lines.append(f"  {side}: {_called(place, difference.kind)}, at {place.place or path}")
    for side, pairs in (("input", result.inputs), ("output", result.outputs)):
        lines += [f"  {side} `{p.left}` is compared with `{p.right}`, by position" for p in pairs if p.by == "position"]
    if result.missing:
        listed = ", ".join(f"`{weight}`" for weight in result.missing)
        lines.append(f"  not compared, for want of numbers (give --weights): {listed}")
    if row.opsets[0] != row.opsets[1]:
        lines.append(f"  note: A is written for opset {row.opsets[0]}, B for {row.opsets[1]}")
    if row.not_run is not None:
        lines.append(f"  not run: {row.not_run}")
    text = "\n".join(lines) + "\n"
    return text if row.errors is None else text + "\n" + _errors_text(row.errors)


_KINDS = {
    "op": "an op", "operands": "the operands of an op", "attribute": "an attribute", "type": "a type", "const": "a const",
    "input": "an input", "output": "an output", "ports": "the number of inputs or outputs",
    "effect": "an op that uses a state", "count": "the number of ops",
}  # fmt: skip


def _called(where: "Where", kind: str) -> str:
    if kind == "effect" and not where.name:
        return f"`{where.op}`"
    called = f"`{where.name}`" if where.name else "a value without a name"
    return f"{called}, {_made(where.op)}"


def _made(op: str) -> str:
    return {"const": "a const", "input": "an input", "output": "an output"}.get(op, f"the result of `{op}`")


def _errors_text(errors: Mapping[str, Any]) -> str:
    rows = [["output", "numerics", "max error", "mean error", "relative", "ulp of max"]]
    for name, found in errors.items():
        for numerics, error in found.items():
            values = [error[key] for key in ("max_abs", "mean_abs", "max_rel", "max_ulp")]
            rows.append([name, numerics, *("-" if value is None else f"{value:.4g}" for value in values)])
    legend = "errors are of B against A; relative to the largest output of A, and in ulp of the output's type there\n"
    return "".join([output.table(rows, frozenset({2, 3, 4, 5})), legend, *_not_finite_text(errors)])


def _not_finite_text(errors: Mapping[str, Any]) -> Iterator[str]:
    """What the errors say nothing of: they are of the values that are finite on both sides."""
    for name, found in errors.items():
        for numerics, error in found.items():
            count = error["not_finite"]
            if count["left"] or count["right"]:
                of_a = counted(count["left"], "value")
                where = "the same ones" if count["same"] else "not the same ones: the outputs differ"
                yield f"`{name}` in {numerics}: {of_a} of A and {count['right']} of B are infinite or NaN, {where}\n"
