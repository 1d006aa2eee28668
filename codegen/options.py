"""What the caller of code generation may choose."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Mapping
from typing import Any, NamedTuple


class Options(NamedTuple):
    """How an artifact is written.

    `dialect` is "1.0" or "1.3", `route` "inmemory" or "coreml", `chip` "m1" to "m5" or None. `emit` holds "mil",
    "mlpackage" and "header"; the manifest is always written. `params` are the parameters that the manifest names, by
    default the graph's. `variant` are those of them that make this one of several variants, and `folder` is the name of
    its folder, by default the kernel's. `compared` asks for the program's fingerprint.
    """

    dialect: str = "1.3"
    route: str = "inmemory"
    chip: str | None = None
    emit: frozenset[str] = frozenset({"mil", "mlpackage"})
    single_weight_file: bool = False
    params: Mapping[str, Any] | None = None
    variant: Mapping[str, Any] | None = None
    folder: str | None = None
    compared: bool = False
