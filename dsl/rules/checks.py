"""The checks, each under the id of its rule: `checks.CHECKS["D3"]` finds where a graph breaks rule D3."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from anedsl.rules import check_ops, check_program, check_shapes
from anedsl.rules.scope import Finding, Scope

CHECKS: dict[str, Callable[[Scope], Iterator[Finding]]] = {**check_shapes.CHECKS, **check_ops.CHECKS, **check_program.CHECKS}
