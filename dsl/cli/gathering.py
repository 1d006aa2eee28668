"""The diagnostics of many variants: each once, with the variants it holds for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from anedsl.cli import output
from anedsl.diagnostics import Diagnostic


class Said(NamedTuple):
    """A diagnostic, and the variants it holds for: none if it is about no variant."""

    diagnostic: Diagnostic
    variants: list[str]


def gather(found: Iterable[tuple[str, Sequence[Diagnostic]]]) -> list[Said]:
    """Diagnostics that read alike at one place are one; in the order in which the variants first have them."""
    alike: dict[object, Said] = {}
    for variant, diagnostics in found:
        for diagnostic in diagnostics:
            source, start, end = diagnostic.span[:3]
            # The sources of two processes are two objects of one text.
            key = (diagnostic.code, source.name, start, end, diagnostic.headline, diagnostic.label_text)
            variants = alike.setdefault(key, Said(diagnostic, [])).variants
            if variant not in variants[-1:]:
                variants.append(variant)
    return list(alike.values())


def told(said: Iterable[Said], count: int, style: str) -> list[Diagnostic]:
    """The diagnostics with a note, or in concise style with an end of the label, that says for which of `count` variants."""
    for diagnostic, variants in said:
        if not variants:
            continue
        where = "every variant" if len(variants) == count else listed(variants)
        # The texts of a diagnostic are its class's; these are for one of them only.
        vars(diagnostic)["where"] = f"in {where}"
        if style == output.CONCISE:
            vars(diagnostic)["label"] = f"{diagnostic.label} ({{where}})" if diagnostic.label else "{where}"
        else:
            vars(diagnostic)["notes"] = (*diagnostic.notes, "{where}")
    return [item.diagnostic for item in said]


def as_json(said: Iterable[Said]) -> list[dict[str, Any]]:
    from anedsl.diagnostics.render import as_json as rendered

    return [{**rendered(diagnostic), "variants": variants} for diagnostic, variants in said]


def listed(names: Sequence[str], limit: int = 6) -> str:
    """The first names of a list, in backquotes, and how many more there are."""
    text = ", ".join(f"`{name}`" for name in names[:limit])
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"
