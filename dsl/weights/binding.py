"""Binding: which array of which file is the data of a declared weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from anedsl.data import Data
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.diagnostics.base import Label
from anedsl.source import NOWHERE, Span
from anedsl.types import TensorType
from anedsl.weights.entry import Source

MAX_LABELS = 8
"""How many places one diagnostic shows beside its own."""

_OF_MAPPING = frozenset(("ANE0404", "ANE0405", "ANE0425", "ANE0426", "ANE0427"))


class Declared(NamedTuple):
    """A weight of a kernel, or one member `W[i]` of a family.

    `members` is the size of the family; without it, it is one more than the highest member that is declared.
    """

    name: str
    type: TensorType
    span: Span = NOWHERE
    has_default: bool = False
    members: int | None = None


def bind(declared: Iterable[Declared], sources: Sequence[Source], mapping: Mapping[str, str] | None = None) -> dict[str, Data]:
    """Finds the data of every declared weight; what is left out in the result has an initialiser to fall back on.

    `mapping` gives the key of a weight that is called otherwise in the files, of a family (one stacked array), or of each of
    its members when the key has `{i}` in it. `{"w*": "layers.0.w*.weight"}` maps many: `*` is the same text on both sides,
    exact names win, and where the key is in no file a weight is looked up by its own name, or has its initialiser.
    Each result has the declared shape, and numbers of the file's type.

    Raises all problems together, those of `mapping` first: ANE0401 to ANE0408, ANE0415, ANE0425 to ANE0427, and what
    reading the files raises.
    """
    from anedsl.weights.search import Search

    weights = list(declared)
    search = Search(weights, sources, mapping or {})
    problems = search.unknown_names()
    found: dict[str, Data] = {}
    for weight in weights:
        try:
            data = search.data(weight)
        except Failure as failure:
            problems.extend(_placed(diagnostic, weight) for diagnostic in failure.diagnostics)
        else:
            if data is not None:
                found[weight.name] = data
    problems.extend(search.unused_arrays())
    problems.extend(search.unused_patterns())
    if problems:
        # A key that is misspelt in the mapping is often why data is missing.
        problems.sort(key=lambda problem: problem.code not in _OF_MAPPING)
        raise Failure(*_merged(_once(problems)))
    return found


def split_name(name: str) -> tuple[str, int | None]:
    """Family and index of a member `W[3]`; a name of its own has no index."""
    family, bracket, rest = name.partition("[")
    digits = rest.removesuffix("]")
    return (family, int(digits)) if bracket and digits.isdecimal() else (name, None)


def _placed(diagnostic: Diagnostic, weight: Declared) -> Diagnostic:
    """A problem of a file is shown at the weight that the file was read for."""
    if diagnostic.span is NOWHERE:
        diagnostic.span = weight.span
        if not diagnostic.label:
            vars(diagnostic)["label"] = "read for this weight"
    return diagnostic


def _once(problems: list[Diagnostic]) -> list[Diagnostic]:
    """Reports a problem of a file once, and one that many members of a family have for the first of them."""
    from anedsl.diagnostics.weights import WeightError

    alike: dict[object, list[Diagnostic]] = {}
    for problem in problems:
        same = split_name(problem.name)[0] if isinstance(problem, WeightError) else problem.headline
        alike.setdefault((type(problem), same), []).append(problem)
    for first, *others in alike.values():
        if others and isinstance(first, WeightError):
            family = split_name(first.name)[0]
            count = f"{len(others)} more member{'s' * (len(others) > 1)}"
            first.more = f"`{family}` has the same problem in {count}"
    return [first for first, *_ in alike.values()]


def _merged(problems: list[Diagnostic]) -> list[Diagnostic]:
    """Reports the weights that lack data in one diagnostic, with a label each, where the same is to be said of them."""
    from anedsl.diagnostics.weights import MissingWeight
    from anedsl.weights.texts import listed

    kept: list[Diagnostic] = []
    alike: dict[object, list[MissingWeight]] = {}
    for problem in problems:
        if isinstance(problem, MissingWeight):
            group = alike.setdefault((*problem.note_texts, *problem.help_texts), [])
            group.append(problem)
            if len(group) > 1:
                continue
        kept.append(problem)
    for first, *others in alike.values():
        if others:
            first.related = tuple(Label(other.span, other.label_text) for other in others[:MAX_LABELS])
            first.others = listed([other.name for other in others])
    return kept
