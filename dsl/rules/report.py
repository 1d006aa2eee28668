"""From findings to diagnostics: which of them are errors, for a chip and a route."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from anedsl.diagnostics import Diagnostic, Failure, Sink, nearest
from anedsl.graph import Graph
from anedsl.rules.checks import CHECKS
from anedsl.rules.record import CHIPS, ROUTES, Rule, Target, chip_names
from anedsl.rules.scope import Finding, Scope
from anedsl.rules.table import RULES


def check(graph: Graph, target: Target = Target()) -> list[Diagnostic]:  # noqa: B008 - a Target is immutable
    """Where a graph breaks the rules of a target, in the order of the source.

    The graph may be logical (with packs) or physical (its ports are the surfaces). Each diagnostic names the rule, its
    evidence, the op, its place and a fix. Raises `Failure` with ANE0330 for an unknown chip or route.
    """
    _check_target(target)
    scope = Scope(graph, target)
    sink = Sink()
    for rule in RULES:
        if target.route not in rule.routes or rule.id not in CHECKS:
            continue
        for finding in CHECKS[rule.id](scope):
            severity = _severity(rule, finding, target)
            if severity is not None:
                sink.add(_diagnostic(rule, finding, target, severity))
    return sorted(sink.diagnostics, key=lambda diagnostic: (diagnostic.span.source.name, diagnostic.span.start))


def _severity(rule: Rule, finding: Finding, target: Target) -> str | None:
    """Error, warning, or None on a chip that the finding does not concern."""
    chips = finding.chips or rule.chips
    if target.chip is not None and target.chip not in chips:
        return None
    certain = (finding.confidence or rule.confidence) in "AB"
    everywhere = target.chip is not None or chips == CHIPS
    runs_elsewhere = target.route == "coreml" and rule.effect == "refused"
    is_error = (finding.action or rule.action) == "error" and certain and everywhere and not runs_elsewhere
    return "error" if is_error else "warning"


def _diagnostic(rule: Rule, finding: Finding, target: Target, severity: str) -> Diagnostic:
    from anedsl.diagnostics import rules as texts

    kind: Callable[..., Diagnostic] = getattr(texts, finding.kind)
    chips = finding.chips or rule.chips
    partial = chips != CHIPS
    named = chip_names((target.chip,) if target.chip is not None else chips)
    confidence = finding.confidence or rule.confidence
    refused = rule.effect == "refused" and rule.action == "error"
    fields: dict[str, Any] = {
        "severity": severity,
        "span": finding.span,
        "related": finding.related,
        "rule": rule.id,
        "says": rule.says,
        "confidence": confidence,
        "evidence": rule.evidence,
        "fix": finding.fix or rule.fix,
        "on": f" on {named}" if partial else "",
        "of": f" of {named}" if partial else "",
        "where": f"this holds on {named} only; `--chip` checks for one chip" if partial and target.chip is None else None,
        "elsewhere": "Core ML then runs the op on the CPU or GPU" if refused and target.route == "coreml" else None,
        "doubt": "the sources contradict each other, so this is a warning only" if confidence == "D" else None,
    }
    return kind(**fields, **finding.fields)


def _check_target(target: Target) -> None:
    for kind, found, known in (("chip", target.chip, CHIPS), ("route", target.route, ROUTES)):
        if found is not None and found not in known:
            from anedsl.diagnostics.rules import UnknownTarget

            raise Failure(UnknownTarget(kind=kind, found=found, known=", ".join(known), nearest=nearest(found, known)))
