"""What the first user does: from a file to an artifact that coremltools accepts and that computes the right numbers."""

from __future__ import annotations

import filecmp
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import anedsl

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "examples" / "rmsnorm_bwd.ane"
SEED_OPS = 16
"""How many ops the hand-written program has besides consts."""

Array = np.ndarray[Any, np.dtype[Any]]


def command(*arguments: object, seed: str = "0", code: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs the command line in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "anedsl", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": seed},
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr + done.stdout
    return done


def data() -> tuple[Array, Array, Array]:
    """x, dy and w as the hand-written kernel's own test draws them."""
    random = np.random.default_rng(0)
    shape = (1, 768, 1, 256)
    return random.uniform(-0.5, 0.5, shape), random.uniform(-0.1, 0.1, shape), random.uniform(0.75, 1.25, 768)


def formula(x: Array, dy: Array, w: Array, eps: float = 1e-5) -> Array:
    rrms = (np.mean(x * x, axis=1, keepdims=True) + eps) ** -0.5
    wide = w.reshape(1, -1, 1, 1)
    return rrms * (wide * dy - x * rrms**2 * np.mean(wide * dy * x, axis=1, keepdims=True))


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("build")
    w = data()[2]
    np.savez(out / "w.npz", rms_w=w)
    command("compile", EXAMPLE, "-o", out, "--weights", out / "w.npz")
    return out / "rmsnorm_bwd"


def test_the_artifact_is_complete(artifact: Path) -> None:
    files = {str(path.relative_to(artifact)) for path in artifact.rglob("*") if path.is_file()}
    package = "rmsnorm_bwd.mlpackage"
    assert files == {
        "model.mil",
        "kernel.json",
        "weights/rms_w.bin",
        f"{package}/Manifest.json",
        f"{package}/Data/com.apple.CoreML/model.mlmodel",
        f"{package}/Data/com.apple.CoreML/weights/weight.bin",
    }


def test_it_has_no_more_ops_than_the_hand_written_one(artifact: Path) -> None:
    manifest = json.loads((artifact / "kernel.json").read_text())
    assert manifest["ops"]["total"] <= SEED_OPS
    assert sum(manifest["ops"]["by_kind"].values()) == manifest["ops"]["total"]


def test_coremltools_reads_the_package_and_the_weight(artifact: Path, coremltools: Any) -> None:
    from coremltools import libmilstoragepython
    from coremltools.converters.mil.frontend.milproto.load import load

    package = artifact / "rmsnorm_bwd.mlpackage"
    spec = coremltools.models.MLModel(str(package), skip_model_load=True).get_spec()
    weights = package / "Data" / "com.apple.CoreML" / "weights"
    program = load(spec, spec.specificationVersion, str(weights))
    ops = [op.op_type for op in program.functions["main"].operations if op.op_type != "const"]
    manifest = json.loads((artifact / "kernel.json").read_text())
    assert len(ops) == manifest["ops"]["total"]
    _, _, w = data()
    bits = libmilstoragepython._BlobStorageReader(str(artifact / "weights" / "rms_w.bin")).read_fp16_data(64)
    np.testing.assert_array_equal(np.asarray(bits, np.uint16).view(np.float16), w.astype(np.float16))


def test_run_agrees_with_the_formula_and_the_formula_with_autograd(tmp_path: Path) -> None:
    x, dy, w = data()
    np.savez(tmp_path / "in.npz", x=x, dy=dy)
    np.savez(tmp_path / "w.npz", rms_w=w)
    arguments = ("run", EXAMPLE, "--inputs", tmp_path / "in.npz", "--weights", tmp_path / "w.npz")
    command(*arguments, "--numerics", "fp64", "-o", tmp_path / "exact.npz")
    command(*arguments, "-o", tmp_path / "half.npz")
    exact, half = np.load(tmp_path / "exact.npz")["dx"], np.load(tmp_path / "half.npz")["dx"]
    assert exact.dtype == np.float64
    assert half.dtype == np.float16
    np.testing.assert_allclose(exact, formula(x, dy, w), rtol=0, atol=1e-12)
    assert np.abs(half.astype(np.float64) - exact).max() < 1e-3

    tx = torch.tensor(x, requires_grad=True)
    ty = tx * (tx.square().mean(1, keepdim=True) + 1e-5) ** -0.5 * torch.tensor(w).reshape(1, -1, 1, 1)
    ty.backward(torch.tensor(dy))
    assert tx.grad is not None
    np.testing.assert_allclose(formula(x, dy, w), tx.grad.numpy(), rtol=0, atol=1e-13)


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    for seed in ("1", "2"):
        command("compile", EXAMPLE, "-o", tmp_path / seed, "--emit", "mil,mlpackage,header", seed=seed)
    first, second = tmp_path / "1", tmp_path / "2"
    files = [path.relative_to(first) for path in first.rglob("*") if path.is_file()]
    assert len(files) == 7
    _, mismatch, errors = filecmp.cmpfiles(first, second, files, shallow=False)
    assert (mismatch, errors) == ([], [])


def test_options(tmp_path: Path) -> None:
    command("compile", EXAMPLE, "-D", "DIM=1024", "-D", "SEQ=512", "-o", tmp_path / "a")
    manifest = json.loads((tmp_path / "a" / "rmsnorm_bwd" / "kernel.json").read_text())
    assert manifest["parameters"] == {"DIM": 1024, "SEQ": 512, "EPS": 1e-5}
    assert manifest["inputs"][1] | {"range": None} == manifest["inputs"][1] | {
        "range": None,
        "shape": [1, 1024, 1, 512],
        "start": 1024,
    }

    command("compile", EXAMPLE, "--dialect", "1.0", "--emit", "mil,header", "-o", tmp_path / "b")
    text = (tmp_path / "b" / "rmsnorm_bwd" / "model.mil").read_text()
    assert text.startswith("program(1.0)")
    assert "main<ios16>" in text
    for short in (" string(", "uint64(", " fp16(", " bool ", "dict<string"):
        assert short not in text.replace("tensor<string, []>(", "").replace("tensor<uint64, []>(", "")
    assert (tmp_path / "b" / "rmsnorm_bwd" / "rmsnorm_bwd.h").exists()
    assert not (tmp_path / "b" / "rmsnorm_bwd" / "rmsnorm_bwd.mlpackage").exists()

    command("compile", EXAMPLE, "--single-weight-file", "-o", tmp_path / "c")
    weights = list((tmp_path / "c" / "rmsnorm_bwd" / "weights").iterdir())
    assert [path.name for path in weights] == ["weight.bin"]


def test_json_output_and_exit_codes(tmp_path: Path) -> None:
    found = json.loads(command("compile", EXAMPLE, "-o", tmp_path, "--format", "json").stdout)
    assert found["artifacts"][0]["manifest"]["kernel"] == "rmsnorm_bwd"
    found = json.loads(command("compile", EXAMPLE, "-o", tmp_path, "-D", "DIN=3", "--format", "json", code=1).stdout)
    assert [d["code"] for d in found["diagnostics"]] == ["ANE0229"]
    found = json.loads(command("run", EXAMPLE, "--random", "3", "--format", "json").stdout)
    assert found["outputs"]["dx"]["shape"] == [1, 768, 1, 256]
    assert found["outputs"]["dx"]["error"]["max_rel"] < 1e-2
    found = json.loads(command("check", EXAMPLE, "--format", "json").stdout)
    assert found == {"kernels": 1, "diagnostics": []}
    command("compile", EXAMPLE, "--emit", "pdf", code=2)
    command("compile", EXAMPLE, "-D", "DIM", code=2)
    command("check", EXAMPLE, "--chip", "m9", code=2)


def test_a_failed_compile_leaves_the_artifact_as_it_was(artifact: Path) -> None:
    before = {path: path.read_bytes() for path in artifact.rglob("*") if path.is_file()}
    command("compile", EXAMPLE, "-o", artifact.parent, "-D", "DIM=0", code=1)
    command("compile", EXAMPLE, "-o", artifact.parent, "-D", "EPS=1e9", code=1)
    assert {path: path.read_bytes() for path in artifact.rglob("*") if path.is_file()} == before


def test_the_python_interface(tmp_path: Path) -> None:
    x, dy, w = data()
    k = anedsl.load(EXAMPLE)
    assert repr(k) == "<kernel rmsnorm_bwd(dy: fp16[1, 768, 1, 256], x: fp16[1, 768, 1, 256])>"
    out = k(dy=dy, x=x, weights={"rms_w": w}, numerics="fp64")
    np.testing.assert_allclose(out.dx, formula(x, dy, w), rtol=0, atol=1e-12)
    assert out["dx"] is out.dx
    ones = k(dy=dy, x=x, numerics="fp64")  # the initialiser again: data is bound for one call
    np.testing.assert_allclose(ones.dx, formula(x, dy, np.ones(768)), rtol=0, atol=1e-12)
    made = k.compile(tmp_path, weights={"rms_w": w}, emit=("mil",))
    assert made.path == tmp_path / "rmsnorm_bwd"
    assert made.manifest["weights"][0]["name"] == "rms_w"
    small = anedsl.load(EXAMPLE, DIM=64, SEQ=32)
    assert small.inputs["x"].shape == (1, 64, 1, 32)
    with pytest.raises(anedsl.Failure, match="input `x` has no data"):
        small(dy=dy)
    with pytest.raises(anedsl.Failure, match="has no parameter `DIN`"):
        anedsl.load(EXAMPLE, DIN=64)
    with pytest.raises(AttributeError):
        _ = out.nothing


def test_outputs_of_any_name_are_saved(tmp_path: Path) -> None:
    (tmp_path / "k.ane").write_text(
        "kernel k() { input x: fp16[4]; output file, allow_pickle; file = x * 2; allow_pickle = x + 1 }"
    )
    command("run", tmp_path / "k.ane", "--random", "0", "-o", tmp_path / "out.npz")
    found = np.load(tmp_path / "out.npz")
    assert sorted(found) == ["allow_pickle", "file"]
    assert found["file"].dtype == np.float16
