"""docs/artifact.md names every field of a manifest, and its C program writes surfaces as the program reads them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anedsl

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "artifact.md").read_text(encoding="utf-8")
SIZES = {"IC": 8, "OC": 64, "SEQ": 32}

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc")


def fields(content: Any) -> Iterator[str]:
    """The keys of a manifest and of what is in it, but for the parameters' and the ops' names."""
    if isinstance(content, list):
        for item in content:
            yield from fields(item)
    elif isinstance(content, dict):
        for key, value in content.items():
            yield key
            if key not in ("parameters", "by_kind", "variant"):
                yield from fields(value)


def test_the_page_names_every_field(tmp_path: Path) -> None:
    named = set(re.findall(r"`([a-z_0-9]+)`", PAGE))
    kernel = anedsl.load(ROOT / "examples" / "int8_conv.ane", "conv_chain_w8a8", C=32, H=32, DEPTH=1)
    manifest = kernel.compile(tmp_path, weights={"W[0]": np.eye(32).reshape(32, 32, 1, 1)}).manifest
    found = set(fields(manifest))
    assert {"byte_offset", "package_offset", "stored", "max_rel", "binding", "range"} <= found
    assert found <= named
    assert "variant" in named


def test_offset_hash_and_key_of_a_weight_are_as_the_page_says(tmp_path: Path) -> None:
    rms_w = np.linspace(0.5, 1.5, 768).reshape(1, 768, 1, 1)
    artifact = anedsl.load(ROOT / "examples" / "rmsnorm.ane").compile(tmp_path, weights={"rms_w": rms_w})
    [weight] = artifact.manifest["weights"]
    start = weight["offset"] + 64
    numbers = (artifact.path / weight["file"]).read_bytes()[start : start + weight["bytes"]]
    assert numbers == rms_w.astype(np.float16).tobytes()
    assert sha256(numbers).hexdigest() == weight["sha256"]
    text = (artifact.path / "model.mil").read_text(encoding="utf-8")
    assert f'"@model_path/{weight["file"]}"' in text
    assert weight["file"] == "weights/rms_w.bin"


@pytest.mark.parametrize("route", ["inmemory", "coreml"])
def test_surfaces_are_allocated_and_bound_as_the_page_says(route: str, tmp_path: Path) -> None:
    lines = ("input z: fp16[1, 1, 1, 65536]", "input b: fp16[1, 1, 1, 32]", "output y", "y = concat(z * 2, b, axis = -1)")
    (tmp_path / "k.ane").write_text(f"kernel k {{ {'; '.join(lines)} }}\n")
    kernel = anedsl.load(tmp_path / "k.ane")
    surfaces = kernel.compile(tmp_path, route=route).manifest["surfaces"]["inputs"]
    bound = [(surface["name"], surface["binding"], surface["allocation"]) for surface in surfaces]
    large = 65536 * 2
    assert (
        bound
        == {
            "inmemory": [("z", 1, large), ("b", 0, large)],
            "coreml": [("z", None, large), ("b", None, 64)],
        }[route]
    )


@needs_gcc
def test_the_c_program_writes_what_the_kernel_reads(tmp_path: Path) -> None:
    kernel = anedsl.load(ROOT / "examples" / "dynamic.ane", "dyn_matmul", **SIZES)
    assert " ".join(f"-D {name}={size}" for name, size in SIZES.items()) in PAGE
    artifact = kernel.compile(tmp_path, emit=("mil", "header"))
    [program] = re.findall(r"^```c\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "main.c").write_text(program)
    warnings = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    command = ["gcc", *warnings, "-I", str(artifact.path), str(tmp_path / "main.c"), "-o", str(tmp_path / "main")]
    subprocess.run(command, check=True)

    rng = np.random.default_rng(0)
    arrays = {name: rng.standard_normal(type.shape).astype(np.float16) for name, type in kernel.inputs.items()}
    given = b"".join(array.tobytes() for array in arrays.values())
    written = subprocess.run([str(tmp_path / "main")], input=given, capture_output=True, check=True).stdout

    assert written == np.concatenate(list(arrays.values()), axis=3).tobytes()
    ports = json.loads((artifact.path / "kernel.json").read_text(encoding="utf-8"))["inputs"]
    assert [port["byte_offset"] for port in ports] == [0, SIZES["SEQ"] * 2]
    assert written != given, "one piece behind the other would do as well"
