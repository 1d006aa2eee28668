"""docs/std.md: the reference of the library, from the comments in its files."""

from __future__ import annotations

from anedsl.elaborate.modules import STD, LoadedModule, load
from anedsl.elaborate.values import Function
from anedsl.syntax import tree

HEAD = """# The library

<!-- Made from the comments in dsl/std by `pytest tests/std --update-goldens`. -->
"""


def reference() -> str:
    """The page: a section for each file in the order of std.nn's imports, in it each function with its parameters."""
    everything = load(STD / "nn.ane")
    parts = [item.parts[1].text for item in everything.tree.imports if isinstance(item, tree.ImportStd)]
    sections = [HEAD, _heading_comment(everything)]
    for part in parts:
        module = load(STD / f"{part}.ane")
        sections += [f"## std.{part}\n", _heading_comment(module)]
        sections += [_entry(function) for name, function in module.functions.items() if not name.startswith("_")]
    return "\n".join(sections)


def _heading_comment(module: LoadedModule) -> str:
    """The comment at the top of the file."""
    block = module.source.text.partition("\n\n")[0]
    return "".join(f"{line.removeprefix('#').removeprefix(' ')}\n" for line in block.splitlines())


def _entry(function: Function) -> str:
    parameters = ", ".join(map(_parameter, function.tree.parameters))
    return f"### `{function.tree.name.text}({parameters})`\n\n{function.tree.doc}\n"


def _parameter(parameter: tree.Parameter) -> str:
    pattern = f": {_text(parameter.pattern)}" if parameter.pattern else ""
    default = f" = {_text(parameter.default)}" if parameter.default else ""
    return f"{parameter.name.text}{pattern}{default}"


def _text(part: tree.Type | tree.Expression) -> str:
    return " ".join(part.span.text.split())
