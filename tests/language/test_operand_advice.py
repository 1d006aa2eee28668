"""Advice about operands speaks the author's names, and the kernel that follows it is the one that was meant."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import anedsl
from anedsl.diagnostics import Failure


def load(folder: Path, *lines: str) -> anedsl.Kernel:
    path = folder / "k.ane"
    path.write_text("import std.nn\nkernel k {\n" + "\n".join(lines) + "\n}\n", encoding="utf-8")
    return anedsl.load(path)


def helps(folder: Path, *lines: str) -> list[str]:
    with pytest.raises(Failure) as failure:
        load(folder, *lines)
    [diagnostic] = failure.value.diagnostics
    return diagnostic.help_texts


@pytest.mark.parametrize(
    ("x", "w", "equation", "help"),
    [
        ("1, 64, 8, 8", "64, 1, 3, 3", "y = conv(x, w)", "`groups = 64` would fit"),
        ("1, 64, 8, 8", "128, 16, 3, 3", "y = conv(x, w)", "`groups = 4` would fit"),
        ("1, 64, 8, 8", "64, 64, 3, 3", "y = conv(x, w, groups = 4)", "`groups = 1` would fit"),
        ("1, 64, 8, 8", "64, 96, 1, 1", "y = conv(x, w)", "transpose the weight: `transpose(w, [1, 0, 2, 3])`"),
        ("1, 64, 8, 8", "96, 64, 1, 1", "y = conv_transpose(x, w)", "transpose the weight: `transpose(w, [1, 0, 2, 3])`"),
        ("1, 8, 64", "64, 128", "y = linear(x, w * 2)", "transpose the weight: `transpose(w * 2, [1, 0])`"),
        ("1, 64, 1, 32", "128, 64", "y = linear(x, w)", "the channels are axis 1: use `conv` with a weight `[128, 64, 1, 1]`"),
        ("1, 64, 32", "128, 64", "y = linear(x, w)", "the channels are axis 1: use `conv` with a weight `[128, 64, 1]`"),
        ("8, 64", "32, 64", "y = x @ w", "`matmul(x, w, transpose_y = true)` would contract the other axis of `w`"),
        ("8, 64", "32, 64", "y = matmul(x, w)", "`transpose_y = true` would contract the other axis of `w`"),
        ("64, 8", "64, 32", "y = x @ w", "`matmul(x, w, transpose_x = true)` would contract the other axis of `x`"),
        (
            "8, 64",
            "32, 64",
            "y = x @ (w * 2 + 1 + 1 + 1 + 1 + 1 + 1)",
            "`matmul(x, ..., transpose_y = true)` would contract the other axis of its right operand",
        ),
        ("8, 64", "64", "y = x @ w", "`expand_dims(w, axes = [-1])` makes it a column"),
        ("1, 64, 1, 32", "64", "y = x * w", "declare `w` as `[1, 64, 1, 1]`"),
        ("1, 64, 1, 32", "64", "y = rmsnorm(x, w)", "declare `w` as `[1, 64, 1, 1]`"),
        ("1, 64, 1, 32", "64", "y = x * (w * 2)", "give it the axes: `reshape((w * 2), [1, 64, 1, 1])`"),
    ],
)
def test_the_help(x: str, w: str, equation: str, help: str, tmp_path: Path) -> None:
    assert helps(tmp_path, f"input x: fp16[{x}]", f"weight w: fp16[{w}] = ones", "output y", equation) == [help]


@pytest.mark.parametrize(
    ("x", "w", "equation"),
    [
        # A filter for each channel cannot be transposed: it would become one with a single output channel.
        ("1, 64, 8, 8", "1, 64, 3, 3", "y = conv_transpose(x, w)"),
        # Two axes fit, or none.
        ("1, 64, 64, 32", "64", "y = x * w"),
        ("1, 48, 1, 32", "64", "y = x * w"),
    ],
)
def test_no_help_where_none_is_sure(x: str, w: str, equation: str, tmp_path: Path) -> None:
    assert helps(tmp_path, f"input x: fp16[{x}]", f"weight w: fp16[{w}] = ones", "output y", equation) == []


def test_a_family_is_declared_as_a_whole(tmp_path: Path) -> None:
    lines = ("input x: fp16[1, 64, 1, 32]", "weight W[2]: fp16[64]", "output y", "y = x * W[1]")
    assert helps(tmp_path, *lines) == ["declare `W` as `[1, 64, 1, 1]`"]


def test_groups_that_were_forgotten(tmp_path: Path) -> None:
    """The same numbers as torch, which is told the groups too."""
    lines = ("input x: fp16[1, 8, 5, 5]", "weight w: fp16[8, 1, 3, 3]", "output y")
    [help] = helps(tmp_path, *lines, "y = conv(x, w)")
    found = re.search(r"`(groups = \d+)`", help)
    assert found is not None
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 8, 5, 5)), rng.standard_normal((8, 1, 3, 3))
    y = load(tmp_path, *lines, f"y = conv(x, w, {found[1]})")(x=x, weights={"w": w}, numerics="fp64").y
    wanted = torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(w), groups=8)
    np.testing.assert_allclose(y, wanted.numpy(), rtol=1e-6)


def test_a_linear_layer_over_channels(tmp_path: Path) -> None:
    x, w = np.random.default_rng(0).standard_normal((1, 8, 1, 5)), np.random.default_rng(1).standard_normal((6, 8))
    y = load(tmp_path, "input x: fp16[1, 8, 1, 5]", "weight w: fp16[6, 8, 1, 1]", "output y", "y = conv(x, w)")(
        x=x, weights={"w": w.reshape(6, 8, 1, 1)}, numerics="fp64"
    ).y
    wanted = torch.nn.functional.linear(torch.from_numpy(x[0, :, 0].T), torch.from_numpy(w)).numpy().T
    np.testing.assert_allclose(np.asarray(y)[0, :, 0], wanted, rtol=1e-6)
