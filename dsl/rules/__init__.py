"""What the ANE allows, as data: a table of rules, and a checker that finds where a graph breaks them.

`check(graph, Target(chip, route))` gives the diagnostics; `support(op)` says what is known of an op.
"""

from anedsl.rules.record import CHIPS, FAMILIES, ROUTES, Rule, Target
from anedsl.rules.report import check
from anedsl.rules.support import support
from anedsl.rules.table import RULE, RULES

__all__ = ["CHIPS", "FAMILIES", "ROUTES", "RULE", "RULES", "Rule", "Target", "check", "support"]
