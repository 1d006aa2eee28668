"""One op as an expression: an operator, a subscript, a short name, or a call by MIL's name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from anedsl.elaborate.einsum import NATIVE
from anedsl.graph import Node, Value, call_of
from anedsl.ops.record import REQUIRED, Attribute
from anedsl.printing.expression import BINARY, NOT, POSTFIX, UNARY, Text, binary, unary
from anedsl.printing.numbers import attribute_text, plain_value, string

Operands = Mapping[str, Text | tuple[Text, ...]]
Literals = Mapping[Value, Any]


def expression(node: Node, operands: Operands, literals: Literals) -> Text:
    """The expression of a node whose operands have these texts."""
    form = _FORMS.get(node.op.name)
    found = form(node, operands, literals) if form is not None else None
    return found or _call(node.op.name, node, operands)


def function_names(nodes: Any) -> set[str]:
    """The names that expressions of these nodes may call."""
    names = {"tensor", "full", "ones", "zeros", "arange"}
    for node in nodes:
        names.add(node.op.name)
        names.update(name for name, _ in _BOUNDS if node.op.name == "clip")
        names.add({**_REDUCTIONS, "select": "where"}.get(node.op.name, node.op.name))
    return names


def _text(operands: Operands, name: str) -> Text:
    found = operands[name]
    assert isinstance(found, Text)
    return found


def _count(operands: Operands) -> int:
    return 1 + sum(sum(t.ops for t in o) if not isinstance(o, Text) else o.ops for o in operands.values())


# ---- operators ----


def _operator(node: Node, operands: Operands, literals: Literals) -> Text | None:
    name = node.op.name
    x, y = node.operands["x"], node.operands["y"]
    if name == "matmul" and (node.attributes["transpose_x"] or node.attributes["transpose_y"]):
        return None
    if name.startswith("logical_") and (x in literals or y in literals):
        return None  # a condition that is known is decided, not computed
    if name == "mul" and x not in literals and y in literals and y.type.shape == () and literals[y].item() == -1:  # type: ignore[union-attr,index]
        return unary("-", _text(operands, "x"), UNARY)
    return binary(name, _text(operands, "x"), _text(operands, "y"))


def _not(node: Node, operands: Operands, literals: Literals) -> Text:
    return unary("not ", _text(operands, "x"), NOT)


# ---- subscripts ----


def _slice_by_size(node: Node, operands: Operands, literals: Literals) -> Text | None:
    begin, size = node.attributes["begin"], node.attributes["size"]
    shape = node.operands["x"].type.shape  # type: ignore[union-attr]
    if tuple(size) == shape or any(b < 0 for b in begin) or any(s < 1 for s in size):
        return None
    items = [_item(b, b + s, 1, whole) for b, s, whole in zip(begin, size, shape, strict=True)]
    return _subscript(node, operands, items)


def _slice_by_index(node: Node, operands: Operands, literals: Literals) -> Text | None:
    """Only where the language would make the same attributes of the subscript."""
    attributes = node.attributes
    shape = node.operands["x"].type.shape  # type: ignore[union-attr]
    if any(any(attributes[mask]) for mask in ("begin_mask", "end_mask", "squeeze_mask") if mask in attributes):
        return None
    items = []
    for begin, end, step, whole in zip(attributes["begin"], attributes["end"], attributes["stride"], shape, strict=True):
        picked = range(begin, end, step) if step > 0 and 0 <= begin < end <= whole else range(0)
        if not picked or picked[-1] + 1 != end or (len(picked) == 1 and step != 1):
            return None
        items.append(_item(begin, end, step, whole))
    return _subscript(node, operands, items) if any(step != 1 for step in attributes["stride"]) else None


def _item(begin: int, end: int, step: int, whole: int) -> str:
    to_the_end = range(begin, whole, step)[-1] + 1 == end
    first = "" if begin == 0 and to_the_end else str(begin)
    return f"{first}:{'' if to_the_end else end}{f':{step}' if step != 1 else ''}"


def _subscript(node: Node, operands: Operands, items: list[str]) -> Text:
    rank = len(items)
    while items[-1] == ":":
        items.pop()
    cut = next(index for index, item in enumerate(items) if item != ":")
    if cut > 1 and len(items) == rank:
        items = ["...", *items[cut:]]
    return Text(f"{_text(operands, 'x').at(POSTFIX)}[{', '.join(items)}]", POSTFIX, _count(operands))


# ---- short names ----

_REDUCTIONS = {"reduce_mean": "mean", "reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min"}


def _reduction(node: Node, operands: Operands, literals: Literals) -> Text:
    axes = tuple(node.attributes["axes"])
    parts = [_text(operands, "x").text]
    if len(axes) == 1:
        parts.append(f"axis = {axes[0]}")
    elif axes != tuple(range(node.operands["x"].type.rank)):  # type: ignore[union-attr]
        parts.append(f"axes = {list(axes)}")
    if not node.attributes["keep_dims"]:
        parts.append("keep_dims = false")
    return Text(f"{_REDUCTIONS[node.op.name]}({', '.join(parts)})", POSTFIX, _count(operands))


def _where(node: Node, operands: Operands, literals: Literals) -> Text | None:
    cond, a, b = (node.operands[name] for name in ("cond", "a", "b"))
    if cond in literals or np.broadcast_shapes(a.type.shape, b.type.shape) != node.result.type.shape:  # type: ignore[union-attr]
        return None
    if np.broadcast_shapes(cond.type.shape, node.result.type.shape) != node.result.type.shape:  # type: ignore[union-attr]
        return None
    parts = [_text(operands, name).text for name in ("cond", "a", "b")]
    return Text(f"where({', '.join(parts)})", POSTFIX, _count(operands))


def _clip(node: Node, operands: Operands, literals: Literals) -> Text | None:
    """The language has no infinity: a bound that is none is left out."""
    found = _text(operands, "x")
    finite = [(op, name) for op, name in _BOUNDS if math.isfinite(node.attributes[name])]
    if len(finite) == len(_BOUNDS):
        return None
    for op, name in finite:
        bound = attribute_text(node, node.op.attribute_index[name], node.attributes[name])
        return Text(f"{op}({found.text}, {bound})", POSTFIX, _count(operands))
    return Text(f"identity({found.text})", POSTFIX, _count(operands))


_BOUNDS = (("maximum", "alpha"), ("minimum", "beta"))


def _joining(node: Node, operands: Operands, literals: Literals) -> Text:
    return Text(f"{node.op.name}({', '.join([_listed(operands), *_settings(node)])})", POSTFIX, _count(operands))


def _listed(operands: Operands) -> str:
    """The texts of a variadic operand."""
    values = operands["values"]
    assert not isinstance(values, Text)
    return ", ".join(value.text for value in values)


def _einsum(node: Node, operands: Operands, literals: Literals) -> Text | None:
    """The language computes other equations by a matmul, and takes no axes that broadcast, unless MIL's op is called by name."""
    values = node.operands["values"]
    shapes = [value.type.shape for value in values] if isinstance(values, tuple) else []
    if node.attributes["equation"] != NATIVE or any(a[0] != b[0] or a[2] != b[2] for a, b in pairwise(shapes)):
        return Text(f"einsum(values = ({_listed(operands)}), {', '.join(_settings(node))})", POSTFIX, _count(operands))
    return Text(f"einsum({string(NATIVE)}, {_listed(operands)})", POSTFIX, _count(operands))


