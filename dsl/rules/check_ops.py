"""Checks of single ops, element types and numbers (O, Q, N, G and C2 rules)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from anedsl.data import FillData
from anedsl.graph import Node, Port, Value
from anedsl.rules.check_program import CONTROL_OPS, STATE_OPS
from anedsl.rules.record import CHIPS, M1, M1_TO_M3
from anedsl.rules.scope import Finding, Scope, Surface, author_name, last_axis_begin
from anedsl.rules.support import instead, verdict
from anedsl.types import BOOL, FP16, FP32, INT8, INT32, UINT8, DType

ANE_TYPES = (FP16, BOOL, INT8, UINT8)
TRIGONOMETRY = ("sin", "cos")
SAMPLING_OPS = (
    "affine", "crop_resize", "resample", "resize", "resize_bilinear", "resize_nearest_neighbor",
    "upsample_bilinear", "upsample_nearest_neighbor", "gather", "gather_along_axis", "gather_nd",
)  # fmt: skip
MOVING_OPS = (
    "concat", "expand_dims", "identity", "reshape", "reverse", "slice_by_index", "slice_by_size", "split", "squeeze",
    "stack", "tile", "transpose",
)  # fmt: skip
SLICE_LIMIT = 4094
BELOW_ONE = ("sigmoid", "softmax", "tanh")
NARROW, WIDE = 13, 15


def conv_width(scope: Scope) -> Iterator[Finding]:
    """O1."""
    for node in scope.ops("conv"):
        weight = node.operands["weight"]
        if not isinstance(weight, Value) or weight.type.dtype is not FP16:
            continue
        width = weight.type.shape[-1]
        limit = NARROW if width <= WIDE or scope.target.chip in M1 else WIDE
        if width > limit:
            chips = M1 if limit == NARROW else CHIPS
            yield Finding("KernelTooWide", node.span, {"width": width, "limit": limit, "type": str(weight.type)}, chips=chips)


def conv_groups(scope: Scope) -> Iterator[Finding]:
    """O4."""
    for node in scope.ops("conv"):
        groups = node.attributes.get("groups", 1)
        for side, value in (("input", node.operands["x"]), ("output", node.result)):
            if isinstance(value, Value) and value.type.shape[1] % groups:
                fields = {"groups": groups, "channels": value.type.shape[1], "side": side}
                yield Finding("GroupsDoNotDivide", node.span, fields)


def runtime_weight(scope: Scope) -> Iterator[Finding]:
    """O6. With batch 1 and one group it has been seen to work, so that it is a warning."""
    for node in scope.ops("conv"):
        weight, x = node.operands["weight"], node.operands["x"]
        if not isinstance(weight, Value) or not isinstance(x, Value) or scope.is_const(weight):
            continue
        batch, groups = x.type.shape[0], node.attributes.get("groups", 1)
        if batch != 1:
            yield Finding("RuntimeWeight", node.span, {"and_": f" and batch {batch}"})
        elif groups != 1:
            yield Finding("RuntimeWeight", node.span, {"and_": f" and {groups} groups"})
        else:
            yield Finding("RuntimeWeight", node.span, {"and_": ""}, action="warn")


def arg_axis(scope: Scope) -> Iterator[Finding]:
    """O8."""
    for node in scope.ops("reduce_argmax", "reduce_argmin"):
        length = node.values[0].type.shape[node.attributes.get("axis", -1)]
        if length > 2048:
            yield Finding("ArgAxisTooLong", node.span, {"op": node.op.name, "length": length})


def scale_between_reshapes(scope: Scope) -> Iterator[Finding]:
    """O11."""
    for node in scope.ops("mul"):
        for scale, value in (node.values, node.values[::-1]):
            if not _is_channel_scale(scope, scale):
                continue
            before = _reshape_before(scope, value)
            if before is not None and _reshape_after(scope, node.result):
                yield Finding("ScaleBetweenReshapes", node.span, {"length": scale.type.shape[1], "type": str(scale.type)})
            break


def softmax_channels(scope: Scope) -> Iterator[Finding]:
    """O12."""
    for node in scope.ops("softmax"):
        type = node.values[0].type
        length = type.shape[1] if type.rank >= 4 else 1
        if type.rank >= 4 and node.attributes.get("axis", -1) % type.rank == 1 and length & (length - 1):
            yield Finding("SoftmaxOfChannels", node.span, {"length": length})


def ignored_mask(scope: Scope) -> Iterator[Finding]:
    """O14."""
    for node in scope.ops("scaled_dot_product_attention"):
        if "attn_mask" in node.operands:
            yield Finding("MaskIgnored", node.span, {})


def padding(scope: Scope) -> Iterator[Finding]:
    """O17."""
    for node in scope.ops("pad"):
        amounts, mode = node.attributes.get("pad") or (), node.attributes.get("mode", "constant")
        if any(amounts[:-4]):
            yield Finding("PadNotOnAne", node.span, {"problem": "of an axis before the last two"})
        if mode != "constant":
            fix = "do this on the host, pad with a constant, or require M2"
            yield Finding("PadNotOnAne", node.span, {"problem": f"with mode `{mode}`"}, chips=M1, fix=fix)


def topk(scope: Scope) -> Iterator[Finding]:
    """O20."""
    for node in scope.ops("topk"):
        yield Finding("OpNotOnAne", node.span, {"op": "topk"}, chips=M1, fix="do this on the host, or require M2")
        if node.attributes.get("k") in (3, 4):
            yield Finding("TopkNotOnAne", node.span, {"k": node.attributes["k"]})


def unsupported(scope: Scope) -> Iterator[Finding]:
    """O37. Ops that have a rule of their own on this route are left to it."""
    inmemory = scope.target.route == "inmemory"
    own = {*STATE_OPS, *CONTROL_OPS, *TRIGONOMETRY} if inmemory else set()
    for node in scope.operations:
        name = node.op.name
        found = "works" if name in own else verdict(name, scope.target.route)
        fix = _another_way(name, scope.target.route)
        if found == "refused":
            # One route refuses what the other takes: then it is not the ANE that cannot do it.
            via = {"via": " through the in-memory route"} if inmemory and verdict(name, "coreml") == "works" else {}
            yield Finding("OpNotOnAne", node.span, {"op": name, **via}, fix=fix)
        elif found == "disputed":
            yield Finding("OpDisputed", node.span, {"op": name}, confidence="D", fix=fix)


def _another_way(op: str, route: str) -> str | None:
    """What to write instead, and the route that takes the op."""
    if route == "inmemory" and verdict(op, "coreml") == "works":
        return f"{instead(op) or 'compute it on the host'}, or compile with `--route coreml`"
    return instead(op)


def concat_of_slices(scope: Scope) -> Iterator[Finding]:
    """O39."""
    for node in scope.ops("concat"):
        producers = [scope.producers.get(value) for value in node.values]
        count = sum(1 for producer in producers if producer is not None and last_axis_begin(producer))
        if count >= 2:
            yield Finding("ConcatOfSlices", node.span, {"count": count})


def element_types(scope: Scope) -> Iterator[Finding]:
    """Q1. On the Core ML route fp32 is C2's."""
    for node, dtype in _foreign_types(scope):
        if dtype is FP32 and scope.target.route == "coreml":
            continue
        # What only moves data is no arithmetic, and no source says what becomes of it.
        confidence = "C" if node.op.name in MOVING_OPS else None
        yield Finding("WrongElementType", node.span, {"op": author_name(node), "dtype": dtype.name}, confidence=confidence)


