"""Names that nothing defines, found in the text alone: also in functions that no kernel calls, and in branches not taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anedsl.diagnostics import Diagnostic, nearest
from anedsl.elaborate import builtins, modules
from anedsl.elaborate.modules import LoadedModule
from anedsl.ops import OPS
from anedsl.source import Span
from anedsl.syntax import tree
from anedsl.syntax.walk import parts

if TYPE_CHECKING:
    from anedsl.elaborate.uses import Use


def unknown(name: str, span: Span, known: set[str], module: LoadedModule) -> Diagnostic:
    """ANE0201, which knows where else the name is defined, the functions of the library, and names of other languages."""
    from anedsl.diagnostics.names import UnknownName
    from anedsl.elaborate import definitions, foreign, uses

    found = definitions.elsewhere(name, span, module)
    if found is not None:
        return UnknownName(span=span, name=name, related=(found.label,), advice=found.advice)
    if name in module.kernels:
        advice = f"`{name}` is a kernel, and kernels call functions only: move what both need into a function"
        return UnknownName(span=span, name=name, advice=advice)
    library = modules.library()
    if name not in library and foreign.has(name):
        use = uses.use_of(span, module)
        own = nearest(name, _own(use, known, module))
        instead = foreign.advice(name, use, known) if own is None else None
        if own or instead or use is uses.Use.VALUE:
            return UnknownName(span=span, name=name, nearest=own, advice=instead)
    close = None if name in library else nearest(name, known | library.keys())
    meant = close if close is not None else name
    if meant not in library or meant in known:
        return UnknownName(span=span, name=name, nearest=close)
    importing = f"write `import {library[meant]}` above the kernel (`import std.nn` brings all of it)"
    return UnknownName(span=span, name=name, nearest=close, advice=f"`{meant}` is in the library: {importing}")


def _own(use: Use, known: set[str], module: LoadedModule) -> set[str]:
    """What the author has named, of the names that can be used so: they are nearer than other languages."""
    from anedsl.elaborate.uses import Use

    if use in (Use.PREFIX, Use.ELEMENT_TYPE):
        return set()
    named = module.names() if use is Use.CALLED else known
    return named - modules.library().keys() - builtins.NAMES.keys() - OPS.keys()


def everywhere(module: LoadedModule) -> set[str]:
    """What every function and kernel of a file sees."""
    return module.names() | builtins.NAMES.keys() | OPS.keys()


def instead_of_member(node: tree.Attribute, rank: int, module: LoadedModule) -> str | None:
    """What to write instead of `x.name` on a tensor with so many axes, or None."""
    from anedsl.elaborate import foreign

    known = everywhere(module)
    target = node.target.span.text if isinstance(node.target, (tree.Name, tree.Subscript)) else "x"
    instead = None if node.name in module.functions else foreign.member(node.name, target, rank, known)
    if instead is None and node.name in known | modules.library().keys():
        return "tensors have no methods: " + foreign.advised(f"{node.name}({target}, ...)", known)
    return instead


def undefined(item: tree.Function | tree.Kernel | tree.Derived, module: LoadedModule) -> Iterator[Diagnostic]:
    """ANE0201 for each use of a name that the function or kernel nowhere defines, in the order of the text.

    What is to be said of a name takes time: whoever asks stops where there are more than anyone reads.

    A name that it does define counts as known in all of it: whether that comes before the use is found by elaborating.
    """
    if isinstance(item, tree.Derived):
        return
    uses: list[tree.Name] = []
    known = everywhere(module)
    for part in parts(item):
        if isinstance(part, tree.Identifier):
            known.add(part.text)
        elif isinstance(part, tree.Name):
            uses.append(part)
        elif isinstance(part, tree.Parameter) and part.pattern is not None:
            # `x: [1, C, 1, S]` defines the sizes that are not yet known.
            known.update(size.text for size in part.pattern.dimensions or () if isinstance(size, tree.Name))
    for use in sorted(uses, key=lambda use: use.span.start):
        if use.text not in known:
            yield unknown(use.text, use.span, known, module)
