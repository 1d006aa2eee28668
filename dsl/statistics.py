"""Numbers about arrays: what they hold, and how far they are from exact ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def summary(array: Array) -> dict[str, Any]:
    """Element type, shape, and the least, greatest, mean and standard deviation of the finite values.

    None stands where there is no finite value.
    """
    values = np.atleast_1d(array.astype(np.float64))
    finite = values[np.isfinite(values)]
    statistics = (finite.min(), finite.max(), finite.mean(), finite.std()) if finite.size else (None,) * 4
    names = ("min", "max", "mean", "std")
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        **{name: None if value is None else float(value) for name, value in zip(names, statistics, strict=True)},
        "not_finite": int(values.size - finite.size),
    }


def errors(array: Array, exact: Array) -> dict[str, float | None]:
    """The error of `array` against `exact` (float64), over the elements where both are finite.

    - max_abs, mean_abs: absolute, in the unit of the values;
    - max_rel, mean_rel: absolute over the largest magnitude of `exact`;
    - max_ulp, mean_ulp: absolute in units in the last place of the array's own type at the largest magnitude of `exact`;
      at each exact value itself they would tell of elements near zero only.
    """
    got, want = np.atleast_1d(array.astype(np.float64)), np.atleast_1d(exact.astype(np.float64))
    both = np.isfinite(got) & np.isfinite(want)
    if not both.any():
        return dict.fromkeys(("max_abs", "mean_abs", "max_rel", "mean_rel", "max_ulp", "mean_ulp"))
    # Where both are infinite they have no difference.
    with np.errstate(invalid="ignore"):
        difference = np.abs(got - want)[both]
    scale = float(np.abs(want[both]).max())
    found: dict[str, float | None] = {"max_abs": float(difference.max()), "mean_abs": float(difference.mean())}
    for name in ("max", "mean"):
        absolute = found[f"{name}_abs"]
        assert absolute is not None
        found[f"{name}_rel"] = absolute / scale if scale else (0.0 if absolute == 0 else math.inf)
    ulp = _ulp(scale, array.dtype) if array.dtype.kind == "f" else None
    for name in ("max", "mean"):
        absolute = found[f"{name}_abs"]
        assert absolute is not None
        found[f"{name}_ulp"] = None if ulp is None else absolute / ulp
    return found


def _ulp(value: float, dtype: np.dtype[Any]) -> float:
    """The distance from a magnitude to the next number of a float type, at its largest number for what is beyond it."""
    # The largest number itself has no next one.
    below = np.nextafter(np.finfo(dtype).max, dtype.type(0))
    return float(np.spacing(dtype.type(min(value, float(below)))))
