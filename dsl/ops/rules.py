"""Type rules that several ops share."""

from __future__ import annotations

from anedsl.ops.call import Call
from anedsl.types import BOOL, Shape, TensorType


def same_as_x(call: Call) -> TensorType:
    """The result has the type of `x`."""
    type: TensorType = call.types["x"]
    return type


def broadcast(call: Call) -> TensorType:
    """The result of `x` and `y` broadcast as in numpy, in their element type."""
    x: TensorType = call.types["x"]
    y: TensorType = call.types["y"]
    if x.shape == y.shape:
        return x
    return TensorType(x.dtype, broadcast_shapes(call, "x", x.shape, "y", y.shape))


def compared(call: Call) -> TensorType:
    """As `broadcast`, with a bool result."""
    return TensorType(BOOL, broadcast(call).shape)


def broadcast_shapes(call: Call, left: str, a: Shape, right: str, b: Shape) -> Shape:
    """The shape that two shapes broadcast to; a diagnostic at `right` where they do not."""
    rank = max(len(a), len(b))
    wide_a = (1,) * (rank - len(a)) + a
    wide_b = (1,) * (rank - len(b)) + b
    dims = []
    for axis, (m, n) in enumerate(zip(wide_a, wide_b, strict=True)):
        if m != n and m != 1 and n != 1:
            from anedsl.diagnostics.shapes import NotBroadcastable

            call.fail(
                right,
                NotBroadcastable,
                show=(left,),
                op=call.op.name,
                left=str(list(a)),
                right=str(list(b)),
                axis=axis - rank,
                found=n,
                expected=m,
            )
        dims.append(n if m == 1 else m)
    return tuple(dims)