def _split(node: Node, operands: Operands, literals: Literals) -> Text:
    given = {name: node.attributes[name] for name in ("split_sizes", "num_splits") if name in node.attributes}
    parts = [_text(operands, "x").text]
    for name, value in given.items():
        text = attribute_text(node, node.op.attribute_index[name], value)
        parts.append(text if len(given) == 1 else f"{name} = {text}")
    parts.append(f"axis = {node.attributes['axis']}")
    return Text(f"split({', '.join(parts)})", POSTFIX, _count(operands))


# ---- calls by MIL's name ----


def _call(name: str, node: Node, operands: Operands) -> Text:
    """Operands by their place as long as none is left out, then by name; attributes that are not the default by name."""
    parts: list[str] = []
    in_place = True
    for operand in node.op.operands:
        given = operands.get(operand.name)
        if given is None:
            in_place = False
            continue
        text = given.text if isinstance(given, Text) else f"({', '.join(t.text for t in given)}{',' if len(given) == 1 else ''})"
        in_place = in_place and not operand.optional
        parts.append(text if in_place else f"{operand.name} = {text}")
    settings = _settings(node)
    required = [a for a in node.op.attributes if a.default is REQUIRED]
    if in_place and len(node.op.operands) == 1 and len(required) == 1 and required[0] is node.op.attributes[0]:
        settings[0] = settings[0].partition(" = ")[2]
    return Text(f"{name}({', '.join(parts + settings)})", POSTFIX, _count(operands))


def _settings(node: Node) -> list[str]:
    """`name = value` for every attribute that is not what the language takes by itself."""
    found = []
    call = None
    for attribute in node.op.attributes:
        value = node.attributes.get(attribute.name)
        if value is None:
            continue
        default = attribute.default
        if callable(default):
            call = call or call_of(node)
            default = default(call)
        if isinstance(value, (tuple, list)) and any(isinstance(item, (tuple, list)) for item in value):
            value = [number for pair in value for number in pair]  # pairs are written one behind the other
        if default is REQUIRED or default is None or not _same(node, attribute, default, value):
            found.append(f"{attribute.name} = {attribute_text(node, attribute, value)}")
    return found


def _same(node: Node, attribute: Attribute, default: Any, value: Any) -> bool:
    return bool(plain_value(node, attribute, default) == plain_value(node, attribute, value))


_FORMS: dict[str, Callable[[Node, Operands, Literals], Text | None]] = {
    **dict.fromkeys(BINARY, _operator),
    **dict.fromkeys(_REDUCTIONS, _reduction),
    "logical_not": _not,
    "slice_by_size": _slice_by_size,
    "slice_by_index": _slice_by_index,
    "select": _where,
    "clip": _clip,
    "concat": _joining,
    "stack": _joining,
    "einsum": _einsum,
    "split": _split,
}
"""The ops that have a shorter form; None of it means that this use has not."""
