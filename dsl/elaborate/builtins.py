"""The short names for daily use, and the compile-time functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from anedsl.diagnostics import Failure
from anedsl.elaborate import arithmetic, remarks
from anedsl.elaborate.arguments import given_twice, missing, wrong_kind
from anedsl.elaborate.calls import Site, list_tensor
from anedsl.elaborate.values import Builtin, ConstTensor, describe, is_integer, is_number, is_tensor
from anedsl.graph import Value
from anedsl.ops import OPS
from anedsl.ops.call import MAX_CONST_ELEMENTS, Call
from anedsl.ops.linear import check_linear
from anedsl.ops.record import REQUIRED
from anedsl.types import DTYPES

MASKED = -1e4
"""What a mask adds to a score that must not count: exp of it is 0 in every numerics, and a score added to it stays finite
in fp16 (rule N19)."""


# ---- reductions: they keep the axis ----


def _reduction(name: str, op_name: str, doc: str) -> Builtin:
    def run(site: Site, x: Any, axis: Any = None, axes: Any = None, keep_dims: Any = True) -> Any:
        if axis is not None and axes is not None:
            raise given_twice(name, "axis", site.span_of("axes"))
        remarks.reduction(site, x, axis)
        if isinstance(x, ConstTensor) and x.array.dtype.kind == "i" and name == "mean":
            x = ConstTensor(x.array.astype(np.float64))
        named = {"keep_dims": keep_dims}
        given = "axis" if axis is not None else "axes"
        if axis is not None or axes is not None:
            named["axes"] = axis if axis is not None else axes
        spans = {**site.spans, "axes": site.span_of(given)}
        return site._replace(spans=spans).op(OPS[op_name], x=x, **named)

    return Builtin(name, (("x", REQUIRED), ("axis", None), ("axes", None), ("keep_dims", True)), run, doc)


# ---- joining, splitting, choosing ----


def _concat(site: Site, values: Any, axis: Any, interleave: Any = False) -> Any:
    return site.op(OPS["concat"], values=_parts(values), axis=axis, interleave=interleave)


def _stack(site: Site, values: Any, axis: Any) -> Any:
    return site.op(OPS["stack"], values=_parts(values), axis=axis)


def _parts(values: Any) -> Any:
    """`concat(a, b)` and `concat([a, b])` mean the same."""
    return values[0] if isinstance(values, tuple) and len(values) == 1 and isinstance(values[0], tuple) else values


def _split(site: Site, x: Any, sizes: Any = None, axis: Any = REQUIRED, num_splits: Any = None, split_sizes: Any = None) -> Any:
    named: dict[str, Any] = {"num_splits": num_splits, "split_sizes": split_sizes}
    if sizes is not None:
        named["num_splits" if is_integer(sizes) else "split_sizes"] = sizes
    spans = dict(site.spans)
    if "sizes" in spans:
        spans["num_splits"] = spans["split_sizes"] = spans["sizes"]
    given = {name: value for name, value in named.items() if value is not None}
    if axis is REQUIRED:
        raise missing("split", "axis", site.span, "split(x, sizes, axis)")
    return site._replace(spans=spans).op(OPS["split"], x=x, axis=axis, **given)


def _where(site: Site, cond: Any, a: Any, b: Any) -> Any:
    """MIL takes the result's shape from `a` and `b` alone: a constant among them is spread to the condition's shape."""
    wanted = np.broadcast_shapes(*(_shape_of(v) for v in (cond, a, b))) if _fit(cond, a, b) else ()
    if is_tensor(cond) and np.broadcast_shapes(_shape_of(a), _shape_of(b)) != wanted:
        if not isinstance(b, Value):
            b = _spread(site, b, wanted)
        elif not isinstance(a, Value):
            a = _spread(site, a, wanted)
    return site.op(OPS["select"], cond=cond, a=a, b=b)


def _shape_of(value: Any) -> tuple[int, ...]:
    return value.type.shape if isinstance(value, Value) else getattr(value, "shape", ())


def _fit(*values: Any) -> bool:
    """Whether the shapes broadcast; where not, the op's own rule says so."""
    try:
        np.broadcast_shapes(*map(_shape_of, values))
    except ValueError:
        return False
    return True


def _spread(site: Site, value: Any, shape: tuple[int, ...]) -> Any:
    if not isinstance(value, (ConstTensor, bool, int, float)):
        return value
    arithmetic.check_size(shape, site.span)
    array = value.array if isinstance(value, ConstTensor) else arithmetic.number_array(value, site.span)
    return ConstTensor(np.broadcast_to(array, shape))


