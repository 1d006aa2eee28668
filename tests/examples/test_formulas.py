"""Every example computes its formula: without rounding exactly, in fp16 within a bound that was measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from anedsl.frontend import load_file
from tests.examples.kernels import EXAMPLE, EXAMPLES, KERNELS, LLAMA, QWEN, SMALL_LLAMA, SMALL_QWEN, Case, Example, marked

EXACT = 1e-10
"""The relative error that is allowed without rounding."""

MEASURED = {
    "rmsnorm_bwd": 0.00101,
    "rmsnorm": 0.00076,
    "sdpa_fwd": 0.00084,
    "ffn_fwd": 0.00120,
    "ffn_bwd": 0.00074,
    "qkv_bwd": 0.00026,
    "sdpa_bwd1": 0.00047,
    "sdpa_bwd2": 0.00057,
    "classifier_fwd": 0.00036,
    "classifier_bwd": 0.00027,
    "softmax_vocab": 0.00027,
    "conv_fp32": 0.00042,
    "matmul_fp32": 0.00039,
    "qkv": 0.00041,
    "ffn_up": 0.00039,
    "sdpa_op": 0.00031,
    "sdpa_op_masked": 0.00030,
    "sdpa_op_runtime_mask": 0.00029,
    "qkt": 0.00038,
    "sv": 0.00025,
    "qkt_conv": 0.00038,
    "sv_conv": 0.00039,
    "conv_chain": 0.00054,
    "conv_chain_w8a8": 0.06,  # an activation on the edge of two steps may fall to either side
    "conv_peak": 0.00108,
    "dyn_matmul": 0.00039,
    "dyn_matmul_pair": 0.00056,
    "sdpa_fwd_dynamic": 0.00080,
    "ffn_fused_dynamic": 0.00072,
    "sdpa_bwd1_dynamic": 0.00048,
}
"""The largest relative error over a kernel's outputs in fp16, at the sizes of Llama: the greatest difference divided by the
greatest magnitude of the exact output. It depends on the library's order of summation: twice as much is allowed."""

RESIZED = [example for example in KERNELS if {"DIM", "IC", "VOCAB"} & set(example.parameters)]
"""The kernels of Qwen's layers and its classifier, which is that of Llama but for the width."""


def _relative(case: Case, numerics: str) -> dict[str, float]:
    """The relative error of every output: all have to be there, and finite."""
    outputs = case.run(numerics)
    assert outputs.keys() == case.exact.keys() == case.kernel.outputs.keys()
    assert not case.kernel.diagnostics
    found = {}
    for name, exact in case.exact.items():
        assert outputs[name].shape == exact.shape == case.kernel.outputs[name].shape
        found[name] = float(np.abs(outputs[name] - exact).max() / np.abs(exact).max())
        assert np.isfinite(found[name])
    return found


def test_every_kernel_of_every_file_is_tested() -> None:
    found = {(path.name, kernel) for path in EXAMPLES.glob("*.ane") for kernel in load_file(path).kernels}
    assert found == {(example.file, example.kernel) for example in KERNELS}


@pytest.mark.parametrize("sizes", [SMALL_LLAMA, SMALL_QWEN], ids=["llama", "qwen"])
@pytest.mark.parametrize("example", KERNELS, ids=lambda example: example.kernel)
def test_small_sizes_are_exact_without_rounding(example: Example, sizes: dict[str, Any]) -> None:
    assert max(_relative(Case(example, sizes), "fp64").values()) < EXACT


@pytest.mark.parametrize("example", [marked(example) for example in KERNELS])
def test_a_llama_of_110m_is_exact_without_rounding_and_close_in_fp16(example: Example, record_property: Any) -> None:
    case = Case(example, LLAMA)
    assert max(_relative(case, "fp64").values()) < EXACT
    error = _relative(case, "fp16")
    record_property("relative error in fp16", error)
    assert max(error.values()) < 2 * MEASURED[example.kernel], error


@pytest.mark.parametrize("example", RESIZED, ids=lambda example: example.kernel)
def test_qwen3_is_exact_without_rounding(example: Example) -> None:
    assert max(_relative(Case(example, QWEN), "fp64").values()) < EXACT


@pytest.mark.parametrize("kernel", ["sdpa_fwd", "sdpa_fwd_dynamic"])
@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 2), (16, 8), (8, 1)])
def test_grouped_queries_use_the_key_and_value_head_of_their_group(kernel: str, heads: int, kv_heads: int) -> None:
    case = Case(EXAMPLE[kernel], {"DIM": 24, "HEADS": heads, "KV_HEADS": kv_heads, "HD": 6, "SEQ": 5})
    assert max(_relative(case, "fp64").values()) < EXACT
