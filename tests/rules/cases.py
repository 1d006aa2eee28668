"""For each rule that is checked: a kernel that breaks it, and one just inside the limit that does not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from anedsl.graph import Pack, Value
from anedsl.rules import Target
from anedsl.types import BOOL, FP16, FP32, INT8, INT32, TensorType
from tests.rules.maker import Build, Maker


class Case(NamedTuple):
    """`broken` breaks the rule once, at `line`, as an error or a warning for the target, under this headline; `fine` does not."""

    rule: str
    broken: Build
    fine: Build
    severity: str
    headline: str
    line: int
    target: Target = Target()

    @property
    def id(self) -> str:
        return f"{self.rule}-{self.target.chip or 'any'}-{self.target.route}-{self.headline[:30]}"


COREML = Target(route="coreml")


def on(chip: str) -> Target:
    return Target(chip=chip)


def relu(*shape: int) -> Build:
    return lambda m: m.op("relu", m.input("x", *shape))


def product(x: tuple[int, ...], y: tuple[int, ...], **more: Any) -> Build:
    return lambda m: m.op("matmul", m.input("x", *x), m.const(*y), **more)


def conv(kernel: tuple[int, int]) -> Build:
    return lambda m: m.op("conv", m.input("x", 1, 8, 32, 32), m.const(8, 8, *kernel), pad_type="same")


def groups(count: int) -> Build:
    result = TensorType(FP16, (1, 8, 1, 32))
    return lambda m: m.raw("conv", m.input("x", 1, 6, 1, 32), m.const(8, 3, 1, 1), result=result, groups=count)


def runtime_conv(batch: int, groups: int = 1) -> Build:
    return lambda m: m.op("conv", m.input("x", batch, 8, 1, 32), m.input("w", 8, 8 // groups, 1, 1), groups=groups)


def const_conv(m: Maker) -> Value:
    return m.op("conv", m.input("x", 4, 8, 1, 32), m.const(8, 8, 1, 1))


def typed(op: str, dtype: Any) -> Build:
    return lambda m: m.op(op, m.input("x", 1, 8, 1, 32, dtype=dtype))


def cast(to: Any) -> Build:
    return lambda m: m.op("cast", m.input("x", 1, 8, 1, 32), dtype=to)


def scale(channels: int, data: Any = None, after: bool = True) -> Build:
    def build(m: Maker) -> Value:
        x = m.op("reshape", m.input("x", 1, channels * 4, 1, 32), shape=(1, channels, 4, 32))
        numbers = np.arange(channels).reshape(1, channels, 1, 1) if data is None else data
        y = m.op("mul", x, m.const(1, channels, 1, 1, data=numbers if data is not False else None))
        return m.op("reshape", m.op("relu", y), shape=(1, channels * 4, 1, 32)) if after else m.op("relu", y)

    return build


def argmax(length: int) -> Build:
    return lambda m: m.op("reduce_argmax", m.input("x", 1, length, 1, 32), axis=1)


def attention(masked: bool) -> Build:
    def build(m: Maker) -> Value:
        q = m.input("q", 1, 4, 32, 64)
        mask = {"attn_mask": m.const(1, 1, 32, 32)} if masked else {}
        return m.op("scaled_dot_product_attention", q, q, q, **mask)

    return build


def softmax(channels: int, axis: int) -> Build:
    return lambda m: m.op("softmax", m.input("x", 1, channels, 1, 32), axis=axis)


def tiled(length: int, dtype: Any) -> Build:
    """An input of some length and type, and an output that breaks no rule of surfaces."""
    return lambda m: m.op("tile", m.op("cast", m.input("x", 1, 8, 1, length, dtype=dtype), dtype=FP16), reps=(1, 1, 1, 4))


def pad(amounts: tuple[int, ...], mode: str = "constant") -> Build:
    return lambda m: m.op("pad", m.input("x", 1, 8, 32, 32), pad=amounts, mode=mode)


def topk(k: int) -> Build:
    return lambda m: m.raw("topk", m.input("x", 1, 8, 1, 32), result=TensorType(FP16, (1, 8, 1, k)), k=k)


def unknown(op: str) -> Build:
    return lambda m: m.raw(op, m.input("x", 1, 8, 1, 32), result=TensorType(FP16, (1, 8, 1, 32)))


def halves(first: int, second: int) -> Build:
    def build(m: Maker) -> Value:
        x = m.input("x", 1, 8, 1, 128)
        parts = [m.op("slice_by_size", x, begin=(0, 0, 0, begin), size=(1, 8, 1, 32)) for begin in (first, second)]
        return m.op("concat", *parts, axis=3)

    return build


def pack(axis: int, *, range: tuple[float, float] | None = None) -> Build:
    def build(m: Maker) -> Value:
        a, b = m.input("a", 1, 32, 1, 32), m.input("b", 1, 32, 1, 32, range=range)
        m.input_packs.append(Pack("inp", ("a", "b"), axis, m.span()))
        return m.op("add", a, b)

    return build


def add(a: int, b: int) -> Build:
    return lambda m: m.op("reduce_sum", m.op("concat", m.input("a", 1, a, 1, 32), m.input("b", 1, b, 1, 32), axis=1), axes=(1,))


def outputs(a: int, b: int) -> Build:
    def build(m: Maker) -> tuple[Value, Value]:
        x, y = m.input("a", 1, 32, 1, 32), m.input("b", 1, 32, 1, 32)
        return tuple(m.op("slice_by_size", v, begin=(0, 0, 0, 0), size=(1, n, 1, 32)) for v, n in ((x, a), (y, b)))  # type: ignore[return-value]

    return build


def inner(length: int) -> Build:
    return lambda m: m.op("matmul", m.input("a", 1, 1, 32, length), m.input("b", 1, 1, 32, length), transpose_y=True)


def sliced_input(direct: bool) -> Build:
    def build(m: Maker) -> Value:
        x = m.input("x", 1, 32, 1, 32)
        y = x if direct else m.op("relu", x)
        h = m.op("conv", m.op("slice_by_index", y, begin=(0, 0, 0, 0), end=(1, 16, 1, 32)), m.const(16, 16, 1, 1))
        return m.op("softmax", h, axis=-1)

    return build


def lone(op: str, **attributes: Any) -> Build:
    return lambda m: m.op(op, m.input("x", 1, 32, 1, 32), **attributes)


def weights(count: int) -> Build:
    """Half a gigabyte each, and nothing of it in memory."""

    def build(m: Maker) -> Value:
        x = m.input("x", 1, 1, 1, 2**14)
        for _ in range(count):
            x = m.op("matmul", x, m.const(1, 1, 2**14, 2**14))
        return x

    return build


CASES = (
    Case("D1", relu(1, 1, 1, 1, 2, 32), relu(1, 1, 1, 2, 32), "error", "`x` has 6 axes, the ANE takes at most 5", 1),
    Case("D1", relu(1, 1, 1, 1, 2, 32), relu(1, 1, 1, 2, 32), "warning", "`x` has 6 axes, the ANE takes at most 5", 1, COREML),
    Case("D2", product((1, 1, 1, 32, 32), (32, 32)), product((1, 1, 32, 32), (32, 32)), "error",
         "`x` has 5 axes, `matmul` takes at most 4", 3),
    Case("D3", relu(1, 8, 1, 16385), relu(1, 8, 1, 16384), "warning",
         "axis 3 of `x` is 16385 long, the ANE takes at most 16384 on M1 to M3", 1),
    Case("D3", relu(1, 8, 16385, 32), relu(1, 8, 16384, 32), "error",
         "axis 2 of `x` is 16385 long, the ANE takes at most 16384 on M3", 1, on("m3")),
    Case("D3", relu(8, 16385), relu(8, 16384), "error",
         "axis 1 of `x` is 16385 long, the ANE takes at most 16384 on M1", 1, on("m1")),
    Case("D3b", relu(1, 8, 1, 65537), relu(1, 8, 1, 65536), "error",
         "axis 3 of `x` is 65537 long, the ANE takes at most 65536", 1),
    Case("D3b", relu(1, 8, 1, 65537), relu(1, 8, 1, 65536), "error",
         "axis 3 of `x` is 65537 long, the ANE takes at most 65536 on M5", 1, on("m5")),
    Case("D4", relu(1, 65537, 1, 32), relu(1, 65536, 1, 32), "error",
         "axis 1 of `x` is 65537 long, the ANE takes at most 65536", 1),
    Case("D4", relu(65537, 1, 32), relu(65536, 1, 32), "error", "axis 0 of `x` is 65537 long, the ANE takes at most 65536", 1),
    Case("D6", relu(16385), relu(16384), "error", "axis 0 of `x` is 16385 long, the ANE takes at most 16384 on M1", 1, on("m1")),
    Case("D6", product((1, 16385, 32), (32, 32)), product((1, 16384, 32), (32, 32)), "warning",
         "axis 1 of `x` is 16385 long, the ANE takes at most 16384 on M1", 3),
    Case("D8", lambda m: m.raw("relu", m.input("x", 1, 0, 32), result=TensorType(FP16, (1, 0, 32))), relu(1, 1, 32), "error",
         "axis 1 of `x` has length 0", 1),
    Case("O1", conv((1, 14)), conv((14, 13)), "warning", "the kernel of `conv` is 14 wide, the ANE takes at most 13 on M1", 3),
    Case("O1", conv((1, 14)), conv((14, 13)), "error",
         "the kernel of `conv` is 14 wide, the ANE takes at most 13 on M1", 3, on("m1")),
    Case("O1", conv((1, 16)), conv((1, 15)), "error", "the kernel of `conv` is 16 wide, the ANE takes at most 15", 3, on("m5")),
    Case("O1", conv((1, 16)), conv((1, 13)), "error", "the kernel of `conv` is 16 wide, the ANE takes at most 15", 3),
    Case("O4", groups(4), groups(2), "error", "`groups = 4` does not divide the 6 input channels of `conv`", 3),
    Case("O4", groups(4), groups(2), "error", "`groups = 4` does not divide the 6 input channels of `conv`", 3, COREML),
    Case("O6", runtime_conv(2), const_conv, "error", "`conv` has a weight that is not constant and batch 2", 3),
    Case("O6", runtime_conv(1, 2), const_conv, "error", "`conv` has a weight that is not constant and 2 groups", 3),
    Case("O6", runtime_conv(1), const_conv, "warning", "`conv` has a weight that is not constant", 3),
    Case("O8", argmax(2049), argmax(2048), "error", "`reduce_argmax` runs over 2049 elements, the ANE takes at most 2048", 2),
    Case("O11", scale(1024), scale(1023), "error",
         "a scale of 1024 channels stands between two reshapes, which is refused on M2", 4, on("m2")),
    Case("O11", scale(1024), scale(1024, after=False), "warning",
         "a scale of 1024 channels stands between two reshapes, which is refused on M1 and M2", 4),
    Case("O11", scale(2048), scale(2048, data=False), "warning",
         "a scale of 2048 channels stands between two reshapes, which is refused on M1 and M2", 4),
    Case("O12", softmax(257, 1), softmax(256, 1), "warning",
         "`softmax` over 257 channels, which is not a power of two, may be refused", 2),
    Case("O12", softmax(257, 1), softmax(257, 3), "warning",
         "`softmax` over 257 channels, which is not a power of two, may be refused", 2),
    Case("O14", attention(True), attention(False), "error", "`scaled_dot_product_attention` ignores its mask on the ANE", 3),
    Case("O17", pad((0, 0, 1, 1, 0, 0, 0, 0)), pad((0, 0, 0, 0, 1, 1, 2, 2)), "error",
         "`pad` of an axis before the last two does not run on the ANE", 2),
    Case("O17", pad((0, 0, 1, 1), "reflect"), pad((1, 1)), "warning",
         "`pad` with mode `reflect` does not run on the ANE of M1", 2),
    Case("O20", topk(3), topk(5), "error", "`topk` with k = 3 does not run on the ANE", 2, on("m4")),
    Case("O20", topk(5), relu(1, 8, 1, 32), "error", "`topk` does not run on the ANE of M1", 2, on("m1")),
    Case("O37", typed("tan", FP16), typed("tanh", FP16), "error", "`tan` does not run on the ANE", 2),
    Case("O37", typed("tan", FP16), typed("tanh", FP16), "warning", "`tan` does not run on the ANE", 2, COREML),
    Case("O37", typed("reduce_argmax", FP16), typed("reduce_max", FP16), "warning", "`reduce_argmax` may not run on the ANE", 2),
    Case("O39", halves(32, 64), halves(0, 64), "error",
         "`concat` of 2 slices of the last axis returns wrong elements on M3", 4, on("m3")),
    Case("O39", halves(32, 64), halves(0, 64), "warning",
         "`concat` of 2 slices of the last axis returns wrong elements on M1 to M3", 4),
    Case("Q1", typed("relu", FP32), typed("relu", FP16), "error", "`relu` in fp32 does not run on the ANE", 2),
    Case("Q1", typed("abs", INT32), typed("abs", FP16), "error", "`abs` in int32 does not run on the ANE", 2),
    Case("Q1", typed("abs", INT32), typed("abs", FP32), "warning", "`abs` in int32 does not run on the ANE", 2, COREML),
    Case("Q1", typed("identity", FP32), typed("identity", FP16), "warning", "`identity` in fp32 does not run on the ANE", 2),
    Case("C2", typed("relu", FP32), typed("relu", FP16), "warning", "`relu` in fp32 does not run on the ANE", 2, COREML),
    Case("Q2", cast(INT32), cast(INT8), "error", "`cast` from fp16 to int32 does not run on the ANE", 2),
    Case("Q5", unknown("constexpr_lut_to_dense"), relu(1, 8, 1, 32), "warning",
         "`constexpr_lut_to_dense` may not run on the ANE", 2),
    Case("N3", halves(0, 32), halves(0, 0), "warning",
         "a slice of `x` that begins at 32 on the last axis turns values above 4094 into infinity on M1 and M2", 3),
    Case("N3", pack(3), pack(1), "warning",
         "a slice of `inp` that begins at 32 on the last axis turns values above 4094 into infinity on M2", 3, on("m2")),
    Case("N3", pack(-1), pack(3, range=(-8, 4094)), "warning",
         "a slice of `inp` that begins at 32 on the last axis turns values above 4094 into infinity on M1 and M2", 3),
    Case("G2", typed("sin", FP16), typed("tanh", FP16), "warning", "`sin` may not run on the ANE of M1 to M3", 2),
    Case("G2", typed("cos", FP16), typed("tanh", FP16), "warning", "`cos` may not run on the ANE of M1 and M2", 2, COREML),
    Case("G3", unknown("resize"), typed("tanh", FP16), "error", "`resize` does not run on the ANE of M1", 2, on("m1")),
    Case("G3", unknown("resize"), typed("tanh", FP16), "warning", "`resize` does not run on the ANE of M1", 2),
    Case("S8", tiled(48, FP16), tiled(32, FP16), "warning",
         "the last axis of input `x` has 48 elements, which is not a multiple of 32", 1),
    Case("S8", tiled(24, FP32), tiled(16, FP32), "warning",
         "the last axis of input `x` has 24 elements, which is not a multiple of 16", 1),
    Case("S11", add(32, 32), pack(1), "warning", "2 input surfaces may fail at run time", 2),
    Case("S12", add(64, 32), add(32, 64), "warning",
         "the results may be zero on M1: input `a` binds before `b` and is larger", 1),
    Case("S12", outputs(8, 16), outputs(16, 8), "warning",
         "the results may be zero on M1: output `y0` binds before `y1` and is smaller", 3),
    Case("S12", inner(48), inner(64), "warning",
         "the results may be zero on M1: the inner dimension of `matmul` is 48, which is not a multiple of 32", 3,
         on("m1")),
    Case("S13", tiled(64, INT8), tiled(64, BOOL), "error",
         "input `x` is int8, the in-memory route takes fp16, fp32 and bool", 1),
    Case("T1c", cast(FP32), relu(1, 8, 1, 32), "warning", "`cast` from fp16 to fp32 does not run on the ANE of M1 and M2", 2),
    Case("T14", lone("tile", reps=(1, 2, 1, 1)), relu(1, 32, 1, 32), "warning",
         "a kernel of nothing but one `tile` may be refused", 2),
    Case("T16", sliced_input(True), sliced_input(False), "warning", "`slice_by_index` of input `x` may be refused", 2),
    Case("T22", unknown("read_state"), typed("relu", FP16), "error", "`read_state` works on the Core ML route only", 2),
    Case("T23", unknown("while_loop"), typed("relu", FP16), "error", "`while_loop` does not run on the ANE", 2),
    Case("B9", weights(5), weights(4), "error", "the weights take 2.50 GB, one program holds about 2 GB", 1),
    Case("C10", relu(1, 32, 1, 48), relu(1, 32, 1, 32), "warning",
         "the last axis of output `y0` has 48 elements, which is not a multiple of 32", 2, COREML),
)  # fmt: skip
