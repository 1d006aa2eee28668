"""Ops that have no record, or that are used on types that records do not know: kept as they are.

Such an op has a record made for this one use. It says what was declared, so that passes and the emitter treat it as any
other; only computing it is refused.
"""

# Annotations are not postponed here: as text they make every NamedTuple cost milliseconds at import.

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, NoReturn

from anedsl.codegen.mil_types import is_state
from anedsl.diagnostics import Failure, nearest
from anedsl.graph import Operands, Value
from anedsl.ops import OPS
from anedsl.ops.call import Call
from anedsl.ops.record import Attribute, Domain, Op, Operand, no_flops
from anedsl.source import Span
from anedsl.types import DType, TensorType


class OpaqueOp(Op):
    """The record of one use of an op that the compiler does not know."""

    __slots__ = ()
    opaque: ClassVar[bool] = True


class Form(NamedTuple):
    """The opsets that have an op in the form in which it was read: from `since` on, up to `until` if that is not None."""

    since: str = "ios15"
    until: str | None = None


def opaque_op(
    name: str,
    operands: Mapping[str, Operands],
    attributes: Mapping[str, Attribute],
    results: tuple[TensorType, ...],
    span: Span,
    form: Form,
) -> OpaqueOp:
    """A record that takes these operands and attributes, and infers the declared types."""
    return OpaqueOp(
        name,
        "An op without a record: it is passed on, and cannot be computed.",
        tuple(_operand(key, operand) for key, operand in operands.items()),
        _declared(results),
        _refusing(name, span),
        tuple(attributes.values()),
        no_flops,
        since=form.since,
        until=form.until,
        effect=not results or any(map(is_state, _types(operands))),
    )


def _types(operands: Mapping[str, Operands]) -> Iterator[TensorType]:
    for operand in operands.values():
        yield from (value.type for value in (operand if isinstance(operand, tuple) else (operand,)))


def _operand(key: str, operand: Operands) -> Operand:
    dtypes: dict[DType, None] = dict.fromkeys(type.dtype for type in _types({key: operand}))
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
