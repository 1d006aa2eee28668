"""Names that authors bring from torch, numpy and Python, and what is written here instead. Read only where a name is unknown.

An entry is code that compiles: a test tries each. What depends on the number of axes is a word in capitals (`_axes`).
"""

from __future__ import annotations

import re
from collections.abc import Collection

from anedsl.elaborate import modules
from anedsl.elaborate.uses import Use

VALUES = {
    "True": "true", "False": "false", "pi": "3.141592653589793", "newaxis": "expand_dims(x, axes = [0])",
}  # fmt: skip
"""What a name stands for that is not called, as code."""

NAMES = {
    # shapes
    "permute": "transpose(x, perm = PERM)", "swapaxes": "transpose(x, perm = SWAP)",
    "movedim": "transpose(x, perm = PERM)", "moveaxis": "transpose(x, perm = PERM)",
    "rearrange": "transpose(reshape(x, [1, 2, 4, 64]), perm = [0, 2, 1, 3])",
    "view": "reshape(x, [1, -1])", "flatten": "reshape(x, [1, -1])", "ravel": "reshape(x, [-1])",
    "unflatten": "reshape(x, [1, 2, 4, 64])", "unsqueeze": "expand_dims(x, axes = [0])",
    "expand": "tile(x, reps = REPS)", "repeat": "tile(x, reps = REPS)",
    "broadcast_to": "tile(x, reps = REPS)", "repeat_interleave": "repeat_heads(x, 4)",
    "cat": "concat(x, y, axis = AXIS)", "concatenate": "concat(x, y, axis = AXIS)", "hstack": "concat(x, y, axis = AXIS)",
    "vstack": "concat(x, y, axis = 0)", "chunk": "split(x, 2, axis = AXIS)", "unbind": "split(x, 2, axis = AXIS)",
    "narrow": "x[:, 0:2]", "index_select": "gather(x, indices = [0, 1], axis = AXIS)",
    "take": "gather(x, indices = [0, 1], axis = AXIS)", "flip": "reverse(x, axes = [AXIS])", "tril": "causal_mask(8)",
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
    "amax": "max(x, axis = AXIS)", "amin": "min(x, axis = AXIS)", "average": "mean(x, axis = AXIS)",
    "prod": "reduce_prod(x, axes = [AXIS])",
    "argmax": "reduce_argmax(x, axis = AXIS)", "argmin": "reduce_argmin(x, axis = AXIS)",
    "norm": "reduce_l2_norm(x, axes = [AXIS])",
    "var": "mean((x - mean(x, axis = AXIS)) ** 2, axis = AXIS)",
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
"""What a function stands for, as code; `x`, `y` are tensors and `w` is the weight of a convolution."""

MEMBERS = {
    "T": "transpose(x, perm = SWAP)", "mT": "transpose(x, perm = SWAP)", "t": "transpose(x, perm = SWAP)",
    "dim": "x.rank", "numel": "x.shape", "half": "cast(x, fp16)", "float": "cast(x, fp32)", "int": "cast(x, int32)",
    "bool": "cast(x, bool)", "pow": "x ** 2", "add": "x + y", "sub": "x - y", "mul": "x * y",
    "expand_as": "tile(x, reps = REPS)", "contiguous": "x", "clone": "x", "detach": "x",
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


def has(name: str) -> bool:
    """Whether anything can be said of a name, however it is used."""
    return name == "None" or name in PREFIXES or any(name in table for table in (VALUES, NAMES, MEMBERS, DTYPES))


def advice(name: str, use: Use, known: Collection[str]) -> str | None:
    """What to write instead of a name that is unknown where `known` are in sight, or None."""
    if use is Use.PREFIX:
        if name not in PREFIXES:
            return None
        return "functions have no prefix: write `relu(x)`, and for one of the library `import std.nn` above the kernel"
    if use is Use.ELEMENT_TYPE:
        return f"write `{DTYPES[name]}`" if name in DTYPES else None
    if name == "None":
        return "leave the argument out: every default is named in `anedsl ops NAME`"
    written = VALUES.get(name) or (NAMES.get(name) or MEMBERS.get(name) if use is Use.CALLED else None)
    return None if written is None else advised(with_axes(written, EXAMPLE_RANK), known)


def member(name: str, target: str, rank: int, known: Collection[str]) -> str | None:
    """What to write instead of `target.name`, where `target` has so many axes, or None."""
    written = MEMBERS.get(name, NAMES.get(name))
    if written is None:
        return None
    return advised(re.sub(r"\bx\b", lambda _: target, with_axes(written, rank)), known)


def advised(code: str, known: Collection[str]) -> str:
    """The advice to write this code, with the import that it needs where `known` are in sight."""
    function = code.partition("(")[0]
    part = None if function in known else modules.library().get(function)
    return f"write `{code}`" + ("" if part is None else f", with `import {part}` above the kernel")


EXAMPLE_RANK = 4
"""The number of axes where it is not known."""


def with_axes(code: str, rank: int) -> str:
    """An entry for a tensor of this rank."""
    return re.sub(r"\b(PERM|SWAP|REPS|AXIS)\b", lambda found: _axes(found[0], rank), code)


def _axes(word: str, rank: int) -> str:
    """The second axis to the end, the last two exchanged, the last but one repeated; and the second axis, or the only one."""
    axes = list(range(rank))
    if word == "AXIS":
        return "1" if rank > 1 else "0"
    if word == "PERM":
        return str([*axes[:1], *axes[2:], *axes[1:2]] if rank > 2 else axes[::-1])
    if word == "SWAP":
        return str([*axes[:-2], *axes[-2:][::-1]])
    return str([4 if axis == max(rank - 2, 0) else 1 for axis in axes])
