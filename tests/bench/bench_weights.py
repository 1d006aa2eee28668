"""A kernel with 1.2 GB of fp32 weights from one .safetensors file: its peak memory, and its time against copying the file.

Everything stands in one temporary folder, that of `TMPDIR`, which needs 5 GB. It must not be kept in memory, nor on a file
system on which a copy shares the blocks of its original.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from array import array
from collections.abc import Sequence
from math import prod
from pathlib import Path

from tests.bench.timing import MB, Usage, anedsl, compare, judge, run, show, typical

TIME_LIMIT = 2.0
MEMORY_LIMIT = 300 * MB

LARGE, WIDE = 4, 8192
SMALL, NARROW = 400, 288
BLOCK = 1 << 20
"""Elements of random numbers, which the file repeats."""

KERNEL = f"""
kernel heavy {{
    input  x: fp16[1, {WIDE}, 1, 32]
    weight large[{LARGE}]: fp16[{WIDE}, {WIDE}, 1, 1]
    weight small[{SMALL}]: fp16[{NARROW}, {NARROW}, 1, 1]
    output y: fp16[1, {NARROW}, 1, 32]

    h = x
    for i in range({LARGE}) {{ h = conv(h, large[i]) }}
    y = h[:, 0:{NARROW}]
    for i in range({SMALL}) {{ y = conv(y, small[i]) }}
}}
"""

EMPTY = """
kernel empty {
    input  x: fp16[1, 64, 1, 64]
    output y: fp16[1, 64, 1, 64]
    y = x + x
}
"""


def shapes() -> dict[str, list[int]]:
    """The tensors of the file in their order."""
    large = {f"large.{i}": [WIDE, WIDE, 1, 1] for i in range(LARGE)}
    return large | {f"small.{i}": [NARROW, NARROW, 1, 1] for i in range(SMALL)}


def write_weights(path: Path) -> None:
    """Writes the file a block at a time: a measuring process must stay small."""
    header, end = {}, 0
    for name, shape in shapes().items():
        start, end = end, end + 4 * prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
    head = json.dumps(header).encode()
    numbers = random.Random(0)
    block = array("f", (numbers.gauss(0, 0.02) for _ in range(BLOCK))).tobytes()
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for start in range(0, end, len(block)):
            file.write(block[: end - start])


def compile_heavy(folder: Path, after: str) -> Usage:
    maps = ["--map", "large=large.{i}", "--map", "small=small.{i}"]
    command = [*anedsl(), "compile", folder / "heavy.ane", "--weights", folder / "w.safetensors", *maps, "-o", folder / "out"]
    return afresh(folder / "out", command, after)


def copy(folder: Path, after: str) -> Usage:
    return afresh(folder / "copy", ["cp", folder / "w.safetensors", folder / "copy"], after)


def afresh(result: Path, command: Sequence[str | Path], after: str) -> Usage:
    """Measures a command and the one after it: with no result there yet, and nothing left to be written to the disk."""
    if result.is_dir():
        shutil.rmtree(result)
    result.unlink(missing_ok=True)
    os.sync()
    return run(["sh", "-c", f'"$@" && {after}', "sh", *command])


def compile_empty(folder: Path) -> Usage:
    return run([*anedsl(), "compile", folder / "empty.ane", "-o", folder / "empty"])


def measure(folder: Path) -> None:
    found = compare(lambda: compile_heavy(folder, "true"), lambda: copy(folder, "true"))
    show(("anedsl compile", "cp"), found, TIME_LIMIT)
    empty = typical([compile_empty(folder) for _ in found.ours])
    above = max(usage.peak for usage in found.ours) - empty.peak
    print(f"  an empty run has its peak at {empty.peak / MB:.1f} MB")
    judge("MB of memory above an empty run", above / MB, MEMORY_LIMIT / MB)
    # A copy ends when the pages are in memory; this is the time until they are on the disk.
    written = compare(lambda: compile_heavy(folder, "sync"), lambda: copy(folder, "sync"))
    show(("anedsl compile, sync", "cp, sync"), written, TIME_LIMIT)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "heavy.ane").write_text(KERNEL, encoding="utf-8")
        (folder / "empty.ane").write_text(EMPTY, encoding="utf-8")
        write_weights(folder / "w.safetensors")
        print(f"{(folder / 'w.safetensors').stat().st_size / 1e9:.3f} GB of fp32 weights in {len(shapes())} tensors")
        measure(folder)


if __name__ == "__main__":
    main()
