"""The search for the keys of weights in several sources."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from anedsl.data import Data
from anedsl.diagnostics import Diagnostic, Failure, nearest
from anedsl.weights.binding import Declared, split_name
from anedsl.weights.entry import Source, shown
from anedsl.weights.fitting import dtype_problem, range_problem, shape_problem
from anedsl.weights.names import check_name
from anedsl.weights.patterns import Pattern, speaks_of, split_mapping, uneven_patterns
from anedsl.weights.similar import Keys, alike, differ_in_digits
from anedsl.weights.stored import window
from anedsl.weights.texts import as_map, listed

PASS_FOLDER = "give the folder, or the index, instead of one of its files"
NO_FILE = "no file of weights was given"

MAX_LISTED = 6
"""How many keys a message lists."""


class Hit(NamedTuple):
    """An array that is the data of a weight, or of the whole family if `stacked`."""

    source: Source
    key: str
    stacked: bool = False


class Search:
    """The keys of all sources, and the weights that are looked for."""

    def __init__(self, declared: Sequence[Declared], sources: Sequence[Source], mapping: Mapping[str, str]) -> None:
        self.sources = sources
        self.mapping, self.patterns, self.uneven = split_mapping(mapping)
        self.led: dict[Pattern, list[tuple[str, str, bool]]] = {pattern: [] for pattern in self.patterns}
        """Where each pattern led: the weight, the key, and whether a file has it or its lack is reported."""
        self.names = {weight.name for weight in declared}
        self.families: dict[str, int] = {}
        for weight in declared:
            family, index = split_name(weight.name)
            if index is not None:
                self.families[family] = max(self.families.get(family, 0), index + 1, weight.members or 0)
        self.holders: dict[str, list[Source]] = {}
        for source in sources:
            keys = source.keys()
            for key in keys:
                self.holders.setdefault(key, []).append(source)
        self.taken: list[Source] = []

    @cached_property
    def keys(self) -> Keys:
        """The keys of all sources, as they are compared with a name that none of them has."""
        return Keys(self.holders)

    def data(self, weight: Declared) -> Data | None:
        """A weight's data, or None where its initialiser is to be used. Raises what is wrong with it."""
        check_name(weight.name, "the folder of weights")
        hit = self._located(weight)
        if hit is None:
            if weight.has_default:
                return None
            if any(speaks_of(pattern, [weight.name]) for pattern in self.uneven):
                raise Failure()  # that pattern is why it has no data, and is reported
            raise Failure(self._missing(weight))
        self.taken.append(hit.source)
        entry = hit.source.entry(hit.key)
        name, type, span = weight.name, weight.type, weight.span
        family, index = split_name(name)
        stack = self.families[family] if hit.stacked else None
        problems = [
            shape_problem(name, type, span, entry, hit.source.name, stack),
            dtype_problem(name, type, span, entry, hit.source.name),
        ]
        found = [problem for problem in problems if problem is not None]
        if found:
            raise Failure(*found)
        start = (index or 0) * math.prod(type.shape) if hit.stacked else 0
        data = hit.source.data(hit.key)
        if data.shape != type.shape:
            data = window(data, start, type.shape)
        outside = range_problem(name, type, span, entry, hit.source.name, data)
        if outside is not None:
            raise Failure(outside)
        return data

    def unknown_names(self) -> list[Diagnostic]:
        """ANE0404 for each name of the mapping that is neither a weight nor a family; ANE0425 for patterns that cannot be."""
        from anedsl.diagnostics.weights import UnknownMapName

        known = sorted(self.names | self.families.keys())
        unknown: list[Diagnostic] = [
            UnknownMapName(
                mapping=as_map(name, key),
                available=f"its weights are {listed(known)}" if known else "the kernel has no weights",
                nearest=nearest(name, known),
                advice=f"write NAME=KEY the other way round: `--map {as_map(key, name)}`" if key in known else None,
            )
            for name, key in self.mapping.items()
            if name not in self.names and name not in self.families
        ]
        return [*uneven_patterns(self.uneven), *unknown]

    def unused_patterns(self) -> list[Diagnostic]:
        """ANE0426 for each pattern that leads no weight to a key that a file has."""
        from anedsl.diagnostics.weights import UnusedPattern

        problems: list[Diagnostic] = []
        for pattern, led in self.led.items():
            if any(there for _, _, there in led):
                continue
            known = sorted({split_name(name)[0] for name in self.names})
            reason = f"its weights are {listed(known)}" if known else "the kernel has no weights"
            similar = shard = available = None
            if led:
                weight, key, _ = led[0]
                reason = f"it leads from `{shown(weight)}` to `{shown(key)}`"
                shard = self._elsewhere(key)
                similar = None if shard else self._nearest(key)
                available = shard or self._available(() if similar else self._similar(key))
            turned = as_map(pattern.key, pattern.name) if not led and speaks_of(pattern.key, self.names) else None
            problems.append(
                UnusedPattern(
                    mapping=as_map(pattern.name, pattern.key),
                    reason=reason,
                    available=available,
                    nearest=similar,
                    folder=PASS_FOLDER if shard else None,
                    turned=turned,
                )
            )
        return problems

    def unused_arrays(self) -> list[Diagnostic]:
        """ANE0408 for each lone array that no weight takes."""
        from anedsl.diagnostics.weights import UnusedArray

        if not self.names:
            return []
        names = sorted(self.names)
        problems: list[Diagnostic] = []
        for source in self.sources:
            if source.lone and source not in self.taken:
                key = source.keys()[0]
                mapping = as_map(nearest(key, names) or names[0], key)
                problems.append(UnusedArray(file=source.name, array=shown(key), weights=len(names), mapping=mapping))
        return problems

    def _located(self, weight: Declared) -> Hit | None:
        name = weight.name
        family, index = split_name(name)
        if name in self.mapping:
            return self._mapped(weight, self.mapping[name], stacked=False)
        if index is not None and family in self.mapping:
            key = self.mapping[family]
            each = "{i}" in key
            return self._mapped(weight, key.replace("{i}", str(index)), stacked=not each)
        pattern = self._pattern(weight)
        return self._by_name(weight) if pattern is None else self._by_pattern(weight, pattern)

    def _by_pattern(self, weight: Declared, pattern: Pattern) -> Hit | None:
        """Under the key that a pattern leads to, else under its own name; ANE0405 if it needs data and neither is there."""
        index = split_name(weight.name)[1]
        key = pattern.key_for(weight.name) or ""
        if index is not None:
            key = key.replace("{i}", str(index))
        hit = None if key in self.holders else self._by_name(weight)
        settled = key in self.holders or (hit is None and not weight.has_default)
        self.led[pattern].append((weight.name, key, settled))
        if settled:
            each = index is None or "[" in pattern.name or "{i}" in pattern.key
            return self._mapped(weight, key, stacked=not each)
        return hit

    def _pattern(self, weight: Declared) -> Pattern | None:
        """The pattern that speaks of a weight; two are a question that only the author can answer."""
        found = [pattern for pattern in self.patterns if pattern.key_for(weight.name) is not None]
        if len(found) > 1:
            from anedsl.diagnostics.weights import AmbiguousPattern

            first, second = (as_map(pattern.name, pattern.key) for pattern in found[:2])
            for pattern in found:
                # Another complaint about these patterns would hide this one.
                self.led[pattern].append((weight.name, "", True))
            example = as_map(weight.name, found[0].key_for(weight.name) or "")
            raise Failure(AmbiguousPattern(span=weight.span, name=weight.name, first=first, second=second, example=example))
        return found[0] if found else None

    def _by_name(self, weight: Declared) -> Hit | None:
        name = weight.name
        family, index = split_name(name)
        for keys, stacked in ((self._spellings(name), False), ([family] if index is not None else [], True)):
            hits = [Hit(source, key, stacked) for key in keys for source in self.holders.get(key, [])]
            if hits:
                return self._only(weight, hits)
        if len(self.names) == 1 and len(self.sources) == 1 and self.sources[0].lone:
            return Hit(self.sources[0], self.sources[0].keys()[0])
        return None

    def _mapped(self, weight: Declared, key: str, *, stacked: bool) -> Hit:
        sources = self.holders.get(key)
        if sources:
            return self._only(weight, [Hit(source, key, stacked) for source in sources])
        from anedsl.diagnostics.weights import UnknownKey

        shard, close = self._elsewhere(key), self._nearest(key)
        raise Failure(
            UnknownKey(
                span=weight.span,
                name=weight.name,
                array=shown(key),
                shard=shard,
                folder=PASS_FOLDER if shard else None,
                available=None if shard else self._available(() if close else self._similar(key)) or NO_FILE,
                nearest=None if shard else close,
            )
        )

    def _only(self, weight: Declared, hits: list[Hit]) -> Hit:
        """The one hit there is; two are a question that only the author can answer."""
        if len(hits) == 1:
            return hits[0]
        from anedsl.diagnostics.weights import AmbiguousKey

        first, second = hits[:2]
        same = first.key == second.key
        raise Failure(
            AmbiguousKey(
                span=weight.span,
                name=weight.name,
                first=shown(first.key),
                second=shown(second.key),
                file=first.source.name,
                other=second.source.name,
                advice="give only one of the files"
                if same
                else f"say which one is meant: `--map {as_map(weight.name, first.key)}`",
            )
        )

    def _spellings(self, name: str) -> list[str]:
        """The keys a weight is found under; a key that is another weight's own name is that one's."""
        family, index = split_name(name)
        if index is None:
            return [name]
        others = [f"{family}_{index}", f"{family}{index}", f"{family}.{index}"]
        return [name, *(key for key in others if key not in self.names)]

    def _missing(self, weight: Declared) -> Diagnostic:
        from anedsl.diagnostics.weights import MissingWeight

        family, index = split_name(weight.name)
        similar = self._similar(family)
        only = similar[0] if len(similar) == 1 and index is None else None
        if only and (differ_in_digits(only, family) or not alike(only, family)):
            only = None
        tried = [*self._spellings(weight.name), *([family] if index is not None else [])]
        missing = MissingWeight(
            span=weight.span,
            name=weight.name,
            type=str(weight.type),
            searched=f"looked for {listed(tried)}" if index is not None and self.sources else None,
            available=self._available(() if only else similar),
            nearest=shown(only) if only else None,
            mapping=as_map(weight.name, only) if only else None,
        )
        if self.holders:
            missing.general = None if only else "if a file has it under another name: `--map NAME=KEY`"
            missing.supply = MissingWeight.with_files
        return missing

    def _similar(self, name: str) -> list[str]:
        return self.keys.similar(name)

    def _nearest(self, key: str) -> str | None:
        found = self.keys.nearest(key)
        return shown(found) if found else None

    def _elsewhere(self, key: str) -> str | None:
        """The file of a checkpoint that has a key, where only some of its files were given."""
        from anedsl.weights.sharded import elsewhere

        return next((found for source in self.sources if (found := elsewhere(source, key))), None)

    def _available(self, similar: Sequence[str] = ()) -> str | None:
        """The keys of all files: those that are similar to what is looked for, else the first."""
        if not self.sources:
            return None
        files = ", ".join(f"`{source.name}`" for source in self.sources[:3])
        holds = "has" if len(self.sources) == 1 else "have"
        if similar and len(self.holders) > MAX_LISTED:
            return f"{files} {holds} {len(self.holders)} keys; similar ones are {listed(list(similar), MAX_LISTED)}"
        return f"{files} {holds} {listed(list(self.holders), MAX_LISTED) if self.holders else 'no arrays'}"
