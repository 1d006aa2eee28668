"""Slices, parts, transposes and reshapes of compressed weights: still compressed, and the same numbers as those of the whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anedsl
from anedsl.compression import compress, decompress
from tests.decoding import decoded
from tests.test_compression import STORAGES

Array = np.ndarray[Any, np.dtype[Any]]

SHAPE = (16, 24, 1, 1)

MOVES = {
    "W[0:8]": lambda w: w[:8],
    "W[8:16]": lambda w: w[8:],
    "W[4:12]": lambda w: w[4:12],
    "W[:, 8:24]": lambda w: w[:, 8:],
    "W[0:8, 16:24]": lambda w: w[:8, 16:],
    "W[8:16][0:4]": lambda w: w[8:12],
    "transpose(W, [1, 0, 2, 3])": lambda w: w.transpose(1, 0, 2, 3),
    "transpose(W[0:8], [1, 0, 2, 3])": lambda w: w[:8].transpose(1, 0, 2, 3),
    "reshape(W, [1, 16, 24])": lambda w: w.reshape(1, 16, 24),
    "squeeze(W, axes = [2, 3])": lambda w: w.reshape(16, 24),
    "expand_dims(W, axes = [0])": lambda w: w[None],
    "transpose(squeeze(W, axes = [2, 3]), [1, 0])[8:16]": lambda w: w.reshape(16, 24).T[8:16],
}
"""What each storage of `STORAGES` allows: its blocks are 4 or 8 long."""

PARTLY = {
    "W[0:16:2]": lambda w: w[::2],
    "W[1:7, 3:20]": lambda w: w[1:7, 3:20],
    "W[5]": lambda w: w[5],
    "W[5:6, 9:10]": lambda w: w[5:6, 9:10],
    "reshape(W, [2, 8, 24])": lambda w: w.reshape(2, 8, 24),
    "reshape(W, [16, 4, 6])": lambda w: w.reshape(16, 4, 6),
    "reshape(W, [384])": lambda w: w.reshape(384),
}
"""What only some of them allow."""


def weights() -> Array:
    array = np.random.default_rng(3).standard_normal(SHAPE)
    array[np.abs(array) < 0.3] = 0
    return array


def made(tmp_path: Path, storage: str, body: str, dialect: str = "1.3") -> tuple[Any, Any]:
    text = f"kernel k() {{ input x: fp16[1]; weight W: fp16[16, 24, 1, 1] stored {storage}; output y; y = ({body}) + x }}"
    (tmp_path / "k.ane").write_text(text)
    k = anedsl.load(tmp_path / "k.ane")
    return k, k.compile(tmp_path / "build", weights={"W": weights()}, dialect=dialect)


IN_BOTH = [text for text in STORAGES if not ("block" in text or "int4" in text or "bits = 3" in text)]


@pytest.mark.parametrize(("dialect", "text"), [*(("1.3", text) for text in STORAGES), *(("1.0", text) for text in IN_BOTH)])
@pytest.mark.parametrize("body", [*MOVES, *PARTLY])
def test_what_moves_keeps_its_numbers(body: str, text: str, dialect: str, tmp_path: Path, coremltools: Any) -> None:
    move = {**MOVES, **PARTLY}[body]
    k, artifact = made(tmp_path, text, body, dialect)
    kept = decoded(artifact, coremltools)
    stored = [weight["stored"] for weight in artifact.manifest["weights"] if "stored" in weight]
    lost = [d.code for d in k.diagnostics if d.code == "ANE0282"]
    if body in MOVES:
        assert kept
    if not kept:
        assert (lost, stored) == (["ANE0282"], [])
        found = k(x=np.zeros(1), weights={"W": weights()}, numerics="fp64").y
        np.testing.assert_array_equal(found, move(weights()))
        return
    whole = decompress(compress(weights(), STORAGES[text]))
    ((_, array),) = kept.items()
    np.testing.assert_array_equal(array, move(whole).astype(np.float16))
    np.testing.assert_array_equal(k(x=np.zeros(1), weights={"W": weights()}, numerics="fp64").y, move(whole))
    assert lost == []
    assert {entry["weight"] for entry in stored} == {"W"}
    (error,) = [entry["error"] for entry in stored if "error" in entry]
    differences = np.abs(move(whole).astype(np.float16).astype(np.float64) - move(weights()))
    assert error["max_abs"] == pytest.approx(differences.max(), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "body", "kept"),
    [
        ("int8(axis = 0)", "reshape(W, [2, 8, 24])", False),  # the scales would need two axes
        ("int8(axis = 0)", "reshape(W, [16, 4, 6])", True),
        ("int8", "reshape(W, [384])", True),
        ("palette(bits = 4)", "W[1:7, 3:20]", True),
        ("sparse", "W[0:16:2]", True),
        ("uint8(axis = 1)", "W[1:7, 3:20]", True),
        ("blockwise(bits = 4, block = 8)", "W[1:7, 3:20]", False),  # cuts through blocks
        ("blockwise(bits = 4, block = 8)", "W[5:6, 9:10]", True),  # in one block
    ],
)
def test_what_each_form_allows(text: str, body: str, kept: bool, tmp_path: Path) -> None:
    _, artifact = made(tmp_path, text, body)
    assert any(kind.startswith("constexpr") for kind in artifact.manifest["ops"]["by_kind"]) == kept


@pytest.mark.parametrize("text", ["int8(axis = 0)", "palette(bits = 4)", "sparse", "blockwise(bits = 4, block = 8)"])
def test_a_fused_weight_is_cut_into_compressed_parts(text: str, tmp_path: Path, coremltools: Any) -> None:
    kernel = f"""
    kernel k() {{
        input x: fp16[1, 24, 1, 8]
        weight w: fp16[48, 24, 1, 1] stored {text}
        output q, k, v
        wq, wk, wv = split(w, 3, axis = 0)
        q = conv(x, wq)
        k = conv(x, wk)
        v = conv(x, wv)
    }}"""
    (tmp_path / "k.ane").write_text(kernel)
    array = np.random.default_rng(4).standard_normal((48, 24, 1, 1))
    k = anedsl.load(tmp_path / "k.ane")
    artifact = k.compile(tmp_path / "build", weights={"w": array})
    assert k.diagnostics == []
    whole = decompress(compress(array, STORAGES[text])).astype(np.float16)
    found = decoded(artifact, coremltools)
    assert list(found) == ["wq", "wk", "wv"]
    np.testing.assert_array_equal(np.concatenate(list(found.values())), whole)


def test_what_is_lost_beside_what_is_kept_is_said(tmp_path: Path) -> None:
    """And it is computed from the numbers that were given, not from those that compression has changed."""
    k, _ = made(tmp_path, "int4", "W[0:8] + W[8:16] * 2")
    assert [(d.code, d.span.text) for d in k.diagnostics if d.code == "ANE0282"] == [("ANE0282", "W[0:8] + W[8:16] * 2")]
    found = k(x=np.zeros(1), weights={"W": weights()}, numerics="fp64").y
    np.testing.assert_allclose(found, weights()[:8] + weights()[8:] * 2, rtol=1e-12)


def test_a_member_of_a_family_is_named_in_the_manifest(tmp_path: Path) -> None:
    text = "kernel k() { input x: fp16[8]; weight W[2]: fp16[16, 8] stored int8; output y; y = W[1][0:8] + x }"
    (tmp_path / "k.ane").write_text(text)
    artifact = anedsl.load(tmp_path / "k.ane").compile(tmp_path / "build", weights={"W": np.ones((2, 16, 8))})
    assert {w["stored"]["weight"] for w in artifact.manifest["weights"] if "stored" in w} == {"W[1]"}
