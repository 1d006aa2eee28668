"""What a kernel declares: inputs, weights, outputs and packs, in aligned columns."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from anedsl.data import Data
from anedsl.graph import Graph, Node, Port, Value
from anedsl.printing.constants import initialiser, source, storage
from anedsl.printing.layout import INDENT, WIDTH, wrapped
from anedsl.printing.names import Names
from anedsl.printing.numbers import number
from anedsl.types import FP64, TensorType

_MEMBER = re.compile(r"(.+)\[(\d+)\]")


class Declared(NamedTuple):
    """A weight: the name it is used by (`W[1]` for a member of a family), its declaration after the name, its numbers."""

    name: str
    type: TensorType
    more: str
    data: Data


def declared_weights(
    constants: Sequence[Node], names: Names, renamed: dict[str, str], avoid: frozenset[str], exact: Collection[Value]
) -> list[Declared]:
    """The weights of the consts, in their order. Members of a family stay together where all of them are there.

    The numbers of those in `exact` have all their digits.
    """
    families = _families(constants)
    given: dict[str, str] = {}
    found = []
    for node in constants:
        weight = node.attributes.get("weight")
        wanted = weight.name if weight is not None else node.result.name or "w"
        family = _MEMBER.fullmatch(wanted)
        if family is not None and family[1] in families:
            stem = given.get(family[1])
            if stem is None:
                stem = given[family[1]] = names.fresh(family[1], avoid)
            name = f"{stem}[{family[2]}]"
        else:
            name = names.fresh(wanted, avoid)
        if name != wanted and weight is not None:
            renamed[name] = wanted
        first = initialiser(node, node.result in exact)
        more = storage(node) + ("" if first is None else f" = {first}")
        found.append(Declared(name, node.result.type, more, source(node.attributes["val"])))
    return found


def _families(constants: Sequence[Node]) -> set[str]:
    """Families whose members, all alike, are complete and each there once."""
    members: dict[str, list[tuple[int, str]]] = {}
    for node in constants:
        weight = node.attributes.get("weight")
        match = _MEMBER.fullmatch(weight.name) if weight is not None else None
        if match is not None:
            alike = f"{node.result.type}{storage(node)} = {initialiser(node)}"
            members.setdefault(match[1], []).append((int(match[2]), alike))
    return {
        name
        for name, items in members.items()
        if sorted(index for index, _ in items) == list(range(len(items))) and len({alike for _, alike in items}) == 1
    }


def declarations(
    graph: Graph,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    packs: Mapping[str, str],
    weights: Sequence[Declared],
    renamed: Mapping[str, str],
) -> list[str]:
    """The lines of all declarations. Inputs, outputs and packs are named as these mappings say."""
    rows = [("input ", inputs[port.name], f"{port.value.type}{_range(port)}") for port in graph.inputs]
    rows += _weight_rows(weights)
    rows += [("output", outputs[port.name], str(port.value.type)) for port in graph.outputs]
    merged = _merged(rows)
    width = max((len(names) for _, names, _ in merged if len(names) < 24), default=0) + 1
    lines = [wrapped(f"{kind} {f'{names}:'.ljust(width)} {rest}") for kind, names, rest in merged]
    for declared, names in ((graph.input_packs, inputs), (graph.output_packs, outputs)):
        for pack in declared:
            members = ", ".join(names[member] for member in pack.members)
            name = packs[pack.name]
            comment = "" if name == pack.name else f"  # was called {pack.name!r}"
            lines.append(wrapped(f"pack   {name} = ({members}) along {pack.axis}") + comment)
    comments = [f"{INDENT}# {new} was called {old!r}" for new, old in renamed.items()]
    return [*lines, *comments]


def _weight_rows(weights: Sequence[Declared]) -> list[tuple[str, str, str]]:
    rows = []
    sizes: dict[str, int] = {}
    for weight in weights:
        match = _MEMBER.fullmatch(weight.name)
        if match is not None:
            sizes[match[1]] = max(sizes.get(match[1], 0), int(match[2]) + 1)
    for weight in weights:
        match = _MEMBER.fullmatch(weight.name)
        name = weight.name
        if match is not None:
            if match[1] not in sizes:
                continue
            name = f"{match[1]}[{sizes.pop(match[1])}]"
        rows.append(("weight", name, f"{weight.type}{weight.more}"))
    return rows


def _merged(rows: Sequence[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Neighbours of one type on one line: `input  dy, x: fp16[1, 768, 1, 256]`."""
    merged: list[tuple[str, str, str]] = []
    for kind, name, rest in rows:
        if merged and merged[-1][0] == kind and merged[-1][2] == rest:
            names = f"{merged[-1][1]}, {name}"
            if len(names) + len(rest) + len(INDENT) + 10 <= WIDTH:
                merged[-1] = (kind, names, rest)
                continue
        merged.append((kind, name, rest))
    return merged


def _range(port: Port) -> str:
    bounds = port.range
    if bounds is None or not all(math.isfinite(bound) for bound in bounds):
        return ""
    return f" in [{', '.join(number(bound, FP64) for bound in bounds)}]"
