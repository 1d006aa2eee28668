"""What this machine has of what Core ML needs. Cheap: nothing of coremltools is imported."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import NamedTuple

from anedsl.diagnostics import Failure

LEAST_MACOS = (13, 0)
"""The first macOS with fp16 inputs and outputs, and with the choice of CPU and Neural Engine alone."""

PLAN_MACOS = (14, 4)
HINTS_MACOS = (15, 0)

NATIVE = ("libcoremlpython", "libmilstoragepython")
"""coremltools' native libraries: the first calls Core ML, and only wheels for macOS have it."""


class Machine(NamedTuple):
    """`system` is Python's `sys.platform`, `macos` the version (empty elsewhere), `coremltools` its version or None."""

    system: str
    macos: tuple[int, ...]
    processor: str
    coremltools: str | None
    libraries: frozenset[str]

    @property
    def macos_text(self) -> str:
        return ".".join(map(str, self.macos))


def this_machine() -> Machine:
    return Machine(sys.platform, macos_version(), platform.machine(), package_version("coremltools"), native_libraries())


def macos_version() -> tuple[int, ...]:
    """The version of macOS, `(15, 1)`; empty on any other system."""
    text = platform.mac_ver()[0] if sys.platform == "darwin" else ""
    return tuple(int(part) for part in text.split(".") if part.isdigit())


def package_version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def native_libraries() -> frozenset[str]:
    """Those of `NATIVE` that stand in coremltools' folder."""
    from importlib.util import find_spec

    spec = find_spec("coremltools")
    if spec is None or spec.origin is None:
        return frozenset()
    folder = Path(spec.origin).parent
    return frozenset(name for name in NATIVE if any(folder.glob(f"{name}*.so")))


def missing(machine: Machine) -> list[str]:
    """What keeps Core ML from running here, in words; empty where nothing does."""
    if machine.system != "darwin":
        return [f"it needs macOS {LEAST_MACOS[0]} or later, and this is {machine.system}"]
    found = []
    if machine.macos < LEAST_MACOS:
        found.append(
            f"it needs macOS {LEAST_MACOS[0]} or later, and this is macOS {machine.macos_text or 'of an unknown version'}"
        )
    if machine.coremltools is None:
        found.append("coremltools is not installed")
    elif NATIVE[0] not in machine.libraries:
        found.append(f"coremltools {machine.coremltools} is installed without its native library `{NATIVE[0]}`")
    return found


def require(machine: Machine) -> None:
    """Raises ANE0520 where Core ML cannot run."""
    found = missing(machine)
    if found:
        from anedsl.diagnostics.running import NoCoreML

        native = machine.system == "darwin" and machine.macos >= LEAST_MACOS
        advice = "install coremltools 9.0 or later from its wheel for macOS: `pip install --force-reinstall coremltools`"
        raise Failure(NoCoreML(reason="; ".join(found), advice=advice if native else None))


def require_macos(machine: Machine, needed: tuple[int, ...], path: Path) -> None:
    """Raises ANE0521 where a program was written for a later macOS than this one."""
    if machine.macos < needed:
        from anedsl.diagnostics.running import NeedsNewerMacOS

        advice = None if needed <= LEAST_MACOS else "compile it with `--dialect 1.0`, which is written for macOS 13"
        raise Failure(NeedsNewerMacOS(path=str(path), needed=needed[0], found=machine.macos_text, advice=advice))
