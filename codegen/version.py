"""The compiler's version, as the artifact names it."""

from __future__ import annotations

import anedsl


def _version() -> str:
    known = getattr(anedsl, "__version__", None)
    if known is None:
        from importlib.metadata import version

        known = version("anedsl")
    return str(known)


VERSION = _version()
