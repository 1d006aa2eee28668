"""What a rule is, and what a graph is checked against."""

from __future__ import annotations

from typing import NamedTuple

CHIPS = ("m1", "m2", "m3", "m4", "m5")
"""The chips that a graph can be checked for, oldest first."""

FAMILIES = {"m1": 2, "m2": 3, "m3": 4, "m4": 5, "m5": 5}
"""The ANE family of each chip, by the number that its compiler uses: M4 and M5 share one."""

M1 = ("m1",)
M1_M2 = ("m1", "m2")
M1_TO_M3 = ("m1", "m2", "m3")
M4_M5 = ("m4", "m5")

INMEMORY = ("inmemory",)
COREML = ("coreml",)
ROUTES = ("inmemory", "coreml")
"""How a program reaches the ANE: MIL text compiled in memory, or an mlpackage through Core ML."""


class Target(NamedTuple):
    """What a graph is checked for: one chip, or all of them (None), on one route."""

    chip: str | None = None
    route: str = "inmemory"


class Rule(NamedTuple):
    """One thing that is publicly known about what the ANE takes.

    - `confidence`: A an exact boundary, measured and confirmed by a second source; B measured by one project, or said by
      several; C one observation, or an inference; D the sources contradict each other.
    - `action`: error and warn are reported; rewrite is what the compiler emits instead; host is for the caller of the
      kernel; info is worth knowing.
    - `fix`: for error and warn what the author can do, for rewrite what the compiler does, for host what the caller does.
    - `effect`: "refused" (the ANE's compiler does not take it; on the Core ML route it runs elsewhere), "wrong" (it runs
      and the numbers are wrong) or "invalid" (no route takes it).
    - `unchecked`: why a rule of action error or warn has no check.
    """

    id: str
    confidence: str
    action: str
    says: str
    fix: str
    evidence: str
    routes: tuple[str, ...] = ROUTES
    chips: tuple[str, ...] = CHIPS
    effect: str = "refused"
    unchecked: str = ""


def chip_names(chips: tuple[str, ...]) -> str:
    """Chips as a reader wants them: "M1", "M1 and M2", "M1 to M3"."""
    names = [chip.upper() for chip in chips]
    if len(names) < 3:
        return " and ".join(names)
    first = CHIPS.index(chips[0])
    if chips == CHIPS[first : first + len(chips)]:
        return f"{names[0]} to {names[-1]}"
    return f"{', '.join(names[:-1])} and {names[-1]}"
