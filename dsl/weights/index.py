"""The index of a checkpoint in several files: which tensor stands in which `.safetensors` file.

An index is a JSON object; its `weight_map` maps the name of each tensor to the name of a file beside the index. Its other
members, such as `metadata`, are not read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn

from anedsl.diagnostics import Failure
from anedsl.weights.entry import shown
from anedsl.weights.files import Place, open_file, read
from anedsl.weights.names import check_name

SUFFIX = ".safetensors.index.json"

MAX_BYTES = 64 << 20
"""The most bytes of an index. One of a checkpoint with a thousand tensors has about 100 kB."""

MAX_MARKS = 4_000_000
"""The most brackets, braces and commas in an index, so that a small file cannot become gigabytes of Python objects."""


def read_index(path: Path) -> dict[str, str]:
    """The file of each tensor, as the index names it. Raises ANE0410, ANE0415 and ANE0418."""
    file, place = open_file(path)
    with file:
        if place.stamp.size > MAX_BYTES:
            _fail(place, f"it has {place.stamp.size} bytes", f"an index has at most {MAX_BYTES}")
        text = bytes(read(file, place.stamp.size, place))
    content = _parse(text, place)
    found = content.get("weight_map") if isinstance(content, dict) else None
    if not isinstance(found, dict):
        _fail(place, "it has no `weight_map`", "`weight_map` is an object of names of tensors and names of files")
    for key, shard in found.items():
        if not isinstance(shard, str):
            _fail(place, f"`{shown(key)}` is mapped to no name of a file")
    for shard in dict.fromkeys(found.values()):
        _check_shard(shard, path, place)
    return found


def _check_shard(shard: str, path: Path, place: Place) -> None:
    """A shard stands beside the index or below; only the file itself may be a link, as it is in a cache of downloads."""
    check_name(shard, place.name)
    if not shard.endswith(".safetensors"):
        _fail(place, f"it names `{shown(shard)}`", "tensors are read from `.safetensors` files only")
    root = os.path.realpath(path.parent)
    folder = os.path.realpath(os.path.join(root, os.path.dirname(shard)))
    if os.path.commonpath([root, folder]) != root:
        from anedsl.diagnostics.weights import UnsafeName

        reason = "its folder is a symbolic link to a place outside of the index's folder"
        raise Failure(UnsafeName(name=shown(shard), file=place.name, reason=reason, advice="copy the file into the folder"))


def _parse(text: bytes, place: Place) -> Any:
    import json

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in pairs:
            if name in found:
                _fail(place, f"it names `{shown(name)}` twice")
            found[name] = value
        return found

    if sum(map(text.count, (b"[", b"{", b","))) > MAX_MARKS:
        _fail(place, "it describes too much", f"an index has at most {MAX_MARKS} brackets and commas")
    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=unique)
    except RecursionError:
        _fail(place, "it is nested too deeply")
    except ValueError:
        _fail(place, "it is no valid JSON")


def _fail(place: Place, problem: str, detail: str | None = None) -> NoReturn:
    from anedsl.diagnostics.weights import InvalidIndex

    raise Failure(InvalidIndex(file=place.name, problem=problem, detail=detail))
