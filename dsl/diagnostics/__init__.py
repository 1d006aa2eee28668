"""Diagnostics: codes by stage, their texts, and how they are shown.

01xx syntax, 02xx names, types and shapes, 03xx ANE rules and ranges, 04xx weights and artifacts, 05xx running.
The classes stand in `syntax`, `names`, `shapes`, `rules`, `weights` and `running`.
"""

from anedsl.diagnostics.base import Diagnostic, Error, Failure, Label, Sink, Warning, counted, nearest

__all__ = ["Diagnostic", "Error", "Failure", "Label", "Sink", "Warning", "counted", "nearest"]
