"""`anedsl selftest`."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

import os
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import typer

from anedsl.cli import output

FORMAT = "anedsl-selftest"
FORMAT_VERSION = 1


class SelftestRequest(NamedTuple):
    """The options of one self-test."""

    backend: str
    out: Path | None
    only: str | None
    examples: Path | None
    jobs: int | None
    format: str


def run_selftest(request: SelftestRequest) -> None:
    """Runs the chosen programs, saves and shows the report. Exits with 1 where one failed."""
    output.set_style(request.format)
    if request.backend == "coreml":
        from anedsl.cli.on_coreml import require

        require()
    programs = _programs(request)
    from anedsl.codegen.selftest.pool import run_all

    start = time.perf_counter()
    jobs = request.jobs or (1 if request.backend == "coreml" else os.cpu_count() or 1)
    try:
        rows = run_all(programs, request.backend, jobs, lambda done, name: _progress(done, len(programs), name))
    finally:
        _progress(0, 0, "")
    report = _report(request, rows, time.perf_counter() - start)
    if request.out is not None:
        _save(request.out, report)
    if request.format == output.JSON:
        output.print_json(report)
    else:
        sys.stdout.write(_text(report))
    if report["summary"]["failed"]:
        raise typer.Exit(1)


def _programs(request: SelftestRequest) -> Sequence[Any]:
    from anedsl.codegen.selftest import all_programs

    folder = request.examples
    if folder is None:
        folder = Path("examples") if Path("examples").is_dir() else None
    elif not folder.is_dir():
        raise typer.BadParameter(f"{folder} is no folder", param_hint="--examples")
    found = all_programs(folder)
    if request.only is not None:
        found = [program for program in found if fnmatchcase(program.name, request.only)]
        if not found:
            raise typer.BadParameter(f"no program is called {request.only!r}", param_hint="--only")
    return found


def _progress(done: int, total: int, name: str) -> None:
    """Shows on a terminal how far it is, on one line; a total of 0 removes it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K[{done}/{total}] {name}" if total else "\r\033[K")
        sys.stderr.flush()


def _report(request: SelftestRequest, rows: Sequence[dict[str, Any]], seconds: float) -> dict[str, Any]:
    from anedsl.cli.doctor import gather

    failed = [row["name"] for row in rows if not row["ok"]]
    skipped = [row["name"] for row in rows if row["skipped"]]
    summary = {
        "programs": len(rows),
        "passed": len(rows) - len(failed) - len(skipped),
        "skipped": len(skipped),
        "failed": len(failed),
    }
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "backend": request.backend,
        "machine": gather(),
        "seconds": round(seconds, 2),
        "summary": summary,
        "programs": list(rows),
    }


def _save(path: Path, report: dict[str, Any]) -> None:
    import json

    from anedsl.cli.importing import write_text

    write_text(path, json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def _text(report: dict[str, Any]) -> str:
    rows = report["programs"]
    lines = [["program", "", "why"]]
    for row in rows:
        if not row["ok"] or row["skipped"]:
            why = " ".join((row["problem"] or row["skipped"]).split())
            lines.append([row["name"], "skipped" if row["ok"] else "failed", why[:300]])
    kinds = [["kind", "programs", "passed", "as the reference", "read by coremltools"]]
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [row for row in rows if row["kind"] == kind]
        passed = sum(row["ok"] and not row["skipped"] for row in own)
        same = sum(bool(row["as_reference"]) for row in own)
        kinds.append([kind, str(len(own)), str(passed), str(same), str(sum(row["coremltools"] == "equal" for row in own))])
    summary = report["summary"]
    counts = f"{summary['passed']} passed, {summary['skipped']} skipped, {summary['failed']} failed"
    text = output.table(kinds, frozenset({1, 2, 3, 4})) + f"\n{counts} on {report['backend']}, in {report['seconds']:.0f} s\n"
    return text if len(lines) == 1 else output.table(lines) + "\n" + text
