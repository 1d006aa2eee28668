"""What the help of a rule says works: applied to the kernel, the message is gone and the numbers are the same."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import anedsl
from tests.errors.command import anedsl as command

X = "input x: fp16[1, 8, 1, 128]"
A_B = "input a, b: fp16[1, 64, 1, 64]"


class Help(NamedTuple):
    """A kernel that is told of a code, what the help says, and the kernel as its author then writes it."""

    code: str
    before: str
    says: str
    after: str
    chip: str = "m1"
    route: str = "inmemory"


HELPS = [
    Help(
        "ANE0320",
        f"{X}; output y; y = concat(x[..., 32:64], x[..., 96:128], axis = 3)",
        "`transpose` the axis away from the end, slice and join there, and `transpose` back",
        f"{X}; output y; t = transpose(x, [0, 1, 3, 2])"
        "; y = transpose(concat(t[:, :, 32:64], t[:, :, 96:128], axis = 2), [0, 1, 3, 2])",
    ),
    Help(
        "ANE0320",
        f"{X}; output y; y = concat(x[..., 32:64], x[..., 96:128], axis = 3)",
        "`clip(..., -65504, 65504)`",
        f"{X}; output y; y = concat(clip(x[..., 32:64], -65504, 65504), clip(x[..., 96:128], -65504, 65504), axis = 3)",
    ),
    Help(
        "ANE0321",
        f"{X}; output y; y = relu(x[..., 32:64])",
        "`input x: ... in [-4094, 4094]`",
        f"{X} in [-4094, 4094]; output y; y = relu(x[..., 32:64])",
    ),
    Help(
        "ANE0321",
        f"{X}; output y; h = x * x; y = relu(h[..., 32:64])",
        "`clip(h, -4094, 4094)`",
        f"{X}; output y; h = x * x; y = relu(clip(h, -4094, 4094)[..., 32:64])",
    ),
    Help(
        "ANE0321",
        f"{X}; output y; h = x * x; y = relu(h[..., 32:64])",
        "or `transpose` the axis away from the end, slice there, and `transpose` back",
        f"{X}; output y; h = x * x; y = relu(transpose(transpose(h, [0, 1, 3, 2])[:, :, 32:64], [0, 1, 3, 2]))",
    ),
    Help(
        "ANE0321",
        f"{A_B}; output y; pack p = (a, b) along 3; y = a * b",
        "`input b: ... in [-4094, 4094]`",
        "input a: fp16[1, 64, 1, 64]; input b: fp16[1, 64, 1, 64] in [-4094, 4094]; output y; pack p = (a, b) along 3; y = a * b",
    ),
    Help(
        "ANE0321",
        f"{A_B}; output y; pack p = (a, b) along 3; y = a * b",
        "pack along another axis",
        f"{A_B}; output y; pack p = (a, b) along 1; y = a * b",
    ),
    Help(
        "ANE0324",
        f"{A_B}; output y, z; y = a[:, 0:32] * b[:, 0:32]; z = a * b",
        "pack the outputs into one",
        f"{A_B}; output y, z; pack o = (y, z) along 1; y = a[:, 0:32] * b[:, 0:32]; z = a * b",
    ),
    Help(
        "ANE0307",
        "input x: fp16[1, 64, 1, 64]; output y; y = reduce_argmax(x, axis = 1)",
        "ask for `output_dtype = uint16` and convert that: `cast(..., fp16)`",
        "input x: fp16[1, 64, 1, 64]; output y; y = cast(reduce_argmax(x, axis = 1, output_dtype = uint16), fp16)",
        "m4",
    ),
    Help(
        "ANE0307",
        "input x: fp16[1, 64, 1, 64]; output y; y = cast(reduce_argmax(x, axis = 1), int32) * 2",
        "`y = cast(cast(..., int16), fp16)`",
        "input x: fp16[1, 64, 1, 64]; output y; y = cast(cast(cast(reduce_argmax(x, axis = 1), int32) * 2, int16), fp16)",
        "m4",
    ),
    Help(
        "ANE0304",
        'input x: fp16[1, 8, 8, 64]; output y; y = max_pool(x, kernel_sizes = [2, 2], pad_type = "valid")',
        "compile with `--route coreml`",
        'input x: fp16[1, 8, 8, 64]; output y; y = max_pool(x, kernel_sizes = [2, 2], pad_type = "valid")',
        route="coreml",
    ),
]


def kernel(folder: Path, name: str, body: str) -> Path:
    path = folder / f"{name}.ane"
    path.write_text("kernel k {\n    " + body.replace("; ", "\n    ") + "\n}\n", encoding="utf-8")
    return path


def said(path: Path, chip: str, route: str) -> str:
    result = command("check", str(path), "--chip", chip, "--route", route)
    return result.out + result.err


@pytest.mark.parametrize("help", HELPS, ids=[f"{help.code}-{at}" for at, help in enumerate(HELPS)])
def test_the_help_works(help: Help, tmp_path: Path) -> None:
    before, after = kernel(tmp_path, "before", help.before), kernel(tmp_path, "after", help.after)
    told = said(before, help.chip, "inmemory")
    assert f"[{help.code}]" in told
    assert help.says in told
    assert f"[{help.code}]" not in said(after, help.chip, help.route)


@pytest.mark.parametrize("help", HELPS, ids=[f"{help.code}-{at}" for at, help in enumerate(HELPS)])
def test_it_changes_no_number(help: Help, tmp_path: Path) -> None:
    kernels = [anedsl.load(kernel(tmp_path, name, body)) for name, body in (("before", help.before), ("after", help.after))]
    rng = np.random.default_rng(0)
    names = {word.strip(",:") for word in help.before.split(":")[0].removeprefix("input ").split(", ")}
    shape = [int(size) for size in help.before.split("[")[1].split("]")[0].split(", ")]
    given = {name: (rng.standard_normal(shape) * 10).astype(np.float16) for name in names}
    first, second = (each(**given) for each in kernels)
    assert list(first) == list(second)
    for name in first:
        np.testing.assert_array_equal(np.asarray(first[name], np.float64), np.asarray(second[name], np.float64))
