"""Each record says what coremltools' registry says of the iOS18 op: names, defaults, element types, what is const.

Where a record differs on purpose, a table says so and why; an entry that is no longer needed fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anedsl.ops import OPS
from anedsl.ops.record import REQUIRED, Attribute
from anedsl.rules import ROUTES
from anedsl.rules.support import SUPPORT, verdict
from anedsl.types import DTYPES, DType
from tests.ops.all_cases import cases_of
from tests.ops.judges import coremltools, mil_result, node_of

each_op = pytest.mark.parametrize("op", OPS.values(), ids=OPS)

OPSETS = ("ios15", "ios16", "ios17", "ios18")

FOLDED = {
    "reshape": {"shape"},
    "tile": {"reps"},
    "fill": {"shape"},
    "range_1d": {"start", "end", "step"},
    "slice_by_size": {"begin", "size"},
    "slice_by_index": {"begin", "end"},
    "pad": {"pad"},
    "resize": {"shape"},
    "one_hot": {"one_hot_vector_size"},
}
"""MIL takes these at run time too; here the type rule needs them, so they are attributes."""

UNTYPED = {
    "identity": "its operand may be a list or dictionary in MIL; here it is a tensor",
}
"""Ops for which the registry tells no element types, and why."""

REWRITTEN = {
    ("reshape", "shape"): "-1 and 0 become sizes",
    ("slice_by_size", "begin"): "counted from 0",
    ("slice_by_size", "size"): "-1 becomes a size",
    ("slice_by_index", "begin"): "counted from 0, also where a mask says so",
    ("slice_by_index", "end"): "counted from 0, also where a mask says so",
    ("slice_by_index", "begin_mask"): "false, when `begin` says it",
    ("slice_by_index", "end_mask"): "false, when `end` says it",
    ("resize", "shape"): "0 becomes a size",
    ("split", "num_splits"): "equal sizes become a number of splits",
    ("split", "split_sizes"): "equal sizes become a number of splits",
}
"""Attributes that the type rule brings into one form, and which."""

REWORKED = {
    "constexpr_lut_to_dense": "indices were packed bits, and the shape an operand",
    "constexpr_sparse_to_dense": "the mask was packed bits, and the shape an operand",
    "non_maximum_suppression": "boxes and classes stood in rows, and it had a threshold for scores",
}
"""Ops that have another form before their record's opset, and which."""

UNUSABLE = {
    ("layer_norm", "axes"): "coremltools fails on its own default, a `range`",
}
"""Defaults that cannot be compared, and why."""

WITHOUT_RECORD = {
    "cond": "holds programs of its own: `if` is decided at compile time",
    "while_loop": "holds programs of its own: `for` is unrolled",
    "crop_resize": "refused on the only route that tried it",
    "random_uniform": "refused on the only route that tried it, and the same inputs should give the same outputs",
    "reshape_like": "refused on the only route that tried it: shapes are known at compile time",
    "slice_update": "refused on the only route that tried it: it serves states, at positions that are known only at run time",
    "read_state": "belongs to `state`, which is not built",
    "write_state": "belongs to `state`, which is not built",
}
"""Ops that a route may accept and that have no record, and why; docs/ops.md says what to write instead."""

AXES = {"axis", "axes", "perm", "seq_axis", "batch_axis", "vector_axis"}
"""Attributes that count axes: -1 is the same as the last."""

NUMPY_KINDS = {
    "int": ("int32",),
    "ints": ("int32",),
    "bool": ("bool",),
    "bools": ("bool",),
    "string": ("string",),
    "dtype": ("string",),
}


def versions(name: str) -> dict[str, Any]:
    """The registered classes of an op by opset."""
    coremltools()
    from coremltools.converters.mil.mil.ops.registry import SSAOpRegistry

    targets = coremltools().target
    found = SSAOpRegistry.core_ops[name]
    return {opset: found[t] for opset in OPSETS if (t := getattr(targets, opset.replace("ios", "iOS"))) in found}


def spec_of(name: str, opset: str = "ios18") -> dict[str, Any]:
    """The declared inputs of an op."""
    return dict(versions(name)[opset].input_spec.input_types)


