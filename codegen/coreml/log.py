"""What Core ML and the ANE's compiler write to stderr: the only place where some failures show.

The texts were collected from public reports (apple/coremltools issues 1106, 1548, 2247, 2503 and 2758,
pytorch/executorch issue 19635), not from a machine at hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

ANE_FAILURES = (
    re.compile(r"ANECCompile\w*\(.*\) *FAILED", re.IGNORECASE),
    re.compile(r"MILCompiler?ForANE error"),
    re.compile(r"ANECF error"),
    re.compile(r"failed to (?:compile|load) ANE model", re.IGNORECASE),
)
"""Lines that say that a part of the program did not become a program for the ANE."""

SYSTEM = re.compile(r"E5RT|Espresso|coreml|libc\+\+abi|Error plan build|execution plan|CompilationFailure", re.IGNORECASE)
"""Lines of Apple's frameworks: they stand near the reason of any other failure."""

SHOWN = 3
"""Lines that a diagnostic quotes."""

LONGEST = 220
"""Characters of a quoted line."""

_HEAD, _TAIL = 1 << 20, 1 << 20


def read(path: Path) -> str:
    """The text of a log; of a very long one its beginning and its end."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
            end = file.seek(0, 2)
            file.seek(max(_HEAD, end - _TAIL))
            tail = file.read()
    except OSError:
        return ""
    return (head + tail).decode("utf-8", "replace")


def ane_failures(text: str) -> list[str]:
    """The lines that say that the ANE's compiler failed, each once."""
    return _lines(text, lambda line: any(pattern.search(line) for pattern in ANE_FAILURES))


def last_words(text: str) -> list[str]:
    """The last lines of Apple's frameworks, or the last lines at all."""
    found = _lines(text, lambda line: bool(SYSTEM.search(line)))
    return found[-SHOWN:] or _lines(text, lambda line: True)[-SHOWN:]


def quoted(lines: list[str]) -> str | None:
    """Some lines as one text for a diagnostic's note; None where there are none."""
    return " | ".join(lines[:SHOWN]) or None


def _lines(text: str, wanted: Callable[[str], bool]) -> list[str]:
    found: dict[str, None] = {}
    for line in text.splitlines():
        short = " ".join(line.split())
        if short and wanted(short):
            found[short if len(short) <= LONGEST else f"{short[:LONGEST]}..."] = None
    return list(found)
