"""Names from torch, numpy and Python: what is written instead of each exists, and is not known under that name already."""

from __future__ import annotations

import pytest

from anedsl.diagnostics import Sink
from anedsl.elaborate import builtins, foreign
from anedsl.elaborate.kernel import elaborate
from anedsl.elaborate.modules import library, load_text
from anedsl.ops import OPS

KNOWN = OPS.keys() | builtins.NAMES.keys() | library().keys()
KERNEL = """
import std.nn
kernel k {{
    input x, y: fp16[1, 8, 8, 8]
    weight w: fp16[8, 8, 1, 1] = ones
    output out
    found = {code}
    out = x * 2
}}
"""


@pytest.mark.parametrize("code", sorted({*foreign.NAMES.values(), *foreign.MEMBERS.values()}))
def test_what_is_advised_compiles(code: str) -> None:
    elaborate(load_text(KERNEL.format(code=code)), "k", {}, Sink())


def test_no_name_is_known_here() -> None:
    assert not KNOWN & (foreign.NAMES.keys() | foreign.PREFIXES)


def test_element_types_exist() -> None:
    assert set(foreign.DTYPES.values()) <= builtins.NAMES.keys()


def test_every_parameter_exists_somewhere() -> None:
    from anedsl.elaborate.arguments import parameters

    known = {name for function in builtins.BUILTINS.values() for name, _ in function.parameters}
    known |= {slot.name for op in OPS.values() for slots in parameters(op) for slot in slots}
    known |= {
        parameter.name.text for function in load_text("import std.nn").imported.values() for parameter in function.tree.parameters
    }
    for name, here in foreign.PARAMETERS.items():
        assert set(here) <= known, name