def element_types(name: str, input: str) -> tuple[str, ...] | None:
    """The element types that the registry allows an input, of those that the language has; None where it tells none."""
    from coremltools.converters.mil.mil import types

    declared = spec_of(name)[input]
    allowed = getattr(declared, "type_domain", None)
    if allowed is None:
        return None
    if declared.type_domain_id is not None:
        allowed = versions(name)["ios18"].type_domains[declared.type_domain_id]
    names = [types.builtin_to_string(t) for t in allowed]
    return tuple(n for n in names if n in DTYPES or n == "string")


def written_types(attribute: Attribute) -> tuple[str, ...]:
    """The element types that an attribute may have in MIL."""
    if attribute.kind not in ("float", "floats") and not attribute.domain:
        return NUMPY_KINDS[attribute.kind]
    return tuple(d.name for d in attribute.domain.dtypes) if attribute.domain else ("fp32",)


@each_op
def test_op_is_documented(op: Any) -> None:
    assert op.doc.endswith(".")
    assert op.name in op.example or any(sign in op.example for sign in "+-*/%=<>")
    assert op.family


@each_op
def test_op_has_the_registered_names(op: Any) -> None:
    assert {*op.operand_index, *op.attribute_index} == set(spec_of(op.name))


def has_our_form(op: Any, opset: str) -> bool:
    return {*op.operand_index, *op.attribute_index} == set(spec_of(op.name, opset))


def opsets_with_our_form(op: Any) -> list[str]:
    return [o for o in versions(op.name) if op.name not in REWORKED or has_our_form(op, o)]


@each_op
def test_op_and_attributes_exist_since_their_opset(op: Any) -> None:
    opsets = opsets_with_our_form(op)
    assert op.since == min(opsets)
    for attribute in op.attributes:
        assert max(op.since, attribute.since) == min(o for o in opsets if attribute.name in spec_of(op.name, o))


@each_op
def test_what_is_optional_is_optional_in_mil(op: Any) -> None:
    optional = {o.name for o in op.operands if o.optional} | {a.name for a in op.attributes if a.default is not REQUIRED}
    assert optional == {name for name, declared in spec_of(op.name).items() if declared.optional}


@each_op
def test_what_is_const_is_const_in_mil(op: Any) -> None:
    const = {o.name for o in op.operands if o.const} | set(op.attribute_index)
    declared = {name for name, input in spec_of(op.name).items() if input.const}
    assert declared <= const
    assert const - declared == FOLDED.get(op.name, set())


@each_op
def test_operands_take_the_registered_element_types(op: Any) -> None:
    for operand in op.operands:
        registered = element_types(op.name, operand.name)
        if registered is None:
            assert operand.variadic or op.name in UNTYPED
            continue
        assert {d.name for d in operand.domain.dtypes} == set(registered), operand.name


@each_op
def test_attributes_are_written_in_a_registered_element_type(op: Any) -> None:
    for attribute in op.attributes:
        registered = element_types(op.name, attribute.name)
        assert registered is not None
        if attribute.domain is None:
            assert set(written_types(attribute)) <= set(registered), attribute.name
        else:
            assert set(written_types(attribute)) == set(registered), attribute.name


@each_op
def test_operands_of_one_type_in_mil_are_of_one_type_here(op: Any) -> None:
    """The reverse does not hold: up to iOS16 a constant has the type of `x`, and here it always has."""
    domains: dict[str, str] = {}
    for operand in op.operands:
        domain = getattr(spec_of(op.name)[operand.name], "type_domain_id", None)
        if domain is not None:
            assert domains.setdefault(domain, operand.domain.name) == operand.domain.name