def _linear(site: Site, x: Any, weight: Any, bias: Any = None) -> Any:
    """MIL's `linear` wants a const weight and bias, and at most three axes; all else is a `matmul`."""
    builder = site.frame.builder
    at_run_time = any(isinstance(value, Value) and not builder.is_constant(value) for value in (weight, bias))
    rank = x.type.rank if isinstance(x, Value) else len(x.shape) if isinstance(x, ConstTensor) else 0
    if at_run_time or rank > 3:
        if isinstance(x, Value) and isinstance(weight, Value):
            # What does not fit is said of `linear`, which is what the author wrote.
            types = {"x": x.type, "weight": weight.type}
            check_linear(Call(OPS["linear"], types, {}, site.span, site.spans), at_run_time=at_run_time)
        spans = {**site.spans, "y": site.span_of("weight")}
        product = site._replace(spans=spans).op(OPS["matmul"], x=x, y=weight, transpose_y=True)
        places = {"x": site.span, "y": site.span_of("bias")}
        return product if bias is None else site._replace(spans=places).op(OPS["add"], x=product, y=bias)
    more = {} if bias is None else {"bias": bias}
    return site.op(OPS["linear"], x=x, weight=weight, **more)


def _einsum(site: Site, equation: Any = None, values: Any = ()) -> Any:
    from anedsl.elaborate.einsum import einsum

    if values and isinstance(values[0], str):
        equation, values = values[0], values[1:]
    # By MIL's own parameter it is MIL's own op, for the equations that this has.
    own = "values" in site.spans and "values[0]" not in site.spans
    return einsum(site, equation, _parts(values), own)


# ---- compile-time tensors ----


def _shape(site: Site, value: Any, name: str = "shape") -> tuple[int, ...]:
    dims = value if isinstance(value, (tuple, range)) else (value,)
    for dim in dims:
        if not is_integer(dim) or dim < 1:
            from anedsl.diagnostics.names import InvalidDimension

            raise Failure(
                InvalidDimension(span=site.span_of(name), problem="a shape is a list of positive integers", found=describe(dim))
            )
    shape = tuple(dims)
    arithmetic.check_rank(len(shape), site.span_of(name))
    arithmetic.check_size(shape, site.span_of(name))
    return shape


def _alike(number: Any, shape: tuple[int, ...]) -> ConstTensor:
    """One number everywhere, which takes the memory of one."""
    return ConstTensor(np.broadcast_to(number, shape))


def _full(site: Site, shape: Any, value: Any) -> ConstTensor:
    dims = _shape(site, shape)
    if not isinstance(value, (bool, int, float)):
        raise _wrong(site, "value", "a number", value)
    return _alike(arithmetic.number_array(value, site.span_of("value")), dims)


def _filled(name: str, value: int) -> Builtin:
    def run(site: Site, shape: Any) -> ConstTensor:
        return _alike(np.asarray(float(value)), _shape(site, shape))

    return Builtin(name, (("shape", REQUIRED),), run, f"A compile-time tensor of {name}; alone, the initialiser of a weight.")


def _bounds(site: Site, start: Any, stop: Any, step: Any, accepts: Any, expected: str) -> tuple[Any, Any, Any]:
    """`(stop)` or `(start, stop, step)`, checked at the author's places."""
    given = {"start": start, "stop": stop, "step": step} if stop is not None else {"start": start, "step": step}
    for name, value in given.items():
        if not accepts(value):
            raise _wrong(site, name, expected, value)
    if step == 0:
        raise _problem(site, "step", f"the step of `{site.name}` is 0")
    return (start, stop, step) if stop is not None else (0, start, step)


def _arange(site: Site, start: Any, stop: Any = None, step: Any = 1) -> ConstTensor:
    start, stop, step = _bounds(site, start, stop, step, is_number, "a number")
    low, high, by = (arithmetic.finite(v, site.span) for v in (start, stop, step))
    steps = (high - low) / by
    count = max(math.ceil(steps), 0) if math.isfinite(steps) else MAX_CONST_ELEMENTS + 1
    arithmetic.check_size((count,), site.span)
    if count == 0:
        raise _problem(site, "start", "`arange` has no element")
    if all(is_integer(v) for v in (start, stop, step)):
        return ConstTensor(np.arange(start, stop, step, dtype=np.int64))
    return ConstTensor(low + by * np.arange(count))


def _tensor(site: Site, values: Any) -> ConstTensor:
    if not isinstance(values, (tuple, range)):
        raise _wrong(site, "values", "a list of numbers", values)
    return list_tensor(values, site.span_of("values"))


def _causal_mask(site: Site, size: Any, masked: Any = MASKED) -> ConstTensor:
    (n,) = _shape(site, size, "size")
    arithmetic.check_size((n, n), site.span)
    if not is_number(masked):
        raise _wrong(site, "masked", "a number", masked)
    return ConstTensor(np.triu(np.full((1, 1, n, n), float(masked)), 1))


# ---- compile-time values ----


