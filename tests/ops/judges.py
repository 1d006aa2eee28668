"""Runs a case: by our reference, by torch, and by coremltools' own inference of types and values."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any
from zlib import crc32

import numpy as np

from anedsl.graph import Node, Value, make_node
from anedsl.ops import OPS
from anedsl.types import DTYPES, FP16, DType, TensorType
from tests.ops.case import Case, T

Arrays = dict[str, Any]
"""By operand name an array, or a tuple of arrays for a variadic operand. Floats are float64."""

MISCOMPUTED = {
    "concat": ("interleave", True, "coremltools concatenates without interleaving"),
    "scatter_along_axis": ("mode", "add", "coremltools puts the updates whatever the mode"),
}
"""Ops for which coremltools computes a wrong value with an attribute, and what it does; torch is the judge there."""


def each(function: Any, operand: Any) -> Any:
    """A function applied to an operand, or to each member of a variadic one."""
    return tuple(map(function, operand)) if isinstance(operand, tuple) and not isinstance(operand, T) else function(operand)


def in_order(case: Case) -> list[str]:
    """The operands that a case gives, in the record's order."""
    return [operand.name for operand in OPS[case.op].operands if operand.name in case.operands]


def random_operands(case: Case) -> Arrays:
    """Operands that depend on the case alone, exact in their element type."""
    generator = np.random.default_rng(crc32(case.id.encode()))

    def one(t: T) -> Any:
        dtype = DTYPES[t.dtype]
        if t.data is not None:
            given = np.asarray(t.data, np.float64 if dtype.is_float else np.int32)
            return given.astype(dtype.numpy).astype(given.dtype).reshape(t.shape)
        if dtype.is_float:
            drawn = np.asarray(generator.uniform(t.low, t.high, t.shape))
            return drawn.astype(dtype.numpy).astype(np.float64)
        if dtype.is_integer:
            return np.asarray(generator.integers(int(t.low), int(t.high), t.shape, endpoint=True), np.int32)
        return np.asarray(generator.integers(0, 2, t.shape), np.bool_)

    return {name: each(one, operand) for name, operand in case.operands.items()}


def node_of(case: Case, floats: str | None = None) -> Node:
    """The node of a case with inferred types; `floats` replaces the element type of all float operands that may have it."""

    def value(t: T, allowed: tuple[DType, ...]) -> Value:
        other = DTYPES[floats] if floats and DTYPES[t.dtype].is_float else None
        return Value(TensorType(other if other in allowed else DTYPES[t.dtype], t.shape))

    domains = {operand.name: operand.domain.dtypes for operand in OPS[case.op].operands}
    operands = {name: each(functools.partial(value, allowed=domains[name]), case.operands[name]) for name in in_order(case)}
    return make_node(OPS[case.op], operands, dict(case.attributes))


def miscomputed(case: Case) -> bool:
    """Whether coremltools' value of a case is known to be wrong."""
    name, value, _ = MISCOMPUTED.get(case.op, ("", None, ""))
    return bool(name) and node_of(case, "fp32").attributes[name] == value


def in_floats(arrays: Arrays, dtype: type) -> Arrays:
    """The same operands with all floats in a numpy type."""
    return {name: each(lambda a: a.astype(dtype) if a.dtype.kind == "f" else a, a) for name, a in arrays.items()}


def reference_results(case: Case, arrays: Arrays, node: Node) -> tuple[Any, ...]:
    """What the record's reference computes."""
    op = OPS[case.op]
    found = op.reference(*(arrays.get(operand.name) for operand in op.operands), **node.attributes)
    return found if isinstance(found, tuple) else (found,)


def torch_results(case: Case, arrays: Arrays) -> tuple[Any, ...] | None:
    """What the case's formula computes, in float64; None without one."""
    import torch

    if case.torch is None:
        return None
    found = case.torch(*(each(lambda a: torch.from_numpy(a.copy()), arrays[name]) for name in in_order(case)))
    return tuple(t.numpy() for t in (found if isinstance(found, tuple | list) else (found,)))


