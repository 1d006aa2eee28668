"""What numpy and safetensors write is read back, bit for bit, whole and in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors import numpy as safetensors_numpy
from safetensors import torch as safetensors_torch

from anedsl.data import ArrayData
from anedsl.weights import open_source, read_arrays, stored
from anedsl.weights.arrays import ArraySource
from tests.weights.build import everything, npy

DTYPES = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]
SHAPES = [(), (1,), (3, 4, 5), (7, 1, 2), (0, 3)]


def arrays() -> dict[str, np.ndarray]:
    """An array of each type and shape; floats with infinities, NaN, a subnormal and minus zero."""
    random = np.random.default_rng(1)
    made = {}
    for dtype in DTYPES:
        for shape in SHAPES:
            array = np.asarray(random.integers(0, 100, shape)).astype(dtype)
            if array.dtype.kind == "f" and array.size > 10:
                array.flat[:5] = [np.inf, -np.inf, np.nan, -0.0, np.finfo(array.dtype).smallest_subnormal]
            made[f"{array.dtype.name}{list(shape)}"] = array
    return made


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for key, array in expected.items():
        assert found[key].dtype == array.dtype, key
        assert found[key].shape == array.shape, key
        assert found[key].tobytes() == array.tobytes(), key


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz(tmp_path: Path, save: Any) -> None:
    expected = arrays()
    save(tmp_path / "w.npz", **expected)
    assert_same(everything(tmp_path / "w.npz"), expected)


def test_safetensors(tmp_path: Path) -> None:
    expected = arrays()
    safetensors_numpy.save_file(expected, tmp_path / "w.safetensors", metadata={"made by": "a test, [with] {marks}"})
    assert_same(everything(tmp_path / "w.safetensors"), expected)


def test_folder(tmp_path: Path) -> None:
    expected = {f"deep/er/{key}": array for key, array in arrays().items()} | {"top": np.arange(3)}
    (tmp_path / "deep/er").mkdir(parents=True)
    for key, array in expected.items():
        np.save(tmp_path / f"{key}.npy", array)
    (tmp_path / "notes.txt").write_text("not an array")
    assert_same(everything(tmp_path), expected)


def test_lone_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", np.arange(6.0).reshape(2, 3))
    assert_same(everything(tmp_path / "w.npy"), {"w": np.arange(6.0).reshape(2, 3)})


def test_arrays_in_memory() -> None:
    source = ArraySource(arrays())
    assert_same({key: source.data(key).load() for key in source.keys()}, arrays())  # noqa: SIM118


@pytest.mark.parametrize("name", ["w.npz", "w.safetensors", "w.npy", "folder"])
def test_read_arrays(tmp_path: Path, name: str) -> None:
    expected = {"w": np.arange(12, dtype=np.float32).reshape(3, 4)}
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    {
        "w.npz": lambda: np.savez(path, **expected),
        "w.safetensors": lambda: safetensors_numpy.save_file(expected, path),
        "w.npy": lambda: np.save(path, expected["w"]),
        "folder": lambda: np.save(path / "w.npy", expected["w"]),
    }[name]()
    found = read_arrays(path)
    assert_same(found, expected)
    found["w"][0] = 1


def test_every_bfloat16_becomes_the_same_float32(tmp_path: Path) -> None:
    every = torch.arange(1 << 16, dtype=torch.int32).to(torch.uint16).view(torch.bfloat16).reshape(256, 256)
    safetensors_torch.save_file({"w": every}, tmp_path / "w.safetensors")
    assert open_source(tmp_path / "w.safetensors").entry("w").dtype == "bf16"
    found = everything(tmp_path / "w.safetensors")["w"]
    assert found.dtype == np.float32
    assert np.isnan(found).sum() == 2 * 127
    # By bits, because a NaN may change its payload on the way through torch's conversion.
    np.testing.assert_array_equal(found.view(np.uint32) >> 16, np.arange(1 << 16).reshape(256, 256))
    np.testing.assert_array_equal(found, every.to(torch.float32).numpy())


@pytest.mark.parametrize("kind", ["npz", "npy"])
def test_big_endian_and_fortran_order(tmp_path: Path, kind: str) -> None:
    plain = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for given in (plain.astype(">f4"), np.asfortranarray(plain), np.asfortranarray(plain.astype(">f4"))):
        path = tmp_path / f"w.{kind}"
        np.save(path, given) if kind == "npy" else np.savez_compressed(path, w=given)
        assert_same(everything(path), {"w": plain})


@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_of_npy(tmp_path: Path, version: int) -> None:
    (tmp_path / "w.npy").write_bytes(npy(data=np.arange(4, dtype=np.float32).tobytes(), version=version))
    assert_same(everything(tmp_path / "w.npy"), {"w": np.arange(4, dtype=np.float32).reshape(2, 2)})


def test_booleans_are_what_is_not_zero(tmp_path: Path) -> None:
    (tmp_path / "w.npy").write_bytes(npy(shape="(4,)", descr="'|b1'", data=bytes([0, 1, 2, 255])))
    assert everything(tmp_path / "w.npy")["w"].tolist() == [False, True, True, True]


@pytest.mark.parametrize("form", ["savez", "compressed", "safetensors", "fortran", "memory"])
def test_windows_read_a_part(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "PIECE_ELEMENTS", 7)
    whole = np.arange(4 * 5 * 6, dtype=np.int16).reshape(4, 5, 6)
    if form == "safetensors":
        path = tmp_path / "w.safetensors"
        safetensors_numpy.save_file({"a": np.ones(3), "w": whole}, path)
    else:
        path = tmp_path / "w.npz"
        save = np.savez_compressed if form == "compressed" else np.savez
        save(path, a=np.ones(3), w=np.asfortranarray(whole) if form == "fortran" else whole)
    data = ArrayData(whole) if form == "memory" else open_source(path).data("w")
    for index in range(4):
        part = stored.window(data, index * 30, (1, 5, 6, 1))
        np.testing.assert_array_equal(part.load(), whole[index].reshape(1, 5, 6, 1))
        np.testing.assert_array_equal(np.concatenate([piece.copy() for piece in part.chunks()]), whole[index].reshape(-1))
        row = stored.window(part, 6, (6,))
        np.testing.assert_array_equal(row.load(), whole[index, 1])
