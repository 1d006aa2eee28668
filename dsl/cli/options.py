"""Options and arguments that several commands have, and what they may be."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    text = "text"
    concise = "concise"
    json = "json"


class Dialect(StrEnum):
    v1_0 = "1.0"
    v1_3 = "1.3"


class Route(StrEnum):
    inmemory = "inmemory"
    coreml = "coreml"


class Chip(StrEnum):
    m1 = "m1"
    m2 = "m2"
    m3 = "m3"
    m4 = "m4"
    m5 = "m5"


class Numerics(StrEnum):
    fp16 = "fp16"
    fp32 = "fp32"
    fp64 = "fp64"


class Backend(StrEnum):
    reference = "reference"
    coreml = "coreml"


class Units(StrEnum):
    cpu_and_ne = "cpu_and_ne"
    all = "all"
    cpu_only = "cpu_only"
    cpu_and_gpu = "cpu_and_gpu"


FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="An .ane file.", show_default=False)]
Defines = Annotated[
    list[str] | None,
    typer.Option("-D", metavar="NAME=VALUE", help="The value of a kernel's parameter; may be repeated.", show_default=False),
]
VariantFiles = Annotated[
    Path | None,
    typer.Option(
        "--variants",
        metavar="FILE.toml",
        help="Variants, see docs/variants.md; `-D N=64,128` gives two.",
        show_default=False,
    ),
]
Weights = Annotated[
    list[Path] | None,
    typer.Option(
        "--weights",
        metavar="PATH",
        help="A .npz, .safetensors, or folder of .npy or .safetensors with weights; may be repeated.",
        show_default=False,
    ),
]
Maps = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="NAME=KEY",
        help="The key of a weight in the file, `*` for the same text on both sides; may be repeated.",
        show_default=False,
    ),
]
Formats = Annotated[Format, typer.Option("--format", help="How results and diagnostics are shown.")]
Chips = Annotated[
    Chip | None, typer.Option("--chip", help="The chip whose rules apply; without it, those of all chips.", show_default=False)
]
Backends = Annotated[
    Backend, typer.Option("--backend", help="What runs the kernel; coreml needs a Mac, and has not been run on hardware.")
]
UnitsOption = Annotated[
    Units | None,
    typer.Option("--units", help="With --backend coreml: what Core ML may use; cpu_and_ne by default.", show_default=False),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        min=1,
        help="With --backend coreml: the time for everything; 600 by default.",
        show_default=False,
    ),
]
Routes = Annotated[Route, typer.Option("--route", help="How the program reaches the ANE.")]
OneKernel = Annotated[
    str | None, typer.Argument(metavar="[KERNEL]", help="The kernel; needed where the file has several.", show_default=False)
]
Dialects = Annotated[
    Dialect | None,
    typer.Option(
        "--dialect", help="The dialect of the MIL text; by default 1.0 for --chip m1 and m2, else 1.3.", show_default=False
    ),
]
InputFile = Annotated[
    Path | None, typer.Option("--inputs", metavar="FILE.npz", help="Arrays for the inputs, by name.", show_default=False)
]
InputFiles = Annotated[
    list[str] | None,
    typer.Option("-i", metavar="NAME=FILE.npy", help="The array of one input; may be repeated.", show_default=False),
]
Jobs = Annotated[
    int | None, typer.Option("-j", "--jobs", metavar="N", min=1, help="Processes; all cores by default.", show_default=False)
]


def dialect_for(chosen: Dialect | None, chip: Chip | None, route: Route) -> str:
    """M1 and M2 refuse the 1.3 spelling on the in-memory route (rule T1b)."""
    if chosen is not None:
        return chosen.value
    return "1.0" if chip in (Chip.m1, Chip.m2) and route is Route.inmemory else "1.3"
