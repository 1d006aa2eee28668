"""Names from torch, numpy and Python: what is written instead of each exists, and is not known under that name already."""

from __future__ import annotations

import json

import pytest
import torch

from anedsl.diagnostics import Failure, Sink
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


def helps(text: str, kernel: str = "k") -> list[str]:
    """What is advised to a text with mistakes."""
    with pytest.raises(Failure) as failure:
        elaborate(load_text(text), kernel, {}, Sink())
    return [line.partition("help: ")[2] for line in str(failure.value).splitlines() if "= help: " in line]


def using(expression: str, shape: str = "1, 8, 8, 8", above: str = "") -> list[str]:
    return helps(f"{above}\nkernel k {{\n    input x: fp16[{shape}]\n    output y\n    y = {expression}\n}}\n")


@pytest.mark.parametrize("code", sorted({*foreign.VALUES.values(), *foreign.NAMES.values(), *foreign.MEMBERS.values()}))
def test_what_is_advised_compiles(code: str) -> None:
    elaborate(load_text(KERNEL.format(code=foreign.with_axes(code, 4))), "k", {}, Sink())


ANY_RANK = sorted(
    code
    for code in {*foreign.NAMES.values(), *foreign.MEMBERS.values()}
    if any(word in code for word in ("PERM", "SWAP", "REPS", "AXIS")) and "y" not in code
)


@pytest.mark.parametrize("shape", ["8", "8, 8", "8, 8, 8", "8, 8, 8, 8, 8"])
@pytest.mark.parametrize("code", ANY_RANK)
def test_what_is_advised_compiles_at_other_ranks(code: str, shape: str) -> None:
    text = KERNEL.format(code=foreign.with_axes(code, shape.count(",") + 1)).replace("1, 8, 8, 8]", f"{shape}]")
    elaborate(load_text(text), "k", {}, Sink())


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_the_transpose_of_torch(rank: int) -> None:
    x = torch.zeros(tuple(range(2, rank + 2)))
    perm = json.loads(foreign.with_axes("SWAP", rank))
    assert x.permute(perm).shape == (x if rank == 1 else x.mT).shape


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("x.T", "write `transpose(x, perm = [1, 0])`"),
        ("x.permute(1, 0)", "write `transpose(x, perm = [1, 0])`"),
        ("x.repeat(1, 4)", "write `tile(x, reps = [4, 1])`"),
        ("x.repeat_interleave(4)", "write `repeat_heads(x, 4)`, with `import std.attention` above the kernel"),
        ("x.rmsnorm(1)", "tensors have no methods: write `rmsnorm(x, ...)`, with `import std.norms` above the kernel"),
        ("x.add(y)", "write `x + y`"),
        ("x.bool()", "write `cast(x, bool)`"),
        ("x.relu()", "tensors have no methods: write `relu(x, ...)`"),
    ],
)
def test_a_member_is_told_for_its_tensor(expression: str, advice: str) -> None:
    assert using(expression, "8, 8") == [advice]


def test_an_import_that_is_there_is_not_told() -> None:
    assert using("x.rmsnorm(1)", above="import std.nn") == ["tensors have no methods: write `rmsnorm(x, ...)`"]


def test_a_function_of_the_author_comes_before_another_language() -> None:
    assert using("x.norm()", above="fn norm(x) = x * 2") == ["tensors have no methods: write `norm(x, ...)`"]
    assert using("norm(x)", above="fn norms(x) = x * 2") == ["did you mean `norms`?"]


@pytest.mark.parametrize("name", ["F", "half", "size", "norm", "int", "view"])
def test_a_value_is_no_module_type_or_function(name: str) -> None:
    assert using(f"x[:, :{name}]") == []
    assert using(f"reshape(x, [8, {name}])") == []


def test_a_name_of_the_author_comes_first() -> None:
    assert helps("kernel k {\n input x: fp16[8]\n output y\n norms = x * 2\n y = x * norm\n}\n") == ["did you mean `norms`?"]


def test_prefixes_and_types_are_told_where_they_stand() -> None:
    prefix = "functions have no prefix: write `relu(x)`, and for one of the library `import std.nn` above the kernel"
    assert using("F.relu(x)") == [prefix]
    assert using("F.shape[0] * x") == []
    assert using("cast(x, half)") == using("cast(x, dtype = half)") == ["write `fp16`"]
    assert using("x if x.dtype == float16 else 2 * x") == ["write `fp16`"]
    assert using("half(x)") == ["write `cast(x, fp16)`"]


def test_no_name_is_known_here() -> None:
    assert not KNOWN & (foreign.NAMES.keys() | foreign.VALUES.keys() | foreign.PREFIXES)


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
