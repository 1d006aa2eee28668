"""Small hand-built graphs, and a builder for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from anedsl.data import ArrayData, Data, FillData
from anedsl.graph import Graph, Node, Operands, Pack, Port, Value, Weight, make_const, make_node
from anedsl.ops import OPS
from anedsl.source import NOWHERE, Source, Span
from anedsl.types import BOOL, FP16, FP32, TensorType


def fp16(*shape: int) -> TensorType:
    return TensorType(FP16, shape)


def span_of(text: str, part: str) -> Span:
    """The place of a part of a source."""
    start = text.index(part)
    return Span(Source("kernel.ane", text), start, start + len(part))


class Builder:
    """Collects the nodes of a graph."""

    def __init__(self, name: str = "kernel") -> None:
        self.name = name
        self.inputs: list[Port] = []
        self.outputs: list[Port] = []
        self.nodes: list[Node] = []

    def input(self, name: str, type: TensorType, span: Span = NOWHERE, range: tuple[float, float] | None = None) -> Value:
        value = Value(type, name, span)
        self.inputs.append(Port(name, value, span, range))
        return value

    def output(self, name: str, value: Value, span: Span = NOWHERE) -> None:
        self.outputs.append(Port(name, value, span))

    def op(self, op: str, name: str = "", span: Span = NOWHERE, **arguments: Any) -> Value:
        """Operands are values or tuples of values, everything else is an attribute."""
        operands: dict[str, Operands] = {key: arguments.pop(key) for key in list(arguments) if key in OPS[op].operand_index}
        node = make_node(OPS[op], operands, arguments, name=name, span=span)
        self.nodes.append(node)
        return node.result

    def const(self, data: Any, type: TensorType | None = None, name: str = "", span: Span = NOWHERE) -> Value:
        return self._const(_data(data, type), type, name, span, None)

    def weight(self, name: str, data: Any, type: TensorType | None = None, span: Span = NOWHERE) -> Value:
        return self._const(_data(data, type), type, name, span, Weight(name, span))

    def _const(self, data: Data, type: TensorType | None, name: str, span: Span, weight: Weight | None) -> Value:
        node = make_const(data, type or TensorType(FP16, data.shape), name=name, span=span, weight=weight)
        self.nodes.append(node)
        return node.result

    def graph(self, inputs: tuple[Pack, ...] = (), outputs: tuple[Pack, ...] = (), **parameters: Any) -> Graph:
        ports = tuple(self.inputs), tuple(self.outputs)
        return Graph(self.name, *ports, tuple(self.nodes), inputs, outputs, parameters)


def _data(data: Any, type: TensorType | None) -> Data:
    if isinstance(data, (int, float)):
        return FillData(data, type.shape if type else ())
    return ArrayData(data) if isinstance(data, np.ndarray) else data


def rmsnorm_bwd(dim: int = 64, seq: int = 32) -> Graph:
    """RMSNorm backward, as an author writes it."""
    b = Builder("rmsnorm_bwd")
    shape = fp16(1, dim, 1, seq)
    dy, x = b.input("dy", shape, range=(-8.0, 8.0)), b.input("x", shape)
    w = b.weight("rms_w", np.linspace(0.5, 1.5, dim, dtype=np.float32).reshape(1, dim, 1, 1))
    mean = b.op("reduce_mean", x=b.op("mul", x=x, y=x), axes=(1,), keep_dims=True)
    rrms = b.op("pow", "rrms", x=b.op("add", x=mean, y=b.const(1e-5, name="EPS")), y=b.const(-0.5))
    dyw = b.op("mul", "dyw", x=dy, y=w)
    dot = b.op("reduce_mean", x=b.op("mul", x=dyw, y=x), axes=(1,), keep_dims=True)
    coeff = b.op("mul", "coeff", x=b.op("mul", x=dot, y=rrms), y=rrms)
    b.output("dx", b.op("mul", "dx", x=b.op("sub", x=dyw, y=b.op("mul", x=x, y=coeff)), y=rrms))
    return b.graph((Pack("inp", ("dy", "x"), 1),), DIM=dim, SEQ=seq, EPS=1e-5)


def everything(seq: int = 32) -> Graph:
    """Packs on both sides, biases, several results, texts, booleans, integers, shared and odd constants."""
    b = Builder("everything")
    x, y = b.input("x", fp16(1, 16, 1, seq)), b.input("y", fp16(1, 16, 1, 2 * seq))
    w = b.weight("W[0]", np.arange(256, dtype=np.float32).reshape(16, 16, 1, 1) / 256)
    bias = b.weight("b", np.arange(16, dtype=np.float64))
    h = b.op("conv", "h", x=x, weight=w, bias=bias)
    g = b.op("gelu", x=h, mode="TANH_APPROXIMATION")
    table = b.const(np.linspace(-1, 1, 16).reshape(1, 16, 1, 1), name="table")
    scaled = b.op("mul", "scaled", x=g, y=table)
    keep = b.const(np.arange(16 * seq).reshape(1, 16, 1, seq) % 3 > 0, TensorType(BOOL, (1, 16, 1, seq)), "keep")
    low = b.const(-65504.0, name="low")
    masked = b.op("select", cond=keep, a=scaled, b=low)
    parts = make_node(OPS["split"], {"x": masked}, {"split_sizes": (4, 12), "axis": 1}, name="part")
    b.nodes.append(parts)
    wide = b.op("cast", "wide", x=y, dtype=FP32)
    b.output("a", parts.results[0])
    b.output("rest", parts.results[1])
    b.output("y_wide", wide)
    b.output("same", x)
    packs = (Pack("xy", ("x", "y"), 3),), (Pack("out", ("a", "rest"), -3),)
    return b.graph(*packs)
