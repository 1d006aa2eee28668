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
            said = alike.setdefault(key, Said(diagnostic, []))
            if said.diagnostic is not diagnostic:
                _keep_common_notes(said.diagnostic, diagnostic)
            if variant not in said.variants[-1:]:
                said.variants.append(variant)
    return list(alike.values())


def _keep_common_notes(first: Diagnostic, other: Diagnostic) -> None:
    """A note with the values of one variant, such as those of a failed assertion, would be wrong of another."""
    texts = other.note_texts
    if first.note_texts != texts:
        common = (text for text in first.note_texts if text in texts)
        vars(first)["notes"] = tuple(text.replace("{", "{{").replace("}", "}}") for text in common)


def told(said: Iterable[Said], count: int, style: str) -> list[Diagnostic]:
    """The diagnostics with a note, or in concise style with an end of the label, that says for which of `count` variants."""
    for diagnostic, variants in said:
        if not variants:
            continue
        where = "every variant" if len(variants) == count else listed(variants)
        # The texts of a diagnostic are its class's; these are for one of them only.
        vars(diagnostic)["in_variants"] = f"in {where}"
        if style == output.CONCISE:
            vars(diagnostic)["label"] = f"{diagnostic.label} ({{in_variants}})" if diagnostic.label else "{in_variants}"
        else:
            vars(diagnostic)["notes"] = (*diagnostic.notes, "{in_variants}")
    return [item.diagnostic for item in said]


def as_json(said: Iterable[Said]) -> list[dict[str, Any]]:
    from anedsl.diagnostics.render import as_json as rendered

    return [{**rendered(diagnostic), "variants": variants} for diagnostic, variants in said]


def listed(names: Sequence[str], limit: int = 6) -> str:
    """The first names of a list, in backquotes, and how many more there are."""
    text = ", ".join(f"`{name}`" for name in names[:limit])
    return text if len(names) <= limit else f"{text} and {len(names) - limit} more"
