"""A pretended Mac: the machine's facts, and a fake coremltools in the child process that does what a test says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from anedsl.codegen.coreml import machine
from anedsl.codegen.coreml.machine import NATIVE, Machine

FAKE = Path(__file__).parent / "fake"

MAC = Machine("darwin", (15, 1), "arm64", "9.0", frozenset(NATIVE))

REFUSAL = (
    "E5RT encountered an STL exception. msg = MILCompilerForANE error: failed to compile ANE model using ANEF. "
    "Error=_ANECompiler : ANECCompile() FAILED.\n"
)
"""What the ANE's compiler writes, as reported in apple/coremltools issue 2758."""


class Mac:
    """Tells the fake what to do, and what it was asked.

    Stages are `import`, `compile`, `load`, `plan`, `predict` (the first) and `again` (every other prediction).
    """

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._file = folder / "scenario.json"
        self._calls = folder / "calls.jsonl"
        self.cache = folder / "cache" / "coreml"
        monkeypatch.setenv("ANEDSL_CACHE", str(folder / "cache"))
        monkeypatch.setenv("ANEDSL_FAKE_COREML", str(self._file))
        monkeypatch.setenv("PYTHONPATH", str(FAKE))
        self.become(MAC)

    def become(self, facts: Machine) -> None:
        self._monkeypatch.setattr(machine, "this_machine", lambda: facts)

    def will(
        self,
        compute: dict[str, str],
        *,
        happens: dict[str, str] | None = None,
        stderr: dict[str, str] | None = None,
        plan: list[list[Any]] | None = None,
        nanoseconds: int | None = 250_000,
        bytes: int = 1000,
    ) -> None:
        """`compute` has, for each output surface, an expression over the input surfaces."""
        content = {
            "compute": compute,
            "happens": happens or {},
            "stderr": stderr or {},
            "plan": plan,
            "nanoseconds": nanoseconds,
            "bytes": bytes,
            "calls": str(self._calls),
        }
        self._file.write_text(json.dumps(content), encoding="utf-8")

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Everything that was asked of the fake, in order."""
        if not self._calls.exists():
            return []
        return [json.loads(line) for line in self._calls.read_text(encoding="utf-8").splitlines()]

    @property
    def stages(self) -> list[str]:
        return [call["stage"] for call in self.calls]
