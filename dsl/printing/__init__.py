"""Graphs as readable `.ane` text that compiles to the same ops."""

from anedsl.printing.kernel import Printed, print_kernel, printed

__all__ = ["Printed", "print_kernel", "printed"]
