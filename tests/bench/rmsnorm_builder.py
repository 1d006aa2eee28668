"""The graph of examples/rmsnorm_bwd.ane with coremltools' builder, saved as a package.

python -m tests.bench.rmsnorm_builder PACKAGE
"""

from __future__ import annotations

import sys
from typing import Any

import coremltools as ct
import numpy as np
from coremltools.converters.mil import Builder as mb  # noqa: N813
from coremltools.converters.mil.mil import types

DIM, SEQ = 768, 256


def program() -> Any:
    @mb.program(input_specs=[mb.TensorSpec((1, 2 * DIM, 1, SEQ), dtype=types.fp16)], opset_version=ct.target.iOS18)
    def rmsnorm_bwd(inp: Any) -> Any:
        dy = mb.slice_by_size(x=inp, begin=[0, 0, 0, 0], size=[1, DIM, 1, SEQ])
        x = mb.slice_by_size(x=inp, begin=[0, DIM, 0, 0], size=[1, DIM, 1, SEQ])
        squares = mb.add(x=mb.reduce_mean(x=mb.mul(x=x, y=x), axes=[1], keep_dims=True), y=np.float16(1e-5))
        rrms = mb.pow(x=squares, y=np.float16(-0.5))
        dyw = mb.mul(x=dy, y=np.ones((1, DIM, 1, 1), np.float16))
        coeff = mb.mul(x=mb.mul(x=mb.reduce_mean(x=mb.mul(x=dyw, y=x), axes=[1], keep_dims=True), y=rrms), y=rrms)
        return mb.mul(x=mb.sub(x=dyw, y=mb.mul(x=x, y=coeff)), y=rrms)

    return rmsnorm_bwd


if __name__ == "__main__":
    model = ct.convert(
        program(),
        minimum_deployment_target=ct.target.iOS18,
        pass_pipeline=ct.PassPipeline.EMPTY,
        compute_precision=ct.precision.FLOAT16,
        skip_model_load=True,
    )
    model.save(sys.argv[1])
