"""Files: reading them, and the functions that imports bring into sight.

Imports stay inside the folder of the file that is compiled. A file's own functions come before imported ones, so that the
library can grow without breaking a kernel.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from anedsl.diagnostics import Diagnostic, Failure, Label, nearest
from anedsl.elaborate.values import Function
from anedsl.source import NOWHERE, Source, Span
from anedsl.syntax import tree
from anedsl.syntax.parse import parse

MAX_FILE_BYTES = 2 * 1024 * 1024
MAX_FILES = 1000
STD = Path(__file__).resolve().parent.parent / "std"


class LoadedModule:
    """A file with the functions it sees."""

    def __init__(self, syntax: tree.Module) -> None:
        self.tree = syntax
        self.is_library = syntax.source.is_library
        self.source = syntax.source
        self.functions: dict[str, Function] = {}
        self.imported: dict[str, Function] = {}
        self.text_hash_parts: list[str] = []

    def find(self, name: str) -> Any:
        return self.functions.get(name) or self.imported.get(name)

    def names(self) -> set[str]:
        return self.functions.keys() | self.imported.keys()

    @property
    def kernels(self) -> dict[str, tree.Kernel | tree.Derived]:
        return {kernel.name.text: kernel for kernel in self.tree.kernels}


def load(path: Path) -> LoadedModule:
    """Reads a file and all that it imports. Raises `Failure` (01xx, 0202, 0208, 0209, 0238, 0239)."""
    return Loader(path.resolve().parent).file(path, str(path), NOWHERE)


def load_text(text: str, name: str = "<text>", folder: Path | None = None) -> LoadedModule:
    """As `load`, for a text that is in memory."""
    root = (folder or Path.cwd()).resolve()
    return Loader(root).module(Source(name, text), root / "<text>", root)


class Loader:
    """Loads the files of one compile, each once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.loaded: dict[Path, LoadedModule] = {}
        self.loading: list[Path] = []

    def file(self, path: Path, shown: str, asked: Span) -> LoadedModule:
        resolved = path.resolve()
        if resolved in self.loading:
            from anedsl.diagnostics.names import ImportCycle

            chain = [*self.loading[self.loading.index(resolved) :], resolved]
            raise Failure(ImportCycle(span=asked, chain=" -> ".join(part.name for part in chain)))
        if resolved not in self.loaded:
            self.loaded[resolved] = self.module(read_source(path, shown, asked), resolved, self._root_of(resolved))
        return self.loaded[resolved]

    def module(self, source: Source, path: Path, root: Path) -> LoadedModule:
        self.loading.append(path)
        try:
            module = LoadedModule(parse(source))
            problems: list[Diagnostic] = []
            for item in module.tree.imports:
                try:
                    self._import(item, module, path.parent, root)
                except Failure as failure:
                    problems.extend(failure.diagnostics)
            problems.extend(_define_all(module))
            if problems:
                raise Failure(*problems)
            return module
        finally:
            self.loading.pop()

    def _root_of(self, path: Path) -> Path:
        return STD if path.is_relative_to(STD) else self.root

    def _import(self, item: tree.ImportFile | tree.ImportStd, module: LoadedModule, folder: Path, root: Path) -> None:
        path = _std_path(item) if isinstance(item, tree.ImportStd) else _file_path(item, folder, root)
        shown = f"std/{path.name}" if path.is_relative_to(STD) else _shown(module.source.name, item)
        imported = self.file(path, shown, item.span)
        module.text_hash_parts.extend((*imported.text_hash_parts, imported.source.text))
        # `std.nn` passes on what it imports: the library is split into files, and one import brings all of it.
        passed_on = imported.imported if isinstance(item, tree.ImportStd) else {}
        own = {function.name.text for function in module.tree.functions}
        for name, function in {**passed_on, **imported.functions}.items():
            earlier = module.imported.get(name)
            if earlier is None or earlier.module.is_library:
                # An author's file comes before the library, whichever is imported first.
                module.imported[name] = function
            elif earlier is not function and not function.module.is_library and name not in own:
                from anedsl.diagnostics.names import AmbiguousImport

                raise Failure(AmbiguousImport(span=item.span, name=name, first=earlier.module.source.name))


def _shown(importer: str, item: tree.ImportFile | tree.ImportStd) -> str:
    assert isinstance(item, tree.ImportFile)
    return str(Path(importer).parent / item.path)