@each_op
def test_attributes_and_defaults_have_coremltools_values(op: Any) -> None:
    """For every case coremltools' op, which was given only what the case gives, has the attributes that our node has."""
    defaulted = set()
    for case in cases_of(op.name):
        node = node_of(case, "fp32")
        built = mil_result(case)
        for name in op.attribute_index:
            ours, theirs = node.attributes.get(name), mil_value(built.op, name)
            assert (op.name, name) in REWRITTEN or same(op, name, ours, theirs, node), (
                f"{case.id}: {name} is {ours}, not {theirs}"
            )
            if built.defaults and name not in case.attributes:
                defaulted.add(name)
    with_default = {a.name for a in op.attributes if a.default is not REQUIRED and (op.name, a.name) not in UNUSABLE}
    assert defaulted == with_default, "a case leaves out each attribute that has a default"


def mil_value(op: Any, name: str) -> Any:
    given = getattr(op, name, None)
    return None if given is None else given.val


def same(op: Any, name: str, ours: Any, theirs: Any, node: Any) -> bool:
    """Equal, or one axis counted from both ends, or a default that our record computes and coremltools leaves out."""
    if ours is None or theirs is None:
        return theirs is None and (ours is None or callable(op.attribute_index[name].default))
    if isinstance(ours, str | DType):
        return str(ours) == str(theirs)
    found, expected = np.asarray(ours), np.asarray(theirs)
    if found.shape != expected.shape:
        return False
    if name in AXES:
        ranks = {v.type.rank for v in (*node.values, *node.results)} - {0}
        return any(same_axes(found % rank, expected % rank, name) for rank in ranks)
    return np.array_equal(found.astype(np.float32), expected.astype(np.float32))


def same_axes(ours: Any, theirs: Any, name: str) -> bool:
    """The order of axes matters in a permutation only."""
    return np.array_equal(ours, theirs) if name == "perm" else sorted(ours.flat) == sorted(theirs.flat)


@pytest.mark.parametrize(("op", "name"), REWRITTEN)
def test_rewritten_attributes_differ_somewhere(op: str, name: str) -> None:
    pairs = [(node_of(c, "fp32"), mil_result(c).op) for c in cases_of(op)]
    assert not all(same(OPS[op], name, node.attributes.get(name), mil_value(built, name), node) for node, built in pairs)


@pytest.mark.parametrize(("op", "name"), UNUSABLE)
def test_unusable_defaults_are_unusable(op: str, name: str) -> None:
    case = cases_of(op)[0]
    without = case._replace(attributes={key: value for key, value in case.attributes.items() if key != name})
    assert not mil_result(without).defaults


def test_deviations_are_of_ops_that_exist() -> None:
    names = {*FOLDED, *UNTYPED, *REWORKED, *(op for op, _ in [*REWRITTEN, *UNUSABLE])}
    assert names <= set(OPS)


def test_reworked_ops_have_an_older_form() -> None:
    for name in REWORKED:
        assert not has_our_form(OPS[name], min(versions(name)))


def test_untyped_ops_are_untyped() -> None:
    for name in UNTYPED:
        assert any(element_types(name, operand.name) is None for operand in OPS[name].operands)


def test_every_elementwise_op_of_the_registry_has_a_record() -> None:
    coremltools()
    from coremltools.converters.mil.mil.ops.registry import SSAOpRegistry

    families = ("elementwise_unary", "elementwise_binary", "activation")
    registered = {name for name in SSAOpRegistry.core_ops if versions(name)["ios18"].__module__.endswith(families)}
    assert len(registered) > 50
    assert registered <= {*OPS, "softmax"}


def test_every_op_that_a_route_accepts_has_a_record() -> None:
    accepted = {name for name in SUPPORT if any(verdict(name, route) == "works" for route in ROUTES)}
    assert len(accepted) > 100
    assert accepted - set(OPS) == set(WITHOUT_RECORD)
    compared = {name for name, found in SUPPORT.items() if found.e5 == "ok" or found.inmemory in ("runs", "compiles", "mixed")}
    assert compared <= set(OPS), "what has been seen to run is never left out"


def test_the_page_of_missing_ops_names_all_of_them() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "ops.md").read_text(encoding="utf-8")
    missing = set(SUPPORT) - set(OPS)
    assert missing >= set(WITHOUT_RECORD)
    assert [name for name in sorted(missing) if f"`{name}`" not in page] == []
