"""Runs a compiled kernel by Core ML: checks, packs, calls the worker, and makes results or diagnostics of its answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from anedsl.codegen.coreml import cache, log, machine
from anedsl.codegen.coreml.binding import pack_inputs, unpack_outputs
from anedsl.codegen.coreml.child import Ending, call
from anedsl.codegen.coreml.interface import Interface, open_interface
from anedsl.codegen.coreml.placement import UNKNOWN, Placement, placement
from anedsl.codegen.coreml.timing import spread
from anedsl.data import Array
from anedsl.diagnostics import Failure, Sink, nearest
from anedsl.diagnostics import running as problems
from anedsl.graph import Graph

UNITS = ("cpu_and_ne", "all", "cpu_only", "cpu_and_gpu")
"""What Core ML may use: coremltools' names in lower case."""

TIMEOUT = 600.0
"""Seconds for everything: the import of coremltools, compiling, loading and all predictions."""

_WHILE = {
    "import": "while it loaded coremltools",
    "compile": "while it compiled the package",
    "load": "while it loaded the compiled model",
    "plan": "while it made the compute plan",
    "predict": "in the first prediction",
    "time": "in a timed prediction",
    "save": "while it saved the outputs",
}


class Wanted(NamedTuple):
    """What a run should give besides the outputs.

    `runs` predictions are timed after `warm_up` others; `timeout` is in seconds; `lines` has the author's line of each
    result, for the placement report.
    """

    units: str = UNITS[0]
    placement: bool = False
    runs: int = 0
    warm_up: int = 3
    timeout: float = TIMEOUT
    lines: Mapping[str, int] | None = None


class Result(NamedTuple):
    """`times` has a spread under `wall` and, where Core ML gives it, `coreml`; `seconds` how long each stage took."""

    outputs: dict[str, Array]
    placement: Placement | None
    times: dict[str, Any] | None
    seconds: dict[str, float]
    diagnostics: Sink


def execute(target: Path, inputs: Mapping[str, Any], *, graph: Graph | None = None, **wanted: Any) -> Result:
    """Runs an artifact's folder or an `.mlpackage`; the keywords are the fields of `Wanted`.

    `graph` is the kernel, if it is at hand: problems with inputs are then shown at the author's lines. Raises ANE0501 to
    ANE0504 and ANE0520 to ANE0531.
    """
    options = Wanted(**wanted)
    here = machine.this_machine()
    machine.require(here)
    _check_units(options.units)
    interface = open_interface(target)
    machine.require_macos(here, interface.macos, target)
    sink = Sink()
    arrays = pack_inputs(interface, inputs, sink, graph)
    try:
        ending = _call(interface, arrays, options, here)
    except OSError as error:
        raise Failure(problems.CannotKeep(reason=(error.strerror or str(error)).lower())) from error
    reply = _judged(interface, ending, options, sink)
    outputs = unpack_outputs(interface, ending.outputs)
    _warn_not_finite(outputs, sink)
    times = {key: spread(values) for key, values in (reply.get("times") or {}).items() if values}
    return Result(outputs, _placement(reply, options, here, sink), times or None, reply["seconds"], sink)


def _check_units(name: str) -> None:
    if name not in UNITS:
        known = ", ".join(f"`{units}`" for units in UNITS)
        raise Failure(problems.UnknownUnits(name=name, known=known, nearest=nearest(name, UNITS)))


def _call(interface: Interface, arrays: Mapping[str, Array], options: Wanted, here: machine.Machine) -> Ending:
    place = cache.folder()
    with cache.job_folder(place) as job:
        compiled = job / "model.mlmodelc" if place is None else cache.entry(place, cache.key(interface.package, here))
        cached = compiled.is_dir()
        if cached:
            cache.mark_used(compiled)
        request = {
            "parent": os.getpid(),
            "package": str(interface.package.resolve()),
            "compiled": str(compiled),
            "fresh": str(job / "fresh.mlmodelc"),
            "units": options.units.upper(),
            "fast": here.macos >= machine.HINTS_MACOS,
            "placement": options.placement and here.macos >= machine.PLAN_MACOS,
            "runs": options.runs,
            "warm_up": options.warm_up,
        }
        ending = call(job, request, arrays, options.timeout)
        if place is not None:
            if cached and ending.stage == "load" and not ending.timed_out:
                # It may be the entry that is at fault: the next run compiles anew.
                cache.forget(compiled)
            cache.trim(place, compiled)
    return ending


def _judged(interface: Interface, ending: Ending, options: Wanted, sink: Sink) -> dict[str, Any]:
    """The reply of a run that went well; a diagnostic for any other."""
    refusals = log.ane_failures(ending.log)
    quoted = log.quoted(refusals)
    reply = ending.reply
    if reply is not None and "error" not in reply:
        if refusals:
            sink.add(problems.AneFallback(kernel=interface.kernel, lines=quoted))
        return reply
    if ending.timed_out:
        _fail_timeout(ending, options, quoted)
    stage = _WHILE[ending.stage]
    reason = " ".join(str(reply["error"]["text"]).split()) or reply["error"]["type"] if reply is not None else ""
    if refusals:
        how = f"{ending.killed} {stage}" if reply is None else f"stopped {stage}: {reason}"
        raise Failure(problems.AneCompileFailed(kernel=interface.kernel, how=how, lines=quoted))
    words = log.quoted(log.last_words(ending.log))
    if reply is None:
        advice = None
        if ending.stage in ("predict", "time"):
            advice = 'see whether it is the ANE: `anedsl.codegen.coreml.run(..., units = "CPU_ONLY")` keeps off it'
        raise Failure(problems.CoreMLCrashed(how=ending.killed or "ended", stage=stage, lines=words, advice=advice))
    raise Failure(problems.CoreMLRefused(kernel=interface.kernel, stage=stage, reason=reason, lines=words))


def _fail_timeout(ending: Ending, options: Wanted, quoted: str | None) -> NoReturn:
    lines = quoted or log.quoted(log.last_words(ending.log))
    seconds, longer = f"{options.timeout:g}", f"{4 * options.timeout:g}"
    raise Failure(problems.CoreMLTimeout(seconds=seconds, longer=longer, stage=_WHILE[ending.stage], lines=lines))


def _warn_not_finite(outputs: Mapping[str, Array], sink: Sink) -> None:
    for name, array in outputs.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            sink.add(problems.NotFinite(name=name, count=int((~np.isfinite(array)).sum())))


def _placement(reply: Mapping[str, Any], options: Wanted, here: machine.Machine, sink: Sink) -> Placement | None:
    if not options.placement:
        return None
    if here.macos < machine.PLAN_MACOS:
        sink.add(problems.NoPlacement(reason=f"it needs macOS 14.4 or later, and this is macOS {here.macos_text}"))
        return None
    answer = reply["placement"]
    if "error" in answer:
        sink.add(problems.NoPlacement(reason=answer["error"]))
        return None
    found = placement(answer["ops"], options.lines)
    if found.ops and all(op.device == UNKNOWN for op in found.ops):
        advice = "compile it with `--dialect 1.3`: plans are known to be empty for programs of an early opset"
        sink.add(problems.NoPlacement(reason="Core ML names no device for any op", advice=advice))
    return found
