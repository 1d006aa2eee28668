"""Which ops run where: what public sweeps of the ANE's compilers found, op by op.

The sources are ANEForge's sweep of MIL text on the e5 route and its table of op floors by chip, and ironmill's op
matrix of the in-memory route on an M3 Pro. An op that is not listed was in none of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Support(NamedTuple):
    """What the sources say of an op.

    - `chips`: one letter each for M1, M2, M3 and M4/M5: `n` native, `b` only through another layer kind (a bridge), `w`
      walled, `-` not said.
    - `e5`: "ok", "unchecked" (ran, result not compared), "refused" or "" (not tried); `e5_error` is the relative error.
    - `inmemory`: "runs", "compiles" (not run), "mixed" (some element types), "refused" or "" (not tried).
    """

    chips: str
    e5: str
    e5_error: float | None
    inmemory: str


SUPPORT: dict[str, Support] = {
    "abs": Support("nnnn", "ok", 0, "runs"),
    "acos": Support("wwww", "refused", None, "refused"),
    "acosh": Support("wwww", "", None, ""),
    "add": Support("nnnn", "ok", 0.00033, "runs"),
    "affine": Support("wnnn", "unchecked", None, ""),
    "argsort": Support("wnnn", "refused", None, ""),
    "asin": Support("wwww", "refused", None, "refused"),
    "asinh": Support("wwww", "", None, ""),
    "atan": Support("nnnn", "ok", 0.019, "runs"),
    "atanh": Support("wwww", "refused", None, ""),
    "avg_pool": Support("nnnn", "ok", 0.00021, "refused"),
    "band_part": Support("wwww", "refused", None, ""),
    "batch_norm": Support("nnnn", "ok", 0.00037, "refused"),
    "batch_to_space": Support("nnnn", "ok", 0, ""),
    "cast": Support("nnnn", "refused", None, "mixed"),
    "ceil": Support("nnnn", "ok", 0, "runs"),
    "clamped_relu": Support("nnnn", "ok", 9e-05, ""),
    "clip": Support("nnnn", "ok", 0, "runs"),
    "concat": Support("nnnn", "ok", 0, "runs"),
    "cond": Support("bbbb", "refused", None, ""),
    "constexpr_affine_dequantize": Support("bbbb", "ok", 0.0005, ""),
    "constexpr_blockwise_shift_scale": Support("bbnn", "ok", 0.00038, ""),
    "constexpr_cast": Support("wwww", "ok", 0, ""),
    "constexpr_lut_to_dense": Support("nnnn", "ok", 0, ""),
    "constexpr_lut_to_sparse": Support("bbbb", "unchecked", None, ""),
    "constexpr_sparse_blockwise_shift_scale": Support("bbnn", "unchecked", None, ""),
    "constexpr_sparse_to_dense": Support("bbnn", "ok", 0, ""),
    "conv": Support("nnnn", "ok", 0.00028, ""),
    "conv_transpose": Support("nnnn", "ok", 0.00025, ""),
    "cos": Support("bbnn", "ok", 0.00056, "refused"),
    "cosh": Support("wwww", "refused", None, "refused"),
    "crop": Support("nnnn", "ok", 0, ""),
    "crop_resize": Support("wnnn", "refused", None, ""),
    "cumsum": Support("nnnn", "refused", None, ""),
    "depth_to_space": Support("nnnn", "ok", 0, ""),
    "dequantize": Support("nnnn", "ok", 0.00027, "runs"),
    "einsum": Support("nnnn", "ok", 0.0002, ""),
    "elu": Support("nnnn", "ok", 0.0051, ""),
    "equal": Support("nnnn", "unchecked", None, "runs"),
    "erf": Support("nnnn", "ok", 0.0007, "runs"),
    "exp": Support("nnnn", "ok", 0.00047, "runs"),
    "exp2": Support("nnnn", "ok", 0.00048, "runs"),
    "expand_dims": Support("nnnn", "ok", 0, "compiles"),
    "fill": Support("nnnn", "ok", 0.00034, ""),
    "fill_like": Support("nnnn", "ok", 0.00029, ""),
    "flatten2d": Support("nnnn", "ok", 0, ""),
    "floor": Support("nnnn", "ok", 0, "runs"),
    "floor_div": Support("nnnn", "ok", 0, "runs"),
    "gather": Support("nnnn", "refused", None, "refused"),
    "gather_along_axis": Support("nnnn", "refused", None, ""),
    "gather_nd": Support("bnnn", "refused", None, ""),
    "gelu": Support("nnnn", "ok", 0.0024, ""),
    "greater": Support("nnnn", "unchecked", None, "runs"),
    "greater_equal": Support("nnnn", "unchecked", None, "runs"),
    "gru": Support("wwww", "refused", None, ""),
    "identity": Support("nnnn", "refused", None, "runs"),
    "instance_norm": Support("nnnn", "ok", 0.00076, ""),
    "inverse": Support("nnnn", "ok", 0.00028, "runs"),
    "l2_norm": Support("nnnn", "unchecked", None, ""),
    "l2_pool": Support("nnnn", "ok", 0.00041, ""),
    "layer_norm": Support("nnnn", "ok", 0.00039, "runs"),
    "leaky_relu": Support("nnnn", "ok", 1e-05, ""),
    "less": Support("nnnn", "unchecked", None, "runs"),
    "less_equal": Support("nnnn", "unchecked", None, "runs"),
    "linear": Support("nnnn", "ok", 0.0003, ""),
    "linear_activation": Support("nnnn", "ok", 9e-05, ""),
    "list_gather": Support("wwww", "refused", None, ""),
    "list_length": Support("wwww", "refused", None, ""),
    "list_read": Support("wwww", "refused", None, ""),
    "list_scatter": Support("wwww", "refused", None, ""),
    "list_write": Support("wwww", "refused", None, ""),
    "local_response_norm": Support("nnnn", "ok", 0.00014, ""),
    "log": Support("nnnn", "ok", 0.0008, "runs"),
    "logical_and": Support("wwww", "refused", None, "refused"),
    "logical_not": Support("nnnn", "unchecked", None, "runs"),
    "logical_or": Support("wwww", "refused", None, "refused"),
    "logical_xor": Support("wwww", "refused", None, "refused"),
    "lstm": Support("wwww", "refused", None, ""),
    "make_list": Support("wwww", "refused", None, ""),
    "matmul": Support("nnnn", "ok", 0.0003, "runs"),
    "max_pool": Support("nnnn", "ok", 0, "refused"),
    "maximum": Support("nnnn", "ok", 0, "runs"),
    "minimum": Support("nnnn", "ok", 0, "runs"),
    "mod": Support("wwww", "refused", None, "refused"),
    "mul": Support("nnnn", "ok", 0.00017, "runs"),
    "neg": Support("----", "", None, "refused"),
    "non_maximum_suppression": Support("nnnn", "unchecked", None, ""),
    "non_zero": Support("wwww", "refused", None, ""),
    "not_equal": Support("nnnn", "unchecked", None, "runs"),
    "one_hot": Support("wwww", "refused", None, ""),
    "pad": Support("nnnn", "ok", 0.00021, "runs"),
    "pixel_shuffle": Support("nnnn", "ok", 0, ""),
    "pixel_unshuffle": Support("nnnn", "ok", 0, ""),
    "pow": Support("nnnn", "ok", 0.00018, "runs"),
    "prelu": Support("nnnn", "unchecked", None, ""),
    "quantize": Support("nnnn", "ok", 0.00027, "runs"),
    "random_bernoulli": Support("wwww", "refused", None, ""),
    "random_categorical": Support("wwww", "refused", None, ""),
    "random_normal": Support("wwww", "refused", None, ""),
    "random_uniform": Support("bbnn", "refused", None, ""),
    "range_1d": Support("bbbb", "ok", 0.00025, ""),
    "read_state": Support("nnnn", "refused", None, ""),
    "real_div": Support("nnnn", "ok", 0.00017, "runs"),
    "reduce_argmax": Support("nnnn", "refused", None, ""),
    "reduce_argmin": Support("bbnn", "refused", None, ""),
    "reduce_l1_norm": Support("nnnn", "ok", 0.00071, "compiles"),
    "reduce_l2_norm": Support("nnnn", "ok", 0.00051, "runs"),
    "reduce_log_sum": Support("nnnn", "ok", 0.00091, "compiles"),
    "reduce_log_sum_exp": Support("nnnn", "ok", 0.00077, "runs"),
    "reduce_max": Support("nnnn", "ok", 0, "runs"),
    "reduce_mean": Support("nnnn", "ok", 0.0008, "runs"),
    "reduce_min": Support("nnnn", "ok", 0, "runs"),
    "reduce_prod": Support("wwww", "refused", None, "refused"),
    "reduce_sum": Support("nnnn", "ok", 0.0008, "runs"),
    "reduce_sum_square": Support("nnnn", "ok", 0.00054, "compiles"),
    "relu": Support("nnnn", "ok", 0, "runs"),
    "relu6": Support("nnnn", "ok", 0, "compiles"),
    "resample": Support("wnnn", "", None, ""),
    "reshape": Support("nnnn", "ok", 0, "runs"),
    "reshape_like": Support("nnnn", "refused", None, ""),
    "resize": Support("bnnn", "unchecked", None, ""),
    "resize_bilinear": Support("bnnn", "unchecked", None, ""),
    "resize_nearest_neighbor": Support("bnnn", "ok", 0, ""),
    "reverse": Support("nnnn", "ok", 0, "compiles"),
    "reverse_sequence": Support("wwww", "refused", None, ""),
    "rnn": Support("wwww", "refused", None, ""),
    "round": Support("nnnn", "ok", 0, "runs"),
    "rsqrt": Support("nnnn", "ok", 0.001, "runs"),
    "scaled_dot_product_attention": Support("nnnn", "ok", 0.00027, ""),
    "scaled_tanh": Support("nnnn", "ok", 0.0017, ""),
    "scatter": Support("wwww", "refused", None, "refused"),
    "scatter_along_axis": Support("wwww", "refused", None, "refused"),
    "scatter_nd": Support("wwww", "refused", None, "refused"),
    "select": Support("nnnn", "ok", 0, "runs"),
    "shape": Support("wwww", "refused", None, ""),
    "sigmoid": Support("nnnn", "ok", 0.0038, "runs"),
    "sigmoid_hard": Support("nnnn", "ok", 0.00026, ""),
    "sign": Support("nnnn", "ok", 0, "runs"),
    "silu": Support("nnnn", "ok", 0.01, "runs"),
    "sin": Support("bbnn", "ok", 0.0005, "refused"),
    "sinh": Support("wwww", "refused", None, "refused"),
    "slice_by_index": Support("bbbb", "ok", 0, "runs"),
    "slice_by_size": Support("nnnn", "ok", 0, "compiles"),
    "slice_update": Support("nnnn", "refused", None, ""),
    "sliding_windows": Support("wwww", "refused", None, ""),
    "softmax": Support("nnnn", "", None, "runs"),
    "softplus": Support("nnnn", "ok", 0.00078, "runs"),
    "softplus_parametric": Support("nnnn", "unchecked", None, ""),
    "softsign": Support("nnnn", "ok", 0.00076, "runs"),
    "space_to_batch": Support("nnnn", "ok", 0, ""),
    "space_to_depth": Support("nnnn", "ok", 0, ""),
    "split": Support("nnnn", "ok", 0, "compiles"),
    "sqrt": Support("nnnn", "ok", 0.00043, "runs"),
    "square": Support("nnnn", "ok", 8e-05, "runs"),
    "squeeze": Support("nnnn", "ok", 0, "compiles"),
    "stack": Support("nnnn", "ok", 0, ""),
    "sub": Support("nnnn", "ok", 0.0003, "runs"),
    "tan": Support("wwww", "refused", None, "refused"),
    "tanh": Support("nnnn", "ok", 0.0013, "runs"),
    "threshold": Support("nnnn", "ok", 0, ""),
    "thresholded_relu": Support("nnnn", "ok", 0, ""),
    "tile": Support("nnnn", "ok", 0, "runs"),
    "topk": Support("wnnn", "ok", 0, ""),
    "transpose": Support("nnnn", "ok", 0, "compiles"),
    "upsample_bilinear": Support("bnnn", "unchecked", None, ""),
    "upsample_nearest_neighbor": Support("bnnn", "ok", 0, ""),
    "where": Support("----", "", None, "refused"),
    "while_loop": Support("bbbb", "refused", None, ""),
    "write_state": Support("nnnn", "", None, ""),
}  # fmt: skip

_CHIP_WORDS = {"n": "native", "b": "bridge", "w": "walled", "-": ""}
_INSTEAD = {
    "acos": "compute it on the host, or from a polynomial",
    "asin": "compute it on the host, or from a polynomial",
    "avg_pool": "use a grouped `conv` with equal weights",
    "batch_norm": "fold it into one `mul` and one `add` with constants",
    "cosh": "write `(exp(x) + exp(-x)) * 0.5`",
    "gather": "multiply by a one-hot matrix with `matmul`, or gather on the host",
    "logical_and": "write `minimum` of the two as numbers",
    "logical_or": "write `maximum` of the two as numbers",
    "logical_xor": "write `not_equal` of the two as numbers",
    "mod": "write `x - (x // y) * y`",
    "neg": "multiply by -1",
    "reduce_prod": "write `exp(sum(log(x)))` for positive x",
    "sinh": "write `(exp(x) - exp(-x)) * 0.5`",
    "where": "use `select`",
}


def verdict(op: str, route: str) -> str:
    """Whether an op runs on a route: "works", "refused", "disputed" (the sources contradict each other) or "unknown".

    Only a trial on the same route outweighs the others. On the Core ML route one source that has the op is enough.
    """
    found = SUPPORT.get(op)
    if found is None:
        return "unknown"
    walled = not found.chips.strip("w-")
    if route == "inmemory" and found.inmemory:
        return "refused" if found.inmemory == "refused" else "works"
    if found.e5 in ("ok", "unchecked"):
        return "works"
    if walled:
        return "refused" if found.e5 == "refused" or "w" in found.chips else "unknown"
    return "disputed" if found.e5 == "refused" and route == "inmemory" else "works"


def instead(op: str) -> str | None:
    """What to write for an op that does not run, where there is something simple."""
    return _INSTEAD.get(op)


def support(op: str) -> dict[str, Any]:
    """What is known of an op, for the op reference: `chips`, `e5`, `e5_error`, `inmemory`, and the `verdict` for each route.

    The strings are empty, and `chips` too, for an op that no source has tried.
    """
    found = SUPPORT.get(op, Support("", "", None, ""))
    words = [_CHIP_WORDS[letter] for letter in found.chips]
    return {
        "op": op,
        "chips": dict(zip(("m1", "m2", "m3", "m4", "m5"), [*words, *words[-1:]], strict=True)) if words else {},
        "e5": found.e5,
        "e5_error": found.e5_error,
        "inmemory": found.inmemory,
        "verdict": {route: verdict(op, route) for route in ("inmemory", "coreml")},
        "instead": instead(op),
    }
