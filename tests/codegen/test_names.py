"""Names in the program: an author's own as far as MIL allows, unique, and the same at every compile."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anedsl.codegen.artifact import Options, blob_places, prepare
from anedsl.codegen.names import WORDS, Names, is_legal, legal, unique_files
from anedsl.codegen.program import Constant, Program
from anedsl.diagnostics import Failure
from anedsl.graph import Graph, Pack
from anedsl.ops import OPS
from tests.codegen.kernels import Builder, everything, fp16, rmsnorm_bwd, span_of


def program_of(graph: Graph) -> Program:
    return prepare(graph, Options()).program


def names_of(program: Program) -> list[str]:
    """Every name that the program defines, in order."""
    names = [name for name, _ in program.inputs]
    for item in program.statements:
        names.extend([item.name] if isinstance(item, Constant) else [name for name, _ in item.results])
    return names


@pytest.mark.parametrize("graph", [rmsnorm_bwd(), everything()], ids=lambda graph: graph.name)
def test_names_are_legal_and_unique(graph: Graph) -> None:
    names = names_of(program_of(graph))
    assert len(names) == len(set(names)) > 10
    assert all(is_legal(name) for name in names)
    assert not set(names) & set(OPS)


def test_authors_names_are_kept_and_others_get_the_ops_name_with_a_number() -> None:
    names = names_of(program_of(rmsnorm_bwd()))
    assert {"inp", "dy", "x", "rms_w", "EPS", "rrms", "dyw", "coeff", "dx"} <= set(names)
    assert {"mul_1", "mul_2", "reduce_mean_1", "reduce_mean_2", "axes", "keep_dims"} <= set(names)


def test_an_output_has_its_ports_name_even_where_the_value_has_another() -> None:
    b = Builder()
    b.output("result", b.op("relu", "hidden", x=b.input("x", fp16(4))))
    assert names_of(program_of(b.graph())) == ["x", "result"]


def test_a_repeated_hint_gets_a_number() -> None:
    b = Builder()
    x = b.input("x", fp16(4))
    for _ in range(3):
        x = b.op("relu", "h", x=x)
    b.output("y", b.op("relu", "h_1", x=x))
    b.output("z", b.op("relu", "x", x=b.op("relu", "h_1", x=x)))
    assert names_of(program_of(b.graph())) == ["x", "h", "h_1", "h_2", "y", "h_1_1", "z"]


def test_surfaces_come_first_and_inner_values_give_way() -> None:
    b = Builder()
    inner = b.op("relu", "y", x=b.input("x", fp16(4)))
    b.output("y", b.op("abs", x=inner))
    assert names_of(program_of(b.graph())) == ["x", "y_1", "y"]


def test_a_pack_keeps_its_name_where_an_inner_value_has_it_too() -> None:
    b = Builder()
    p, q = b.input("p", fp16(1, 4)), b.input("q", fp16(1, 4))
    b.output("y", b.op("add", x=b.op("mul", "inp", x=p, y=q), y=q))
    program = program_of(b.graph((Pack("inp", ("p", "q"), 1),)))
    assert program.inputs[0][0] == "inp"
    assert "inp_1" in names_of(program)


def test_the_compilers_consts_give_way_to_the_author() -> None:
    b = Builder()
    x = b.input("x", fp16(4, 4))
    total = b.op("reduce_sum", "other", x=x, axes=(0,), keep_dims=True)
    b.output("y", b.op("relu", x=b.op("relu", "axes", x=total)))
    assert names_of(program_of(b.graph())) == ["x", "axes_1", "keep_dims", "other", "axes", "y"]


@pytest.mark.parametrize("hint", ["tensor", "fp16", "const", "state", "mul", "concat"])
def test_a_word_of_mil_or_an_op_gets_a_number(hint: str) -> None:
    b = Builder()
    b.output("y", b.op("relu", x=b.op("relu", hint, x=b.input("x", fp16(4)))))
    assert names_of(program_of(b.graph())) == ["x", f"{hint}_1", "y"]


@given(st.text(max_size=200))
def test_any_hint_becomes_a_legal_name(hint: str) -> None:
    name = Names().fresh(legal(hint))
    assert is_legal(name)
    assert len(name) < 200
    assert legal(name) == name


def test_family_members_have_readable_names() -> None:
    assert [legal(f"W[{i}]") for i in (0, 11)] == ["W_0", "W_11"]


@pytest.mark.parametrize(
    ("name", "reason", "proposal"),
    [
        ("tensor", "has a meaning in MIL", "tensor_0"),
        ("größe", "is not a name in MIL", "gr_e_0"),
        ("2x", "is not a name in MIL", "_2x_0"),
    ],
)
def test_a_surface_must_have_a_name_of_mil(name: str, reason: str, proposal: str) -> None:
    span = span_of(f"input {name}: fp16[4]", name)
    b = Builder()
    b.output("y", b.op("relu", x=b.input(name, fp16(4), span)))
    with pytest.raises(Failure) as failure:
        program_of(b.graph())
    [found] = failure.value.diagnostics
    assert (found.code, found.span, found.label_text) == ("ANE0432", span, reason)
    assert found.headline == f"`{name}` cannot be the name of an input"
    assert found.help_texts == [f"rename it, for example to `{proposal}`"]


def test_two_surfaces_cannot_share_a_name() -> None:
    b = Builder()
    b.output("x", b.op("relu", x=b.input("x", fp16(4))), span_of("output x", "x"))
    with pytest.raises(Failure) as failure:
        program_of(b.graph())
    assert failure.value.diagnostics[0].label_text == "is taken by another input or output"


def test_weight_files_differ_where_case_does_not_count() -> None:
    b = Builder()
    x = b.input("x", fp16(1, 16))
    for name in ("w", "W", "W_1", "w[1]", "w_1"):
        x = b.op("add", x=x, y=b.weight(name, np.ones((1, 16))))
    b.output("y", x)
    program = program_of(b.graph())
    paths = [place.path for place in blob_places(program, single=False)]
    assert [blob.name for blob in program.blobs] == ["w", "W", "W_1", "w_1", "w_1_1"]
    assert len({path.lower() for path in paths}) == 5
    assert all(is_legal(path.removeprefix("weights/").removesuffix(".bin")) for path in paths)


@given(st.lists(st.sampled_from(["a", "A", "a_1", "A_1", "a_1_1", "b"]), max_size=12))
def test_file_names_are_unique(names: list[str]) -> None:
    files = unique_files(names)
    assert len({file.lower() for file in files}) == len(names)


def test_every_word_of_mil_is_reserved() -> None:
    from anedsl.types import DTYPES

    words = {"program", "func", "tensor", "list", "dict", "tuple", "state", "BLOBFILE", "true", "false", "string", *DTYPES}
    assert words <= WORDS
