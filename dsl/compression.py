"""Weights in fewer bits: `weight W: fp16[O, I, 1, 1] stored int8(axis = 0)`.

The mathematics sees the decompressed numbers everywhere: the reference computes with them, and a file holds the parts that a
`constexpr_*` op puts together again when the program is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from anedsl.data import Array, ArrayData, Data
from anedsl.diagnostics import Failure
from anedsl.graph import Weight
from anedsl.ops import OPS
from anedsl.palette import histogram, nearest_entries, palette
from anedsl.types import FP16, INT4, INT8, UINT1, UINT2, UINT3, UINT4, UINT6, UINT8, DType, Shape, TensorType

PALETTE_TYPES = {1: UINT1, 2: UINT2, 3: UINT3, 4: UINT4, 6: UINT6, 8: UINT8}
LARGEST = FP16.largest
INFINITE = 65520.0
"""From this magnitude on numbers round to an infinity of fp16."""

PIECE = 1 << 18
"""Numbers that are compared at a time: few enough to stay in the cache."""

NEIGHBOURS = [step for distance in range(1, 9) for step in (-distance, distance)]
"""How far from a scale another one is looked for, in steps of fp16."""


class Storage(NamedTuple):
    """How a weight is kept.

    - int8: `scale * q`, the scale from the largest magnitude; one for each position of `axis`, or one in all.
    - uint8: `scale * (q - zero_point)`, from the smallest to the largest number.
    - int4: as int8, from -7 to 7.
    - blockwise: int4 or int8 (`bits`) with a scale for each `block` numbers along `axis` and each position of the other of
      the first two axes; along a later `axis` for each position of axis 0.
    - palette: 2^`bits` numbers, each weight the nearest of them.
    - sparse: the numbers that are not 0, and where they stand; of the smallest magnitudes, `prune` of all are made 0 first.
    """

    kind: str
    axis: int | None = None
    bits: int = 4
    block: int = 32
    prune: float = 0.0

    def __str__(self) -> str:
        shown = {
            "int8": () if self.axis is None else (f"axis = {self.axis}",),
            "palette": (f"bits = {self.bits}",),
            "blockwise": (f"bits = {self.bits}", f"block = {self.block}", f"axis = {self.axis}")[: 2 + (self.axis is not None)],
            "sparse": (f"prune = {self.prune:g}",) if self.prune else (),
        }.get(self.kind if self.kind not in ("uint8", "int4") else "int8", ())
        return f"{self.kind}({', '.join(shown)})" if shown else self.kind


PARAMETERS: dict[str, tuple[str, ...]] = {
    "int8": ("axis",),
    "uint8": ("axis",),
    "int4": ("axis",),
    "palette": ("bits",),
    "sparse": ("prune",),
    "blockwise": ("bits", "block", "axis"),
}
"""What each kind of storage may say."""


class Part(NamedTuple):
    """One operand of the op that decompresses."""

    dtype: DType
    array: Array


class Compressed(NamedTuple):
    """A compressed weight: the op that decompresses it, with its operands and attributes."""

    op: str
    parts: Mapping[str, Part]
    attributes: Mapping[str, Any]


class Layout(NamedTuple):
    """Where the scales of a weight lie: `scales` has their number along each axis, 1 where all positions share one.

    `axis` is the one of the storage.
    """

    shape: Shape
    scales: Shape
    axis: int | None


class StoredData:
    """The numbers of a weight as they are after compression and decompression.

    Loading them raises ANE0438 where fp16 cannot hold all of the source.
    """

    __slots__ = ("layout", "shape", "source", "storage", "weight")

    def __init__(self, source: Data, storage: Storage, weight: Weight, layout: Layout | None = None) -> None:
        self.source = source
        self.shape: Shape = source.shape
        self.layout = layout or Layout(source.shape, scale_shape(storage, source.shape), storage.axis)
        # A moved weight says where its axis is now.
        self.storage = storage._replace(axis=self.layout.axis)
        self.weight = weight

    def compressed(self) -> Compressed:
        """The parts; those of the weight that was asked for last are kept, since its parts are written one after another."""
        if _last[0] is not self:
            _last[:] = self, compress(self._finite(), self.storage)
        found: Compressed = _last[1]
        return found

    def _finite(self) -> Array:
        """The source in float64. One number that is not finite would spoil all those that share a scale or a palette."""
        given = self.source.load().astype(np.float64).reshape(self.shape)
        # NaN is neither.
        if not (given.min() > -INFINITE and given.max() < INFINITE):
            _fail_not_finite(given, self.storage, self.weight)
        return np.clip(given, -LARGEST, LARGEST, out=given)

    def load(self) -> Array:
        return decompress(self.compressed())

    def chunks(self) -> Iterator[Array]:
        return ArrayData(self.load()).chunks()


_last: list[Any] = [None, None]


def forget() -> None:
    """Drops the kept parts: a weight is given other numbers."""
    _last[:] = None, None


def _fail_not_finite(given: Array, storage: Storage, weight: Weight) -> NoReturn:
    from anedsl.diagnostics.weights import CompressedNotFinite

    finite = np.isfinite(given)
    magnitudes = np.abs(given[finite])
    counts = {
        "NaN": np.count_nonzero(np.isnan(given)),
        "infinite": np.count_nonzero(np.isinf(given)),
        "too large for fp16": np.count_nonzero(magnitudes >= INFINITE),
    }
    raise Failure(
        CompressedNotFinite(
            span=weight.span,
            name=weight.name,
            storage=str(storage),
            counts=", ".join(f"{what}: {count}" for what, count in counts.items() if count),
            largest=f"{magnitudes.max():.6g}" if magnitudes.size else None,
        )
    )


def part_types(storage: Storage, layout: Layout) -> dict[str, TensorType] | None:
    """The types of the parts, where they do not depend on the numbers (sparse)."""
    shape = layout.shape
    channels = () if layout.axis is None else (shape[layout.axis],)
    if storage.kind == "int8":
        return {
            "quantized_data": TensorType(INT8, shape),
            "zero_point": TensorType(INT8, ()),
            "scale": TensorType(FP16, channels),
        }
    if storage.kind == "uint8":
        return {
            "quantized_data": TensorType(UINT8, shape),
            "zero_point": TensorType(UINT8, channels),
            "scale": TensorType(FP16, channels),
        }
    if storage.kind == "palette":
        indices = TensorType(PALETTE_TYPES[storage.bits], shape)
        return {"indices": indices, "lut": TensorType(FP16, (*(1 for _ in shape), 1 << storage.bits, 1))}
    if storage.kind in ("int4", "blockwise"):
        dtype = INT8 if storage.kind == "blockwise" and storage.bits == 8 else INT4
        return {"data": TensorType(dtype, shape), "scale": TensorType(FP16, layout.scales)}
    return None


def scale_shape(storage: Storage, shape: Shape) -> Shape:
    """The number of scales along each axis: one for each position of `axis`; of blockwise, one for each block."""
    if storage.kind != "blockwise":
        return tuple(size if axis == storage.axis else 1 for axis, size in enumerate(shape))
    # A row or a column has scales of its own, as outputs and inputs of a layer have.
    single = 1 if storage.axis == 0 else 0
    sizes = enumerate(shape)
    return tuple(size // storage.block if axis == storage.axis else size if axis == single else 1 for axis, size in sizes)


def compress(array: Array, storage: Storage) -> Compressed:
    """Compresses numbers that fp16 can hold.

    Each comes back within half a step (a scale, or the distance to the nearest palette entry), and finite.
    """
    return _COMPRESSORS[storage.kind](array, storage)


def decompress(compressed: Compressed) -> Array:
    """The numbers that the op gives, in float64."""
    op = OPS[compressed.op]
    held = [
        None if part is None else part.array.astype(np.float64 if part.dtype.is_float else np.int32)
        for part in (compressed.parts.get(operand.name) for operand in op.operands)
    ]
    result: Array = op.reference(*held, **compressed.attributes)
    return result


def _symmetric(array: Array, storage: Storage) -> Compressed:
    over = tuple(axis for axis in range(array.ndim) if axis != storage.axis)
    largest = _largest(array, over)
    scale, _ = _scales(-largest, largest, -127, 127)
    parts = {
        "quantized_data": Part(INT8, _codes(array, scale, -127, 127).astype(np.int8)),
        "zero_point": Part(INT8, np.zeros((), np.int8)),
        "scale": Part(FP16, scale.reshape(-1 if storage.axis is not None else ())),
    }
    return Compressed("constexpr_affine_dequantize", parts, {"axis": storage.axis or 0})


def _affine(array: Array, storage: Storage) -> Compressed:
    over = tuple(axis for axis in range(array.ndim) if axis != storage.axis)
    # 0 itself is always kept exactly.
    low, high = np.minimum(array.min(axis=over, keepdims=True), 0), np.maximum(array.max(axis=over, keepdims=True), 0)
    scale, zero = _scales(low, high, 0, 255)
    values = _codes(array, scale, -zero, 255 - zero)
    values += zero
    shape: Any = -1 if storage.axis is not None else ()
    parts = {
        "quantized_data": Part(UINT8, values.astype(np.uint8)),
        "zero_point": Part(UINT8, zero.astype(np.uint8).reshape(shape)),
        "scale": Part(FP16, scale.reshape(shape)),
    }
    return Compressed("constexpr_affine_dequantize", parts, {"axis": storage.axis or 0})


def _blockwise(array: Array, storage: Storage) -> Compressed:
    wide = storage.kind == "blockwise" and storage.bits == 8
    dtype, largest = (INT8, 127) if wide else (INT4, 7)
    scales = scale_shape(storage, array.shape)
    # Each axis becomes (blocks, block): a scale belongs to one position of all the block axes.
    split = [part for size, blocks in zip(array.shape, scales, strict=True) for part in (blocks, size // blocks)]
    blocks = array.reshape(split)
    inside = tuple(range(1, 2 * array.ndim, 2))
    high = _largest(blocks, inside)
    scale, _ = _scales(-high, high, -largest, largest)
    values = _codes(blocks, scale, -largest, largest).reshape(array.shape)
    parts = {"data": Part(dtype, values.astype(np.int8)), "scale": Part(FP16, scale.reshape(scales))}
    return Compressed("constexpr_blockwise_shift_scale", parts, {})


def _largest(array: Array, axes: tuple[int, ...]) -> Array:
    """The largest magnitudes along axes, which stay: without a second array as large as the first."""
    found: Array = np.maximum(array.max(axis=axes, keepdims=True), -array.min(axis=axes, keepdims=True))
    return found


def _scales(low: Array, high: Array, lowest: int, highest: int) -> tuple[Array, Array]:
    """Scales as fp16 holds them, and zero points, for numbers from `low` to `high` and codes from `lowest` to `highest`.

    A scale is rounded up: no number then lies beyond the last step. Near the end of fp16 the last step may be infinite;
    a neighbour of the scale is taken there with which both ends come back finite and within half a step.
    """
    exact = (high - low) / (highest - lowest)
    scale = exact.astype(np.float16)
    scale = np.where(scale.astype(np.float64) < exact, np.nextafter(scale, np.float16(np.inf)), scale)
    scale = np.where(scale == 0, np.float16(1), scale)
    chosen = scale.astype(np.float64)
    wrong = ~_fits(low, high, chosen, lowest, highest, np.inf)
    for step in NEIGHBOURS:
        if not wrong.any():
            break
        # The bits of positive floats count them.
        neighbour = (scale.view(np.uint16) + np.uint16(step % 2**16)).view(np.float16).astype(np.float64)
        better = wrong & _fits(low, high, np.where(wrong, neighbour, chosen), lowest, highest, 0.5)
        chosen = np.where(better, neighbour, chosen)
        wrong &= ~better
    return chosen, _zeros(low, chosen, lowest)


def _zeros(low: Array, scale: Array, lowest: int) -> Array:
    """What stands for 0: 0 itself, or for codes from 0 on what `low` needs below it."""
    return np.zeros_like(scale) if lowest else np.clip(np.rint(-low / scale), 0, 255)


def _fits(low: Array, high: Array, scale: Array, lowest: int, highest: int, steps: float) -> Array:
    """Where both ends come back finite, and at most so many steps away."""
    zero = _zeros(low, scale, lowest)
    found: Array = np.ones(scale.shape, bool)
    for end in (low, high):
        back = np.clip(np.rint(end / scale), lowest - zero, highest - zero) * scale
        found &= (np.abs(back) < INFINITE) & (np.abs(back - end) <= steps * scale)
    return found


def _codes(array: Array, scale: Array, lowest: Array | int, highest: Array | int) -> Array:
    """The nearest multiples of the scales that are finite in fp16, counted from 0."""
    reach = np.ceil(INFINITE / scale) - 1
    found: Array = array / scale
    np.rint(found, out=found)
    return np.clip(found, np.maximum(lowest, -reach), np.minimum(highest, reach), out=found)


def _palette(array: Array, storage: Storage) -> Compressed:
    halves = array.astype(np.float16)
    numbers = histogram(halves)
    entries = palette(numbers, 1 << storage.bits)
    # Where the palette has every number, it has them as fp16 does.
    exact = halves.astype(np.float64) if numbers.values.size <= entries.size else array
    indices = nearest_entries(exact, halves, entries)
    lut = entries.reshape((*(1 for _ in array.shape), -1, 1))
    parts = {"indices": Part(PALETTE_TYPES[storage.bits], indices), "lut": Part(FP16, lut)}
    return Compressed("constexpr_lut_to_dense", parts, {})


def _sparse(array: Array, storage: Storage) -> Compressed:
    pruned = int(storage.prune * array.size)
    if pruned:
        smallest = np.argsort(np.abs(array), axis=None, kind="stable")[:pruned]
        array = array.copy()
        array.reshape(-1)[smallest] = 0
    mask = array.astype(np.float16) != 0
    if not mask.any():
        mask.reshape(-1)[0] = True  # a tensor of no elements has no place in a program
    parts = {"nonzero_data": Part(FP16, array[mask].astype(np.float16)), "mask": Part(UINT1, mask.astype(np.uint8))}
    return Compressed("constexpr_sparse_to_dense", parts, {})


_COMPRESSORS: dict[str, Callable[[Array, Storage], Compressed]] = {
    "int8": _symmetric,
    "uint8": _affine,
    "int4": _blockwise,
    "blockwise": _blockwise,
    "palette": _palette,
    "sparse": _sparse,
}


def errors(data: StoredData) -> dict[str, float]:
    """What compression loses: the largest and mean absolute error, and the largest relative to the largest magnitude.

    The numbers are compared with those that the program has, in fp16.
    """
    exact, kept = data.source.load().reshape(-1), data.load().reshape(-1)
    scale = largest = total = 0.0
    for start in range(0, exact.size, PIECE):
        numbers = exact[start : start + PIECE].astype(np.float64)
        difference = np.abs(kept[start : start + PIECE].astype(np.float16).astype(np.float64) - numbers)
        largest, total = max(largest, float(difference.max())), total + float(difference.sum())
        scale = max(scale, float(np.abs(numbers).max()))
    return {"max_abs": largest, "mean_abs": total / exact.size, "max_rel": largest / scale if scale else 0.0}
