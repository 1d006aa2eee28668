"""Names that nothing defines, found in the text alone: also in functions that no kernel calls, and in branches not taken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anedsl.diagnostics import Diagnostic, nearest
from anedsl.elaborate import builtins, modules
from anedsl.elaborate.modules import LoadedModule
from anedsl.ops import OPS
from anedsl.source import Source, Span
from anedsl.syntax import tree


def unknown(name: str, span: Span, known: set[str], module: LoadedModule) -> Diagnostic:
    """ANE0201, which knows where else the name is defined, the functions of the library, and names of other languages."""
    from anedsl.diagnostics.names import UnknownName
    from anedsl.elaborate import definitions, foreign

    found = definitions.elsewhere(name, span, module)
    if found is not None:
        return UnknownName(span=span, name=name, related=(found.label,), advice=found.advice)
    if name in module.kernels:
        advice = f"`{name}` is a kernel, and kernels call functions only: move what both need into a function"
        return UnknownName(span=span, name=name, advice=advice)
    library = modules.library()
    instead = None if name in library else foreign.advice(name, known)
    if instead is not None:
        return UnknownName(span=span, name=name, advice=instead)
    close = None if name in library else nearest(name, known | library.keys())
    meant = close if close is not None else name
    if meant not in library or meant in known:
        return UnknownName(span=span, name=name, nearest=close)
    importing = f"write `import {library[meant]}` above the kernel (`import std.nn` brings all of it)"
    return UnknownName(span=span, name=name, nearest=close, advice=f"`{meant}` is in the library: {importing}")


def everywhere(module: LoadedModule) -> set[str]:
    """What every function and kernel of a file sees."""
    return module.names() | builtins.NAMES.keys() | OPS.keys()


def instead_of_member(node: tree.Attribute, module: LoadedModule) -> str | None:
    """What to write instead of `x.name` on a tensor, or None."""
    from anedsl.elaborate import foreign

    target = node.target.span.text if isinstance(node.target, (tree.Name, tree.Subscript)) else "x"
    code = foreign.member(node.name, target)
    if code is not None:
        return f"write `{code}`"
    if node.name in everywhere(module) | modules.library().keys():
        return f"tensors have no methods: write `{node.name}({target}, ...)`"
    return None


def undefined(item: tree.Function | tree.Kernel | tree.Derived, module: LoadedModule) -> list[Diagnostic]:
    """ANE0201 for each use of a name that the function or kernel nowhere defines.

    A name that it does define counts as known in all of it: whether that comes before the use is found by elaborating.
    """
    if isinstance(item, tree.Derived):
        return []
    uses: list[tree.Name] = []
    known = everywhere(module)
    for part in _parts(item):
        if isinstance(part, tree.Identifier):
            known.add(part.text)
        elif isinstance(part, tree.Name):
            uses.append(part)
        elif isinstance(part, tree.Parameter) and part.pattern is not None:
            # `x: [1, C, 1, S]` defines the sizes that are not yet known.
            known.update(size.text for size in part.pattern.dimensions or () if isinstance(size, tree.Name))
    return [unknown(use.text, use.span, known, module) for use in uses if use.text not in known]


def _parts(item: Any) -> Iterator[Any]:
    """A node of the tree and all below it; what `stored` says is not made of names."""
    pending = [item]
    while pending:
        part = pending.pop()
        yield part
        if isinstance(part, tree.Weight):
            part = part._replace(stored=None)
        pending.extend(inner for inner in part if isinstance(inner, tuple) and not isinstance(inner, (Span, Source)))
