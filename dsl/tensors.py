"""Arrays from what a Python program has: numpy arrays, numbers, and tensors of torch, which is not imported for it."""

from __future__ import annotations

from typing import Any

import numpy as np

from anedsl.data import Array

BFLOAT16 = ("torch.bfloat16", "bfloat16")
"""How torch, and arrays that numpy has by an extension, call the type that numpy itself does not know."""


def as_array(value: Any) -> Array:
    """The numbers of a value. A tensor is detached and brought to the CPU; bfloat16 becomes float32, which holds all of it.

    Raises what the value's own conversion raises.
    """
    if any(kind.__module__.partition(".")[0] == "torch" for kind in type(value).__mro__):
        value = value.detach().cpu()
        return np.asarray((value.float() if str(value.dtype) in BFLOAT16 else value).numpy())
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype.name in BFLOAT16 else array
