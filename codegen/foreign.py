"""What the program of another compiler may hold that an artifact cannot say (ANE0439)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from anedsl.codegen.mil_types import element_of
from anedsl.codegen.program import Constant, InFile
from anedsl.diagnostics import Diagnostic, Failure
from anedsl.graph import Graph, Node

IN_TEXT, IN_PACKAGE, ANYWHERE = "as MIL text", "in an mlpackage", "again"


def check_literals(graph: Graph, emit: Collection[str]) -> None:
    """Reports the literals of opaque ops that cannot be written. Those of other ops are numbers and MIL's own words."""
    text, package = bool({"mil", "header"} & set(emit)), "mlpackage" in emit
    problems: list[Diagnostic] = []
    for node in graph.nodes:
        if not node.op.opaque:
            continue
        for attribute in node.op.attributes:
            leaves = _leaves(node.attributes[attribute.name])
            found = next(filter(None, (_problem(leaf, text, package) for leaf in leaves)), None)
            if found is not None:
                problems.append(_not_writable(node, attribute.name, *found))
    if problems:
        raise Failure(*problems)


def _leaves(constant: Constant) -> Iterator[Constant]:
    parts = constant.value if isinstance(constant.value, tuple) else ()
    if not any(isinstance(part, Constant) for part in parts):
        yield constant
        return
    for part in parts:
        yield from _leaves(part)


def _problem(leaf: Constant, text: bool, package: bool) -> tuple[str, str] | None:
    """Where a literal cannot be written, and why."""
    value: Any = leaf.value
    if isinstance(value, InFile):
        return ANYWHERE, f"numbers of type `{leaf.type}` in a weight file are not supported"
    if isinstance(value, np.ndarray):
        if package and element_of(leaf.type) == "bf16":
            return IN_PACKAGE, "it has no numbers of type bf16"
        return None
    texts = (value,) if isinstance(value, str) else value
    if text and any(letter in item for item in texts for letter in '"\\\n'):
        return IN_TEXT, "it holds a quotation mark, a backslash or a line end, and no escapes are known of MIL text"
    return None


def _not_writable(node: Node, name: str, where: str, reason: str) -> Diagnostic:
    from anedsl.diagnostics.artifacts import NotWritable

    return NotWritable(span=node.span, what=f"`{name}` of `{node.op.name}`", where=where, reason=reason)
