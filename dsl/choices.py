"""The options of the Python interface that have few values: checked as the command line checks its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from anedsl.diagnostics import Diagnostic, Failure, nearest

if TYPE_CHECKING:
    from anedsl.codegen.options import Options

DIALECTS = ("1.0", "1.3")
EMITTED = ("mil", "mlpackage", "header")


def checked_options(dialect: str, route: str, chip: str | None, emit: str | Iterable[str], single_weight_file: bool) -> Options:
    """What code generation is told. Raises ANE0512 for the options that are none, all together."""
    from anedsl.codegen.options import Options
    from anedsl.rules import CHIPS, ROUTES

    parts = _parts(emit)
    given = [("dialect", dialect, DIALECTS), ("route", route, ROUTES), *(("emit", part, EMITTED) for part in parts)]
    if chip is not None:
        given.append(("chip", chip, CHIPS))
    problems = [_invalid(option, value, known) for option, value, known in given if value not in known]
    if not parts:
        problems.append(_invalid("emit", emit, EMITTED))
    if not isinstance(single_weight_file, bool):
        problems.append(_invalid("single_weight_file", single_weight_file, ("True", "False")))
    elif single_weight_file and parts == ["mlpackage"]:
        problems.append(_for_the_text_only())
    if problems:
        raise Failure(*problems)
    return Options(dialect=dialect, route=route, chip=chip, emit=frozenset(parts), single_weight_file=single_weight_file)


def _for_the_text_only() -> Diagnostic:
    from anedsl.diagnostics.running import InvalidOption

    found = "`True`: an mlpackage always has one file of weights"
    return InvalidOption(option="single_weight_file", found=found, known='it where `emit` holds "mil" or "header"')


def check_seed(random: Any) -> None:
    """Raises ANE0512 for what is neither None nor a whole number from 0 on."""
    if random is None or (isinstance(random, int) and random >= 0):
        return
    from anedsl.diagnostics.running import InvalidOption

    raise Failure(InvalidOption(option="random", found=f"`{random!r}`", known="a whole number from 0 on"))


def _parts(emit: Any) -> list[Any]:
    if isinstance(emit, str):
        return [part.strip() for part in emit.split(",") if part.strip()]
    return list(emit) if isinstance(emit, Iterable) else [emit]


def _invalid(option: str, value: Any, known: Sequence[str]) -> Any:
    from anedsl.diagnostics.running import InvalidOption

    close = nearest(value, known) if isinstance(value, str) else None
    return InvalidOption(
        option=option, found=f"`{value!r}`", known="one of " + ", ".join(f"`{each}`" for each in known), nearest=close
    )
