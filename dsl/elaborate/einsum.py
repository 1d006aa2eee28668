"""`einsum` of one or two tensors, as transposes, reshapes and one `matmul` with its flags.

MIL's own einsum takes two equations only: it is used for the one over four axes, which the ANE computes without moving its
operands, and where its own parameter `values` is given by name. Moving axes of size 1 is a reshape, not a transpose.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any, NoReturn

from anedsl.diagnostics import Failure
from anedsl.elaborate.values import ConstTensor, is_tensor
from anedsl.graph import Value
from anedsl.ops import OPS
from anedsl.ops.linear import einsum_form

Site = Any
NATIVE = "nchw,nwhu->nchu"


def einsum(site: Site, equation: Any, values: Any, own: bool = False) -> Any:
    """The einsum of `values`; labels are letters, one for each axis, with an explicit result.

    With `own` it is MIL's op where that has the equation: batch axes of size 1 then broadcast.
    """
    if not isinstance(equation, str):
        _fail(site, "einsum needs an equation", 'write `einsum("ij,jk->ik", a, b)`')
    match = re.fullmatch(r"\s*([A-Za-z]*(?:\s*,\s*[A-Za-z]*)*)\s*->\s*([A-Za-z]*)\s*", equation)
    if match is None:
        _fail(site, f'"{equation}" is not an einsum equation', 'write one letter for each axis and the result: `"bij,bjk->bik"`')
    terms = [term.strip() for term in match[1].split(",")]
    result = match[2]
    if not isinstance(values, tuple) or len(terms) != len(values) or not 1 <= len(values) <= 2:
        _fail(site, f'"{equation}" has {len(terms)} terms', "einsum takes one or two tensors, one for each term")
    for value in values:
        if not is_tensor(value):
            _fail(site, "einsum takes tensors", None)
    if own and einsum_form(equation) is not None and _are_floats(values):
        return site.op(OPS["einsum"], values=values, equation=equation)
    _check(site, equation, terms, result, values)
    if len(values) == 1:
        return _arranged(site, _summed(site, values[0], terms[0], result), _kept(terms[0], result), result)
    return _product(site, values, terms, result)


def _shape(value: Value | ConstTensor) -> tuple[int, ...]:
    return value.type.shape if isinstance(value, Value) else value.shape


def _check(site: Site, equation: str, terms: list[str], result: str, values: tuple[Any, ...]) -> None:
    sizes: dict[str, int] = {}
    for term, value in zip(terms, values, strict=True):
        shape = _shape(value)
        if len(term) != len(shape):
            _fail(site, f'"{term}" names {len(term)} axes, its tensor has {len(shape)}', None)
        if len(set(term)) != len(term):
            _fail(site, f'"{term}" names an axis twice', "a diagonal is not supported")
        for label, size in zip(term, shape, strict=True):
            if sizes.setdefault(label, size) != size:
                _fail(site, f"axis `{label}` is {sizes[label]} in one tensor and {size} in the other", None)
    if len(set(result)) != len(result) or any(label not in sizes for label in result):
        _fail(site, f'the result "{result}" must name axes of the terms, each once', None)


def _kept(term: str, *others: str) -> str:
    return "".join(label for label in term if any(label in other for other in others))


def _summed(site: Site, value: Any, term: str, *others: str) -> Any:
    """Sums over the axes that stand nowhere else."""
    axes = tuple(axis for axis, label in enumerate(term) if not any(label in other for other in others))
    return site.op(OPS["reduce_sum"], value, axes=axes, keep_dims=False) if axes else value


def _order(labels: str, sizes: dict[str, int]) -> str:
    """The labels that say in which order the elements lie: those of axes longer than 1."""
    return "".join(label for label in labels if sizes[label] != 1)


def _arranged(site: Site, value: Any, labels: str, wanted: str) -> Any:
    """The axes in another order."""
    if labels == wanted:
        return value
    sizes = dict(zip(labels, _shape(value), strict=True))
    if _order(labels, sizes) == _order(wanted, sizes):
        return site.op(OPS["reshape"], value, shape=tuple(sizes[label] for label in wanted))
    return site.op(OPS["transpose"], value, perm=tuple(labels.index(label) for label in wanted))


def _reshaped(site: Site, value: Any, shape: tuple[int, ...]) -> Any:
    if _shape(value) == shape:
        return value
    return site.op(OPS["reshape"], value, shape=shape) if shape else site.op(OPS["squeeze"], value)


def _product(site: Site, values: tuple[Any, ...], terms: list[str], result: str) -> Any:
    """Two terms: labels are batch (in both and the result), contracted (in both), or free (in one and the result)."""
    x, y = (_summed(site, v, t, result, o) for v, t, o in zip(values, terms, reversed(terms), strict=True))
    left, right = _kept(terms[0], result, terms[1]), _kept(terms[1], result, terms[0])
    sizes = dict(zip(left, _shape(x), strict=True)) | dict(zip(right, _shape(y), strict=True))
    batch = "".join(label for label in result if label in left and label in right)
    inner = "".join(label for label in left if label in right and label not in result)
    rows = "".join(label for label in result if label in left and label not in right)
    columns = "".join(label for label in result if label in right and label not in left)
    if not inner:
        return _outer(site, x, left, y, right, result, sizes)
    for first, second, labels in ((x, y, left + right), (y, x, right + left)):
        if _is_native(labels, result) and _are_floats((first, second)):
            return site.op(OPS["einsum"], values=(first, second), equation=NATIVE)

    def size(labels: str) -> int:
        return prod(sizes[label] for label in labels)

    x, transpose_x = _matrix(site, x, left, batch, rows, inner)
    y, transpose_y = _matrix(site, y, right, batch, inner, columns)
    outer = tuple(sizes[label] for label in batch)
    x = _reshaped(site, x, (*outer, *((size(inner), size(rows)) if transpose_x else (size(rows), size(inner)))))
    y = _reshaped(site, y, (*outer, *((size(columns), size(inner)) if transpose_y else (size(inner), size(columns)))))
    labels = batch + rows + columns
    order = _order(result, sizes)
    # The result comes out as the author wants it where only its last two groups change places.
    if order != _order(labels, sizes) and order == _order(batch + columns + rows, sizes):
        product = site.op(OPS["matmul"], y, x, transpose_x=not transpose_y, transpose_y=not transpose_x)
        return _reshaped(site, product, tuple(sizes[label] for label in result))
    product = site.op(OPS["matmul"], x, y, transpose_x=transpose_x, transpose_y=transpose_y)
    return _arranged(site, _reshaped(site, product, tuple(sizes[label] for label in labels)), labels, result)


def _matrix(site: Site, value: Any, labels: str, batch: str, first: str, second: str) -> tuple[Any, bool]:
    """The axes as batch, first, second, or as batch, second, first with the matmul's transpose flag: whichever is free."""
    sizes = dict(zip(labels, _shape(value), strict=True))
    order = _order(labels, sizes)
    if order == _order(batch + first + second, sizes):
        return value, False
    if order == _order(batch + second + first, sizes):
        return value, True
    return _arranged(site, value, labels, batch + first + second), False


