"""The parser for a grammar, from tables that are computed once.

Building LALR tables takes about 75 ms, reading them back 10 ms. They are kept as JSON (never pickle) in the user's cache
folder under a name that holds a hash of the grammar, lark's version and this package's; a missing or damaged file only
costs the time to build them again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import lark
from lark.grammar import Rule
from lark.lexer import TerminalDef

from anedsl import grammar

FORMAT = 1
"""Raised when the layout of the cached file changes."""


def parser(name: str, *, start: tuple[str, ...] = ("start",), postlex: Any = None, transformer: Any = None) -> lark.Lark:
    """An LALR parser for `grammar/NAME.lark`, from any of its `start` rules."""
    text = grammar.text(name)
    folder = cache_folder()
    key = hashlib.sha256(f"{FORMAT}\n{lark.__version__}\n{start}\n{text}".encode()).hexdigest()[:16]
    path = folder / f"{name}-{key}.json" if folder else None
    if path is not None:
        found = _read(path, postlex=postlex, transformer=transformer)
        if found is not None:
            return found
    built = lark.Lark(
        text, parser="lalr", lexer="basic", start=list(start), maybe_placeholders=True, postlex=postlex, transformer=transformer
    )
    if path is not None:
        _write(path, built)
    return built


def cache_folder() -> Path | None:
    """Where tables are kept; None where `ANEDSL_CACHE` is set to nothing or there is no home."""
    chosen = os.environ.get("ANEDSL_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "anedsl"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "anedsl"


def _read(path: Path, **options: Any) -> lark.Lark | None:
    try:
        tables = json.loads(path.read_bytes())
        data, memo = tables["data"], _integer_keys(tables["memo"])
        table = data["parser"]["parser"]
        table["tokens"] = _integer_keys(table["tokens"])
        table["states"] = {int(state): _integer_keys(actions) for state, actions in table["states"].items()}
        loaded: lark.Lark = lark.Lark._load_from_dict(data, memo, **options)  # type: ignore[no-untyped-call]
        return loaded
    # Whatever is wrong with the file, the grammar is at hand: build the tables again.
    except Exception:
        return None


def _integer_keys(mapping: dict[str, Any]) -> dict[int, Any]:
    """JSON makes strings of integer keys."""
    return {int(key): value for key, value in mapping.items()}


def _write(path: Path, built: lark.Lark) -> None:
    """Writes beside and renames, so that no reader sees half a file; a read-only home is no error."""
    data, memo = built.memo_serialize([TerminalDef, Rule])
    data["options"]["postlex"] = data["options"]["transformer"] = None
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(json.dumps({"data": data, "memo": memo}), encoding="utf-8")
        beside.replace(path)
    except (OSError, TypeError, ValueError):
        beside.unlink(missing_ok=True)
