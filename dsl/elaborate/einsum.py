"""`einsum` of one or two tensors, as transposes, reshapes and one `matmul` with its flags.

MIL's own einsum takes two equations only; the general form needs no op that the ANE does not have.
"""

from __future__ import annotations

import re
from math import prod
from typing import Any, NoReturn

from anedsl.diagnostics import Failure
from anedsl.elaborate.values import ConstTensor, is_tensor
from anedsl.graph import Value
from anedsl.ops import OPS

Site = Any


def einsum(site: Site, equation: Any, values: Any) -> Any:
    """The einsum of `values`; labels are letters, one for each axis, with an explicit result."""
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


def _arranged(site: Site, value: Any, labels: str, wanted: str) -> Any:
    """The axes in another order."""
    if labels == wanted:
        return value
    return site.op(OPS["transpose"], value, perm=tuple(labels.index(label) for label in wanted))


def _reshaped(site: Site, value: Any, shape: tuple[int, ...]) -> Any:
    return value if _shape(value) == shape else site.op(OPS["reshape"], value, shape=shape)


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

    def size(labels: str) -> int:
        return prod(sizes[label] for label in labels)

    x, transpose_x = _matrix(site, x, left, batch, rows, inner)
    y, transpose_y = _matrix(site, y, right, batch, inner, columns)
    outer = tuple(sizes[label] for label in batch)
    x = _reshaped(site, x, (*outer, *((size(inner), size(rows)) if transpose_x else (size(rows), size(inner)))))
    y = _reshaped(site, y, (*outer, *((size(columns), size(inner)) if transpose_y else (size(inner), size(columns)))))
    # The result comes out as the author wants it where only its last two groups change places.
    if result == batch + columns + rows and rows and columns:
        product = site.op(OPS["matmul"], y, x, transpose_x=not transpose_y, transpose_y=not transpose_x)
        return _reshaped(site, product, tuple(sizes[label] for label in result))
    product = site.op(OPS["matmul"], x, y, transpose_x=transpose_x, transpose_y=transpose_y)
    labels = batch + rows + columns
    return _arranged(site, _reshaped(site, product, tuple(sizes[label] for label in labels)), labels, result)


def _matrix(site: Site, value: Any, labels: str, batch: str, first: str, second: str) -> tuple[Any, bool]:
    """The axes as batch, first, second, or as batch, second, first with the matmul's transpose flag: whichever is free."""
    if labels == batch + second + first and first and second:
        return value, True
    return _arranged(site, value, labels, batch + first + second), False


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