def _is_native(labels: str, result: str) -> bool:
    """Whether `nchw` and `nwhu`, written one behind the other, with the result `nchu` are these labels in other letters."""
    if len(labels) != 8:
        return False
    n, c, h, w, u = (*labels[:4], labels[7])
    return labels[4:7] == n + w + h and result == n + c + h + u


def _are_floats(values: tuple[Value | ConstTensor, ...]) -> bool:
    """Whether MIL's op takes them: numbers that are known take the element type of a tensor that they meet."""
    tensors = [value.type.dtype.is_float for value in values if isinstance(value, Value)]
    numbers = [value.array.dtype.kind != "b" for value in values if isinstance(value, ConstTensor)]
    return bool(tensors) and all(tensors) and all(numbers)


def _outer(site: Site, x: Any, left: str, y: Any, right: str, result: str, sizes: dict[str, int]) -> Any:
    """Nothing is contracted: a product that broadcasts."""
    aligned = []
    for value, labels in ((x, left), (y, right)):
        order = "".join(label for label in result if label in labels)
        shape = tuple(sizes[label] if label in labels else 1 for label in result)
        aligned.append(_reshaped(site, _arranged(site, value, labels, order), shape))
    return site.op(OPS["mul"], *aligned)


def _fail(site: Site, problem: str, advice: str | None) -> NoReturn:
    from anedsl.diagnostics.names import InvalidOperation

    raise Failure(InvalidOperation(span=site.span, problem=problem, advice=advice))