def fp32_ops(scope: Scope) -> Iterator[Finding]:
    """C2."""
    for node, dtype in _foreign_types(scope):
        if dtype is FP32:
            yield Finding("WrongElementType", node.span, {"op": author_name(node), "dtype": dtype.name})


def casts(scope: Scope) -> Iterator[Finding]:
    """Q2."""
    for node in scope.ops("cast"):
        source, dtype = node.values[0].type.dtype, node.result.type.dtype
        if (source, dtype) in ((FP16, INT32), (INT32, FP16)):
            yield Finding("CastNotOnAne", node.span, {"source": source.name, "dtype": dtype.name})


def compressed_weights(scope: Scope) -> Iterator[Finding]:
    """Q5. Their operands are consts, and yet they are emitted."""
    for node in scope.graph.nodes:
        if node.op.name.startswith("constexpr_"):
            yield Finding("OpDisputed", node.span, {"op": node.op.name})


def saturating_slices(scope: Scope) -> Iterator[Finding]:
    """N3, once for each tensor that is sliced, and not where its author promises small values."""
    for pack in scope.inputs:
        large = [port for port in pack.ports[1:] if not _is_small(scope, port.value)]
        if pack.axis == pack.type.rank - 1 and large:
            begin = pack.ports[0].value.type.shape[pack.axis]
            fields = {"what": f"`{pack.name}`", "begin": begin}
            yield Finding("SliceSaturates", pack.span, fields, fix=_pack_fix(pack, large))
    seen: set[Value] = set()
    for node in scope.ops("slice_by_size", "slice_by_index"):
        x, begin = node.values[0], last_axis_begin(node)
        if begin and x not in seen and not scope.is_const(x) and not _is_small(scope, x):
            seen.add(x)
            yield Finding("SliceSaturates", node.span, {"what": scope.what(x), "begin": begin}, fix=_slice_fix(scope, x))


