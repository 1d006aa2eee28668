"""Uses of quantization, and of weights in a compressed form."""

import torch

from anedsl.types import FP32, INT8, UINT8
from tests.ops.case import Case, T

X = T((2, 3, 4))
STEPS = T((3,), low=0.01, high=0.1, const=True)


def step(low=0.01, high=0.1, shape=()):
    return T(shape, low=low, high=high, const=True)


def const(shape, dtype, low=0, high=0, data=None):
    return T(shape, dtype, low, high, True, data)


def quantized(low, high, shape=()):
    def formula(x, scale, zero=None):
        zero = 0 if zero is None else zero.reshape(shape)
        return ((x / scale.reshape(shape)).round() + zero).clamp(low, high).to(torch.int32)

    return formula


def dequantized(shape=()):
    return lambda q, scale, zero=None: scale.reshape(shape) * (q.double() - (0 if zero is None else zero.reshape(shape)))


ACTIVATIONS = [
    Case("quantize", {"input": X, "scale": step()}, {"output_dtype": INT8}, quantized(-128, 127)),
    Case(
        "quantize",
        {"input": X, "scale": step(), "zero_point": const((), "uint8", 100, 160)},
        {"output_dtype": UINT8},
        quantized(0, 255),
    ),
    Case(
        "quantize",
        {"input": X, "scale": STEPS, "zero_point": const((3,), "int8", -90, 90)},
        {"output_dtype": INT8, "axis": 1},
        quantized(-128, 127, (3, 1)),
    ),
    Case("quantize", {"input": X, "scale": STEPS}, {"output_dtype": UINT8, "axis": -2}, quantized(0, 255, (3, 1))),
    Case(
        "quantize",
        {"input": T((5,), data=(0.5, 1.5, 2.5, -0.5, 1000)), "scale": T((), const=True, data=1.0)},
        {"output_dtype": INT8},
        lambda x, scale: torch.tensor([0, 2, 2, 0, 127], dtype=torch.int32),
    ),
    Case("dequantize", {"input": T((2, 3, 4), "int8", -128, 127), "scale": step()}, {}, dequantized()),
    Case(
        "dequantize",
        {"input": T((2, 3, 4), "uint8", 0, 255), "scale": step(), "zero_point": const((), "uint8", 0, 255)},
        {},
        dequantized(),
    ),
    Case(
        "dequantize",
        {"input": T((2, 3, 4), "int8", -128, 127), "scale": STEPS, "zero_point": const((3,), "int8", -128, 127)},
        {"axis": -2},
        dequantized((3, 1)),
    ),
]


