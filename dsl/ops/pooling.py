"""Pooling: the largest, the mean or the norm of each window of the spatial axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NoReturn

import numpy as np

from anedsl.ops.call import Call
from anedsl.ops.checks import need_choice, need_least, need_length, need_rank, wrong_attribute
from anedsl.ops.convolution import PAD_TYPES, no_pad, padding, strides_of_one
from anedsl.ops.record import FLOAT, Array, Attribute, Op, Operand
from anedsl.types import Shape, TensorType

FAMILY = "pooling"


def _pool(call: Call) -> TensorType:
    most = 4 if call.op.name == "l2_pool" else 5
    x = need_rank(call, "x", 3, most, advice="activations are `[batch, channels, height, width]`; `expand_dims` adds an axis")
    _check_attributes(call, x.rank - 2)
    sizes, kernels, strides = x.shape[2:], call.attributes["kernel_sizes"], call.attributes["strides"]
    pads = _padding(call.attributes, sizes)
    ceil_mode = call.attributes["ceil_mode"]
    if ceil_mode:
        _check_ceil_mode(call, pads)
    out = []
    for axis, (size, kernel, stride, pad) in enumerate(zip(sizes, kernels, strides, pads, strict=True)):
        _check_window(call, axis + 2, size, kernel, pad)
        out.append(_count(size, kernel, stride, pad, ceil_mode))
    return x.with_shape((*x.shape[:2], *out))


def _check_attributes(call: Call, spatial: int) -> None:
    per_axis = f"one value for each of {spatial} spatial axes"
    need_length(call, "kernel_sizes", spatial, per_axis)
    need_length(call, "strides", spatial, per_axis)
    pad = need_length(call, "pad", 2 * spatial, "two values, before and after, for each spatial axis")
    for attribute, least in (("kernel_sizes", 1), ("strides", 1), ("pad", 0)):
        need_least(call, attribute, least)
    pad_type = need_choice(call, "pad_type")
    if any(pad) and pad_type != "custom":
        wrong_attribute(call, "pad", f'not used with `pad_type = "{pad_type}"`', advice='use `pad_type = "custom"`')


def _check_window(call: Call, axis: int, size: int, kernel: int, pad: tuple[int, int]) -> None:
    """ANE0255 for a kernel that does not fit, ANE0268 for padding as large as the kernel."""
    padded = size + sum(pad)
    if kernel > padded:
        from anedsl.diagnostics.shapes import KernelTooLarge

        advice = '`pad_type = "same"` pads the input' if call.attributes["pad_type"] == "valid" else None
        call.fail(
            "kernel_sizes", KernelTooLarge, show=("x",), op=call.op.name, axis=axis, kernel=kernel, size=padded, advice=advice
        )
    if max(pad) >= kernel:
        from anedsl.diagnostics.shapes import EmptyWindow

        call.fail("pad", EmptyWindow, op=call.op.name, axis=axis, pad=max(pad), kernel=kernel)


def _check_ceil_mode(call: Call, pads: Sequence[tuple[int, int]]) -> None:
    """ANE0267 where Core ML has no `ceil_mode`, or the window that it adds might begin behind the input."""
    pad_type = call.attributes["pad_type"]
    if len(pads) > 2:
        _no_ceil_mode(call, "for three spatial axes")
    if pad_type.startswith("same"):
        _no_ceil_mode(call, f'with `pad_type = "{pad_type}"`', "the size is rounded up already")
    for axis, ((before, after), kernel, stride) in enumerate(
        zip(pads, call.attributes["kernel_sizes"], call.attributes["strides"], strict=True)
    ):
        if before != after:
            _no_ceil_mode(call, "with unequal padding", f"axis {axis + 2} is padded by {before} and {after}")
        if stride > kernel:
            _no_ceil_mode(call, "with a stride above the kernel's size", f"{stride} is more than {kernel} at axis {axis + 2}")


def _no_ceil_mode(call: Call, where: str, detail: str = "") -> NoReturn:
    from anedsl.diagnostics.shapes import RoundedUp

    call.fail("ceil_mode", RoundedUp, op=call.op.name, where=where, detail=detail)


def _padding(attributes: Any, sizes: Shape) -> list[tuple[int, int]]:
    kernels = attributes["kernel_sizes"]
    return padding({**attributes, "dilations": (1,) * len(sizes)}, sizes, kernels)


def _count(size: int, kernel: int, stride: int, pad: tuple[int, int], ceil_mode: bool) -> int:
    """How many windows an axis has; one that would begin behind the input is not among them."""
    free = size + sum(pad) - kernel
    if not ceil_mode:
        return free // stride + 1
    count = -(-free // stride) + 1
    return count - 1 if (count - 1) * stride >= size + pad[0] else count


class _Windows:
    """Where the windows of a pooling op lie."""

    def __init__(self, sizes: Shape, attributes: Any) -> None:
        self.kernels, self.strides = attributes["kernel_sizes"], attributes["strides"]
        self.pads = _padding(attributes, sizes)
        self.counts = [
            _count(size, kernel, stride, pad, attributes["ceil_mode"])
            for size, kernel, stride, pad in zip(sizes, self.kernels, self.strides, self.pads, strict=True)
        ]

    def gather(self, x: Array, outside: float, add: Callable[..., Any], padded: bool = False) -> Array:
        """The elements of each window put together, one position of the kernel at a time."""
        x = self._padded(x, [0] * len(self.pads) if padded else [before for before, _ in self.pads], outside)
        total: Array | None = None
        for position in product(*map(range, self.kernels)):
            window = tuple(
                slice(at, at + (n - 1) * step + 1, step) for at, n, step in zip(position, self.counts, self.strides, strict=True)
            )
            part = x[(slice(None), slice(None), *window)]
            total = part.copy() if total is None else add(total, part, out=total)
        assert total is not None
        return total

    def _padded(self, x: Array, before: list[int], value: float) -> Array:
        """Padded after up to the end of the last window."""
        ends = [(n - 1) * step + kernel for n, step, kernel in zip(self.counts, self.strides, self.kernels, strict=True)]
        margins = [(first, max(0, end - n - first)) for end, n, first in zip(ends, x.shape[2:], before, strict=True)]
        return np.pad(x, [(0, 0), (0, 0), *margins], constant_values=value)


def _largest(x: Array, **attributes: Any) -> Array:
    return _Windows(x.shape[2:], attributes).gather(x, -np.inf, np.maximum)


def _mean(x: Array, *, exclude_padding_from_average: bool, **attributes: Any) -> Array:
    windows = _Windows(x.shape[2:], attributes)
    counted = np.ones((1, 1, *x.shape[2:]), x.dtype)
    if not exclude_padding_from_average:
        # What a window has behind the padded input, in `ceil_mode`, does not count.
        counted = np.pad(counted, [(0, 0), (0, 0), *windows.pads], constant_values=1)
    elements = windows.gather(counted, 0.0, np.add, padded=not exclude_padding_from_average)
    result: Array = windows.gather(x, 0.0, np.add) / elements
    return result


@np.errstate(all="ignore")
def _norm(x: Array, **attributes: Any) -> Array:
    result: Array = np.sqrt(_Windows(x.shape[2:], attributes).gather(x * x, 0.0, np.add))
    return result


def _pool_flops(call: Call, results: Sequence[TensorType]) -> int:
    window: int = np.prod(call.attributes["kernel_sizes"], dtype=np.int64).item()
    return results[0].size * window


def _pooling(name: str, reference: Callable[..., Any], doc: str, ranks: str, *more: Attribute) -> Op:
    return Op(
        name,
        doc,
        operands=(Operand("x", FLOAT, f"`[batch, channels, spatial...]`, rank {ranks}"),),
        infer=_pool,
        reference=reference,
        attributes=(
            Attribute("kernel_sizes", "ints", doc="The size of the window along each spatial axis."),
            Attribute("strides", "ints", strides_of_one, "The step of the window along each spatial axis."),
            Attribute("pad_type", "string", doc="How the input is padded; `same_lower` since ios16.", choices=PAD_TYPES),
            Attribute("pad", "ints", no_pad, 'How much before and after each spatial axis, with `pad_type = "custom"`.'),
            Attribute("ceil_mode", "bool", False, "Add a window that ends behind the input where positions are left over."),
            *more,
        ),
        flops=_pool_flops,
        example=f'y = {name}(x, kernel_sizes = [2, 2], strides = [2, 2], pad_type = "valid")',
        family=FAMILY,
    )


OPS = (
    _pooling("max_pool", _largest, "The largest element of each window; padding is never the largest.", "3 to 5"),
    _pooling(
        "avg_pool",
        _mean,
        "The mean of each window.",
        "3 to 5",
        Attribute("exclude_padding_from_average", "bool", False, "Divide by the number of elements that are no padding."),
    ),
    _pooling("l2_pool", _norm, "The square root of the sum of squares of each window.", "3 or 4"),
)