def _define_all(module: LoadedModule) -> list[Diagnostic]:
    """Functions and kernels by name; one name, one definition."""
    problems: list[Diagnostic] = []
    seen: dict[str, Span] = {}
    for item in (*module.tree.functions, *module.tree.kernels):
        name = item.name.text
        if name in seen:
            from anedsl.diagnostics.names import DefinedTwice

            problems.append(DefinedTwice(span=item.name.span, related=(Label(seen[name], "first defined here"),), name=name))
        seen[name] = item.name.span
        if isinstance(item, tree.Function):
            module.functions[name] = Function(item, module)
    return [*problems, *_differ_in_case(module)]


def _differ_in_case(module: LoadedModule) -> list[Diagnostic]:
    """Kernels whose artifacts would be one folder where upper and lower case are one, as on most Macs."""
    problems: list[Diagnostic] = []
    seen: dict[str, tree.Identifier] = {}
    for kernel in module.tree.kernels:
        earlier = seen.setdefault(kernel.name.text.casefold(), kernel.name)
        if earlier.text != kernel.name.text:
            from anedsl.diagnostics.names import KernelsDifferInCase

            related = (Label(earlier.span, "the other one"),)
            problems.append(
                KernelsDifferInCase(span=kernel.name.span, related=related, name=kernel.name.text, other=earlier.text)
            )
    return problems


def _std_path(item: tree.ImportStd) -> Path:
    names = [part.text for part in item.parts]
    known = sorted(path.stem for path in STD.glob("*.ane"))
    if names[0] != "std" or len(names) != 2 or names[1] not in known:
        from anedsl.diagnostics.names import UnknownLibrary

        name, parts = ".".join(names), [f"std.{k}" for k in known]
        # `nn`, `std.nn.rmsnorm`, `std.rmsnorm`
        meant = [f"std.{part}" if part in known else library().get(part) for part in names]
        close = next(filter(None, meant), None) or nearest(name, parts)
        raise Failure(UnknownLibrary(span=item.span, name=name, nearest=close, known=", ".join(f"`{p}`" for p in parts) or None))
    return STD / f"{names[1]}.ane"


@cache
def library() -> dict[str, str]:
    """The functions of the library, and the part that defines each: `{"rmsnorm": "std.norms", ...}`."""
    found: dict[str, str] = {}
    for path in sorted(STD.glob("*.ane")):
        for function in parse(read_source(path, path.name)).functions:
            name = function.name.text
            if not name.startswith("_"):
                found[name] = f"std.{path.stem}"
    return found


def _file_path(item: tree.ImportFile, folder: Path, root: Path) -> Path:
    path = (folder / item.path).resolve() if "\0" not in item.path else root.parent
    if Path(item.path).is_absolute() or not path.is_relative_to(root):
        from anedsl.diagnostics.names import ImportOutside

        raise Failure(ImportOutside(span=item.span, path=item.path.replace("\0", "\\0"), root=root.name or str(root)))
    return path


def read_source(path: Path, shown: str, asked: Span = NOWHERE) -> Source:
    """The text of a source file. Raises `Failure` for a file that is missing, too large or not UTF-8 (0106 to 0108)."""
    from anedsl.diagnostics import syntax

    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a valid path"
        close = _near_file(path, asked)
        label = None if asked is NOWHERE else "asked for here"
        raise Failure(syntax.UnreadableFile(span=asked, path=shown, reason=reason.lower(), nearest=close, asked=label)) from None
    if len(data) > MAX_FILE_BYTES:
        readable = Source(shown, data[:MAX_FILE_BYTES].decode("utf-8", errors="replace"))
        span = Span(readable, len(readable.text) - 1, len(readable.text))
        limit = f"{MAX_FILE_BYTES} bytes"
        # A pipe or a device has no size.
        known = path.stat().st_size
        size = f"{known} bytes" if known > MAX_FILE_BYTES else f"more than {limit}"
        raise Failure(syntax.FileTooLarge(span=span, path=shown, size=size, limit=limit))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        readable = Source(shown, data.decode("utf-8", errors="replace"))
        at = len(data[: error.start].decode("utf-8", errors="replace"))
        span = Span(readable, at, at + 1)
        raise Failure(syntax.NotUtf8(span=span, path=shown, byte=f"0x{data[error.start]:02x}", offset=error.start)) from None
    return Source(shown, text, is_library=path.resolve().is_relative_to(STD))


def _near_file(path: Path, asked: Span) -> str | None:
    """A file beside one that cannot be read, with nearly its name, other than the one that imports it."""
    importer = None if asked is NOWHERE else Path(asked.source.name).name
    there = path.parent.glob("*.ane") if path.parent.is_dir() else ()
    stems = {file.stem: file.name for file in there if file.is_file() and file.name not in (path.name, importer)}
    close = nearest(path.stem, stems)
    return None if close is None else stems[close]
