"""Where Core ML plans to compute each op. A plan is a prediction of Core ML's (rule C1), not a measurement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from anedsl.diagnostics import counted

ANE, CPU, GPU, UNKNOWN = "ANE", "CPU", "GPU", "unknown"

_DEVICES = {"MLNeuralEngineComputeDevice": ANE, "MLCPUComputeDevice": CPU, "MLGPUComputeDevice": GPU}
"""coremltools' classes by what they stand for."""


class PlannedOp(NamedTuple):
    """One op of the program.

    `name` is that of its first result, `line` the author's line, `device` where it is planned, `supported` where it could
    be, `cost` the estimated share of the whole (0 to 1), or None.
    """

    name: str
    op: str
    line: int | None
    device: str
    supported: tuple[str, ...]
    cost: float | None


class Placement(NamedTuple):
    """Every op but consts; those that are not planned on the ANE stand first, the most expensive at the top."""

    ops: tuple[PlannedOp, ...]

    @property
    def totals(self) -> dict[str, dict[str, Any]]:
        """By device: the number of ops, and the sum of their shares of the cost (None where no op has one)."""
        found: dict[str, dict[str, Any]] = {}
        for op in self.ops:
            total = found.setdefault(op.device, {"ops": 0, "cost": None})
            total["ops"] += 1
            if op.cost is not None:
                total["cost"] = (total["cost"] or 0.0) + op.cost
        return {device: found[device] for device in (ANE, GPU, CPU, UNKNOWN) if device in found}

    @property
    def fallbacks(self) -> tuple[PlannedOp, ...]:
        """The ops that are planned elsewhere than on the ANE."""
        return tuple(op for op in self.ops if op.device not in (ANE, UNKNOWN))

    def as_json(self) -> dict[str, Any]:
        ops = [{**op._asdict(), "supported": list(op.supported)} for op in self.ops]
        return {"totals": self.totals, "fallbacks": [op.name for op in self.fallbacks], "ops": ops}


def placement(rows: Sequence[Mapping[str, Any]], lines: Mapping[str, int] | None = None) -> Placement:
    """The report of a worker's rows; `lines` has the author's line of each result name."""
    known = lines or {}
    ops = [
        PlannedOp(
            row["name"],
            row["op"],
            known.get(row["name"]),
            UNKNOWN if row["device"] is None else _device(row["device"]),
            tuple(_device(name) for name in row["supported"]),
            row["cost"],
        )
        for row in rows
    ]
    return Placement(tuple(sorted(ops, key=lambda op: (_rank(op), -(op.cost or 0.0) if op.device != ANE else 0.0))))


def _device(name: str) -> str:
    return _DEVICES.get(name, name)


def _rank(op: PlannedOp) -> int:
    return {UNKNOWN: 1, ANE: 2}.get(op.device, 0)


def table(found: Placement) -> str:
    """The report as text: the ops, then the totals."""
    rows = [["result", "op", "line", "planned on", "supported by", "cost"]]
    rows += [
        [
            op.name,
            op.op,
            "-" if op.line is None else str(op.line),
            op.device,
            ", ".join(op.supported) or "-",
            "-" if op.cost is None else f"{op.cost:.1%}",
        ]
        for op in found.ops
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if found.ops and not found.fallbacks:
        lines.append("no op is planned elsewhere than on the ANE")
    return "\n".join([*lines, f"{_totals(found)}; a plan is Core ML's prediction"]) + "\n"


def _totals(found: Placement) -> str:
    parts = []
    for device, total in found.totals.items():
        cost = "" if total["cost"] is None else f" ({total['cost']:.1%} of the estimated cost)"
        count = total["ops"]
        parts.append(f"{counted(count, 'op')} on {device}{cost}" if device != UNKNOWN else f"{count} unknown")
    return ", ".join(parts) or "no ops"
