"""Compressed weights: what they lose, what is written, and what coremltools reads back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anedsl
from anedsl.compression import Storage, compress, decompress
from anedsl.palette import nearest_entry
from tests.decoding import decoded
from tests.language.kernels import problems

Array = np.ndarray[Any, np.dtype[Any]]

STORAGES = {
    "int8": Storage("int8"),
    "int8(axis = 0)": Storage("int8", axis=0),
    "int8(axis = 1)": Storage("int8", axis=1),
    "uint8": Storage("uint8"),
    "uint8(axis = 0)": Storage("uint8", axis=0),
    "int4": Storage("int4"),
    "int4(axis = 0)": Storage("int4", axis=0),
    "blockwise(bits = 4, block = 8)": Storage("blockwise", axis=1, bits=4, block=8),
    "blockwise(bits = 8, block = 4, axis = 0)": Storage("blockwise", axis=0, bits=8, block=4),
    **{f"palette(bits = {bits})": Storage("palette", bits=bits) for bits in (1, 2, 3, 4, 6, 8)},
    "sparse": Storage("sparse"),
    "sparse(prune = 0.5)": Storage("sparse", prune=0.5),
}


EACH = ["int8(axis = 0)", "uint8", "int4", "palette", "sparse", "blockwise(bits = 8, block = 8)"]


def weights(seed: int, scale: float = 1.0) -> Array:
    return np.random.default_rng(seed).standard_normal((16, 24, 1, 1)) * scale


def half_step(array: Array, storage: Storage) -> Array:
    """The most that an element may be off: half a scale, or half the distance between its two nearest palette entries."""
    found = compress(array, storage)
    if storage.kind == "palette":
        entries = np.sort(found.parts["lut"].array.reshape(-1))
        return np.abs(entries[nearest_entry(array, entries)] - array)
    scale = found.parts["scale"].array
    if scale.ndim == 1 and storage.axis is not None:
        scale = scale.reshape([-1 if axis == storage.axis else 1 for axis in range(array.ndim)])
    if storage.kind == "blockwise":
        for axis, size in enumerate(array.shape):
            if scale.shape[axis] not in (1, size):
                scale = np.repeat(scale, size // scale.shape[axis], axis)
    return np.broadcast_to(scale / 2, array.shape)


@pytest.mark.parametrize("text", [text for text in STORAGES if "sparse" not in text])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), scale=st.sampled_from([1e-4, 0.02, 1.0, 300.0]), shift=st.sampled_from([0.0, 0.5, -3.0]))
def test_each_value_is_within_half_a_step(text: str, seed: int, scale: float, shift: float) -> None:
    array = (weights(seed) + shift) * scale
    storage = STORAGES[text]
    loss = np.abs(decompress(compress(array, storage)) - array)
    assert (loss <= half_step(array, storage) * (1 + 1e-9) + 1e-300).all()


def test_a_palette_is_better_than_even_steps() -> None:
    array = np.random.default_rng(3).laplace(size=4000)
    lost = np.square(decompress(compress(array, Storage("palette", bits=4))) - array).mean()
    even = np.linspace(array.min(), array.max(), 16)
    assert lost < 0.8 * np.square(even[nearest_entry(array, even)] - array).mean()


def test_a_palette_that_is_large_enough_loses_nothing() -> None:
    array = np.random.default_rng(0).choice([-1.5, 0.0, 0.25, 2.0], (8, 8))
    np.testing.assert_array_equal(decompress(compress(array, Storage("palette", bits=2))), array)


def test_sparse_keeps_what_is_not_zero_and_prunes_the_smallest() -> None:
    array = weights(1).astype(np.float16).astype(np.float64)
    array[array < 0] = 0
    np.testing.assert_array_equal(decompress(compress(array, Storage("sparse"))), array)
    dense = weights(2)
    pruned = decompress(compress(dense, Storage("sparse", prune=0.25)))
    gone = pruned == 0
    assert gone.sum() == dense.size // 4
    assert np.abs(dense[gone]).max() <= np.abs(dense[~gone]).min()


@pytest.mark.parametrize("array", [np.zeros((4, 4)), np.full((4, 4), 3.0), np.full((4, 4), -2e-8)], ids=["zero", "equal", "tiny"])
@pytest.mark.parametrize("kind", ["int8", "uint8", "int4", "palette"])
def test_odd_weights(array: Array, kind: str) -> None:
    found = decompress(compress(array, Storage(kind)))
    assert np.isfinite(found).all()
    assert np.abs(found - array).max() <= max(np.abs(array).max() / 14 * 1.01, 6e-8)


def kernel(tmp_path: Path, storage: str, body: str = "conv(x, W)") -> Any:
    text = f"kernel k() {{ input x: fp16[1, 24, 1, 8]; weight W: fp16[16, 24, 1, 1] stored {storage}; output y; y = {body} }}"
    (tmp_path / "k.ane").write_text(text)
    return anedsl.load(tmp_path / "k.ane")


@pytest.mark.parametrize("text", STORAGES)
def test_coremltools_decodes_the_same_values(text: str, tmp_path: Path, coremltools: Any) -> None:
    array = weights(5)
    k = kernel(tmp_path, text)
    made = k.compile(tmp_path / "build", weights={"W": array})
    found = decoded(made, coremltools)["W"]
    assert found.dtype == np.float16
    expected = decompress(compress(array, STORAGES[text]))
    np.testing.assert_array_equal(found, expected.astype(np.float16))

    x = np.random.default_rng(6).standard_normal((1, 24, 1, 8))
    y = k(x=x, weights={"W": array}, numerics="fp64").y
    np.testing.assert_allclose(y, np.einsum("oi,bihs->bohs", expected[:, :, 0, 0], x), rtol=1e-12, atol=1e-12)
    (main,) = [w for w in made.manifest["weights"] if w["declared"]]
    lost = np.abs(found.astype(np.float64) - array)
    largest = lost.max()
    assert main["stored"]["error"] == {
        "max_abs": pytest.approx(largest, rel=1e-12),
        "mean_abs": pytest.approx(lost.mean(), rel=1e-12),
        "max_rel": pytest.approx(largest / np.abs(array).max(), rel=1e-12),
    }


def test_a_transposed_weight_stays_compressed(tmp_path: Path) -> None:
    array = weights(7)
    k = kernel(tmp_path, "int8(axis = 0)", "conv(x[:, 0:16], transpose(W, [1, 0, 2, 3]))")
    made = k.compile(tmp_path / "build", weights={"W": array})
    assert made.manifest["ops"]["by_kind"] == {"constexpr_affine_dequantize": 1, "conv": 1, "slice_by_size": 1}
    assert k.diagnostics == []
    x = np.random.default_rng(8).standard_normal((1, 24, 1, 8))
    expected = decompress(compress(array, Storage("int8", axis=0)))[:, :, 0, 0]
    np.testing.assert_allclose(
        k(x=x, weights={"W": array}, numerics="fp64").y, np.einsum("oi,bohs->bihs", expected, x[:, :16]), rtol=1e-12, atol=1e-12
    )


def test_scales_are_not_folded_into_a_compressed_weight(tmp_path: Path) -> None:
    made = kernel(tmp_path, "int8(axis = 0)", "conv(x, W) * 0.125").compile(tmp_path / "build", weights={"W": weights(1)})
    assert made.manifest["ops"]["by_kind"] == {"constexpr_affine_dequantize": 1, "conv": 1, "mul": 1}


def test_arithmetic_on_a_compressed_weight_is_pointed_out(tmp_path: Path) -> None:
    k = kernel(tmp_path, "int8", "conv(x, W * 2)")
    assert [(d.code, d.span.text) for d in k.diagnostics] == [("ANE0282", "W * 2")]
    made = k.compile(tmp_path / "build", weights={"W": weights(1)})
    assert made.manifest["ops"]["by_kind"] == {"conv": 1}


@pytest.mark.parametrize(
    ("storage", "code", "at"),
    [
        ("int9", "ANE0280", "int9"),
        ("float", "ANE0280", "float"),
        ("int8(axes = 0)", "ANE0211", "axes = 0"),
        ("int8(0)", "ANE0211", "0"),
        ("int8(axis = 4)", "ANE0244", "axis = 4"),
        ("int8(axis = x)", "ANE0215", "x"),
        ("int8(axis = 0, axis = 1)", "ANE0213", "axis = 1"),
        ("palette(bits = 5)", "ANE0281", "bits = 5"),
        ("blockwise(bits = 3)", "ANE0281", "bits = 3"),
        ("blockwise(block = 7)", "ANE0281", "block = 7"),
        ("blockwise(block = 0)", "ANE0281", "block = 0"),
        ("blockwise(block = -8)", "ANE0281", "block = -8"),
        ("sparse(prune = 2)", "ANE0216", "2"),
        ("sparse(prune = 1.0)", "ANE0216", "1.0"),
    ],
)
def test_mistakes(storage: str, code: str, at: str) -> None:
    text = f"kernel k() {{ input x: fp16[1, 24, 1, 8]; weight W: fp16[16, 24, 1, 1] stored {storage}; output y; y = conv(x, W) }}"
    assert [(c, span) for c, _, span in problems(text) if c != "ANE0205"] == [(code, at)]


def test_only_half_weights_are_compressed() -> None:
    text = "kernel k() { input x: fp32[4]; weight w: fp32[4] stored int8; output y; y = x * w }"
    assert [c for c, _, _ in problems(text) if c != "ANE0205"] == ["ANE0281"]


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ("blockwise(block = 0)", "invalid storage `blockwise`: `block` is 0"),
        ("sparse(prune = 1.0)", "expected a number of at least 0 and below 1, found the number 1.0"),
    ],
)
def test_mistakes_are_named(storage: str, message: str) -> None:
    text = f"kernel k() {{ input x: fp16[1, 24, 1, 8]; weight W: fp16[16, 24, 1, 1] stored {storage}; output y; y = conv(x, W) }}"
    assert message in [found for _, found, _ in problems(text)]


@pytest.mark.parametrize("storage", EACH)
def test_what_is_too_small_for_fp16_is_said(storage: str, tmp_path: Path) -> None:
    made = kernel(tmp_path, storage).compile(tmp_path / "build", weights={"W": weights(3) * 1e-10})
    assert "ANE0421" in [diagnostic.code for diagnostic in made.warnings]


@pytest.mark.parametrize("storage", EACH)
def test_what_is_too_large_for_fp16_is_not_compressed(storage: str, tmp_path: Path) -> None:
    """One such number would spoil all that share its scale or palette."""
    array = weights(3)
    array[0, :5, 0, 0] = np.nan, np.inf, -np.inf, 1e9, -65520
    k = kernel(tmp_path, storage)
    uses = (
        lambda: k.compile(tmp_path / "build", weights={"W": array}),
        lambda: k(x=np.ones((1, 24, 1, 8)), weights={"W": array}),
    )
    for use in uses:
        with pytest.raises(anedsl.Failure) as failure:
            use()
        (found,) = failure.value.diagnostics
        assert (found.code, found.span.text) == ("ANE0438", "W")
        assert found.label_text == "NaN: 1, infinite: 2, too large for fp16: 2"
        assert "the largest finite magnitude is 1e+09" in str(failure.value)
    assert not (tmp_path / "build" / "k").exists()


def test_a_member_of_a_family_is_named(tmp_path: Path) -> None:
    weight = "weight W[2]: fp16[8, 8, 1, 1] stored int4"
    (tmp_path / "k.ane").write_text(
        f"kernel k {{ input x: fp16[1, 8, 1, 8]; {weight}; output y; y = conv(conv(x, W[0]), W[1]) }}"
    )
    array = np.ones((2, 8, 8, 1, 1))
    array[1, 0, 0] = np.nan
    with pytest.raises(anedsl.Failure, match=r"weight `W\[1\]` cannot be compressed"):
        anedsl.load(tmp_path / "k.ane").compile(tmp_path / "build", weights={"W": array})


NEAR_THE_END = st.one_of(st.floats(-65519, 65519), st.floats(60000, 65519), st.floats(-65519, -60000), st.just(0.0))


@pytest.mark.parametrize("text", [text for text in STORAGES if "sparse" not in text])
@settings(max_examples=60, deadline=None)
@given(ends=st.lists(NEAR_THE_END, min_size=4, max_size=4), seed=st.integers(0, 2**32))
def test_large_values_come_back_finite_and_within_half_a_step(text: str, ends: list[float], seed: int) -> None:
    array = np.random.default_rng(seed).uniform(min(ends), max(ends), (16, 24, 1, 1))
    array[seed % 16, :4, 0, 0] = ends
    array = array.clip(-65504, 65504)
    storage = STORAGES[text]
    found = decompress(compress(array, storage))
    assert np.isfinite(found.astype(np.float16)).all()
    assert (np.abs(found - array) <= half_step(array, storage) * (1 + 1e-9)).all()


@pytest.mark.parametrize("storage", ["uint8", "uint8(axis = 0)", "int8", "int4"])
def test_the_largest_half_does_not_become_infinite(storage: str, tmp_path: Path, coremltools: Any) -> None:
    array = np.zeros((16, 24, 1, 1))
    array[:, :4, 0, 0] = -30000, 65504, 100, 0
    made = kernel(tmp_path, storage).compile(tmp_path / "build", weights={"W": array})
    assert not [found for found in made.warnings if found.code.startswith("ANE04")]
    found = decoded(made, coremltools)["W"].astype(np.float64)
    assert np.abs(found - array).max() <= (65504 + 30000) / 255 if "uint8" in storage else 65504 / 7


@pytest.mark.parametrize("bits", [2, 8])
def test_a_palette_of_few_numbers_loses_nothing(bits: int) -> None:
    """Also where they are far from each other, and between two numbers of fp16."""
    generator = np.random.default_rng(2)
    array = generator.choice(generator.standard_normal(1 << bits) * 10.0 ** generator.integers(-4, 4, 1 << bits), 192)
    found = compress(array, Storage("palette", bits=bits))
    np.testing.assert_array_equal(decompress(found), array.astype(np.float16))
    assert found.parts["lut"].array.shape == (1, 1 << bits, 1)


@pytest.mark.parametrize(("axis", "block", "blocks"), [(0, 3, [3, 1, 0, 0]), (1, 8, [1, 8, 0, 0])])
@pytest.mark.parametrize("bits", [4, 8])
def test_blocks_are_those_of_coremltools(axis: int, block: int, blocks: list[int], bits: int, coremltools: Any) -> None:
    """One axis has blocks, the other of the first two a scale for each position, and kernel positions share them."""
    from coremltools.optimize._utils import compute_qparams

    array = np.random.default_rng(0).standard_normal((6, 32, 3, 1)).astype(np.float32)
    codes, scale, _ = compute_qparams(array, bits, True, "LINEAR_SYMMETRIC", None, blocks)
    found = compress(array.astype(np.float64), Storage("blockwise", bits=bits, block=block, axis=axis))
    np.testing.assert_allclose(found.parts["scale"].array, scale, rtol=2**-10)
    assert np.abs(found.parts["data"].array - codes).max() <= 1


@pytest.mark.parametrize("storage", ["blockwise(block = 8)", "blockwise(block = 4, axis = 3)"])
def test_a_transposed_weight_keeps_its_blocks(storage: str, tmp_path: Path) -> None:
    """Also where the transposed weight would have scales along other axes if it were declared so."""
    weight = f"weight W: fp16[16, 24, 1, 8] stored {storage}"
    body = "y = conv(x, transpose(W, [1, 0, 2, 3]))"
    (tmp_path / "k.ane").write_text(f"kernel k() {{ input x: fp16[1, 16, 8, 8]; {weight}; output y; {body} }}")
    array = np.random.default_rng(0).standard_normal((16, 24, 1, 8))
    k = anedsl.load(tmp_path / "k.ane")
    made = k.compile(tmp_path / "build", weights={"W": array})
    assert "constexpr_blockwise_shift_scale" in made.manifest["ops"]["by_kind"]
    rows = Storage("blockwise", 3, 4, 4)
    inside = decompress(compress(array, rows if "axis" in storage else STORAGES["blockwise(bits = 4, block = 8)"]))
    x = np.random.default_rng(8).standard_normal((1, 16, 8, 8))
    expected = np.einsum("oiw,bihw->boh", inside.transpose(1, 0, 2, 3)[:, :, 0], x)[..., None]
    np.testing.assert_allclose(k(x=x, weights={"W": array}, numerics="fp64").y, expected, rtol=1e-12, atol=1e-9)


def test_a_sparse_weight_of_zeros_keeps_one_number(tmp_path: Path) -> None:
    k = kernel(tmp_path, "sparse")
    made = k.compile(tmp_path / "build", weights={"W": np.zeros((16, 24))})
    assert [w["name"] for w in made.manifest["weights"] if w["declared"]] == ["W"]
    assert not k(x=np.ones((1, 24, 1, 8)), weights={"W": np.zeros((16, 24))}).y.any()


def test_other_numbers_for_the_same_kernel_are_compressed_anew(tmp_path: Path) -> None:
    k = kernel(tmp_path, "int8")
    x = np.ones((1, 24, 1, 8))
    first, second = (k(x=x, weights={"W": np.full((16, 24), value)}, numerics="fp64").y for value in (1.0, 2.0))
    np.testing.assert_allclose(second, 2 * first, rtol=1e-2)


def test_the_error_is_printed_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In a line for each way of storing, with the weight that loses most."""
    from anedsl.cli.compressed import error_lines
    from anedsl.cli.inspecting import inspect_target

    text = """
    kernel k() {
        input x: fp16[1, 24, 1, 8]
        weight a, b: fp16[24, 24, 1, 1] stored int8
        weight c: fp16[24, 24, 1, 1] stored palette(bits = 2)
        output y
        y = conv(conv(conv(x, a), b), c)
    }"""
    (tmp_path / "k.ane").write_text(text)
    rough = np.random.default_rng(0).standard_normal((24, 24))
    even = np.arange(576).reshape(24, 24) % 3 * 127.0 / 2
    weights = {"a": even, "b": rough, "c": even}
    made = anedsl.load(tmp_path / "k.ane").compile(tmp_path, weights=weights)
    codes = {w["name"]: w["stored"]["error"]["max_rel"] for w in made.manifest["weights"] if w["declared"]}
    assert error_lines(made.manifest) == [
        f"int8: 2 weights, error up to {codes['b']:.2%} of the largest magnitude, in b",
        "palette(bits = 2): 1 weight, nothing lost",
    ]
    inspect_target(made.path, "text")
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith(("a  ", "b  ", "c  "))]
    assert [(row[0], row[-2]) for row in rows] == [(name, f"{codes[name]:.2%}") for name in "abc"]
