"""Names that would lead out of the folder or archive they belong to."""

from __future__ import annotations

from anedsl.diagnostics import Failure
from anedsl.weights.entry import shown


def leads_out(name: str) -> bool:
    """Whether a name is an absolute path or climbs by `..`, in the spelling of any operating system."""
    path = name.replace("\\", "/")
    return path.startswith("/") or path[1:2] == ":" or ".." in path.split("/") or "\0" in path


def check_name(name: str, file: str) -> None:
    """Raises ANE0415 for the name of a member that leads out of `file`."""
    if leads_out(name):
        from anedsl.diagnostics.weights import UnsafeName

        raise Failure(UnsafeName(name=shown(name), file=file, advice="write the file again with a plain name"))
