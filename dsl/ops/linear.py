"""Matrix multiplication: `matmul`, `linear` and `einsum`, with `conv` from its own module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from anedsl.ops import convolution
from anedsl.ops.call import Call
from anedsl.ops.checks import need_rank, need_shape
from anedsl.ops.record import FLOAT, NUMBER, Array, Attribute, Op, Operand
from anedsl.types import Shape, TensorType

FAMILY = "linear"


def _swapped(shape: Shape, swap: bool) -> Shape:
    return (*shape[:-2], shape[-1], shape[-2]) if swap else shape


def broadcast_batch(call: Call, at: str, other: str, a: Shape, b: Shape, after: int, rule: str) -> Shape:
    """The shape that batch axes broadcast to; ANE0252 at an operand where they do not. `after` axes follow them."""
    rank = max(len(a), len(b))
    wide_a = (1,) * (rank - len(a)) + a
    wide_b = (1,) * (rank - len(b)) + b
    for axis, (m, n) in enumerate(zip(wide_a, wide_b, strict=True)):
        if m != n and 1 not in (m, n):
            from anedsl.diagnostics.shapes import BatchDimensions

            call.fail(
                at,
                BatchDimensions,
                show=(other,),
                op=call.op.name,
                axis=axis - rank - after,
                found=n,
                expected=m,
                other=call.said(other) if other in call.types else other,
                rule=rule,
            )
    return tuple(max(m, n) for m, n in zip(wide_a, wide_b, strict=True))


# matmul


def _matmul(call: Call) -> TensorType:
    x = need_rank(call, "x", 1)
    y = need_rank(call, "y", 2, advice=f"`expand_dims({call.written('y')}, axes = [-1])` makes it a column")
    transpose_x, transpose_y = call.attributes["transpose_x"], call.attributes["transpose_y"]
    if x.rank == 1 and (y.rank > 2 or transpose_x):
        need_rank(call, "x", 2, advice=f"`expand_dims({call.written('x')}, axes = [0])` makes it a row")
    a = _swapped(x.shape, transpose_x)
    b = _swapped(y.shape, transpose_y)
    if a[-1] != b[-2]:
        _inner(call, a, b)
    if x.rank == 1:
        return x.with_shape(b[-1:])
    batch = broadcast_batch(call, "y", "x", a[:-2], b[:-2], 2, "all axes but the last two broadcast as in numpy")
    return x.with_shape((*batch, a[-2], b[-1]))


def _inner(call: Call, a: Shape, b: Shape) -> NoReturn:
    """Reports contracted axes of different sizes, with the transposition that would make them fit."""
    from anedsl.diagnostics.shapes import InnerDimensions

    transpose_x, transpose_y = call.attributes["transpose_x"], call.attributes["transpose_y"]
    x, y = call.said("x"), call.said("y")
    advice = None
    if a[-1] == b[-1]:
        advice = f"{_flipped(call, 'transpose_y')} would contract the other axis of {y}"
    elif len(a) > 1 and a[-2] == b[-2]:
        advice = f"{_flipped(call, 'transpose_x')} would contract the other axis of {x}"
    elif len(a) > 1 and a[-2] == b[-1]:
        advice = f"{_flipped(call, 'transpose_x', 'transpose_y')} would contract the other axes"
    axis_x = "second last" if transpose_x else "last"
    axis_y = "last" if transpose_y else "second last"
    call.fail(
        "y",
        InnerDimensions,
        show=("x",),
        op="matmul",
        expected=a[-1],
        found=b[-2],
        rule=f"`matmul` contracts the {axis_x} axis of {x} with the {axis_y} of {y}" + _because(transpose_x, transpose_y),
        advice=advice,
    )


def _flipped(call: Call, *flags: str) -> str:
    """How to write the other value of a flag; the operator has none, so that it becomes a call."""
    values = [f"{flag} = {'false' if call.attributes[flag] else 'true'}" for flag in flags]
    if call.is_operator:
        operands = [call.said(name).strip("`") if call.said(name).startswith("`") else "..." for name in ("x", "y")]
        return f"`matmul({', '.join([*operands, *values])})`"
    return " and ".join(f"`{value}`" for value in values)


def _because(transpose_x: bool, transpose_y: bool) -> str:
    flags = [f"`{name}`" for name, given in (("transpose_x", transpose_x), ("transpose_y", transpose_y)) if given]
    return f", because of {' and '.join(flags)}" if flags else ""


@np.errstate(all="ignore")
def _product(x: Array, y: Array, *, transpose_x: bool, transpose_y: bool) -> Array:
    if transpose_x:
        x = np.swapaxes(x, -1, -2)
    if transpose_y:
        y = np.swapaxes(y, -1, -2)
    product: Array = np.matmul(x, y)
    return product


def _matmul_flops(call: Call, results: Sequence[TensorType]) -> int:
    x: TensorType = call.types["x"]
    inner = x.shape[-2] if call.attributes["transpose_x"] else x.shape[-1]
    return 2 * results[0].size * inner


# linear


def _linear(call: Call) -> TensorType:
    written = f"matmul({call.written('x')}, {call.written('weight')}, transpose_y = true)"
    x = need_rank(call, "x", 1, 3, advice=f"`{written}` takes any rank")
    weight = need_rank(call, "weight", 2, 2)
    check_linear(call)
    need_shape(call, "bias", weight.shape[:1], "one number for each output channel")
    return x.with_shape((*x.shape[:-1], weight.shape[0]))


def check_linear(call: Call, *, at_run_time: bool = False) -> None:
    """ANE0203 unless the last axes of `x` and `weight` are equally long, whatever op the call becomes."""
    x = need_rank(call, "x", 1)
    weight = need_rank(call, "weight", 2)
    if x.shape[-1:] == weight.shape[-1:]:
        return
    from anedsl.diagnostics.shapes import InnerDimensions

    written = call.written("weight")
    call.fail(
        "weight",
        InnerDimensions,
        show=("x",),
        op="linear",
        expected=x.shape[-1],
        found=weight.shape[-1],
        rule=f"`linear` contracts the last axis of `{call.written('x')}` with the last of `{written}`, which is `[out, in]`",
        advice=_linear_advice(x, weight, written, at_run_time),
    )


def _linear_advice(x: TensorType, weight: TensorType, written: str, at_run_time: bool) -> str | None:
    out, inner = weight.shape[-2:]
    if x.shape[-1] == out and weight.rank == 2:
        return f"transpose the weight: `transpose({written}, [1, 0])`"
    if x.rank in (3, 4) and x.shape[1] == inner and not at_run_time:
        kernel = ", ".join(["1"] * (x.rank - 2))
        return f"the channels are axis 1: use `conv` with a weight `[{out}, {inner}, {kernel}]`"
    return None


@np.errstate(all="ignore")
def _affine(x: Array, weight: Array, bias: Array | None) -> Array:
    product: Array = np.matmul(x, weight.T)
    return product if bias is None else product + bias


def _linear_flops(call: Call, results: Sequence[TensorType]) -> int:
    bias = 0 if call.types.get("bias") is None else results[0].size
    return 2 * results[0].size * int(call.types["x"].shape[-1]) + bias


# einsum

_FORMS = (("012", "213", "013"), ("0123", "0324", "0124"))
"""What MIL takes: letters numbered in the order of their first use."""


def einsum_form(equation: str) -> tuple[str, ...] | None:
    """The terms and the result of an equation that MIL has, letters numbered in the order of their first use."""
    from_to = equation.replace(" ", "").split("->")
    terms = (*from_to[0].split(","), *from_to[1:])
    numbers: dict[str, str] = {}
    for letter in "".join(terms):
        numbers.setdefault(letter, str(len(numbers)))
    form = tuple("".join(numbers[letter] for letter in term) for term in terms)
    return form if form in _FORMS else None


def _einsum(call: Call) -> TensorType:
    values: tuple[TensorType, ...] = call.types["values"]
    equation = call.attributes["equation"].replace(" ", "")
    call.attributes["equation"] = equation
    _check_equation(call, equation, values)
    a, b = values[0].shape, values[1].shape
    if a[-1] != b[-3]:
        from anedsl.diagnostics.shapes import InnerDimensions

        call.fail(
            "values[1]",
            InnerDimensions,
            op="einsum",
            expected=a[-1],
            found=b[-3],
            rule="it contracts the last axis of the first operand with axis -3 of the second",
        )
    at = "values[1]"
    other = "the first operand"
    rule = "the letters that both operands and the result have are batch; one of the two sizes may be 1"
    (height,) = broadcast_batch(call, at, other, a[-2:-1], b[-2:-1], 1, rule)
    batch = broadcast_batch(call, at, other, a[:-3], b[:-3], 3, rule)
    return values[0].with_shape((*batch, a[-3], height, b[-1]))


def _check_equation(call: Call, equation: str, values: tuple[TensorType, ...]) -> None:
    """ANE0261 unless MIL has the equation, for operands of these ranks."""
    form = einsum_form(equation)
    detail = None
    if form is None:
        detail = "not one of the supported equations"
    elif len(values) != 2:
        detail = f"written for 2 operands, found {len(values)}"
    elif any(value.rank != len(form[0]) for value in values):
        ranks = " and ".join(str(value.rank) for value in values)
        detail = f"written for two operands of rank {len(form[0])}, found ranks {ranks}"
    if detail is not None:
        from anedsl.diagnostics.shapes import UnsupportedEinsum

        call.fail("equation", UnsupportedEinsum, equation=equation, detail=detail)


@np.errstate(all="ignore")
def _contracted(values: tuple[Array, ...], *, equation: str) -> Array:
    # Both supported forms are one matrix product with the axes -2 and -3 exchanged.
    rows, columns = (np.swapaxes(value, -2, -3) for value in values)
    return np.swapaxes(np.matmul(rows, columns), -2, -3)


def _einsum_flops(call: Call, results: Sequence[TensorType]) -> int:
    return 2 * results[0].size * int(call.types["values"][0].shape[-1])


OPS = (
    Op(
        "matmul",
        "The matrix product of the last two axes; the axes before them are batch and broadcast as in numpy.",
        operands=(Operand("x", NUMBER, "`[..., M, K]`"), Operand("y", NUMBER, "`[..., K, N]`")),
        infer=_matmul,
        reference=_product,
        attributes=(
            Attribute("transpose_x", "bool", False, "Exchange the last two axes of `x` first."),
            Attribute("transpose_y", "bool", False, "Exchange the last two axes of `y` first."),
        ),
        flops=_matmul_flops,
        example="y = matmul(q, k, transpose_y = true)",
        family=FAMILY,
    ),
    Op(
        "linear",
        "An affine map of the last axis: `x @ weight^T + bias`.",
        operands=(
            Operand("x", NUMBER, "`[..., in]`, rank 1 to 3"),
            Operand("weight", NUMBER, "`[out, in]`", const=True),
            Operand("bias", NUMBER, "`[out]`; zeros by default", optional=True, const=True),
        ),
        infer=_linear,
        reference=_affine,
        flops=_linear_flops,
        example="y = linear(x, weight = w, bias = b)",
        family=FAMILY,
    ),
    Op(
        "einsum",
        "A matrix product over the axes -1 of the first and -3 of the second operand; all other axes are batch.",
        operands=(Operand("values", FLOAT, "Two tensors of rank 3, or two of rank 4.", variadic=True),),
        infer=_einsum,
        reference=_contracted,
        attributes=(Attribute("equation", "string", doc="`nchw,nwhu->nchu` or `chw,whu->chu`, in any letters."),),
        flops=_einsum_flops,
        example='y = einsum("nchw,nwhu->nchu", a, b)',
        family=FAMILY,
    ),
    *convolution.OPS,
)