def blocks(numbers, data):
    for axis, size in enumerate(data.shape):
        numbers = numbers.repeat_interleave(size // numbers.shape[axis], axis)
    return numbers.double()


def shifted(data, scale, offset=None):
    return blocks(scale, data) * (data.double() - (0 if offset is None else blocks(offset, data)))


def looked_up(indices, lut):
    """A palette for each element, of which one entry is taken: vectors of one number only."""
    palettes = lut.reshape(lut.shape[:-1])
    for axis, size in enumerate(indices.shape):
        palettes = palettes.repeat_interleave(size // palettes.shape[axis], axis)
    return palettes.gather(-1, indices.long()[..., None])[..., 0]


def dense(values, mask):
    places = torch.zeros(mask.shape, dtype=values.dtype)
    places[mask.bool()] = values
    return places


def table(*shape, dtype="fp16"):
    return const(shape, dtype, -2, 2) if dtype == "fp16" else const(shape, dtype, -100, 100)


AFFINE = [
    Case(
        "constexpr_affine_dequantize",
        {"quantized_data": const((3, 4), "int8", -128, 127), "zero_point": const((), "int8", -9, 9), "scale": step()},
        {"axis": 0},
        lambda q, z, s: s * (q.double() - z),
    ),
    Case(
        "constexpr_affine_dequantize",
        {"quantized_data": const((2, 3, 4), "uint8", 0, 255), "zero_point": const((3,), "uint8", 0, 255), "scale": STEPS},
        {"axis": -2},
        lambda q, z, s: s[:, None] * (q.double() - z[:, None]),
    ),
    Case(
        "constexpr_affine_dequantize",
        {"quantized_data": const((2, 3), "int8", -128, 127), "zero_point": const((), "fp32", -9, 9), "scale": STEPS},
        {"axis": 1},
        lambda q, z, s: s * (q.double() - z),
    ),
    Case(
        "constexpr_blockwise_shift_scale",
        {"data": const((4, 6), "int4", -8, 7), "scale": step(shape=(4, 2))},
        {},
        shifted,
    ),
    Case(
        "constexpr_blockwise_shift_scale",
        {"data": const((4, 6), "uint4", 0, 15), "scale": step(shape=(2, 1)), "offset": const((2, 1), "uint4", 0, 15)},
        {},
        shifted,
    ),
    Case(
        "constexpr_blockwise_shift_scale",
        {"data": const((4, 2, 3), "int8", -128, 127), "scale": step(shape=(1, 2, 3)), "offset": const((1, 2, 3), "fp16", -9, 9)},
        {},
        shifted,
    ),
    Case(
        "constexpr_blockwise_shift_scale",
        {"data": const((8,), "uint8", 0, 255), "scale": step(shape=(1,)), "offset": const((1,), "uint8", 0, 255)},
        {},
        shifted,
    ),
]

PALETTES = [
    Case(
        "constexpr_lut_to_dense",
        {"indices": const((4, 6), f"uint{bits}", 0, 2**bits - 1), "lut": table(2, 3, 2**bits, 1)},
        {},
        looked_up,
    )
    for bits in (1, 2, 3, 4, 6, 8)
]

VECTORS = [
    Case(
        "constexpr_lut_to_dense",
        {"indices": const((4, 6), "uint2", 0, 3), "lut": table(2, 1, 4, 1)},
        {"vector_axis": 0},
        looked_up,
    ),
    Case(
        "constexpr_lut_to_dense",
        {
            "indices": const((2, 2, 2), "uint1", data=(0, 0, 1, 0, 1, 1, 0, 0)),
            "lut": const((1, 1, 1, 2, 3), "int8", data=(1, 2, 3, 11, 12, 13)),
        },
        {"vector_axis": -2},
        lambda i, lut: torch.tensor(
            [
                [[1, 1], [2, 2], [3, 3], [11, 1], [12, 2], [13, 3]],
                [[11, 11], [12, 12], [13, 13], [1, 1], [2, 2], [3, 3]],
            ],
            dtype=torch.int32,
        ),
    ),
    Case(
        "constexpr_lut_to_dense",
        {"indices": const((4, 6), "uint4", 0, 15), "lut": table(1, 1, 16, 2)},
        {"vector_axis": 1},
        lambda i, lut: lut[0, 0][i.long()].reshape(4, 12),
    ),
]

MASK = const((3, 4), "uint1", data=(1, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0))

SPARSE = [
    Case("constexpr_sparse_to_dense", {"nonzero_data": table(5), "mask": MASK}, {}, dense),
    Case("constexpr_sparse_to_dense", {"nonzero_data": const((5,), "int4", -8, 7), "mask": MASK}, {}, dense),
    Case(
        "constexpr_lut_to_sparse",
        {"indices_mask": MASK, "indices_nonzero_data": const((5,), "uint2", 0, 3), "lut": table(1, 1, 4, 1)},
        {},
        lambda mask, i, lut: (mask, lut[0, 0, :, 0][i.long()]),
    ),
    Case(
        "constexpr_lut_to_sparse",
        {"indices_mask": MASK, "indices_nonzero_data": const((5,), "uint4", 0, 15), "lut": table(1, 1, 16, 2)},
        {"vector_axis": 1},
        lambda mask, i, lut: (mask.repeat_interleave(2, 1), lut[0, 0][i.long()].reshape(-1)),
    ),
    Case(
        "constexpr_lut_to_sparse",
        {"indices_mask": MASK, "indices_nonzero_data": const((5,), "uint1", 0, 1), "lut": table(3, 2, 2, 1)},
        {},
        lambda mask, i, lut: (mask, looked_up(dense(i, mask), lut)[mask.bool()]),
    ),
    Case(
        "constexpr_sparse_blockwise_shift_scale",
        {"data_mask": MASK, "nonzero_data": const((5,), "int4", -8, 7), "scale": step(shape=(1, 2))},
        {},
        lambda mask, q, s: (mask, shifted(dense(q, mask), s)[mask.bool()]),
    ),
    Case(
        "constexpr_sparse_blockwise_shift_scale",
        {
            "data_mask": MASK,
            "nonzero_data": const((5,), "uint8", 0, 255),
            "scale": step(shape=(3, 1)),
            "offset": const((3, 1), "uint8", 0, 255),
        },
        {},
        lambda mask, q, s, o: (mask, shifted(dense(q, mask), s, o)[mask.bool()]),
    ),
]

CASES = [
    *ACTIVATIONS,
    *AFFINE,
    *PALETTES,
    *VECTORS,
    *SPARSE,
    Case("constexpr_cast", {"source_val": table(2, 3)}, {"output_dtype": FP32}, lambda x: x),
]