@functools.cache
def coremltools() -> ModuleType:
    """coremltools, imported once: it takes some seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import coremltools

        return coremltools


class MilResult:
    """What coremltools makes of a case with fp32 operands: `op`, and of each result its type, and its value or None.

    `defaults` says that coremltools was given no attribute but the case's own, so that it has filled in the rest.
    """

    def __init__(self, variables: list[Any], defaults: bool) -> None:
        from coremltools.converters.mil.mil import types

        self.op = variables[0].op
        self.types = [(types.builtin_to_string(v.dtype), tuple(v.shape)) for v in variables]
        self.values = [v.val for v in variables]
        if self.values[0] is None and hasattr(self.op, "materialized_val_inference"):
            found = self.op.materialized_val_inference()
            self.values = list(found) if isinstance(found, tuple) else [found] * len(variables)
        self.defaults = defaults


_mil_results: dict[int, tuple[Case, MilResult]] = {}
"""By the identity of the case, which is kept so that no other takes its place."""


def mil_result(case: Case) -> MilResult:
    """coremltools' iOS18 op of a case, built once."""
    if id(case) not in _mil_results:
        _mil_results[id(case)] = (case, _build(case))
    return _mil_results[id(case)][1]


def _build(case: Case) -> MilResult:
    """The first that coremltools can build.

    Constant operands and the case's attributes are best: they show its defaults and give values. It cannot use some of its own
    defaults: then all attributes of our node. And the computation of some values fails: then runtime operands.
    """
    complete = node_of(case, "fp32").attributes
    runtime = {
        name for name, operand in case.operands.items() if isinstance(operand, T) and not OPS[case.op].operand_index[name].const
    }
    for attributes, at_runtime in ((case.attributes, set()), (complete, set()), (complete, runtime)):
        try:
            return MilResult(_built(case, attributes, at_runtime), attributes is case.attributes)
        except Exception as error:
            refusal = error
    raise refusal


def _built(case: Case, attributes: Mapping[str, Any], runtime: set[str]) -> list[Any]:
    target = coremltools().target.iOS18
    from coremltools.converters.mil.mil import Builder, Function
    from coremltools.converters.mil.mil.types import numpy_type_to_builtin_type

    # Value inference of some ops writes into its operand, so each build draws its own.
    operands = in_floats(random_operands(case), np.float32)
    dtypes = {name: each(lambda t: DTYPES[t.dtype], operand) for name, operand in case.operands.items()}
    given = {name: _mil_operand(a, dtypes[name]) for name, a in operands.items()}
    # All floats are fp32 here, but for operands that are always fp16.
    always = {name for name in given if OPS[case.op].operand_index[name].domain.dtypes == (FP16,)}
    given |= {name: given[name].astype(np.float16) for name in always}
    given |= {name: _mil_attribute(case, name, value) for name, value in attributes.items()}
    inputs = {
        name: Builder.placeholder(given[name].shape, numpy_type_to_builtin_type(given[name].dtype), allow_rank0_input=True)
        for name in sorted(runtime)
    }
    with warnings.catch_warnings(), np.errstate(all="ignore"), Function(inputs, opset_version=target) as function:
        warnings.simplefilter("ignore")
        found = getattr(Builder, case.op)(**{**given, **function.inputs})
        return list(found) if isinstance(found, list | tuple) else [found]


def _mil_operand(array: Any, dtype: Any) -> Any:
    if isinstance(array, tuple):
        return tuple(map(_mil_operand, array, dtype))
    typed = array if dtype.is_float else array.astype(_mil_numpy(dtype))
    return typed if typed.ndim else typed[()]


def _mil_numpy(dtype: DType) -> Any:
    """The numpy type that coremltools knows an element type by: those under 8 bits carry their name along."""
    coremltools()
    from coremltools.converters.mil.mil import types

    return types.nptype_from_builtin(types.string_to_builtin(dtype.name)) if dtype.bits < 8 else dtype.numpy


_NUMPY_OF_KIND = {
    "int": np.int32,
    "ints": np.int32,
    "float": np.float32,
    "floats": np.float32,
    "bool": np.bool_,
    "bools": np.bool_,
}


def _mil_attribute(case: Case, name: str, value: Any) -> Any:
    if isinstance(value, DType):
        return value.name
    if isinstance(value, str):
        return value
    attribute = OPS[case.op].attribute_index[name]
    typed = np.array(value, _NUMPY_OF_KIND[attribute.kind])
    if attribute.kind == "int" and attribute.domain:
        return attribute.domain.dtypes[0].numpy.type(value)
    operands = [t for o in case.operands.values() for t in (o if not isinstance(o, T) else (o,))]
    if typed.dtype.kind == "f" and not any(DTYPES[t.dtype].is_float for t in operands) and operands:
        # A number that follows an integer operand is an integer in MIL.
        typed = typed.astype(np.int32)
    return typed if typed.ndim else typed[()]
