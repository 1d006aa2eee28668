"""Uses of ops that move blocks of positions, and of those that cut or turn sequences."""

import torch
from torch.nn import functional

from tests.ops.case import Case, T

DEEP, WIDE = T((2, 12, 3, 5)), T((2, 3, 4, 6))


def depth_to_space(block):
    def formula(x):
        few = x.shape[1] // block**2
        y = torch.empty(x.shape[0], few, x.shape[2] * block, x.shape[3] * block, dtype=x.dtype)
        for row in range(block):
            for column in range(block):
                first = (row * block + column) * few
                y[:, :, row::block, column::block] = x[:, first : first + few]
        return y

    return formula


def space_to_depth(block):
    return lambda x: torch.cat([x[:, :, row::block, column::block] for row in range(block) for column in range(block)], 1)


def space_to_batch(tall, wide, pad):
    def formula(x):
        x = functional.pad(x, pad)
        return torch.cat([x[:, :, row::tall, column::wide] for row in range(tall) for column in range(wide)], 0)

    return formula


def batch_to_space(tall, wide, rows, columns):
    def formula(x):
        few = x.shape[0] // (tall * wide)
        y = torch.empty(few, x.shape[1], x.shape[2] * tall, x.shape[3] * wide, dtype=x.dtype)
        for at in range(tall * wide):
            y[:, :, at // wide :: tall, at % wide :: wide] = x[at * few : (at + 1) * few]
        return y[:, :, rows, columns]

    return formula


def turned(sequence, batch):
    def formula(x, lengths):
        rows = []
        for row, length in zip(x.unbind(batch), lengths.tolist(), strict=True):
            axis = sequence - (batch < sequence)
            first, rest = row.tensor_split([length], axis)
            rows.append(torch.cat([first.flip(axis), rest], axis))
        return torch.stack(rows, batch)

    return formula


CASES = [
    Case("depth_to_space", {"x": DEEP}, {"block_size": 2}, depth_to_space(2)),
    Case("depth_to_space", {"x": T((1, 9, 2, 1))}, {"block_size": 3}, depth_to_space(3)),
    Case("space_to_depth", {"x": WIDE}, {"block_size": 2}, space_to_depth(2)),
    Case("space_to_depth", {"x": T((1, 2, 3, 6))}, {"block_size": 3}, space_to_depth(3)),
    Case("pixel_shuffle", {"x": DEEP}, {"upscale_factor": 2}, lambda x: functional.pixel_shuffle(x, 2)),
    Case("pixel_shuffle", {"x": T((1, 18, 2, 1))}, {"upscale_factor": 3}, lambda x: functional.pixel_shuffle(x, 3)),
    Case("pixel_unshuffle", {"x": WIDE}, {"downscale_factor": 2}, lambda x: functional.pixel_unshuffle(x, 2)),
    Case("space_to_batch", {"x": WIDE}, {"block_shape": (2, 3), "paddings": ((0, 0), (0, 0))}, space_to_batch(2, 3, (0,) * 4)),
    Case(
        "space_to_batch",
        {"x": WIDE},
        {"block_shape": (3, 2), "paddings": ((2, 0), (1, 3))},
        space_to_batch(3, 2, (1, 3, 2, 0)),
    ),
    Case(
        "batch_to_space",
        {"x": T((12, 2, 3, 2))},
        {"block_shape": (2, 3), "crops": ((0, 0), (0, 0))},
        batch_to_space(2, 3, slice(None), slice(None)),
    ),
    Case(
        "batch_to_space",
        {"x": T((8, 2, 3, 2))},
        {"block_shape": (4, 2), "crops": ((1, 2), (0, 3))},
        batch_to_space(4, 2, slice(1, 10), slice(0, 1)),
    ),
    Case("sliding_windows", {"x": T((2, 7))}, {"axis": -1, "size": 3}, lambda x: x.unfold(1, 3, 1)),
    Case(
        "sliding_windows",
        {"x": T((2, 9, 3))},
        {"axis": 1, "size": 4, "stride": 2},
        lambda x: x.unfold(1, 4, 2).movedim(-1, 2),
    ),
    Case("sliding_windows", {"x": T((6, 2), "int32", -9, 9)}, {"axis": 0, "size": 6}, lambda x: x[None]),
    Case(
        "reverse_sequence",
        {"x": T((3, 5, 2)), "lengths": T((3,), "int32", data=(5, 2, 0))},
        {"seq_axis": 1},
        turned(1, 0),
    ),
    Case(
        "reverse_sequence",
        {"x": T((4, 2, 3), "int32", -9, 9), "lengths": T((3,), "int16", data=(4, 3, 1))},
        {"batch_axis": -1},
        turned(0, 2),
    ),
    Case("reverse_sequence", {"x": T((2, 4)), "lengths": T((2,), "int8", data=(3, 4))}, {"seq_axis": -1}, turned(1, 0)),
]
