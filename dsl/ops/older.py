"""Older forms of ops, in the opsets that have no newer one: programs of the old dialect are written and read with them.

The language itself has the newest form of each op.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from anedsl.ops.call import Call
from anedsl.ops.checks import need_rank, need_shape, wrong_attribute
from anedsl.ops.constexpr import FAMILY, TABLE, dense_of
from anedsl.ops.record import Array, Attribute, Domain, Op, Operand, no_flops
from anedsl.types import UINT8, UINT32, TensorType

BYTES = Domain("B", (UINT8,))
UNSIGNED = Domain("U", (UINT32,))
TABLE_SIZES = (2, 4, 16, 64, 256)
"""How many entries a palette may have: 3 bits came with ios18."""


def _check_bytes(call: Call, operand: str, bits: int) -> TensorType:
    """The type of the result before its element type is known; its elements take so many bits each in `operand`."""
    if any(size < 1 for size in call.attributes["shape"]):
        wrong_attribute(call, "shape", "all sizes are at least 1", f"found {list(call.attributes['shape'])}")
    result = TensorType(UINT8, tuple(call.attributes["shape"]))
    need_rank(call, operand, 1, 1, advice="it holds packed bits")
    rule = f"{bits} {'bit' if bits == 1 else 'bits'} for each of {result.size} elements, in whole bytes"
    need_shape(call, operand, ((result.size * bits + 7) // 8,), rule)
    return result


def _palette(call: Call) -> TensorType:
    lut = need_rank(call, "lut", 1, 1)
    if lut.size not in TABLE_SIZES:
        sizes = tuple(size for size in TABLE_SIZES if size >= lut.size) or TABLE_SIZES[-1:]
        need_shape(call, "lut", sizes[:1], f"a palette has {', '.join(map(str, TABLE_SIZES))} entries")
    return _check_bytes(call, "indices", lut.size.bit_length() - 1).with_dtype(lut.dtype)


def _looked_up(indices: Array, lut: Array, *, shape: tuple[int, ...]) -> Array:
    found: Array = lut[_unpacked(indices, lut.size.bit_length() - 1, shape)]
    return found


def _sparse(call: Call) -> TensorType:
    mask = _check_bytes(call, "mask", 1)
    data = need_rank(call, "nonzero_data", 1, 1, advice="it lists the elements where the mask is 1")
    return mask.with_dtype(data.dtype)


def _dense(nonzero_data: Array, mask: Array, *, shape: tuple[int, ...]) -> Array:
    return dense_of(nonzero_data, _unpacked(mask, 1, shape))


def _unpacked(data: Array, bits: int, shape: tuple[int, ...]) -> Array:
    """Numbers of so many bits, the first in the lowest bits of the first byte."""
    size = int(np.prod(shape, dtype=np.int64))
    flags = np.unpackbits(data.astype(np.uint8), count=size * bits, bitorder="little").reshape(size, bits)
    found: Array = (flags @ (1 << np.arange(bits)).astype(np.uint8)).reshape(shape)
    return found


_SHAPE = Attribute("shape", "ints", doc="The shape of the result.", domain=UNSIGNED)
_RECORD: dict[str, Any] = {
    "attributes": (_SHAPE,),
    "flops": no_flops,
    "family": FAMILY,
    "since": "ios16",
    "until": "ios17",
    "constexpr": True,
}

OLDER = {
    op.name: op
    for op in (
        Op(
            "constexpr_lut_to_dense",
            "Looks up packed indices in a palette.",
            (
                Operand("indices", BYTES, "Indices of 1, 2, 4, 6 or 8 bits, one behind the other.", const=True),
                Operand("lut", TABLE, "2^bits entries.", const=True),
            ),
            _palette,
            _looked_up,
            **_RECORD,
        ),
        Op(
            "constexpr_sparse_to_dense",
            "Puts elements where the mask is 1, and 0 elsewhere.",
            (
                Operand("nonzero_data", TABLE, "The elements where the mask is 1, in order.", const=True),
                Operand("mask", BYTES, "A bit for each element of the result.", const=True),
            ),
            _sparse,
            _dense,
            **_RECORD,
        ),
    )
}
"""By name, the form before that of `OPS`."""
