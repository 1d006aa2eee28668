"""One layer of Qwen3-0.6B, all kernels with baked weights, from a checkpoint in bfloat16: time, and peak memory.

The kernels are compiled one after the other, a process each, as a build of a model would; the peak is that of the largest.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from array import array
from math import prod
from pathlib import Path
from typing import NamedTuple

from tests.bench.timing import MB, ROOT, ROUNDS, Usage, anedsl, judge, run, typical

ABOVE = 300 * MB
"""What a compile may take beside an empty run and the largest tensor."""

SIZES = {"DIM": 1024, "HIDDEN": 3072, "HEADS": 16, "KV_HEADS": 8, "HD": 128, "SEQ": 256}
PREFIX = "model.layers.3"

TENSORS = {
    "input_layernorm": [1024],
    "self_attn.q_proj": [2048, 1024],
    "self_attn.k_proj": [1024, 1024],
    "self_attn.v_proj": [1024, 1024],
    "self_attn.o_proj": [1024, 2048],
    "post_attention_layernorm": [1024],
    "mlp.gate_proj": [3072, 1024],
    "mlp.up_proj": [3072, 1024],
    "mlp.down_proj": [1024, 3072],
}
"""The tensors of the layer in the checkpoint, and their shapes."""

KEYS = {
    "rms1": "input_layernorm",
    "wq": "self_attn.q_proj",
    "wk": "self_attn.k_proj",
    "wv": "self_attn.v_proj",
    "wo": "self_attn.o_proj",
    "rms2": "post_attention_layernorm",
    "w1": "mlp.gate_proj",
    "w3": "mlp.up_proj",
    "w2": "mlp.down_proj",
}


class Step(NamedTuple):
    """A kernel of the layer: the file of its name, its parameters and its weights."""

    kernel: str
    parameters: str
    weights: str


STEPS = (
    Step("sdpa_fwd", "DIM HEADS KV_HEADS HD SEQ", "rms1 wq wk wv wo"),
    Step("ffn_fwd", "DIM HIDDEN SEQ", "rms2 w1 w3 w2"),
    Step("ffn_bwd", "DIM HIDDEN SEQ", "w1 w3 w2"),
    Step("sdpa_bwd1", "DIM HEADS HD SEQ", "wo"),
    Step("qkv_bwd", "DIM HEADS KV_HEADS HD SEQ", "wq wk wv"),
)

EMPTY = "kernel empty {\n    input  x: fp16[1, 64, 1, 64]\n    output y: fp16[1, 64, 1, 64]\n    y = x + x\n}\n"


def write_checkpoint(path: Path) -> None:
    """Random numbers in bfloat16, the upper half of each fp32 number."""
    header, end = {}, 0
    for name, shape in TENSORS.items():
        start, end = end, end + 2 * prod(shape)
        header[f"{PREFIX}.{name}.weight"] = {"dtype": "BF16", "shape": shape, "data_offsets": [start, end]}
    head = json.dumps(header).encode()
    numbers = random.Random(0)
    wide = array("f", (numbers.gauss(0, 0.02) for _ in range(1 << 18))).tobytes()
    block = bytearray(len(wide) // 2)
    block[0::2], block[1::2] = wide[2::4], wide[3::4]
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for start in range(0, end, len(block)):
            file.write(block[: end - start])


def compile_step(folder: Path, step: Step) -> Usage:
    """Compiles a kernel; looks whether all of its weights came from the checkpoint."""
    sizes = [text for name in step.parameters.split() for text in ("-D", f"{name}={SIZES[name]}")]
    maps = [text for name in step.weights.split() for text in ("--map", f"{name}={PREFIX}.{KEYS[name]}.weight")]
    file = ROOT / "examples" / f"{step.kernel}.ane"
    usage = run([*anedsl(), "compile", file, *sizes, "--weights", folder / "checkpoint.safetensors", *maps, "-o", folder / "out"])
    manifest = json.loads((folder / "out" / step.kernel / "kernel.json").read_text(encoding="utf-8"))
    baked = sum(prod(TENSORS[KEYS[name]]) for name in step.weights.split())
    if manifest["bytes"]["weights"] < 2 * baked:
        sys.exit(f"{step.kernel} has {manifest['bytes']['weights']} bytes of weights, expected at least {2 * baked}")
    return usage


def compile_empty(folder: Path) -> Usage:
    return run([*anedsl(), "compile", folder / "empty.ane", "-o", folder / "out"])


def measure(folder: Path) -> None:
    empty = typical([compile_empty(folder) for _ in range(ROUNDS)])
    rounds = [[compile_step(folder, step) for step in STEPS] for _ in range(ROUNDS)]
    print(f"  an empty run: {empty.seconds:.3f} s, peak {empty.peak / MB:.1f} MB")
    for step, usages in zip(STEPS, zip(*rounds, strict=True), strict=True):
        usage = typical(usages)
        print(f"  {step.kernel:<9}  {usage.seconds:8.3f} s, peak {usage.peak / MB:7.1f} MB")
    layers = [Usage(sum(usage.seconds for usage in usages), max(usage.peak for usage in usages)) for usages in rounds]
    layer = typical(layers)
    print(f"  the layer  {layer.seconds:8.3f} s, peak {layer.peak / MB:7.1f} MB")
    largest = 2 * max(prod(shape) for shape in TENSORS.values())
    above = max(usage.peak for usage in layers) - empty.peak
    judge("MB of memory above an empty run", above / MB, (largest + ABOVE) / MB)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "empty.ane").write_text(EMPTY, encoding="utf-8")
        write_checkpoint(folder / "checkpoint.safetensors")
        size = (folder / "checkpoint.safetensors").stat().st_size
        print(f"a layer of Qwen3-0.6B, {size / MB:.1f} MB of bfloat16 weights, {len(STEPS)} kernels")
        measure(folder)


if __name__ == "__main__":
    main()
