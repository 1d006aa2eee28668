"""The author's line of every op in a program, by the name of its result."""

from __future__ import annotations

from anedsl.codegen.artifact import Emission
from anedsl.codegen.program import Statement


def result_lines(emission: Emission) -> dict[str, int]:
    """Lines count from 1; what no author wrote (a slice of a pack, for example) has that of its declaration, or none."""
    statements = [item for item in emission.program.statements if isinstance(item, Statement)]
    found: dict[str, int] = {}
    for node, statement in zip(emission.graph.operations, statements, strict=True):
        span = node.span
        # In an inlined function the caller's line is the kernel's own.
        while span.call is not None:
            span = span.call
        if span.source.text and statement.results:
            found[statement.results[0][0]] = span.source.position(span.start)[0]
    return found
