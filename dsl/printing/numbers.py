"""Numbers, lists and attribute values as the language writes them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from anedsl.data import Array
from anedsl.graph import Node, number_type
from anedsl.ops.record import Attribute
from anedsl.types import FP32, DType

_FLOATS: dict[str, Any] = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64}


_TELLING = frozenset((0.0, 1.0, -1.0, 2.0, 0.5))
"""Numbers that the passes look for: `x + 0` goes, while `x + 1e-8` stays, also where fp16 makes no difference."""


def number(value: Any, dtype: DType) -> str:
    """The shortest text that becomes the same number in an element type."""
    if dtype.kind == "bool":
        return "true" if value else "false"
    if not dtype.is_float:
        return str(int(value))
    with np.errstate(over="ignore"):
        exact = _FLOATS[dtype.name](value)
    if float(exact) in _TELLING and float(exact) != float(value):
        return re.sub(r"e([+-])0", r"e\1", repr(float(value)))
    if exact == 0:
        return "-0.0" if np.signbit(exact) else "0"
    plain = np.format_float_positional(exact, unique=True, trim="-")
    scientific = np.format_float_scientific(exact, unique=True, trim="-", exp_digits=1).replace("e+", "e")
    if float(exact).is_integer() and abs(float(exact)) < 1e6:
        plain = str(int(exact))  # 65504, and not 65500, which becomes the same
    text = scientific if len(scientific) < len(plain) - 1 else plain
    # The language reads a number into a double first, which could round twice.
    return text if _FLOATS[dtype.name](float(text)) == exact else repr(float(exact))


def nested(array: Array, dtype: DType) -> str:
    """`[[1, 2], [3, 4]]`."""
    if array.ndim == 0:
        return number(array.item(), dtype)
    return f"[{', '.join(nested(part, dtype) for part in array)}]"


def attribute_text(node: Node, attribute: Attribute, value: Any) -> str:
    """The value of an attribute as a call gives it."""
    if isinstance(value, (tuple, list, np.ndarray)):
        return f"[{', '.join(attribute_text(node, attribute, item) for item in value)}]"
    kind = attribute.kind.removesuffix("s")
    if kind == "float":
        dtype = number_type(node, attribute)
        return number(value, dtype if dtype.is_float else FP32)
    if kind == "bool":
        return "true" if value else "false"
    if kind == "dtype":
        name = value if isinstance(value, str) else value.name
        # These are element types of attributes only, which the language has no names for.
        return f'"{name}"' if name in ("fp64", "int64", "uint64") else str(name)
    return string(value) if isinstance(value, str) else str(int(value))


def string(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", text).replace("\n", "\\n").replace("\t", "\\t") + '"'


def held_number(node: Node, attribute: Attribute, value: Any) -> float:
    """The value of a float attribute, or one of several, as a program holds it."""
    dtype = number_type(node, attribute)
    with np.errstate(over="ignore"):
        return float(_FLOATS[dtype.name if dtype.is_float else "fp32"](value))


def plain_value(node: Node, attribute: Attribute, value: Any) -> Any:
    """The value of an attribute as a program holds it: equal for attributes that are equal there."""
    if isinstance(value, (tuple, list, np.ndarray)):
        return tuple(plain_value(node, attribute, item) for item in value)
    kind = attribute.kind.removesuffix("s")
    if kind == "float":
        return held_number(node, attribute, value).hex()
    if kind == "dtype":
        return value if isinstance(value, str) else value.name
    return bool(value) if kind == "bool" else value if isinstance(value, str) else int(value)
