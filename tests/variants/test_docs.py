"""The examples of docs/weights.md and docs/variants.md do what the pages say."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
from safetensors import numpy as safetensors_numpy

from tests.variants.command import command, manifest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(page: str, folder: Path) -> list[list[str]]:
    """Writes the files of a page, runs its commands in order, and returns the artifacts that the page names after each."""
    named: list[list[str]] = []
    for kind, file, text in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
        if file:
            (folder / file).write_text(text, encoding="utf-8")
        elif kind == "sh":
            for line in text.splitlines():
                program, *arguments = shlex.split(line)
                assert program == "anedsl"
                command(folder, *arguments)
        else:
            assert kind == "text"
            named.append(text.split())
    return named


def test_variants(tmp_path: Path) -> None:
    named = run("variants.md", tmp_path)
    assert [len(paths) for paths in named] == [4, 6]
    for folder, paths in zip(("build", "sized"), named, strict=True):
        assert sorted(paths) == sorted(f"{folder}/{path.name}" for path in (tmp_path / folder).iterdir())
    assert manifest(tmp_path / "build/layer-SEQ64-DIM96")["variant"] == {"SEQ": 64, "DIM": 96}
    assert manifest(tmp_path / "sized/layer-long")["variant"] == {"SEQ": 256, "CAUSAL": True}
    assert sorted(path.name for path in (tmp_path / "parallel").iterdir()) == [
        "layer-CAUSALfalse",
        "layer-CAUSALtrue",
    ]


def test_weights(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    random = np.random.default_rng(0)
    weight_map = {}
    for layer in range(2):
        tensors = {f"model.layers.{layer}.norm.weight": random.normal(size=64)}
        for part, shape in {"up": (128, 64), "gate": (128, 64), "down": (64, 128)}.items():
            tensors[f"model.layers.{layer}.mlp.{part}_proj.weight"] = random.normal(size=shape)
        name = f"model-{layer}.safetensors"
        safetensors_numpy.save_file({key: value.astype(np.float32) for key, value in tensors.items()}, folder / name)
        weight_map |= dict.fromkeys(tensors, name)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    assert run("weights.md", tmp_path) == []
    made = tmp_path / "build/mlp"
    down = np.frombuffer((made / "weights/down.bin").read_bytes()[128:], "<f2")
    stored = safetensors_numpy.load_file(folder / "model-1.safetensors")["model.layers.1.mlp.down_proj.weight"]
    np.testing.assert_array_equal(down, stored.astype(np.float16).reshape(-1))