def _range(site: Site, start: Any, stop: Any = None, step: Any = 1) -> range:
    start, stop, step = _bounds(site, start, stop, step, is_integer, "an integer")
    for value in (start, stop, step):
        arithmetic.check_integer(value, site.span, 62)
    count = -((start - stop) // step)
    if count > arithmetic.MAX_SEQUENCE:
        from anedsl.diagnostics.names import RangeTooLong

        raise Failure(RangeTooLong(span=site.span, what="numbers", count=count, limit=arithmetic.MAX_SEQUENCE))
    return range(start, stop, step)


def _len(site: Site, x: Any) -> int:
    if isinstance(x, (tuple, range)):
        return len(x)
    members = getattr(x, "members", None)
    if members is None:
        raise _wrong(site, "x", "a list", x)
    return len(members)


def _int(site: Site, x: Any) -> int:
    if not is_number(x):
        raise _wrong(site, "x", "a number", x)
    return x if isinstance(x, int) else int(arithmetic.finite(x, site.span))


def _float(site: Site, x: Any) -> float:
    if not is_number(x):
        raise _wrong(site, "x", "a number", x)
    return arithmetic.finite(x, site.span)


def _wrong(site: Site, name: str, expected: str, value: Any) -> Failure:
    if isinstance(value, Value):
        from anedsl.diagnostics.names import NotCompileTime

        return Failure(NotCompileTime(span=site.span_of(name), use=f"`{name}` of `{site.name}`"))
    return wrong_kind(site.span_of(name), expected, value, use=f"`{name}` of `{site.name}`")


def _problem(site: Site, name: str, problem: str) -> Failure:
    from anedsl.diagnostics.names import InvalidOperation

    return Failure(InvalidOperation(span=site.span_of(name), problem=problem))


def _named(*builtins: Builtin) -> dict[str, Builtin]:
    return {builtin.name: builtin for builtin in builtins}


def _simple(name: str, run: Callable[..., Any], doc: str, *parameters: str | tuple[str, Any]) -> Builtin:
    return Builtin(name, tuple(p if isinstance(p, tuple) else (p, REQUIRED) for p in parameters), run, doc)


BUILTINS: dict[str, Builtin] = _named(
    _reduction("mean", "reduce_mean", "The mean over one axis or several; keeps the axis with size 1."),
    _reduction("sum", "reduce_sum", "The sum over one axis or several; keeps the axis with size 1."),
    _reduction("max", "reduce_max", "The largest element over one axis or several; keeps the axis with size 1."),
    _reduction("min", "reduce_min", "The smallest element over one axis or several; keeps the axis with size 1."),
    Builtin(
        "concat",
        (("values", REQUIRED), ("axis", REQUIRED), ("interleave", False)),
        _concat,
        "Tensors one behind the other: `concat(a, b, axis = 1)`.",
        variadic="values",
    ),
    Builtin(
        "stack", (("values", REQUIRED), ("axis", REQUIRED)), _stack, "Tensors of one type along a new axis.", variadic="values"
    ),
    _simple(
        "split",
        _split,
        "The parts of a tensor: `a, b = split(x, [64, 192], axis = 1)`, or `split(x, 4, axis = 1)` for equal parts.",
        "x",
        ("sizes", None),
        ("axis", None),
        ("num_splits", None),
        ("split_sizes", None),
    ),
    _simple("where", _where, "`a` where the condition holds, else `b`.", "cond", "a", "b"),
    _simple(
        "linear", _linear, "`x` times the transpose of `weight` ([out, in]) along the last axis.", "x", "weight", ("bias", None)
    ),
    Builtin(
        "einsum",
        (("equation", None), ("values", ())),
        _einsum,
        'A sum of products over named axes: `einsum("bihs,biho->bohs", a, W)`.',
        variadic="values",
    ),
    _simple("full", _full, "A compile-time tensor with one value everywhere.", "shape", "value"),
    _filled("ones", 1),
    _filled("zeros", 0),
    _simple(
        "arange", _arange, "The compile-time tensor start, start + step, ... below stop.", "start", ("stop", None), ("step", 1)
    ),
    _simple("tensor", _tensor, "A compile-time tensor from nested lists: `tensor([[1, 2], [3, 4]])`.", "values"),
    _simple(
        "causal_mask",
        _causal_mask,
        "A compile-time tensor [1, 1, size, size]: 0 on and below the diagonal, `masked` above.",
        "size",
        ("masked", MASKED),
    ),
    _simple(
        "range",
        _range,
        "The integers start, start + step, ... below stop: what `for` runs over.",
        "start",
        ("stop", None),
        ("step", 1),
    ),
    _simple("len", _len, "The length of a list, a range or a weight family.", "x"),
    _simple("int", _int, "A number without its fraction.", "x"),
    _simple("float", _float, "A number as a float.", "x"),
)
"""The short names: they come before MIL's ops of the same name."""

NAMES: dict[str, Any] = {**BUILTINS, **{name: dtype for name, dtype in DTYPES.items() if name not in ("fp64", "int64", "uint64")}}
"""All names that every file sees, besides the ops."""
