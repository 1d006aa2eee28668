"""Reads a file of variants, TOML with a table `[variants]`."""

from __future__ import annotations

import tomllib
from itertools import product
from pathlib import Path
from typing import Any, NoReturn

from anedsl.cli.variants import MAX_VARIANTS, Choice, repeated
from anedsl.diagnostics import Failure
from anedsl.weights.entry import shown
from anedsl.weights.files import open_file, read

MAX_BYTES = 1 << 20
PRODUCT = "product"
"""The table whose values are lists to be combined; no variant can have this name."""


def read_variants(path: Path) -> list[Choice]:
    """The variants of a file: the named ones in their order, then the combinations of `[variants.product]`.

    Raises ANE0410 for a file that cannot be read, ANE0450 for one that describes no variants.
    """
    file, place = open_file(path)
    with file:
        if place.stamp.size > MAX_BYTES:
            _fail(path, f"it has {place.stamp.size} bytes", f"a file of variants has at most {MAX_BYTES}")
        text = bytes(read(file, place.stamp.size, place))
    try:
        content = tomllib.loads(text.decode("utf-8"))
    except RecursionError:
        _fail(path, "it is nested too deeply")
    except ValueError as error:
        _fail(path, "it is no valid TOML", shown(str(error)).lower())
    variants = content.get("variants")
    if not isinstance(variants, dict) or not variants:
        advice = "write `[variants.NAME]` above the parameters of each variant"
        _fail(path, "it has no table `[variants]` with variants in it", advice=advice)
    for name in content:
        if name != "variants":
            _fail(path, f"it has `{shown(name)}` beside `[variants]`", "only `[variants]` is read")
    found = [_named(path, name, table) for name, table in variants.items() if name != PRODUCT]
    return [*found, *(_combined(path, variants[PRODUCT]) if PRODUCT in variants else [])]


def _named(path: Path, name: str, table: Any) -> Choice:
    if not isinstance(table, dict):
        advice = f"write `[variants.{shown(name)}]` above its parameters"
        _fail(path, f"`{shown(name)}` is no table of parameters", advice=advice)
    return Choice(name or "_", {key: _value(path, key, value) for key, value in table.items()}, shown(str(path)))


def _combined(path: Path, table: Any) -> list[Choice]:
    """A choice for each combination of the lists."""
    if not isinstance(table, dict) or not table:
        _fail(path, "`product` is no table of lists")
    axes: list[list[Any]] = []
    count = 1
    for key, values in table.items():
        if not isinstance(values, list) or not values:
            _fail(path, f"`{shown(key)}` of `product` is no list of values", advice=f"write `{shown(key)} = [64, 128]`")
        found = [_value(path, key, value) for value in values]
        if repeated(found):
            _fail(path, f"`{shown(key)}` of `product` has a value twice")
        count *= len(found)
        if count > MAX_VARIANTS:
            from anedsl.diagnostics.variants import TooManyVariants

            raise Failure(TooManyVariants(count=count, limit=MAX_VARIANTS))
        axes.append(found)
    return [Choice("", dict(zip(table, values, strict=True)), shown(str(path))) for values in product(*axes)]


def _value(path: Path, name: str, value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_value(path, name, item) for item in value)
    if not isinstance(value, bool | int | float | str):
        _fail(path, f"`{shown(name)}` is no value of a parameter", "a value is a number, a boolean, a text or a list")
    return value


def _fail(path: Path, problem: str, detail: str | None = None, advice: str | None = None) -> NoReturn:
    from anedsl.diagnostics.variants import InvalidVariants

    raise Failure(InvalidVariants(path=shown(str(path)), problem=problem, detail=detail, advice=advice))
