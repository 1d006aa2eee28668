"""Softmax and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from anedsl.ops.call import Call, fail_mixed, normal_axis
from anedsl.ops.checks import need_rank, shown
from anedsl.ops.record import FLOAT, Array, Attribute, Domain, Op, Operand
from anedsl.types import BOOL, FP16, FP32, TensorType

FAMILY = "attention"
MASK = Domain("M", (BOOL, FP16, FP32))

SOFTMAX_FLOPS = 5
"""Operations an element: maximum, difference, exponential, sum and quotient."""


def _softmax(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    call.attributes["axis"] = normal_axis(call, "axis", call.attributes["axis"], x)
    return x


@np.errstate(all="ignore")
def _normalised(x: Array, *, axis: int) -> Array:
    shifted: Array = x - np.max(x, axis=axis, keepdims=True)
    np.exp(shifted, out=shifted)
    shifted /= np.sum(shifted, axis=axis, keepdims=True)
    return shifted


def _softmax_flops(call: Call, results: Sequence[TensorType]) -> int:
    return SOFTMAX_FLOPS * results[0].size


def _attention(call: Call) -> TensorType:
    query = need_rank(call, "query", 3)
    key = need_rank(call, "key", query.rank, query.rank, advice="query, key and value have one rank")
    value = need_rank(call, "value", query.rank, query.rank, advice="query, key and value have one rank")
    for operand, found in (("key", key), ("value", value)):
        if found.shape[:-2] != query.shape[:-2]:
            _differ(call, operand, "query", "their batch axes", shown(query.shape[:-2]), shown(found.shape[:-2]))
    if key.shape[-1] != query.shape[-1]:
        _differ(call, "key", "query", "the last axis", query.shape[-1], key.shape[-1])
    if value.shape[-2] != key.shape[-2]:
        _differ(call, "value", "key", "the axis of positions", key.shape[-2], value.shape[-2])
    if call.types.get("attn_mask") is not None:
        _check_mask(call, query, key)
    return query.with_shape((*query.shape[:-1], value.shape[-1]))


def _check_mask(call: Call, query: TensorType, key: TensorType) -> None:
    """A mask has the last axis of the scores, and its other axes broadcast to theirs."""
    mask: TensorType = call.types["attn_mask"]
    if mask.dtype is not BOOL and mask.dtype is not query.dtype:
        fail_mixed(call, "attn_mask", mask.dtype, "query", query.dtype)
    need_rank(call, "attn_mask", 1, query.rank)
    scores = (*query.shape[:-1], key.shape[-2])
    if mask.shape[-1] != scores[-1]:
        _differ(call, "attn_mask", "key", "the number of keys", scores[-1], mask.shape[-1])
    aligned = scores[query.rank - mask.rank :]
    if any(m not in (1, s) for m, s in zip(mask.shape, aligned, strict=True)):
        _differ(
            call, "attn_mask", "query", "their leading axes", f"a shape that broadcasts to {shown(scores)}", shown(mask.shape)
        )


def _differ(call: Call, operand: str, other: str, what: str, expected: object, found: object) -> NoReturn:
    from anedsl.diagnostics.shapes import AttentionShapes

    call.fail(
        operand,
        AttentionShapes,
        show=(other,),
        op=call.op.name,
        operand=operand,
        other=other,
        what=what,
        expected=str(expected),
        found=str(found),
    )


@np.errstate(all="ignore")
def _attended(query: Array, key: Array, value: Array, attn_mask: Array | None) -> Array:
    # Scaled before the product, which is the same in exact arithmetic and keeps the scores small.
    scale = np.asarray(1.0 / np.sqrt(query.shape[-1]), query.dtype)
    scores: Any = np.matmul(query * scale, np.swapaxes(key, -1, -2))
    if attn_mask is not None:
        scores = np.where(attn_mask, scores, -np.inf) if attn_mask.dtype == bool else scores + attn_mask
    attended: Array = np.matmul(_normalised(scores.astype(query.dtype, copy=False), axis=-1), value)
    return attended


def _attention_flops(call: Call, results: Sequence[TensorType]) -> int:
    query: TensorType = call.types["query"]
    scores = query.size // query.shape[-1] * int(call.types["key"].shape[-2])
    masked = scores if call.types.get("attn_mask") is not None else 0
    return scores * (2 * query.shape[-1] + 2 * results[0].shape[-1] + SOFTMAX_FLOPS) + query.size + masked


OPS = (
    Op(
        "softmax",
        "Exponentials divided by their sum along an axis: `exp(x - max(x)) / sum(exp(x - max(x)))`.",
        operands=(Operand("x", FLOAT),),
        infer=_softmax,
        reference=_normalised,
        attributes=(Attribute("axis", "int", -1, "The axis along which the result adds up to 1."),),
        flops=_softmax_flops,
        example="p = softmax(scores, axis = -1)",
        family=FAMILY,
    ),
    Op(
        "scaled_dot_product_attention",
        "Attention: `softmax(query @ key^T / sqrt(E) + attn_mask) @ value`, over the last two axes.",
        operands=(
            Operand("query", FLOAT, "`[B..., L, E]`"),
            Operand("key", FLOAT, "`[B..., S, E]`"),
            Operand("value", FLOAT, "`[B..., S, V]`"),
            Operand("attn_mask", MASK, "Added to the scores, or, if bool, says which take part.", optional=True),
        ),
        infer=_attention,
        reference=_attended,
        flops=_attention_flops,
        since="ios18",
        example="y = scaled_dot_product_attention(q, k, v, attn_mask = mask)",
        family=FAMILY,
    ),
)
