"""The commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from anedsl.cli.once import Once
from anedsl.cli.options import (
    Backend,
    Backends,
    Chips,
    Defines,
    Dialect,
    Dialects,
    FileArgument,
    Format,
    Formats,
    InputFile,
    InputFiles,
    Jobs,
    Maps,
    Numerics,
    OneKernel,
    Route,
    Routes,
    Timeout,
    Units,
    UnitsOption,
    VariantFiles,
    Weights,
    dialect_for,
)

app = typer.Typer(
    name="anedsl",
    help="Compiles .ane kernels to programs for the Apple Neural Engine, and runs them anywhere.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="Start with `anedsl compile examples/rmsnorm_bwd.ane`; `anedsl COMMAND --help` shows examples of each command.",
)


def _version(value: bool) -> None:
    if value:
        from anedsl import __version__

        typer.echo(f"anedsl {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def compile(
    file: FileArgument,
    kernels: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KERNEL]...", help="The kernels to compile; all of them by default.", show_default=False),
    ] = None,
    define: Defines = None,
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Artifacts are written to DIR/KERNEL/.")] = Path(
        "build"
    ),
    weights: Weights = None,
    map: Maps = None,
    random: Annotated[
        int | None,
        typer.Option(
            "--random",
            metavar="SEED",
            min=0,
            help="Random numbers for weights without data, to measure a kernel.",
            show_default=False,
        ),
    ] = None,
    emit: Annotated[
        str, typer.Option("--emit", metavar="LIST", help="What to write: mil, mlpackage, header, separated by commas.")
    ] = "mil,mlpackage",
    dialect: Dialects = None,
    single_weight_file: Annotated[
        bool, typer.Option("--single-weight-file", help="Write weights/weight.bin instead of one file a weight.")
    ] = False,
    chip: Chips = None,
    route: Routes = Route.inmemory,
    variants: VariantFiles = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "-j", "--jobs", metavar="N", min=1, help="Processes that compile variants; all cores by default.", show_default=False
        ),
    ] = None,
    format: Formats = Format.text,
) -> None:
    """Compile kernels to MIL text, weight files, an .mlpackage and a manifest.

    \b
    Examples:
      anedsl compile examples/rmsnorm_bwd.ane
      anedsl compile examples/ffn_fwd.ane -D SEQ=512 -o out --weights model.safetensors --map 'w*=model.mlp.*.weight'
      anedsl compile examples/ffn_fwd.ane --weights checkpoint/ --map 'w*=model.layers.3.mlp.*.weight'
      anedsl compile examples/rmsnorm.ane --dialect 1.0 --emit mil,header
      anedsl compile examples/rmsnorm.ane -D SEQ=64,128,256 -D DIM=512,768 -j 2
    """
    from anedsl.cli.compiling import Request, compile_file

    compile_file(
        Request(file, kernels or [], define or [], out, weights or [], map or [], emit, dialect_for(dialect, chip, route),
                single_weight_file, chip.value if chip else None, route.value, format.value, variants, jobs, random)
    )  # fmt: skip


def check(
    file: FileArgument,
    kernels: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KERNEL]...", help="The kernels to check; all of them by default.", show_default=False),
    ] = None,
    define: Defines = None,
    dialect: Dialects = None,
    chip: Chips = None,
    route: Routes = Route.inmemory,
    variants: VariantFiles = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 on a warning as well.")] = False,
    format: Formats = Format.text,
) -> None:
    """Show every diagnostic of every kernel, and write nothing.

    \b
    Examples:
      anedsl check examples/rmsnorm.ane
      anedsl check examples/rmsnorm.ane --chip m1 --strict
      anedsl check examples/rmsnorm.ane --route coreml --format json
      anedsl check examples/rmsnorm.ane -D SEQ=64,128,256
    """
    from anedsl.cli.checking import CheckRequest, check_file

    check_file(
        CheckRequest(
            file,
            kernels or [],
            define or [],
            variants,
            dialect_for(dialect, chip, route),
            chip.value if chip else None,
            route.value,
            strict,
            format.value,
        )
    )


def run(
    target: Annotated[
        Path,
        typer.Argument(metavar="TARGET", help="An .ane or .mil file, an artifact's folder or an .mlpackage.", show_default=False),
    ],
    kernel: OneKernel = None,
    define: Defines = None,
    inputs: InputFile = None,
    input: InputFiles = None,
    random: Annotated[
        int | None,
        typer.Option(
            "--random", metavar="SEED", min=0, help="Random arrays for inputs and weights that are not given.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE.npz", help="Save the outputs.", show_default=False)
    ] = None,
    weights: Weights = None,
    map: Maps = None,
    numerics: Annotated[
        Numerics, typer.Option("--numerics", help="How results are rounded: fp64 computes without rounding.")
    ] = Numerics.fp16,
    backend: Backends = Backend.reference,
    placement: Annotated[
        bool, typer.Option("--placement", help="With --backend coreml: show where Core ML plans each op.")
    ] = False,
    units: UnitsOption = None,
    timeout: Timeout = None,
    format: Formats = Format.text,
) -> None:
    """Run a kernel on arrays and show its outputs.

    Inputs and outputs go by their own names, also where they are packed. With numerics other than fp64 the error
    against fp64 is shown as well.

    \b
    Examples:
      anedsl run examples/rmsnorm_bwd.ane --random 0
      anedsl run examples/rmsnorm_bwd.ane -i dy=dy.npy -i x=x.npy --weights w.npz -o out.npz
      anedsl run examples/ffn_fwd.ane --inputs in.npz --weights w.npz --numerics fp64 -o exact.npz
      anedsl run build/rmsnorm_bwd --random 0
      anedsl run examples/ffn_fwd.ane --random 0 --backend coreml --placement
    """
    from anedsl.cli.running import RunRequest, run_file
    from anedsl.cli.usage import coreml_only

    coreml_only(backend.value, {"--placement": placement, "--units": units, "--timeout": timeout})
    run_file(
        RunRequest(
            target, kernel, define or [], inputs, input or [], random, out, weights or [], map or [], numerics.value,
            format.value, backend.value, placement, (units or Units.cpu_and_ne).value, timeout or 600.0,
        )
    )  # fmt: skip


def bench(
    target: Annotated[
        Path,
        typer.Argument(metavar="TARGET", help="An .ane or .mil file, an artifact's folder or an .mlpackage.", show_default=False),
    ],
    kernel: OneKernel = None,
    define: Defines = None,
    inputs: InputFile = None,
    input: InputFiles = None,
    random: Annotated[
        int, typer.Option("--random", metavar="SEED", min=0, help="Random arrays for inputs and weights that are not given.")
    ] = 0,
    weights: Weights = None,
    map: Maps = None,
    numerics: Annotated[Numerics, typer.Option("--numerics", help="How the reference executor rounds.")] = Numerics.fp16,
    backend: Backends = Backend.reference,
    runs: Annotated[int, typer.Option("--runs", metavar="N", min=1, help="The runs that are timed.")] = 20,
    warm_up: Annotated[int, typer.Option("--warm-up", metavar="N", min=0, help="The runs before those.")] = 3,
    units: UnitsOption = None,
    timeout: Timeout = None,
    format: Formats = Format.text,
) -> None:
    """Time a kernel: the median and the spread of many runs.

    The reference executor is numpy on this machine's CPU, and says nothing about the speed of an ANE.

    \b
    Examples:
      anedsl bench examples/rmsnorm_bwd.ane
      anedsl bench examples/rmsnorm.ane -D SEQ=512 --runs 100
      anedsl bench examples/rmsnorm.ane --backend coreml --format json
    """
    from anedsl.cli.benching import BenchRequest, bench_file
    from anedsl.cli.running import RunRequest
    from anedsl.cli.usage import coreml_only

    coreml_only(backend.value, {"--units": units, "--timeout": timeout})
    request = RunRequest(
        target, kernel, define or [], inputs, input or [], random, None, weights or [], map or [], numerics.value, format.value,
        backend.value, False, (units or Units.cpu_and_ne).value, timeout or 600.0,
    )  # fmt: skip
    bench_file(BenchRequest(request, runs, warm_up))


def doctor(format: Formats = Format.text) -> None:
    """Show what this machine can do: versions, Core ML's parts, the cache and the backends.

    \b
    Examples:
      anedsl doctor
      anedsl doctor --format json
    """
    from anedsl.cli.doctor import show_doctor

    show_doctor(format.value)


def inspect(
    target: Annotated[
        Path,
        typer.Argument(metavar="TARGET", help="An artifact's folder, a .mil, .mlpackage or weight file.", show_default=False),
    ],
    format: Formats = Format.text,
) -> None:
    """Show what a compiled program or a weight file holds: inputs, outputs, ops and weights.

    \b
    Examples:
      anedsl inspect build/rmsnorm_bwd
      anedsl inspect model.mil --format json
      anedsl inspect build/rmsnorm_bwd/weights/rms_w.bin
    """
    from anedsl.cli.inspecting import inspect_target

    inspect_target(target, format.value)


def ops(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="An op or short name; all of them by default.", show_default=False)
    ] = None,
    format: Formats = Format.text,
) -> None:
    """Show the op reference.

    \b
    Examples:
      anedsl ops
      anedsl ops conv
      anedsl ops --format json
    """
    from anedsl.cli.reference import show_ops

    show_ops(name, format.value)


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="[CODE]", help="A code such as ANE0203, or a rule such as O14; all codes by default.", show_default=False
        ),
    ] = None,
    format: Formats = Format.text,
) -> None:
    """Explain a diagnostic.

    \b
    Examples:
      anedsl explain ANE0203
      anedsl explain
    """
    from anedsl.cli.explaining import explain_code

    explain_code(code, format.value)


def import_(
    target: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A .mil file, an artifact's folder or an .mlpackage.", show_default=False)
    ],
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", metavar="FILE.ane", help="Where to write; stdout without it.", show_default=False),
    ] = None,
    weights_out: Annotated[
        Path | None,
        typer.Option("--weights-out", metavar="FILE.npz", help="Save the numbers of the weights.", show_default=False),
    ] = None,
    format: Formats = Format.text,
) -> None:
    """Write a compiled program as .ane text.

    \b
    Examples:
      anedsl import model.mil
      anedsl import model.mil -o kernel.ane --weights-out kernel.npz
      anedsl import build/rmsnorm_bwd -o rmsnorm_bwd.ane
    """
    from anedsl.cli.importing import import_model

    import_model(target, out, weights_out, format.value)


def diff(
    left: Annotated[
        Path, typer.Argument(metavar="A", help="An .ane or .mil file, an artifact's folder or an .mlpackage.", show_default=False)
    ],
    right: Annotated[Path, typer.Argument(metavar="B", help="The same for the other side.", show_default=False)],
    kernel: Annotated[
        str | None, typer.Argument(metavar="[KERNEL]", help="The kernel; all of them by default.", show_default=False)
    ] = None,
    define: Defines = None,
    weights: Weights = None,
    map: Maps = None,
    random: Annotated[
        int | None,
        typer.Option("--random", metavar="SEED", min=0, help="Compare the outputs on random inputs too.", show_default=False),
    ] = None,
    dialect: Annotated[
        Dialect | None, typer.Option("--dialect", help="For .ane files: by default the other side's.", show_default=False)
    ] = None,
    route: Annotated[
        Route | None, typer.Option("--route", help="For .ane files: by default the other side's.", show_default=False)
    ] = None,
    format: Formats = Format.text,
) -> None:
    """Tell whether two programs are the same, and where they begin to differ.

    Names, the order of independent ops and repeated consts do not count. Exit 0 if they are the same, 1 if not.

    \b
    Examples:
      anedsl diff examples/rmsnorm_bwd.ane build/rmsnorm_bwd
      anedsl diff old/model.mil new/model.mil --random 0
      anedsl diff a.ane b.ane ffn --format json
    """
    from anedsl.cli.diffing import DiffRequest, diff_targets

    diff_targets(
        DiffRequest(
            left, right, kernel, define or [], weights or [], map or [], random,
            dialect.value if dialect else None, route.value if route else None, format.value,
        )
    )  # fmt: skip


def selftest(
    backend: Backends = Backend.reference,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="REPORT.json", help="Save the whole report.", show_default=False)
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="PATTERN", help="Programs whose names match: `op-*`.", show_default=False)
    ] = None,
    examples: Annotated[
        Path | None,
        typer.Option("--examples", metavar="DIR", help="A folder of .ane files; ./examples by default.", show_default=False),
    ] = None,
    jobs: Jobs = None,
    format: Formats = Format.text,
) -> None:
    """Compile and run every example and a small program of each op, and report what this machine can do.

    \b
    Examples:
      anedsl selftest
      anedsl selftest --backend coreml -o report.json
      anedsl selftest --only 'op-reduce*'
    """
    from anedsl.cli.selftest import SelftestRequest, run_selftest

    run_selftest(SelftestRequest(backend.value, out, only, examples, jobs, format.value))


COMMANDS: dict[str, Callable[..., None]] = {
    "compile": compile, "check": check, "run": run, "bench": bench, "inspect": inspect, "import": import_, "diff": diff,
    "ops": ops, "explain": explain, "doctor": doctor, "selftest": selftest,
}  # fmt: skip
"""Every command by its name, in the order that `--help` shows."""


def register(chosen: str | None) -> typer.Typer:
    """The command line. Reading the options of a command takes some milliseconds: where one is named, only it is read."""
    for name in [chosen] if chosen in COMMANDS else COMMANDS:
        app.command(name, cls=Once)(COMMANDS[name])
    return app
