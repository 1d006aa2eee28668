"""Files that were given and not used: weights then have their initialisers, and nobody notices."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from anedsl.data import Data, RandomData, WeightData
from anedsl.diagnostics import Diagnostic
from anedsl.source import Span
from anedsl.weights.binding import split_name
from anedsl.weights.entry import Entry, Source, shown
from anedsl.weights.similar import Keys
from anedsl.weights.texts import as_map, listed

MAX_NAMES = 8
"""How many weights without data are compared with the keys."""


class Watched:
    """A source that remembers which of its arrays were taken."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.taken: set[str] = set()

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def lone(self) -> bool:
        return self.source.lone

    def keys(self) -> list[str]:
        return self.source.keys()

    def entry(self, key: str) -> Entry:
        return self.source.entry(key)

    def data(self, key: str) -> Data:
        found = self.source.data(key)
        self.taken.add(key)
        return found


def watched(sources: Iterable[Source]) -> list[Watched]:
    return [Watched(source) for source in sources]


class Use(NamedTuple):
    """A weight after its data was looked for. `instead` says where its numbers come from if there is none, else it is None."""

    name: str
    span: Span
    instead: str | None


def uses(weights: Iterable[WeightData]) -> list[Use]:
    return [Use(weight.name, weight.span, _instead(weight)) for weight in weights]


def unused(sources: Sequence[Watched], weights: Iterable[WeightData]) -> list[Diagnostic]:
    """What is said when all weights are bound: ANE0428 for a file that gave nothing, ANE0429 for a key that is nearly a name.

    `weights` are those of all kernels that the files were given for.
    """
    return remarks(sources, uses(weights)) if sources else []


def remarks(sources: Sequence[Watched], weights: Iterable[Use]) -> list[Diagnostic]:
    """As `unused`, of weights that may have been bound in another process."""
    declared: dict[str, Use] = {}
    for weight in weights:
        declared.setdefault(split_name(weight.name)[0], weight)
    lacking = {name: weight for name, weight in declared.items() if weight.instead is not None}
    found: list[Diagnostic] = []
    for source in sources:
        similar = _similar(source, list(lacking)[:MAX_NAMES])
        if not source.taken:
            found.append(_unused_file(source, list(declared), lacking, similar))
            continue
        found.extend(_similar_key(source, lacking[name], name, key) for name, key in similar)
    return found


def _instead(weight: WeightData) -> str | None:
    if isinstance(weight.bound, RandomData):
        return "drawn at random"
    return "given by its initialiser" if weight.bound is None else None


def _unused_file(source: Watched, names: list[str], lacking: dict[str, Use], similar: list[tuple[str, str]]) -> Diagnostic:
    from anedsl.diagnostics.weights import UnusedFile

    if lacking:
        first = next(iter(lacking.values()))
        each = "each is" if len(lacking) > 1 else "it is"
        state = f"no data was found for {listed(list(lacking))}: {each} {first.instead}"
    else:
        state = f"{listed(names)} got data from another file" if names else "the kernel has no weights that it uses"
    name, key = similar[0] if similar else (None, None)
    keys = source.keys()
    return UnusedFile(
        file=source.name,
        available=f"it has {listed(keys)}" if keys else "it has no arrays",
        state=state,
        nearest=shown(key) if key else None,
        mapping=as_map(name, key) if name and key else None,
        general="`--map NAME=KEY` says which key is meant for a weight" if lacking and keys and not similar else None,
    )


def _similar_key(source: Watched, weight: Use, name: str, key: str) -> Diagnostic:
    from anedsl.diagnostics.weights import SimilarKey

    return SimilarKey(
        span=weight.span,
        name=name,
        file=source.name,
        array=shown(key),
        instead=weight.instead or "",
        mapping=as_map(name, key),
    )


def _similar(source: Watched, names: Sequence[str]) -> list[tuple[str, str]]:
    """The names for which a source has an array that nothing took and that is called nearly so."""
    free = Keys(key for key in source.keys() if key not in source.taken) if names else None  # noqa: SIM118 - a source is no dict
    return list(_pairs(names, free)) if free else []


def _pairs(names: Sequence[str], free: Keys) -> Iterator[tuple[str, str]]:
    for name in names:
        same = free.spelt(name)
        if len(same) == 1:
            yield name, same[0]
            continue
        close = None if same else free.nearest(name)
        if close is not None:
            yield name, close
