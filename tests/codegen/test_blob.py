"""Weight files, against the writer and the reader that coremltools ships."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anedsl.codegen.blob import ALL_CODES, CODES, BlobFile, Written, aligned, offsets, write_blob
from anedsl.data import ArrayData, Data, DerivedData, FillData
from anedsl.types import DTYPES, FP16, FP32, INT8, TensorType
from tests.codegen.kernels import fp16

WORDS = {"fp16": "fp16", "fp32": "float"}
"""How coremltools' storage library spells an element type, where it differs."""


def write(path: Path, *tensors: tuple[TensorType, Data]) -> list[Written]:
    with BlobFile(path, len(tensors)) as file:
        return [write_blob(type, data, [file]) for type, data in tensors]


def random(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    generator = np.random.default_rng(len(dtype) + sum(shape))
    kind = DTYPES[dtype]
    if kind.is_float:
        return generator.normal(size=shape).astype(kind.numpy)
    return generator.integers(int(kind.smallest), int(kind.largest), shape, endpoint=True).astype(kind.numpy)


def their_bytes(coremltools: Any, path: Path, arrays: list[tuple[str, np.ndarray[Any, Any]]]) -> tuple[bytes, list[int]]:
    from coremltools.libmilstoragepython import _BlobStorageWriter

    writer = _BlobStorageWriter(str(path))
    positions = []
    for dtype, array in arrays:
        flat = np.ascontiguousarray(array.reshape(-1))
        put = getattr(writer, f"write_{WORDS.get(dtype, dtype)}_data")
        positions.append(put(flat.view(np.uint16) if dtype == "fp16" else flat))
    # The library writes only when the writer goes away.
    del writer, put
    return path.read_bytes(), positions


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("count", [1, 3, 32, 33, 1000])
def test_one_tensor_is_equal_to_coremltools_file(dtype: str, count: int, coremltools: Any, tmp_path: Path) -> None:
    array = random(dtype, count)
    write(tmp_path / "ours.bin", (TensorType(DTYPES[dtype], (count,)), ArrayData(array)))
    theirs, positions = their_bytes(coremltools, tmp_path / "theirs.bin", [(dtype, array)])
    assert (tmp_path / "ours.bin").read_bytes() == theirs
    assert positions == [64]


def test_many_tensors_in_one_file_are_equal_to_coremltools_file(coremltools: Any, tmp_path: Path) -> None:
    arrays = [(dtype, random(dtype, 2, count)) for dtype in CODES for count in (1, 31, 64)]
    types = [TensorType(DTYPES[dtype], array.shape) for dtype, array in arrays]
    write(tmp_path / "ours.bin", *((type, ArrayData(array)) for type, (_, array) in zip(types, arrays, strict=True)))
    theirs, positions = their_bytes(coremltools, tmp_path / "theirs.bin", arrays)
    assert (tmp_path / "ours.bin").read_bytes() == theirs
    assert offsets(types) == positions
    assert len(positions) == 3 * len(CODES) == 42


@pytest.mark.parametrize("dtype", CODES)
def test_coremltools_reads_every_value(dtype: str, coremltools: Any, tmp_path: Path) -> None:
    from coremltools.libmilstoragepython import _BlobStorageReader

    types = [TensorType(DTYPES[dtype], (count,)) for count in (5, 100, 7)]
    arrays = [random(dtype, *type.shape) for type in types]
    write(tmp_path / "w.bin", *((type, ArrayData(array)) for type, array in zip(types, arrays, strict=True)))
    reader = _BlobStorageReader(str(tmp_path / "w.bin"))
    read = getattr(reader, f"read_{WORDS.get(dtype, dtype)}_data")
    for position, array in zip(offsets(types), arrays, strict=True):
        found = read(position)
        assert np.array_equal(found.view(np.float16) if dtype == "fp16" else found, array)


def test_the_codes_of_all_element_types_are_different() -> None:
    assert sorted(ALL_CODES.values()) == list(range(1, 16))


def test_an_empty_file_has_a_header_only(tmp_path: Path) -> None:
    write(tmp_path / "w.bin")
    assert (tmp_path / "w.bin").read_bytes() == bytes([0, 0, 0, 0, 2]) + bytes(59)


@given(st.integers(0, 10**12))
def test_aligned_is_the_next_multiple_of_64(position: int) -> None:
    assert aligned(position) % 64 == 0
    assert 0 <= aligned(position) - position < 64


@pytest.mark.parametrize("data", [
    ArrayData(np.arange(12.0).reshape(3, 4)),
    ArrayData(np.arange(12, dtype=np.int32).reshape(3, 4)),
    ArrayData(np.arange(12, dtype="f4").reshape(4, 3).T.copy(order="F").T.reshape(3, 4)),
    ArrayData(np.arange(24, dtype="f2").reshape(3, 8)[:, ::2] / 2),
    DerivedData((3, 4), [], lambda _: np.arange(12, dtype=np.float32).reshape(4, 3).T.reshape(3, 4, order="A")),
], ids=["float64", "int32", "fortran", "strided", "derived"])  # fmt: skip
def test_any_data_is_converted_in_row_major_order(data: Data, tmp_path: Path) -> None:
    [written] = write(tmp_path / "w.bin", (fp16(3, 4), data))
    expected = np.ascontiguousarray(data.load()).astype("<f2").tobytes()
    assert (tmp_path / "w.bin").read_bytes()[128:] == expected
    assert written == Written(24, hashlib.sha256(expected).hexdigest())


def test_one_number_everywhere(tmp_path: Path) -> None:
    write(tmp_path / "w.bin", (TensorType(INT8, (1000,)), FillData(-3, (1000,))))
    assert (tmp_path / "w.bin").read_bytes()[128:] == b"\xfd" * 1000


def test_the_same_bytes_go_to_several_files(tmp_path: Path) -> None:
    with BlobFile(tmp_path / "a.bin", 2) as a, BlobFile(tmp_path / "b.bin", 1) as b:
        write_blob(fp16(3), FillData(1.0, (3,)), [a])
        write_blob(fp16(2, 2), FillData(2.0, (2, 2)), [a, b])
    assert (tmp_path / "a.bin").read_bytes()[-8:] == (tmp_path / "b.bin").read_bytes()[-8:] == b"\x00\x40" * 4
    assert (tmp_path / "a.bin").read_bytes()[:4] == b"\x02\0\0\0"


def test_numbers_that_become_infinite_are_counted(tmp_path: Path) -> None:
    values = np.zeros(100_000, np.float32)
    values[[3, 99_999]] = [65520.0, -1e9]
    values[[5, 6, 7]] = [np.inf, np.nan, 65519.0]
    for array in (values, values.astype(np.float64)):
        [written] = write(tmp_path / "w.bin", (fp16(100_000), ArrayData(array)))
        assert (written.overflows, written.largest) == (2, 1e9)
    [written] = write(tmp_path / "w.bin", (TensorType(FP32, (2,)), ArrayData(np.array([1e39, -1.0]))))
    assert (written.overflows, written.largest) == (1, 1e39)


def test_infinities_that_were_given_are_not_counted(tmp_path: Path) -> None:
    for dtype in (np.float16, np.float32, np.float64):
        [written] = write(tmp_path / "w.bin", (fp16(100), ArrayData(np.full(100, -np.inf, dtype))))
        assert written.overflows == 0


class Reusing:
    """Data that gives every chunk in the same memory."""

    def __init__(self, dtype: str, count: int) -> None:
        self.chunk = np.empty(1 << 20, dtype)
        self.count = count
        self.shape = (count << 20,)

    def load(self) -> Any:
        raise AssertionError("a large weight is never loaded as a whole")

    def chunks(self) -> Iterator[Any]:
        for index in range(self.count):
            self.chunk[:] = index
            yield self.chunk
        self.chunk[:] = -1


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8"])
def test_a_large_tensor_is_written_beside_its_conversion(dtype: str, tmp_path: Path) -> None:
    data = Reusing(dtype, 5)
    [written] = write(tmp_path / "w.bin", (TensorType(FP16, data.shape), data))
    expected = np.repeat(np.arange(5, dtype="<f2"), 1 << 20).tobytes()
    content = (tmp_path / "w.bin").read_bytes()[128:]
    assert content == expected
    assert written.sha256 == hashlib.sha256(expected).hexdigest()


def test_an_error_of_the_writing_thread_is_raised(tmp_path: Path) -> None:
    class Full(BlobFile):
        def write(self, piece: memoryview) -> None:
            if self._position > 3 << 20:
                raise OSError(28, "No space left on device")
            super().write(piece)

    data = Reusing("<f4", 16)
    with Full(tmp_path / "w.bin", 1) as file, pytest.raises(OSError, match="No space left"):
        write_blob(TensorType(FP16, data.shape), data, [file])


def test_an_error_of_the_data_is_raised(tmp_path: Path) -> None:
    class Broken(Reusing):
        def chunks(self) -> Iterator[Any]:
            yield self.chunk
            yield self.chunk
            raise ValueError("changed on disk")

    data = Broken("<f4", 3)
    with BlobFile(tmp_path / "w.bin", 1) as file, pytest.raises(ValueError, match="changed on disk"):
        write_blob(TensorType(FP16, data.shape), data, [file])


PEAK = """
import resource, sys
from pathlib import Path
from anedsl.types import FP16, TensorType
from tests.codegen.test_blob import Reusing, write
for count in (1, 64):
    data = Reusing("<f4", count)
    write(Path(sys.argv[1]), (TensorType(FP16, data.shape), data))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts kilobytes on Linux only")
def test_memory_is_bounded(tmp_path: Path) -> None:
    command = [sys.executable, "-c", PEAK, str(tmp_path / "w.bin")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    small, large = map(int, done.stdout.split())
    assert (tmp_path / "w.bin").stat().st_size == (128 << 20) + 128
    assert large - small < 16 * 1024
