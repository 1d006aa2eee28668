"""How long runs took: the middle and the spread, never the mean, which one interruption moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def spread(nanoseconds: Sequence[int]) -> dict[str, Any]:
    """The count, and the median, 10th and 90th percentile and minimum, in seconds."""
    seconds = np.asarray(nanoseconds, dtype=np.float64) / 1e9
    low, middle, high = np.percentile(seconds, (10, 50, 90))
    return {
        "runs": len(seconds),
        "median": float(middle),
        "p10": float(low),
        "p90": float(high),
        "min": float(seconds.min()),
    }


def duration(seconds: float) -> str:
    """Seconds in the unit a reader takes in: `1.23 ms`."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
