"""`anedsl inspect` on everything that a compile leaves."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

from anedsl.cli.inspecting import inspect_target
from anedsl.codegen.artifact import write
from anedsl.codegen.options import Options
from anedsl.diagnostics import Failure
from tests.codegen import kernels
from tests.reader.texts import EVERYTHING, program


@pytest.fixture
def artifact(tmp_path: Path) -> Path:
    return write(kernels.rmsnorm_bwd(), "", Options(route="coreml"), tmp_path).path


def as_json(path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    inspect_target(path, "json")
    return json.loads(capsys.readouterr().out)


def test_an_artifact_as_text(artifact: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(artifact.parent)
    inspect_target(Path("rmsnorm_bwd"), "text")
    lines = capsys.readouterr().out.splitlines()
    sha256 = json.loads((artifact / "kernel.json").read_text())["weights"][0]["sha256"]
    assert lines == [
        "rmsnorm_bwd: program rmsnorm_bwd, dialect 1.3",
        "",
        "function main, opset ios18",
        "",
        "input  type                 bytes  in it",
        "inp    fp16[1, 128, 1, 32]   8192  dy [0:64], x [64:128] along 1",
        "",
        "output  type                bytes  in it",
        "dx      fp16[1, 64, 1, 32]   4096",
        "",
        "op             count",
        "add                1",
        "mul                7",
        "pow                1",
        "reduce_mean        2",
        "slice_by_size      2",
        "sub                1",
        "",
        "weight  type               file               offset  bytes  sha256",
        f"rms_w   fp16[1, 64, 1, 1]  weights/rms_w.bin      64    128  {sha256}",
        "",
        "14 ops, 16.5 k arithmetic operations, 1 weight with 128 bytes",
    ]


def test_it_says_what_the_manifest_says(artifact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = json.loads((artifact / "kernel.json").read_text())
    for target in (artifact, artifact / "model.mil", artifact / "rmsnorm_bwd.mlpackage"):
        found = as_json(target, capsys)["functions"]["main"]
        assert found["ops"] == manifest["ops"]["by_kind"]
        assert found["totals"]["flops"] == manifest["flops"]
        assert [weight["sha256"] for weight in found["weights"]] == [weight["sha256"] for weight in manifest["weights"]]
        assert [(port["name"], port["bytes"]) for port in found["inputs"]] == [("inp", 8192)]


def test_a_weight_file(artifact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = as_json(artifact / "weights" / "rms_w.bin", capsys)
    [chunk] = found["chunks"]
    assert (chunk["dtype"], chunk["elements"], chunk["offset"], chunk["data_offset"], chunk["bytes"]) == (
        "fp16",
        64,
        64,
        128,
        128,
    )
    assert found["totals"] == {"chunks": 1, "bytes": 128, "file_bytes": 256}
    inspect_target(artifact / "weights" / "rms_w.bin", "text")
    assert "1 chunk, 128 bytes of data, 256 bytes in all" in capsys.readouterr().out


def test_a_text_without_its_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.mil").write_text(EVERYTHING.replace("= sub(", "= fancy("))
    inspect_target(tmp_path / "model.mil", "text")
    found = capsys.readouterr().out
    assert "(no file)" in found
    assert "without a record, and not computed: fancy" in found


@pytest.mark.parametrize(("change", "word", "code"), [("remove", "(no file)", None), ("retype", "(of another type)", "ANE0481")])
def test_a_weight_without_its_numbers(
    change: str, word: str, code: str | None, artifact: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if change == "remove":
        (artifact / "weights" / "rms_w.bin").unlink()
    else:
        file = artifact / "weights" / "rms_w.bin"
        damaged = bytearray(file.read_bytes())
        damaged[68] = 6  # int16
        file.write_bytes(damaged)
    found = as_json_and_codes(artifact, capsys)
    assert found == (code or "ANE0479", [code] if code else [])
    with contextlib.suppress(Failure):
        inspect_target(artifact, "text")
    assert word in capsys.readouterr().out


def as_json_and_codes(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    """What is wrong with the first weight, and the diagnostics."""
    with contextlib.suppress(typer.Exit):
        inspect_target(path, "json")
    found = json.loads(capsys.readouterr().out)
    return found["functions"]["main"]["weights"][0]["problem"], [item["code"] for item in found.get("diagnostics", [])]


def test_sizes_that_only_the_running_program_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = "tensor<fp16, [1, ?]> r = exp(x = x);\ntensor<fp16, [1, ?]> y = fancy(x = r);"
    inputs = "tensor<fp16, [1, ?]> x, state<tensor<fp16, [1, 4]>> kv"
    (tmp_path / "model.mil").write_text(program(body, inputs=inputs))
    found = as_json(tmp_path / "model.mil", capsys)["functions"]["main"]
    assert (found["opaque"], found["unknown_sizes"]) == (["exp", "fancy"], ["exp"])
    assert [port["bytes"] for port in (*found["inputs"], *found["outputs"])] == [None, 8, None]
    inspect_target(tmp_path / "model.mil", "text")
    lines = capsys.readouterr().out.splitlines()
    assert "x      tensor<fp16, [1, ?]>         unknown" in lines
    assert lines[-3:] == [
        "2 ops, at least 0 arithmetic operations, 0 weights with 0 bytes",
        "without a record, and not computed: fancy",
        "on tensors of unknown sizes, and not computed: exp",
    ]


def test_a_malformed_weight_file_is_reported_after_the_tables(artifact: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.ones(500, np.float32).tofile(artifact / "weights" / "rms_w.bin")
    with pytest.raises(Failure) as failure:
        inspect_target(artifact, "text")
    assert [found.code for found in failure.value.diagnostics] == ["ANE0480"]
    shown = capsys.readouterr().out
    assert "(malformed)" in shown
    assert "14 ops" in shown


def test_something_else(tmp_path: Path) -> None:
    with pytest.raises(Failure, match="ANE0484"):
        inspect_target(tmp_path / "nothing", "text")
