"""The text of a kernel of any number of ops; tests/bench/large_builder.py makes the same with coremltools' builder.

It is a chain of turns of ten ops, each of which is one equation: elementwise ops, a reduction, slices, a
concatenation, reshapes and a transpose, none of which the compiler can leave out. Every turn adds a number of its own.
"""

from __future__ import annotations

SIZE = 64
"""Channels and length of the tensor that goes from turn to turn, `fp16[1, SIZE, 1, SIZE]`."""

HALF = SIZE // 2

TURN = f"""
    a{{0}} = sigmoid(h{{0}})
    b{{0}} = a{{0}} + {{step}}
    m{{0}} = mean(b{{0}}, axis = 1)
    c{{0}} = b{{0}} - m{{0}}
    s{{0}} = c{{0}}[:, 0:{HALF}]
    t{{0}} = c{{0}}[:, {HALF}:]
    j{{0}} = concat(t{{0}}, s{{0}}, axis = 1)
    r{{0}} = reshape(j{{0}}, [1, {SIZE}, {SIZE}])
    p{{0}} = transpose(r{{0}}, [0, 2, 1])
    h{{1}} = reshape(p{{0}}, [1, {SIZE}, 1, {SIZE}])
"""

OPS_PER_TURN = 10
ENDS = 2
"""Ops before and after the turns."""


def step(turn: int) -> float:
    """The number that a turn adds: exact in fp16."""
    return (turn + 1) / 1024


def equations(ops: int) -> str:
    """The kernel with every equation written out."""
    turns = ops // OPS_PER_TURN
    body = "".join(TURN.format(turn, turn + 1, step=f"{step(turn)!r}") for turn in range(turns))
    return _kernel(f"\n    h0 = x * gain\n{body}\n    y = h{turns} + x\n")


def loop(ops: int) -> str:
    """The same kernel with a loop around the equations of one turn."""
    body = TURN.replace("{0}", "").replace("{1}", "").replace("{step}", "((i + 1) / 1024)").replace("\n", "\n    ").rstrip()
    return _kernel(f"\n    h = x * gain\n    for i in range({ops // OPS_PER_TURN}) {{{body}\n    }}\n    y = h + x\n")


def _kernel(body: str) -> str:
    tensor, channels = f"fp16[1, {SIZE}, 1, {SIZE}]", f"[1, {SIZE}, 1, 1]"
    declarations = f"""
    input x: {tensor}
    weight gain: fp16{channels} = full({channels}, 1.5)
    output y: {tensor}
"""
    return f"kernel large {{{declarations}{body}}}\n"
