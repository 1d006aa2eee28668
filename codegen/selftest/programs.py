"""The programs of the self-test: some kernels, and one for each op."""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from anedsl.codegen.selftest.table import FOLDED, INPUTS, KERNELS, SIZES, USES
from anedsl.ops import OPS
from anedsl.ops.record import BOOLS, Op


class Program(NamedTuple):
    """A kernel to be tested: its text, or the file that it stands in with the sizes of its parameters."""

    name: str
    kind: str
    text: str = ""
    path: str = ""
    kernel: str = ""
    parameters: tuple[tuple[str, Any], ...] = ()


def all_programs(examples: Path | None = None) -> list[Program]:
    """Examples, kernels and ops, in this order."""
    found = list(example_programs(examples)) if examples is not None else []
    found += [Program(f"kernel-{name}", "kernel", text) for name, text in KERNELS.items()]
    return found + [Program(f"op-{name}", "op", op_text(op)) for name, op in OPS.items() if name not in FOLDED]


def example_programs(folder: Path) -> Iterator[Program]:
    """The kernels of all `.ane` files of a folder, in sizes that a CPU computes in no time."""
    from anedsl.frontend import load_file
    from anedsl.syntax import tree

    for path in sorted(folder.glob("*.ane")):
        module = load_file(path)
        for name, kernel in module.kernels.items():
            known = [p.name.text for p in kernel.parameters] if isinstance(kernel, tree.Kernel) else []
            sizes = tuple((key, size) for key, size in SIZES.items() if key in known)
            yield Program(f"{path.stem}-{name}", "example", path=str(path.resolve()), kernel=name, parameters=sizes)


def op_text(op: Op) -> str:
    """A kernel with one use of the op: that of the table, else one made of its record."""
    body = USES.get(op.name) or _made(op)
    lines = [INPUTS, *body.strip().splitlines()]
    return "kernel op_{} {{\n    {}\n}}\n".format(op.name, "\n    ".join(line.strip() for line in lines))


def _made(op: Op) -> str:
    """The op on inputs of one shape, with its defaults."""
    letters = iter("xzuv")
    operands = []
    for operand in op.operands:
        if operand.optional:
            break
        letter = next(letters)
        # Core ML passes no booleans in or out.
        operands.append(f"{letter} > 0.5" if operand.domain is BOOLS else letter)
    call = f"{op.name}({', '.join(operands)})"
    if op.family == "comparison":
        call = f"cast({call}, fp16)"
    return f"output y\ny = {call}"
