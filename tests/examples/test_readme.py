"""The table of examples/README.md is what the compiler says. `pytest --update-goldens` writes it anew."""

from __future__ import annotations

import pytest

from anedsl.codegen.artifact import Options, prepare
from anedsl.graph import call_of
from tests.examples.kernels import DYNAMIC_LAYER, EXAMPLE, EXAMPLES, KERNELS, Example
from tests.golden import Golden

HEAD = """\
# Examples

The kernels of a small Llama, forwards and backwards, and a few that measure. `tests/examples` compiles and runs each of them
and compares it with torch; that test also writes this page.

    anedsl compile examples/rmsnorm_bwd.ane -o build
    anedsl run examples/dynamic.ane ffn_fused_dynamic --random 0 --numerics fp16
    anedsl compile examples/dynamic.ane sdpa_fwd_dynamic -D DIM=1024 -D HEADS=16 -D KV_HEADS=8 -D HD=128 -o build

The defaults are those of a Llama of 110M parameters; the last line compiles for the sizes of Qwen3-0.6B. Activations are
`[1, channels, 1, positions]`, weights `[out, in, 1, 1]`, both fp16 unless a kernel's name says otherwise.

**ops** are MIL ops other than constants, next to the number in the hand-written text of the same kernel, where there is one.
**FLOPs** count a multiplication and an addition as two. **bytes** are those of the weight files, the inputs and the outputs.
**packed axis** is the length of an axis along which a pack of the kernel joins tensors, the longest of each axis: chips before
M4 take 16384 elements on an axis that is not the channels', axis 1, which may have 65536.

| kernel | what it computes | ops | by hand | FLOPs | weights | inputs | outputs | packed axis |
|---|---|---|---|---|---|---|---|---|
"""
TAIL = """
The five kernels of `dynamic.ane` have {ours} ops together, where the hand-written texts have {seed}. A layer whose weights
arrive at run time takes ten programs, forwards and backwards ({layer}): {ours_layer} ops, by hand {seed_layer}.

In fp16 every kernel with a number under *by hand* is at least as accurate as its text, in its mean and in its largest error
over the arrays of the tests. The text of `rmsnorm_bwd` is the original, the others were reconstructed in the same style with as
many ops; `tests/examples/test_hand_written.py` runs both in one executor.
"""


def page() -> str:
    rows = [_row(example) for example in KERNELS]
    dynamic = [example for example in KERNELS if example.dynamic]
    ours = sum(_ops(example) for example in dynamic)
    seed = sum(example.seed_ops or 0 for example in dynamic)
    ours_layer = sum(count * _ops(EXAMPLE[kernel]) for kernel, count in DYNAMIC_LAYER.items())
    seed_layer = sum(count * (EXAMPLE[kernel].seed_ops or 0) for kernel, count in DYNAMIC_LAYER.items())
    layer = ", ".join(f"`{kernel}`" if count == 1 else f"{count} `{kernel}`" for kernel, count in DYNAMIC_LAYER.items())
    tail = TAIL.format(ours=ours, seed=seed, layer=layer, ours_layer=ours_layer, seed_layer=seed_layer)
    return f"{HEAD}{''.join(rows)}{tail}"


def _ops(example: Example) -> int:
    return len(prepare(example.load({}).graph, Options()).graph.operations)


def _row(example: Example) -> str:
    graph = example.load({}).graph
    emission = prepare(graph, Options())
    operations = emission.graph.operations
    flops = sum(node.op.flops(call_of(node), [value.type for value in node.results]) for node in operations)
    lowered = emission.lowered
    packs = [surface for surface in (*lowered.inputs, *lowered.outputs) if len(surface.places) > 1]
    axes = sorted({surface.places[0].axis for surface in packs})
    lengths = {axis: max(s.type.shape[axis] for s in packs if s.places[0].axis == axis) for axis in axes}
    cells = (
        f"[{example.kernel}]({example.file})",
        graph.doc.replace("\n", " ").split(". ")[0].rstrip("."),
        str(len(operations)),
        "" if example.seed_ops is None else str(example.seed_ops),
        _short(flops, ""),
        _short(sum(blob.type.bytes for blob in emission.program.blobs), "B"),
        _short(sum(surface.type.bytes for surface in lowered.inputs), "B"),
        _short(sum(surface.type.bytes for surface in lowered.outputs), "B"),
        ", ".join(f"{length} (axis {axis})" for axis, length in lengths.items()),
    )
    return f"| {' | '.join(cells)} |\n"


def _short(count: float, unit: str) -> str:
    """`12.3 MB`: three digits and a power of a thousand."""
    if count == 0:
        return ""
    for prefix in ("", "k", "M"):
        if count < 999.5:
            return f"{count:.3g} {prefix}{unit}".rstrip()
        count /= 1000
    return f"{count:.3g} G{unit}"


@pytest.fixture
def examples(request: pytest.FixtureRequest) -> Golden:
    return Golden(EXAMPLES, request.config.getoption("--update-goldens"))


def test_the_page_is_what_the_compiler_says(examples: Golden) -> None:
    examples.check("README.md", page())