def _pack_fix(pack: Surface, large: list[Port]) -> str:
    """The first member is no such slice; the promise is the other members'."""
    promises = ", ".join(f"`input {port.name}: ... in [-{SLICE_LIMIT}, {SLICE_LIMIT}]`" for port in large)
    alike = len({port.value.type.shape for port in pack.ports}) == 1
    axis = "pack along another axis, or " if alike and pack.type.rank > 1 else ""
    return f"{axis}promise that all members but the first are small: {promises}"


def _slice_fix(scope: Scope, x: Value) -> str:
    turned = "`transpose` the axis away from the end, slice there, and `transpose` back"
    port = scope.ports.get(x)
    if port is not None:
        return f"promise that it is small: `input {port.name}: ... in [-{SLICE_LIMIT}, {SLICE_LIMIT}]`; or {turned}"
    return f"bound it first: `clip({x.name or '...'}, -{SLICE_LIMIT}, {SLICE_LIMIT})`; or {turned}"


def trigonometry(scope: Scope) -> Iterator[Finding]:
    """G2. In memory, the one trial on an M3 was refused as well."""
    chips = M1_TO_M3 if scope.target.route == "inmemory" else None
    for node in scope.ops(*TRIGONOMETRY):
        yield Finding("OpDisputed", node.span, {"op": node.op.name}, chips=chips)


def sampling(scope: Scope) -> Iterator[Finding]:
    """G3; its padding modes are O17's. What the route refuses on every chip is O37's."""
    for node in scope.ops(*SAMPLING_OPS):
        if verdict(node.op.name, scope.target.route) != "refused":
            yield Finding("OpNotOnAne", node.span, {"op": node.op.name})


def _is_channel_scale(scope: Scope, value: Value) -> bool:
    if not scope.is_const(value):
        return False
    shape, attributes = value.type.shape, scope.producers[value].attributes
    uniform = isinstance(attributes.get("val"), FillData) and attributes.get("weight") is None
    return len(shape) == 4 and shape[1] >= 1024 and value.type.size == shape[1] and not uniform


def _reshape_before(scope: Scope, value: Value) -> Node | None:
    """The `reshape` that gave a tensor its shape, possibly with elementwise ops in between."""
    node = scope.producers.get(value)
    while node is not None and node.op.name != "reshape":
        same = [operand for operand in node.values if operand.type.shape == value.type.shape]
        node = scope.producers.get(same[0]) if same else None
    return node


def _reshape_after(scope: Scope, value: Value) -> bool:
    """Whether a tensor runs into a `reshape`, possibly through elementwise ops."""
    waiting, seen = [value], {value}
    while waiting:
        for user in scope.users(waiting.pop()):
            if user.op.name == "reshape":
                return True
            if user.result.type.shape == value.type.shape and user.result not in seen:
                seen.add(user.result)
                waiting.append(user.result)
    return False


def _foreign_types(scope: Scope) -> Iterator[tuple[Node, DType]]:
    """Ops with data in a type that the ANE does not compute in: no casts, and no indices."""
    for node in scope.operations:
        if node.op.name == "cast":
            continue
        for name, operand in node.operands.items():
            record = node.op.operand_index.get(name)
            if record is not None and record.domain.name == "I":
                continue
            values = operand if isinstance(operand, tuple) else (operand,)
            dtypes = [value.type.dtype for value in values if value.type.dtype not in ANE_TYPES]
            if dtypes:
                yield node, dtypes[0]
                break


def _is_small(scope: Scope, value: Value) -> bool:
    """Whether a promise, or the op that makes it, keeps a tensor below what a slice can carry."""
    node = scope.producers.get(value)
    if node is not None:
        bounds: list[Any] = [node.attributes.get(name) for name in ("alpha", "beta")]
        clipped = node.op.name == "clip" and all(isinstance(bound, (int, float)) for bound in bounds)
        return node.op.name in BELOW_ONE or (clipped and max(map(abs, bounds)) <= SLICE_LIMIT)
    port = scope.ports.get(value)
    return port is not None and port.range is not None and max(map(abs, port.range)) <= SLICE_LIMIT


CHECKS: dict[str, Callable[[Scope], Iterator[Finding]]] = {
    "O1": conv_width,
    "O4": conv_groups,
    "O6": runtime_weight,
    "O8": arg_axis,
    "O11": scale_between_reshapes,
    "O12": softmax_channels,
    "O14": ignored_mask,
    "O17": padding,
    "O20": topk,
    "O37": unsupported,
    "O39": concat_of_slices,
    "Q1": element_types,
    "Q2": casts,
    "Q5": compressed_weights,
    "N3": saturating_slices,
    "G2": trigonometry,
    "G3": sampling,
    "C2": fp32_ops,
}
