"""Whether two programs are the same, and where they begin to differ."""

from anedsl.codegen.comparison.graphs import Comparison, Difference, Pairing, compare

__all__ = ["Comparison", "Difference", "Pairing", "compare"]
