"""Exchanges two paths in one step, which Python's own library cannot."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

_HERE = -100
"""AT_FDCWD of Linux: paths are relative to the current folder."""

_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS."""

_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM)
"""What a kernel, a file system or a sandbox answers that does not know the call."""


def exchange(one: Path, other: Path) -> bool:
    """Whether the two paths, both of which must exist, have changed places. False where the system cannot do that.

    Raises OSError where it could and refuses.
    """
    names = os.fsencode(one), os.fsencode(other)
    try:
        library = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = library.renamex_np(*names, ctypes.c_uint(_EXCHANGE))
        else:
            failed = library.renameat2(_HERE, names[0], _HERE, names[1], ctypes.c_uint(_EXCHANGE))
    except (OSError, AttributeError):
        return False
    if not failed:
        return True
    code = ctypes.get_errno()
    if code in _UNKNOWN:
        return False
    raise OSError(code, os.strerror(code), str(one), None, str(other))
