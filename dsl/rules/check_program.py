"""Checks of a program as a whole: surfaces, its ops together, weights (S, T, B and C rules)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from anedsl.diagnostics import Label
from anedsl.rules.scope import Finding, Scope, Surface, author_name
from anedsl.types import BOOL, FP16, FP32, INT32, Shape

IO_TYPES = (FP16, FP32, BOOL)
LONE_OPS = ("reshape", "tile", "slice_by_index")
STATE_OPS = ("read_state", "write_state", "coreml_update_state")
CONTROL_OPS = (
    "cond", "while_loop", "rnn", "lstm", "gru",
    "make_list", "list_gather", "list_length", "list_read", "list_scatter", "list_write",
)  # fmt: skip
WEIGHT_LIMIT = 2 * 1024**3
LINE_BYTES = 64


def first_cast(scope: Scope) -> Iterator[Finding]:
    """T1c, at the first `cast`: the others fail for the same reason."""
    for node in scope.ops("cast"):
        x, result = node.values[0].type, node.result.type
        yield Finding("CastNotOnAne", node.span, {"source": x.dtype.name, "dtype": result.dtype.name})
        return


def lone_op(scope: Scope) -> Iterator[Finding]:
    """T14. A pack brings slices or a `concat` with it, so that the op is not alone."""
    operations = scope.operations
    packed = scope.graph.input_packs or scope.graph.output_packs
    if len(operations) == 1 and operations[0].op.name in LONE_OPS and not packed:
        op, written = operations[0].op.name, author_name(operations[0])
        emitted = "" if written == op else f", emitted as `{op}`,"
        yield Finding("LoneOp", operations[0].span, {"op": written, "emitted": emitted})


def slice_of_input(scope: Scope) -> Iterator[Finding]:
    """T16, only in a program like the one that was refused: with a `conv` and attention."""
    if not any(scope.ops("conv")) or not any(scope.ops("softmax", "scaled_dot_product_attention")):
        return
    alone = {surface.ports[0].value: surface for surface in scope.inputs if surface.axis is None}
    for node in scope.ops("slice_by_index"):
        surface = alone.get(node.values[0])
        if surface is not None:
            yield Finding("SliceOfInput", node.span, {"name": surface.name})


def states(scope: Scope) -> Iterator[Finding]:
    """T22."""
    for node in scope.ops(*STATE_OPS):
        yield Finding("StateNotOnRoute", node.span, {"op": node.op.name})


def control(scope: Scope) -> Iterator[Finding]:
    """T23."""
    for node in scope.ops(*CONTROL_OPS):
        yield Finding("OpNotOnAne", node.span, {"op": node.op.name})


def weight_bytes(scope: Scope) -> Iterator[Finding]:
    """B9."""
    constants = scope.graph.constants
    total = sum(node.result.type.bytes for node in constants)
    if total > WEIGHT_LIMIT:
        largest = max(constants, key=lambda node: node.result.type.bytes)
        label = Label(largest.span, f"{gigabytes(largest.result.type.bytes)} of it")
        yield Finding("TooManyWeights", scope.graph.span, {"size": gigabytes(total)}, related=(label,))


def gigabytes(count: int) -> str:
    return f"{count / 1024**3:.2f} GB"


def ragged_surfaces(scope: Scope) -> Iterator[Finding]:
    """S8."""
    for direction, surface in _both(scope):
        type = surface.type
        multiple = LINE_BYTES * 8 // type.dtype.bits
        if type.shape and type.shape[-1] % multiple:
            yield _ragged(direction, surface, multiple)


def ragged_outputs(scope: Scope) -> Iterator[Finding]:
    """C10."""
    for surface in scope.outputs:
        if surface.type.dtype is FP16 and surface.type.shape and surface.type.shape[-1] % 32:
            yield _ragged("output", surface, 32)


def several_inputs(scope: Scope) -> Iterator[Finding]:
    """S11, where the author has packed nothing."""
    inputs = scope.inputs
    if len(inputs) < 2 or scope.graph.input_packs:
        return
    axis = _pack_axis([surface.type.shape for surface in inputs])
    same_type = len({surface.type.dtype for surface in inputs}) == 1
    names = ", ".join(surface.name for surface in inputs)
    fix = "make them one tensor on the host, and slice it in the kernel"
    if axis is not None and same_type:
        fix = f"pack them: `pack inp = ({names}) along {axis}`"
    yield Finding("SeveralInputs", inputs[1].span, {"count": len(inputs), "names": names}, fix=fix)


def silent_zeros(scope: Scope) -> Iterator[Finding]:
    """S12."""
    if len(scope.inputs) < 2:
        return
    for direction, surfaces in (("input", scope.inputs), ("output", scope.outputs)):
        bound = sorted(surfaces, key=lambda surface: surface.name)
        for first, second in pairwise(bound):
            larger, smaller = (first, second) if direction == "input" else (second, first)
            if larger.type.bytes > smaller.type.bytes:
                size = "larger" if direction == "input" else "smaller"
                problem = f"{direction} `{first.name}` binds before `{second.name}` and is {size}"
                fix = f"pack the {direction}s into one, or rename them: they bind in alphabetical order"
                yield Finding("SilentZeros", first.span, {"problem": problem}, fix=fix)
                break
    for node in scope.ops("matmul"):
        x = node.values[0].type
        inner = x.shape[-2 if node.attributes.get("transpose_x") and x.rank > 1 else -1]
        if inner % 32:
            problem = f"the inner dimension of `matmul` is {inner}, which is not a multiple of 32"
            fix = "pack the inputs into one, or pad that dimension with zeros"
            yield Finding("SilentZeros", node.span, {"problem": problem}, fix=fix)


def io_types(scope: Scope) -> Iterator[Finding]:
    """S13."""
    for direction, surface in _both(scope):
        if surface.type.dtype not in IO_TYPES:
            fields = {"direction": direction, "name": surface.name, "dtype": surface.type.dtype.name, "type": str(surface.type)}
            fix = _converted(scope, surface) if direction == "output" else None
            yield Finding("WrongIoType", surface.span, fields, fix=fix)


def _converted(scope: Scope, surface: Surface) -> str | None:
    """What is computed is converted in the kernel; from int32 by way of a narrower type (rule Q2)."""
    dtype = surface.type.dtype
    if dtype is not INT32:
        return f"convert it: `{surface.name} = cast(..., fp16)`"
    node = scope.producers.get(surface.ports[0].value)
    narrow = [name for name in ("output_dtype", "output_indices_dtype") if node is not None and name in node.attributes]
    if node is not None and narrow:
        return f"ask for `{narrow[0]} = uint16` and convert that: `cast(..., fp16)`"
    return f"convert it by way of int16: `{surface.name} = cast(cast(..., int16), fp16)`"


def _both(scope: Scope) -> Iterator[tuple[str, Surface]]:
    for surface in scope.inputs:
        yield "input", surface
    for surface in scope.outputs:
        yield "output", surface


def _ragged(direction: str, surface: Surface, multiple: int) -> Finding:
    length = surface.type.shape[-1]
    fields = {"direction": direction, "name": surface.name, "length": length, "multiple": multiple, "type": str(surface.type)}
    return Finding("RaggedSurface", surface.span, fields)


def _pack_axis(shapes: list[Shape]) -> int | None:
    """The axis along which shapes can be packed: the channels if possible, else the first that fits; None if none does."""
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes):
        return None
    for axis in sorted(range(rank), key=lambda axis: axis != 1):
        if len({shape[:axis] + shape[axis + 1 :] for shape in shapes}) == 1:
            return axis
    return None


CHECKS: dict[str, Callable[[Scope], Iterator[Finding]]] = {
    "T1c": first_cast,
    "T14": lone_op,
    "T16": slice_of_input,
    "T22": states,
    "T23": control,
    "B9": weight_bytes,
    "S8": ragged_surfaces,
    "S11": several_inputs,
    "S12": silent_zeros,
    "S13": io_types,
    "C10": ragged_outputs,
}
