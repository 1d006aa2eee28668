"""A checkpoint in several `.safetensors` files as a source: with an index, or a folder of files whose tensors differ."""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from anedsl.data import Data
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.weights.entry import Entry, Source, shown
from anedsl.weights.index import SUFFIX, read_index
from anedsl.weights.safetensors import SafetensorsSource
from anedsl.weights.similar import nearest_key

MAX_SHARDS = 10_000
"""How many files a checkpoint may have."""

MAX_INDEXES = 8
"""How many indexes beside a file are looked at."""


class ShardedSource:
    """The tensors of several `.safetensors` files, each file's header read once, when the source is opened.

    `name` is the folder or the index. Numbers are read when they are asked for, and no file is kept open.
    """

    lone = False

    def __init__(self, name: str, holders: Mapping[str, SafetensorsSource]) -> None:
        self.name = name
        self._holders = holders

    def keys(self) -> list[str]:
        return list(self._holders)

    def entry(self, key: str) -> Entry:
        return self._holders[key].entry(key)

    def data(self, key: str) -> Data:
        return self._holders[key].data(key)


def holds_tensors(names: list[str]) -> bool:
    """Whether a folder with files of these names is read as a checkpoint."""
    return any(name.endswith((".safetensors", SUFFIX)) for name in names)


def open_folder(path: Path, names: list[str]) -> ShardedSource:
    """Opens the checkpoint in a folder with files of these names: by its index if there is one, else all its files.

    Raises ANE0419 for a folder of several kinds, and what `open_index` and `open_files` raise.
    """
    indexes = sorted(name for name in names if name.endswith(SUFFIX))
    shards = sorted(name for name in names if name.endswith(".safetensors"))
    if any(name.endswith(".npy") for name in names):
        raise _unclear(path, "both `.npy` and `.safetensors` files", "move one kind into another folder")
    if len(indexes) > 1:
        raise _unclear(path, f"{len(indexes)} indexes", f"give the one that is meant: `--weights {_shown(path / indexes[0])}`")
    if indexes:
        return open_index(path / indexes[0])
    return open_files(path, shards)


def open_index(path: Path) -> ShardedSource:
    """Opens the files that an index names; tensors in them that it does not name are not seen.

    Raises ANE0422 for files that are missing, ANE0423 for tensors that are, and what reading raises.
    """
    shard_of = read_index(path)
    keys_of: dict[str, list[str]] = {}
    for key, shard in shard_of.items():
        keys_of.setdefault(shard, []).append(key)
    if len(keys_of) > MAX_SHARDS:
        raise _unclear(path, f"the names of {len(keys_of)} files", f"a checkpoint has at most {MAX_SHARDS}")
    problems: list[Diagnostic] = []
    opened: dict[str, SafetensorsSource] = {}
    for shard, keys in keys_of.items():
        if not os.path.lexists(path.parent / shard):
            problems.append(_missing_shard(path, shard, keys, keys_of))
            continue
        try:
            opened[shard] = SafetensorsSource(path.parent / shard)
        except Failure as failure:
            problems.extend(failure.diagnostics)
        else:
            problems.extend(_missing_keys(path, keys, opened[shard], shard_of))
    if problems:
        raise Failure(*problems)
    return ShardedSource(_shown(path), {key: opened[shard] for key, shard in shard_of.items()})


def open_files(path: Path, names: list[str]) -> ShardedSource:
    """Opens the `.safetensors` files of a folder. Raises ANE0424 for a tensor that two of them have."""
    if len(names) > MAX_SHARDS:
        raise _unclear(path, f"{len(names)} `.safetensors` files", f"a checkpoint has at most {MAX_SHARDS}")
    problems: list[Diagnostic] = []
    holders: dict[str, SafetensorsSource] = {}
    for name in names:
        try:
            source = SafetensorsSource(path / name)
        except Failure as failure:
            problems.extend(failure.diagnostics)
            continue
        twice = [key for key in source.keys() if key in holders]  # noqa: SIM118 - a source is no dict
        if twice:
            problems.append(_repeated(path, twice, holders[twice[0]], name))
        holders.update(dict.fromkeys(source.keys(), source))
    if problems:
        raise Failure(*problems)
    return ShardedSource(_shown(path), holders)


def elsewhere(source: Source, key: str) -> str | None:
    """What an index beside one file of a checkpoint says of a tensor that this file does not have."""
    from anedsl.weights.unused import Watched

    source = source.source if isinstance(source, Watched) else source
    if not isinstance(source, SafetensorsSource):
        return None
    folder = Path(source.place.path).parent
    try:
        indexes = sorted(name for name in os.listdir(folder) if name.endswith(SUFFIX))
        found = [(index, read_index(folder / index).get(key)) for index in indexes[:MAX_INDEXES]]
    except (OSError, Failure):
        return None
    return next((f"`{_shown(folder / index)}` says that `{shown(shard)}` has it" for index, shard in found if shard), None)


def _missing_shard(path: Path, shard: str, keys: list[str], named: Container[str]) -> Diagnostic:
    """A file that the index names itself is not what it means by another name."""
    from anedsl.diagnostics.weights import MissingShard

    try:
        there = [name for name in os.listdir(path.parent) if name.endswith(".safetensors") and name not in named]
    except OSError:
        there = []
    close = nearest_key(shard, there)
    return MissingShard(shard=shown(shard), file=_shown(path), tensors=_counted(keys), nearest=shown(close) if close else None)


def _missing_keys(path: Path, keys: list[str], source: SafetensorsSource, named: Container[str]) -> list[Diagnostic]:
    """One diagnostic for all tensors that a file should have. One that the index names itself is another tensor."""
    there = set(source.keys())
    missing = [key for key in keys if key not in there]
    if not missing:
        return []
    from anedsl.diagnostics.weights import MissingTensor

    close = nearest_key(missing[0], sorted(key for key in there if key not in named))
    more = f"{_counted(missing[1:])} missing there as well" if len(missing) > 1 else None
    return [
        MissingTensor(
            array=shown(missing[0]), file=source.name, index=_shown(path), more=more, nearest=shown(close) if close else None
        )
    ]


def _repeated(path: Path, keys: list[str], first: SafetensorsSource, second: str) -> Diagnostic:
    from anedsl.diagnostics.weights import RepeatedTensor

    more = f"{_counted(keys[1:])} in both as well" if len(keys) > 1 else None
    other = os.path.basename(first.place.path)
    return RepeatedTensor(array=shown(keys[0]), folder=_shown(path), first=shown(other), second=shown(second), more=more)


def _unclear(path: Path, holds: str, advice: str) -> Failure:
    from anedsl.diagnostics.weights import UnclearFolder

    return Failure(UnclearFolder(folder=_shown(path), holds=holds, advice=advice))


def _counted(keys: list[str]) -> str:
    """`a` is, `a` and 3 more tensors are."""
    if len(keys) == 1:
        return f"`{shown(keys[0])}` is"
    return f"`{shown(keys[0])}` and {len(keys) - 1} more are"


def _shown(path: Any) -> str:
    return shown(str(path))
