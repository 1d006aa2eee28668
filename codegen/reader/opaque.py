"""Ops that have no record, or that are used on types that records do not know: kept as they are.

Such an op has a record made for this one use. It says what was declared, so that passes and the emitter treat it as any
other; only computing it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn

from anedsl.diagnostics import Failure, nearest
from anedsl.graph import Operands, Value
from anedsl.ops import OPS
from anedsl.ops.call import Call
from anedsl.ops.record import Attribute, Domain, Op, Operand, no_flops
from anedsl.source import Span
from anedsl.types import DType, TensorType


class OpaqueOp(Op):
    """The record of one use of an op that the compiler does not know: `opaque` tells it from the others."""

    __slots__ = ()
    opaque: ClassVar[bool] = True


def opaque_op(
    name: str, operands: Mapping[str, Operands], attributes: Mapping[str, Any], results: tuple[TensorType, ...], span: Span
) -> OpaqueOp:
    """A record that takes these operands and texts, and infers the declared types."""
    return OpaqueOp(
        name,
        "An op without a record: it is passed on, and cannot be computed.",
        tuple(_operand(key, operand) for key, operand in operands.items()),
        _declared(results),
        _refusing(name, span),
        tuple(Attribute(key, "string") for key in attributes),
        no_flops,
    )


def is_opaque(op: Op) -> bool:
    return isinstance(op, OpaqueOp)


def _operand(key: str, operand: Operands) -> Operand:
    values = operand if isinstance(operand, tuple) else (operand,)
    dtypes: dict[DType, None] = dict.fromkeys(value.type.dtype for value in values)
    return Operand(key, Domain(f"own {key}", tuple(dtypes)), variadic=not isinstance(operand, Value))


def _declared(results: tuple[TensorType, ...]) -> Callable[[Call], tuple[TensorType, ...]]:
    def rule(call: Call) -> tuple[TensorType, ...]:
        return results

    return rule


def _refusing(name: str, span: Span) -> Callable[..., Any]:
    def reference(*operands: Any, **attributes: Any) -> NoReturn:
        from anedsl.diagnostics.artifacts import OpaqueOpComputed

        reason = "this form of it has no record" if name in OPS else "it has no record"
        close = None if name in OPS else nearest(name, OPS)
        raise Failure(OpaqueOpComputed(span=span, op=name, reason=reason, nearest=close))

    return reference
