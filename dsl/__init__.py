"""anedsl: a small declarative tensor language for the Apple Neural Engine.

import anedsl

k = anedsl.load("rmsnorm_bwd.ane", DIM=1024)
out = k(dy=dy, x=x, weights={"rms_w": w})
art = k.compile("build/")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anedsl.api import Kernel, Outputs, load
    from anedsl.diagnostics import Failure

__version__ = "0.1.0"
__all__ = ["Failure", "Kernel", "Outputs", "__version__", "load"]

_HOMES = {"load": "anedsl.api", "Kernel": "anedsl.api", "Outputs": "anedsl.api", "Failure": "anedsl.diagnostics"}


def __getattr__(name: str) -> Any:
    """Loads the interface when it is first used: `anedsl --help` needs none of it."""
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'anedsl' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
