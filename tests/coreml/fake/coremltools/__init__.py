"""A stand-in for coremltools on a Mac: the names that the worker uses, doing what a test's scenario says.

The scenario is a JSON file that `ANEDSL_FAKE_COREML` names (tests/coreml/scenario.py). `test_fake.py` holds the names
and parameters against the real coremltools.
"""

from enum import Enum

from coremltools import scenario


class ComputeUnit(Enum):
    ALL = 1
    CPU_AND_GPU = 2
    CPU_ONLY = 3
    CPU_AND_NE = 4


class SpecializationStrategy(Enum):
    Default = 1
    FastPrediction = 2


scenario.enter("import")

from coremltools import models  # noqa: E402

__all__ = ["ComputeUnit", "SpecializationStrategy", "models"]
