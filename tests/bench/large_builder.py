"""The kernel of tests/bench/large.py with coremltools' builder, saved as a package.

python -m tests.bench.large_builder OPS PACKAGE
"""

from __future__ import annotations

import sys
from typing import Any

import coremltools as ct
import numpy as np
from coremltools.converters.mil import Builder as mb  # noqa: N813
from coremltools.converters.mil.mil import types

from tests.bench.large import HALF, OPS_PER_TURN, SIZE, step


def program(turns: int) -> Any:
    @mb.program(input_specs=[mb.TensorSpec((1, SIZE, 1, SIZE), dtype=types.fp16)], opset_version=ct.target.iOS18)
    def large(x: Any) -> Any:
        h = mb.mul(x=x, y=np.full((1, SIZE, 1, 1), 1.5, np.float16))
        for turn in range(turns):
            h = one_turn(h, np.float16(step(turn)))
        return mb.add(x=h, y=x)

    return large


def one_turn(h: Any, number: np.float16) -> Any:
    b = mb.add(x=mb.sigmoid(x=h), y=number)
    c = mb.sub(x=b, y=mb.reduce_mean(x=b, axes=[1], keep_dims=True))
    size = [1, HALF, 1, SIZE]
    s = mb.slice_by_size(x=c, begin=[0, 0, 0, 0], size=size)
    t = mb.slice_by_size(x=c, begin=[0, HALF, 0, 0], size=size)
    r = mb.reshape(x=mb.concat(values=[t, s], axis=1), shape=[1, SIZE, SIZE])
    return mb.reshape(x=mb.transpose(x=r, perm=[0, 2, 1]), shape=[1, SIZE, 1, SIZE])


if __name__ == "__main__":
    model = ct.convert(
        program(int(sys.argv[1]) // OPS_PER_TURN),
        minimum_deployment_target=ct.target.iOS18,
        pass_pipeline=ct.PassPipeline.EMPTY,
        compute_precision=ct.precision.FLOAT16,
        skip_model_load=True,
    )
    model.save(sys.argv[2])
