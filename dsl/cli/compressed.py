"""What compression loses, in a line for each way in which weights are stored."""

from __future__ import annotations

from typing import Any

from anedsl.diagnostics import counted


def percent(share: float) -> str:
    return f"{share:.2%}" if not 0 < share < 1e-4 else f"{100 * share:.0e}%"


def error_lines(manifest: dict[str, Any]) -> list[str]:
    """For example `int8(axis = 0): 3 weights, error up to 0.39% of the largest magnitude, in wq`."""
    by_storage: dict[str, list[tuple[float, str]]] = {}
    for weight in manifest["weights"]:
        stored = weight.get("stored", {})
        if "error" in stored:
            by_storage.setdefault(stored["as"], []).append((stored["error"]["max_rel"], weight["name"]))
    lines = []
    for storage, errors in by_storage.items():
        largest, name = max(errors, key=lambda item: item[0])
        lost = f"error up to {percent(largest)} of the largest magnitude, in {name}" if largest else "nothing lost"
        lines.append(f"{storage}: {counted(len(errors), 'weight')}, {lost}")
    return lines
