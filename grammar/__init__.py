"""The grammars, as text: `ane.lark` and `mil.lark`. Syntax only; no code stands in them."""

from pathlib import Path


def text(name: str) -> str:
    """The text of a grammar, by its file's name without `.lark`."""
    return Path(__file__).with_name(f"{name}.lark").read_text(encoding="utf-8")
