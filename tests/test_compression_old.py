"""Compressed weights in dialect 1.0: opset ios16 has other forms of the ops for palettes and sparse weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import anedsl
from anedsl.codegen.artifact import Artifact
from anedsl.codegen.reader import read
from anedsl.compression import Storage, compress, decompress
from anedsl.ops.older import OLDER
from anedsl.reference.executor import execute
from tests.decoding import decoded
from tests.ops.judges import coremltools as registry
from tests.reader.emitting import emitted
from tests.reader.test_forms import graph_of

Array = np.ndarray[Any, np.dtype[Any]]
SHAPE = (5, 7, 1, 3)
"""105 elements: whatever the bits, the last byte is not full."""

STORAGES = {
    "int8(axis = 0)": Storage("int8", axis=0),
    "uint8": Storage("uint8"),
    **{f"palette(bits = {bits})": Storage("palette", bits=bits) for bits in (1, 2, 4, 6, 8)},
    "sparse(prune = 0.4)": Storage("sparse", prune=0.4),
}


def weights(seed: int = 5) -> Array:
    return np.random.default_rng(seed).standard_normal(SHAPE)


def compiled(tmp_path: Path, storage: str, dialect: str = "1.0", array: Array | None = None) -> Artifact:
    text = f"kernel k() {{ input x: fp16[1, 7, 1, 8]; weight W: fp16{list(SHAPE)} stored {storage}; output y; y = conv(x, W) }}"
    (tmp_path / "k.ane").write_text(text)
    given = weights() if array is None else array
    return anedsl.load(tmp_path / "k.ane").compile(tmp_path / dialect, weights={"W": given}, dialect=dialect)


@pytest.mark.parametrize("storage", STORAGES)
def test_coremltools_decodes_the_same_values(storage: str, tmp_path: Path, coremltools: Any) -> None:
    expected = decompress(compress(weights(), STORAGES[storage])).astype(np.float16)
    np.testing.assert_array_equal(decoded(compiled(tmp_path, storage), coremltools)["W"], expected)


@pytest.mark.parametrize("storage", STORAGES)
def test_both_dialects_lose_the_same(storage: str, tmp_path: Path) -> None:
    losses = []
    for dialect in ("1.0", "1.3"):
        (main,) = [w for w in compiled(tmp_path, storage, dialect).manifest["weights"] if w["declared"]]
        losses.append(main["stored"])
    assert losses[0] == losses[1]


@pytest.mark.parametrize("storage", STORAGES)
def test_text_and_package_are_read_and_computed(storage: str, tmp_path: Path) -> None:
    made = compiled(tmp_path, storage)
    x = np.random.default_rng(6).standard_normal((1, 7, 1, 8)).astype(np.float16)
    kept = decompress(compress(weights(), STORAGES[storage]))[:, :, 0]
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64)[0, :, 0], 3, axis=1)
    expected = np.einsum("oiw,isw->os", kept, windows)[None, :, None]
    for path in (made.path / "model.mil", made.path / "k.mlpackage"):
        graph = read(path).main
        np.testing.assert_allclose(execute(graph, {"x": x}, "fp64")["y"], expected, rtol=1e-12, atol=1e-12)
    assert emitted(read(made.path / "model.mil").main, "1.0") == (made.path / "model.mil").read_text()


def test_the_operands_stand_in_the_attribute_list(tmp_path: Path) -> None:
    palette = (compiled(tmp_path, "palette(bits = 4)").path / "model.mil").read_text()
    assert "constexpr_lut_to_dense()[indices = tensor<uint8, [53]>(BLOBFILE(" in palette
    assert "lut = tensor<fp16, [16]>(BLOBFILE(" in palette
    assert "shape = tensor<uint32, [4]>([5, 7, 1, 3])" in palette
    sparse = (compiled(tmp_path, "sparse(prune = 0.4)").path / "model.mil").read_text()
    assert "constexpr_sparse_to_dense()[mask = tensor<uint8, [14]>(BLOBFILE(" in sparse
    assert "nonzero_data = tensor<fp16, [63]>(BLOBFILE(" in sparse


@pytest.mark.parametrize("storage", ["palette(bits = 3)", "int4", "blockwise(bits = 8, block = 7)"])
def test_what_only_the_new_opset_has_is_said_of_the_storage(storage: str, tmp_path: Path) -> None:
    with pytest.raises(anedsl.Failure) as failure:
        compiled(tmp_path, storage)
    (found,) = failure.value.diagnostics
    assert (found.code, found.span.text) == ("ANE0430", "W")
    assert found.headline.startswith(f"the storage `{storage.rstrip(')')}")
    assert "needs opset ios18" in found.headline


def test_a_mask_in_a_program_has_a_one_for_each_element() -> None:
    arguments = "mask = tensor<uint8, [1]>([7]), nonzero_data = tensor<fp16, [2]>([1, 2]), shape = tensor<uint32, [1]>([4])"
    graph = graph_of(f"tensor<fp16, [4]> y = constexpr_sparse_to_dense()[{arguments}];", dialect="1.0", opset="ios16")
    with pytest.raises(anedsl.Failure, match="sparse data has 2 elements for 3 places"):
        execute(graph, {"x": np.zeros((1, 4))}, "fp64")


@pytest.mark.parametrize(
    ("bytes", "entries", "message"),
    [
        (2, 4, r"takes `indices` of shape `\[1\]`, found `\[2\]`"),
        (2, 8, r"takes `lut` of shape `\[16\]`, found `\[8\]`"),
        (1, 300, r"takes `lut` of shape `\[256\]`, found `\[300\]`"),
    ],
)
def test_sizes_that_do_not_fit_are_explained(bytes: int, entries: int, message: str) -> None:
    lut, shape = f"tensor<fp16, [{entries}]>({[1] * entries})", "tensor<uint32, [1]>([4])"
    arguments = f"indices = tensor<uint8, [{bytes}]>({[0] * bytes}), lut = {lut}, shape = {shape}"
    with pytest.raises(anedsl.Failure, match=message):
        graph_of(f"tensor<fp16, [4]> y = constexpr_lut_to_dense()[{arguments}];", dialect="1.0", opset="ios16")


@pytest.mark.parametrize("op", OLDER.values(), ids=OLDER)
def test_older_records_say_what_coremltools_says_of_them(op: Any) -> None:
    from coremltools.converters.mil.mil import types
    from coremltools.converters.mil.mil.ops.registry import SSAOpRegistry

    targets = registry().target
    found = SSAOpRegistry.core_ops[op.name]
    assert min(found, key=lambda target: target.value) is getattr(targets, op.since.replace("ios", "iOS"))
    form = found[getattr(targets, op.since.replace("ios", "iOS"))]
    assert found[getattr(targets, op.until.replace("ios", "iOS"))] is form
    assert found[targets.iOS18] is not form
    declared = form.input_spec.input_types
    domains = {o.name: o.domain for o in op.operands} | {a.name: a.domain for a in op.attributes}
    assert set(domains) == set(declared)
    for name, input in declared.items():
        allowed = form.type_domains[input.type_domain_id] if input.type_domain_id else input.type_domain
        allowed = allowed if isinstance(allowed, tuple) else (allowed,)
        assert {dtype.name for dtype in domains[name].dtypes} == {types.builtin_to_string(type) for type in allowed}
        assert (input.const, input.optional) == (True, False)
