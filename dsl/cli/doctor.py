"""`anedsl doctor`: what this machine can do. Nothing heavy is imported, so that it answers at once."""

from __future__ import annotations

import platform
import subprocess
import sys
from typing import Any

from anedsl import __version__
from anedsl.cli import output

PACKAGES = ("numpy", "lark", "typer", "coremltools")
"""What anedsl needs."""

OPTIONAL = ("torch",)
"""What only its tests need."""


def show_doctor(style: str) -> None:
    """The versions, the Mac's parts, the cache and the backends, as text or JSON."""
    output.set_style(style)
    facts = gather()
    if style == output.JSON:
        output.print_json(facts)
        return
    sys.stdout.write(_text(facts))


def gather() -> dict[str, Any]:
    """Everything that is shown. No check takes longer than a file's look-up, or one call of `sysctl` on a Mac."""
    from anedsl.codegen.coreml.machine import NATIVE, missing, package_version, this_machine

    here = this_machine()
    absent = missing(here)
    return {
        "anedsl": __version__,
        "python": platform.python_version(),
        "platform": {"system": here.system, "processor": here.processor, "macos": here.macos_text or None, "chip": chip()},
        "packages": {name: package_version(name) for name in PACKAGES},
        "optional": {name: package_version(name) for name in OPTIONAL},
        "libraries": {name: name in here.libraries for name in NATIVE},
        "cache": _cache(),
        "backends": {
            "reference": {"available": True, "why_not": None, "note": None},
            "coreml": {
                "available": not absent,
                "why_not": "; ".join(absent) or None,
                "note": "not run on hardware by anedsl's authors: see docs/running-on-a-mac.md",
            },
        },
        "neural_engine": _neural_engine(here.system, here.processor),
    }


def chip() -> str | None:
    """The chip's name on a Mac, such as `Apple M3 Pro`; None elsewhere."""
    if sys.platform != "darwin":
        return None
    try:
        done = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def _neural_engine(system: str, processor: str) -> str:
    if system != "darwin":
        return "none: this is no Mac"
    if processor != "arm64":
        return "none, or out of reach: this Python runs as x86_64"
    return "every Mac with an Apple chip has one; whether a kernel uses it, `anedsl run --backend coreml --placement` shows"


def _cache() -> dict[str, Any]:
    from anedsl.codegen.coreml import cache
    from anedsl.syntax.tables import cache_folder

    folder = cache_folder()
    models = None if folder is None else folder / "coreml"
    return {
        "folder": None if folder is None else str(folder),
        "bytes": 0 if folder is None else cache.size(folder),
        "compiled_models": 0 if models is None or not models.is_dir() else len(list(models.glob("*.mlmodelc"))),
        "compiled_models_limit": cache.LIMIT,
    }


def _text(facts: dict[str, Any]) -> str:
    system = facts["platform"]
    where = f"macOS {system['macos']}" if system["macos"] else system["system"]
    rows = [
        ["anedsl", facts["anedsl"]],
        ["Python", facts["python"]],
        ["platform", ", ".join(part for part in (where, system["processor"], system["chip"]) if part)],
        ["Neural Engine", facts["neural_engine"]],
        *([name, version or "missing"] for name, version in facts["packages"].items()),
        *([name, version or "not there; only the tests need it"] for name, version in facts["optional"].items()),
        *([name, "there" if there else "not there"] for name, there in facts["libraries"].items()),
        ["cache", _cache_text(facts["cache"])],
    ]
    for name, backend in facts["backends"].items():
        state = "available" if backend["available"] else f"not available: {backend['why_not']}"
        rows.append([f"backend {name}", state])
        if backend["note"]:
            rows.append(["", backend["note"]])
    return output.table(rows)


def _cache_text(cache: dict[str, Any]) -> str:
    if cache["folder"] is None:
        return "none"
    size = output.quantity(cache["bytes"])
    models = cache["compiled_models"]
    counted = f"{models} compiled model{'' if models == 1 else 's'}"
    limit = cache["compiled_models_limit"] >> 30
    return f"{cache['folder']}, {size}{'B' if size[-1].isalpha() else ' B'}, {counted} (at most {limit} GiB)"
