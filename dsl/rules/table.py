"""The table of rules, by topic and by id, and the page that is written from it.

A rule of action error or warn has a check under the same id in `anedsl.rules.checks`, or says in `unchecked` why not.
The others have none: `fix` says what the compiler emits instead (rewrite), what the caller does (host), or what to make
of it (info).
"""

from __future__ import annotations

from anedsl.rules import program_rules, tensor_rules
from anedsl.rules.record import CHIPS, ROUTES, Rule, chip_names

TOPICS: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("Shapes", tensor_rules.SHAPES),
    ("Single ops", tensor_rules.OPS),
    ("Element types and compressed weights", tensor_rules.TYPES),
    ("Numbers that go wrong without an error", tensor_rules.NUMBERS),
    ("What a chip has", tensor_rules.CHIP_FEATURES),
    ("Surfaces: the inputs and outputs that the caller binds", program_rules.SURFACES),
    ("The text of a program", program_rules.TEXT),
    ("Weights", program_rules.WEIGHTS),
    ("The Core ML route", program_rules.CORE_ML),
    ("Costs", program_rules.COSTS),
)

RULES: tuple[Rule, ...] = tuple(rule for _, rules in TOPICS for rule in rules)
"""Every rule."""

RULE: dict[str, Rule] = {rule.id: rule for rule in RULES}
"""Every rule by its id."""

HEAD = """\
# What the ANE allows

The rules that `anedsl check` and `anedsl compile` know, as they stand in `dsl/rules/`. Each is a claim with its sources;
none was measured by this project. A test keeps this page equal to the table.

**Confidence.** A: an exact boundary was measured, and a second source agrees. B: measured by one project, or said by several.
C: one observation, or an inference. D: the sources contradict each other.

**Action.** *error* and *warn* are reported with the op and its line. *rewrite*: the compiler emits something else, and the
last column but one says what. *host*: for the program that calls the kernel. *info*: worth knowing.

**What is reported how.** An error of confidence C or D is shown as a warning. Without `--chip`, a rule that holds on some
chips only is a warning that names them; with `--chip` it is an error on these chips and silent on the others. With
`--route coreml`, what the ANE refuses is a warning, because Core ML runs that op on the CPU or GPU; what gives wrong
numbers stays an error.

**The channel axis** is axis 1 of tensors with 3 to 5 axes (batch, channels, ...). It and the batch axis, axis 0, share one
limit, so that it makes no difference whether a tensor with 3 axes begins with its batch or its channels. Both axes of a
matrix have the smaller limit; a vector has the larger one, save for rule D6.
"""

COLUMNS = ("rule", "chips", "route", "confidence", "action", "says", "fix, or what is done", "evidence")


def markdown() -> str:
    """The text of `docs/ane-rules.md`."""
    parts = [HEAD]
    for topic, rules in TOPICS:
        parts.append(f"\n## {topic}\n\n{_line(COLUMNS)}{_line(('---',) * len(COLUMNS))}")
        parts.extend(map(_row, rules))
    return "".join(parts)


def _row(rule: Rule) -> str:
    chips = "all" if rule.chips == CHIPS else chip_names(rule.chips)
    routes = "both" if rule.routes == ROUTES else ", ".join(rule.routes)
    fix = f"{rule.fix}; not checked: {rule.unchecked}" if rule.unchecked else rule.fix
    cells = (rule.id, chips, routes, rule.confidence, rule.action, rule.says, fix, rule.evidence)
    return _line(cells)


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |\n"
