"""A MIL program as it is written, before names and types are looked into.

The text's parser and the package's reader both make these; names, numbers and types of a text are lark tokens, which know
their place, those of a package plain strings.
"""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Sequence
from typing import Any, NamedTuple

from anedsl.data import Array


class Literal(NamedTuple):
    """A typed value: `fp16(0.5)`. Without a type (None) it is one that stands bare, as `true`."""

    type: str | None
    payload: Any


class Listed(NamedTuple):
    """`[a, b]`."""

    items: Sequence[Any]
    depth: int


class Grouped(NamedTuple):
    """`(a, b)`."""

    items: Sequence[Any]
    depth: int


class Entries(NamedTuple):
    """`{{a, b}, {c, d}}`."""

    items: Sequence[tuple[Any, Any]]
    depth: int


class BlobFile(NamedTuple):
    """`BLOBFILE(path = ..., offset = ...)`: names and values in turn."""

    arguments: Sequence[Any]


class Numbers(NamedTuple):
    """Numbers that need no reading: a package holds them as they are."""

    array: Array


class Texts(NamedTuple):
    """Texts that need no reading."""

    items: Sequence[str]


class Several(NamedTuple):
    """`(a, b)` as an argument."""

    items: Sequence[Any]


class Statement(NamedTuple):
    """One op. `results` are types and names in turn, `arguments` and `attributes` names and values in turn."""

    results: Sequence[Any]
    op: str
    arguments: Sequence[Any]
    attributes: Sequence[Any]


class Function(NamedTuple):
    """A function. `parameters` are types and names in turn, `attributes` names and values."""

    name: str
    opset: str
    parameters: Sequence[Any]
    attributes: Sequence[Any]
    statements: Sequence[Statement]
    outputs: Sequence[str]


class Written(NamedTuple):
    """A whole program: `dialect` is "1.0" or "1.3"."""

    dialect: str
    attributes: Sequence[Any]
    functions: Sequence[Function]
