"""Names that authors bring from torch, numpy and Python, and what is written here instead. Read only where a name is unknown.

An entry is code that compiles: a test tries each.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from anedsl.elaborate import modules

NAMES = {
    # Python
    "True": "true", "False": "false", "pi": "3.141592653589793",
    # shapes
    "permute": "transpose(x, perm = [0, 2, 3, 1])", "swapaxes": "transpose(x, perm = [0, 1, 3, 2])",
    "movedim": "transpose(x, perm = [0, 2, 3, 1])", "moveaxis": "transpose(x, perm = [0, 2, 3, 1])",
    "rearrange": "transpose(reshape(x, [1, 2, 4, 64]), perm = [0, 2, 1, 3])",
    "view": "reshape(x, [1, -1])", "flatten": "reshape(x, [1, -1])", "ravel": "reshape(x, [-1])",
    "unflatten": "reshape(x, [1, 2, 4, 64])", "unsqueeze": "expand_dims(x, axes = [0])", "newaxis": "expand_dims(x, axes = [0])",
    "expand": "tile(x, reps = [1, 1, 4, 1])", "repeat": "tile(x, reps = [1, 1, 4, 1])",
    "broadcast_to": "tile(x, reps = [1, 1, 4, 1])", "repeat_interleave": "repeat_heads(x, 4)",
    "cat": "concat(x, y, axis = 1)", "concatenate": "concat(x, y, axis = 1)", "hstack": "concat(x, y, axis = 1)",
    "vstack": "concat(x, y, axis = 0)", "chunk": "split(x, 2, axis = 1)", "unbind": "split(x, 2, axis = 1)",
    "narrow": "x[:, 0:2]", "index_select": "gather(x, indices = [0, 1], axis = 1)",
    "take": "gather(x, indices = [0, 1], axis = 1)", "flip": "reverse(x, axes = [1])", "tril": "causal_mask(8)",
    "triu": "causal_mask(8)", "size": "x.shape", "ndim": "x.rank",
    # arithmetic
    "subtract": "x - y", "multiply": "x * y", "div": "x / y", "divide": "x / y", "true_divide": "x / y",
    "neg": "-x", "negative": "-x", "reciprocal": "1 / x", "power": "x ** y", "log1p": "log(1 + x)", "expm1": "exp(x) - 1",
    "log2": "log(x) * (1 / log(2))", "log10": "log(x) * (1 / log(10))", "absolute": "abs(x)", "fabs": "abs(x)",
    "clamp": "clip(x, alpha = -1, beta = 1)", "remainder": "x % y", "fmod": "x % y",
    "bmm": "matmul(x, y)", "mm": "matmul(x, y)", "dot": "matmul(x, y)", "addmm": "matmul(x, y) + x",
    # comparing and choosing
    "eq": "x == y", "ne": "x != y", "lt": "x < y", "le": "x <= y", "gt": "x > y", "ge": "x >= y",
    "masked_fill": "where(x > 0, x, -1e4)", "invert": "logical_not(x > 0)",
    # reductions
    "amax": "max(x, axis = 1)", "amin": "min(x, axis = 1)", "average": "mean(x, axis = 1)", "prod": "reduce_prod(x, axes = [1])",
    "argmax": "reduce_argmax(x, axis = 1)", "argmin": "reduce_argmin(x, axis = 1)", "norm": "reduce_l2_norm(x, axes = [1])",
    "var": "mean((x - mean(x, axis = 1)) ** 2, axis = 1)",
    # layers
    "interpolate": "upsample_nearest_neighbor(x, scale_factor_height = 2, scale_factor_width = 2)",
    "upsample": "upsample_nearest_neighbor(x, scale_factor_height = 2, scale_factor_width = 2)",
    "conv1d": "conv(x, weight = w)", "conv2d": "conv(x, weight = w)", "Conv2d": "conv(x, weight = w)",
    "addcmul": "x + x * y", "GroupNorm": "groupnorm(x, 2)", "Linear": "x @ y",
    "BatchNorm2d": "batch_norm(x, mean = ones([8]), variance = ones([8]))",
    "scaled_dot_product": "attention(x, x, x)", "mse_loss": "mse(x, y)", "nll_loss": "cross_entropy(x, y)",
    "binary_cross_entropy_with_logits": "bce_with_logits(x, y)", "rotary": "rope(x, rope_tables(8, 8))",
    # making tensors
    "zeros_like": "zeros(x.shape)", "ones_like": "ones(x.shape)", "full_like": "full(x.shape, 0.5)", "empty": "zeros([1, 8])",
    "array": "tensor([[1, 2], [3, 4]])",
    "linspace": "arange(8) / 7", "eye": "where(arange(8) == reshape(arange(8), [8, 1]), 1, 0)",
    "astype": "cast(x, fp16)", "to": "cast(x, fp16)", "type": "x.dtype",
}  # fmt: skip
"""What a name stands for, as code; `x`, `y` are tensors and `w` is the weight of a convolution."""

MEMBERS = {
    "T": "transpose(x, perm = [0, 1, 3, 2])", "mT": "transpose(x, perm = [0, 1, 3, 2])", "t": "transpose(x, perm = [0, 1, 3, 2])",
    "dim": "x.rank", "numel": "x.shape", "half": "cast(x, fp16)", "float": "cast(x, fp32)", "int": "cast(x, int32)",
    "bool": "cast(x, bool)", "pow": "x ** 2", "add": "x + y", "sub": "x - y", "mul": "x * y",
    "expand_as": "tile(x, reps = [1, 1, 4, 1])", "contiguous": "x", "clone": "x", "detach": "x",
}  # fmt: skip
"""What `x.NAME` stands for, where a function is called in another way, or has another name as a method."""

PREFIXES = frozenset(("torch", "nn", "F", "np", "numpy", "jnp", "jax", "math", "mb", "mx", "tf", "std", "self"))
"""Modules and objects that other languages call functions of."""

DTYPES = {
    "float16": "fp16", "half": "fp16", "f16": "fp16", "bfloat16": "fp16", "bf16": "fp16", "float": "fp32", "float32": "fp32",
    "f32": "fp32", "double": "fp32", "fp64": "fp32", "float64": "fp32", "int": "int32", "i32": "int32", "int64": "int32",
    "long": "int32", "i8": "int8", "u8": "uint8", "boolean": "bool",
}  # fmt: skip
"""Other names of element types; of those that there are not, the nearest."""

PARAMETERS = {
    "dim": ("axis", "axes"), "dims": ("perm", "axes", "axis"), "axis": ("axes",), "axes": ("axis", "perm"),
    "keepdim": ("keep_dims",), "keepdims": ("keep_dims",), "stride": ("strides",), "padding": ("pad",),
    "dilation": ("dilations",), "kernel_size": ("kernel_sizes",), "eps": ("epsilon",), "input": ("x",), "other": ("y",),
    "min": ("alpha",), "max": ("beta",),
    "size": ("shape",), "approximate": ("mode",), "chunks": ("num_splits",), "repeats": ("reps",),
    "normalized_shape": ("axes",), "is_causal": ("mask",), "attn_mask": ("mask",), "target": ("targets",),
    "label_smoothing": ("smoothing",), "betas": ("beta1",), "num_groups": ("groups",), "negative_slope": ("alpha",),
}  # fmt: skip
"""What a parameter may be called here, the likeliest first."""


def parameter(name: str, known: Collection[str]) -> str | None:
    """The parameter, among those that there are, that has this name elsewhere."""
    return next((here for here in PARAMETERS.get(name, ()) if here in known), None)


def advice(name: str, known: Collection[str]) -> str | None:
    """What to write instead of a name that is unknown where `known` are in sight, or None."""
    if name in PREFIXES:
        return "functions have no prefix: write `relu(x)`, and for one of the library `import std.nn` above the kernel"
    if name == "None":
        return "leave the argument out: every default is named in `anedsl ops NAME`"
    if name in DTYPES:
        return f"write `{DTYPES[name]}`"
    code = NAMES.get(name)
    if code is None:
        return None
    function = code.partition("(")[0]
    part = None if function in known else modules.library().get(function)
    return f"write `{code}`" + ("" if part is None else f", with `import {part}` above the kernel")


def member(name: str, target: str) -> str | None:
    """What to write instead of `target.name`, or None."""
    code = MEMBERS.get(name, NAMES.get(name))
    return None if code is None else re.sub(r"\bx\b", lambda _: target, code)
