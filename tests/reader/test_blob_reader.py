"""Weight files, written by coremltools' storage library or by us; damaged ones are explained field by field."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anedsl.codegen.blob import ALL_CODES, SENTINEL, BlobFile, write_blob
from anedsl.codegen.reader import blob_reader
from anedsl.codegen.reader.blob_reader import WeightFile
from anedsl.data import Array, ArrayData
from anedsl.diagnostics import Failure
from anedsl.types import DTYPES, FP16, INT32, TensorType

WORDS = {"fp32": "float"}
DTYPE_NAMES = sorted(set(ALL_CODES) - {"bf16"})
"""The element types that coremltools' library writes."""


def random(name: str, count: int) -> Array:
    generator = np.random.default_rng(count)
    dtype = DTYPES[name]
    if dtype.is_float:
        return generator.normal(size=count).astype(dtype.numpy)
    return generator.integers(int(dtype.smallest), int(dtype.largest), count, endpoint=True).astype(dtype.numpy)


def their_file(path: Path, arrays: list[tuple[str, Array]]) -> list[int]:
    """Writes with coremltools; returns the positions of the chunks."""
    from coremltools.libmilstoragepython import _BlobStorageWriter

    writer = _BlobStorageWriter(str(path))
    positions = []
    for name, array in arrays:
        put = getattr(writer, f"write_{WORDS.get(name, name)}_data")
        positions.append(put(array.view(np.uint16) if name == "fp16" else array))
    # The library writes only when the writer goes away.
    del writer, put
    return positions


@pytest.mark.parametrize("count", [1, 7, 64, 1001])
@pytest.mark.parametrize("name", DTYPE_NAMES)
def test_one_chunk_of_every_element_type(name: str, count: int, coremltools: Any, tmp_path: Path) -> None:
    array = random(name, count)
    [position] = their_file(tmp_path / "w.bin", [(name, array)])
    file = WeightFile(tmp_path / "w.bin")
    [chunk] = file.chunks()
    assert (chunk.offset, chunk.dtype, chunk.elements) == (position, name, count)
    loaded = file.data(chunk).load()
    assert loaded.dtype == DTYPES[name].numpy
    np.testing.assert_array_equal(loaded, array)


def test_all_element_types_in_one_file(coremltools: Any, tmp_path: Path) -> None:
    arrays = [(name, random(name, 9 + index)) for index, name in enumerate(DTYPE_NAMES)]
    positions = their_file(tmp_path / "w.bin", arrays)
    file = WeightFile(tmp_path / "w.bin")
    assert [(chunk.offset, chunk.dtype) for chunk in file.chunks()] == list(zip(positions, DTYPE_NAMES, strict=True))
    for position, (_, array) in zip(positions, arrays, strict=True):
        np.testing.assert_array_equal(file.data(file.chunk(position)).load(), array)


@pytest.mark.parametrize("name", ["fp16", "uint3", "uint6", "int4", "uint1"])
def test_pieces_are_the_whole(name: str, coremltools: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = random(name, 1003)
    their_file(tmp_path / "w.bin", [(name, array)])
    monkeypatch.setattr(blob_reader, "CHUNK_ELEMENTS", 64)
    file = WeightFile(tmp_path / "w.bin")
    pieces = list(file.data(file.chunk(64)).chunks())
    assert [piece.size for piece in pieces] == [64] * 15 + [43]
    np.testing.assert_array_equal(np.concatenate(pieces), array)


def test_bfloat16_is_widened(tmp_path: Path) -> None:
    numbers = np.array([1.0, -2.5, 3.0], np.float32)
    data = (numbers.view(np.uint32) >> 16).astype("<u2").tobytes()
    header = struct.pack("<II", 1, 2).ljust(64, b"\0") + struct.pack("<IIQQQ", SENTINEL, ALL_CODES["bf16"], 6, 128, 0).ljust(
        64, b"\0"
    )
    (tmp_path / "w.bin").write_bytes(header + data)
    file = WeightFile(tmp_path / "w.bin")
    np.testing.assert_array_equal(file.data(file.chunk(64)).load(), numbers)


# ---- damaged files ----

HEADER, FIRST = 0, 64
TWO = 2 * 64 + 64
"""Where the second chunk's metadata stands: the first holds 20 fp16 numbers in 64 bytes with padding."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Two chunks: 20 fp16 and 8 int32 numbers."""
    path = tmp_path_factory.mktemp("sound") / "w.bin"
    with BlobFile(path, 2) as file:
        write_blob(TensorType(FP16, (20,)), ArrayData(np.arange(20.0)), [file])
        write_blob(TensorType(INT32, (8,)), ArrayData(np.arange(8)), [file])
    return path.read_bytes()


COUNT, LAYOUT, RESERVED = "number of chunks (bytes 0 to 3)", "version (bytes 4 to 7)", "reserved (bytes 8 to 63)"
SIGN, KIND, SIZE = "sentinel (bytes 0 to 3)", "element type (bytes 4 to 7)", "size in bytes (bytes 8 to 15)"
POSITION, PADDING, REST = "position of the data (bytes 16 to 23)", "padding bits (bytes 24 to 31)", "reserved (bytes 32 to 63)"

DAMAGE: list[tuple[str, int, str, list[str]]] = [
    ("no chunks", HEADER, "<I:0", [f"{COUNT}: expected 1 to 2, found 0"]),
    ("too many chunks", HEADER, "<I:9", [f"{COUNT}: expected 1 to 2, found 9"]),
    ("one chunk too few", HEADER, "<I:1", ["number of chunks: expected 1 and more, as the file holds, found 1"]),
    ("old version", HEADER + 4, "<I:1", [f"{LAYOUT}: expected 2, found 1"]),
    ("other bytes in the header", HEADER + 8, "<I:7", [f"{RESERVED}: expected zeros, found other bytes"]),
    ("no sentinel", FIRST, "<I:0", [f"{SIGN}: expected 0xdeadbeef, found 0x0"]),
    ("no element type", FIRST + 4, "<I:0", [f"{KIND}: expected 1 to 15, found 0"]),
    ("unknown element type", FIRST + 4, "<I:16", [f"{KIND}: expected 1 to 15, found 16"]),
    ("size too large", FIRST + 8, "<Q:1000", [f"{SIZE}: expected 1 to 160, which is left in the file, found 1000"]),
    ("half a number", FIRST + 8, "<Q:39", [f"{SIZE}: expected a multiple of 2 for fp16, found 39"]),
    ("no position", FIRST + 16, "<Q:0", [f"{POSITION}: expected 128, behind the metadata, found 0"]),
    ("unaligned", FIRST + 16, "<Q:130", [f"{POSITION}: expected 128, behind the metadata, found 130"]),
    ("behind the end", FIRST + 16, "<Q:1280", [f"{POSITION}: expected 128, behind the metadata, found 1280"]),
    ("padding", FIRST + 24, "<Q:4", [f"{PADDING}: expected 0 for fp16, found 4"]),
    ("other bytes", FIRST + 40, "<Q:4", [f"{REST}: expected zeros, found other bytes"]),
    (
        "no size and no position", FIRST + 8, "<QQ:0:0",
        [
            f"{SIZE}: expected 1 to 160, which is left in the file, found 0",
            f"{POSITION}: expected 128, behind the metadata, found 0",
        ],
    ),
    ("second chunk", TWO, "<I:5", [f"{SIGN}: expected 0xdeadbeef, found 0x5"]),
]  # fmt: skip


def fields_of(path: Path) -> list[str]:
    """The notes of the one diagnostic that reading all chunks gives."""
    with pytest.raises(Failure) as failure:
        WeightFile(path).chunks()
    [diagnostic] = failure.value.diagnostics
    assert diagnostic.code == "ANE0480"
    return diagnostic.note_texts


@pytest.mark.parametrize(("at", "change", "expected"), [d[1:] for d in DAMAGE], ids=[d[0] for d in DAMAGE])
def test_a_damaged_field_is_named(at: int, change: str, expected: list[str], sound: bytes, tmp_path: Path) -> None:
    layout, *numbers = change.split(":")
    damaged = bytearray(sound)
    struct.pack_into(layout, damaged, at, *map(int, numbers))
    path = tmp_path / "w.bin"
    path.write_bytes(damaged)
    assert fields_of(path) == expected


def test_a_chunk_for_which_nothing_is_left(sound: bytes, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(struct.pack("<I", 1) + sound[4:128])
    assert f"{SIZE}: expected 1 or more, but nothing is left in the file, found 40" in fields_of(tmp_path / "w.bin")


def test_a_file_without_header_is_recognised(sound: bytes, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(sound[64:])
    expected = "header: expected 64 bytes before the first chunk, found a chunk at the beginning of the file"
    assert expected in fields_of(tmp_path / "w.bin")


def test_raw_numbers_are_explained_with_header_and_chunk(tmp_path: Path) -> None:
    np.arange(1, 200, dtype=np.float32).tofile(tmp_path / "w.bin")
    assert fields_of(tmp_path / "w.bin")[1:4] == [
        f"{LAYOUT}: expected 2, found 1073741824",
        f"{RESERVED}: expected zeros, found other bytes",
        f"chunk at 64, {SIGN}: expected 0xdeadbeef, found 0x41880000",
    ]


@pytest.mark.parametrize("size", [0, 1, 63])
def test_a_short_file(size: int, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(bytes(size))
    assert fields_of(tmp_path / "w.bin") == [f"size of the file: expected at least 128 bytes, found {size} bytes"]


@pytest.mark.parametrize("offset", [0, 32, 65, 1 << 40])
def test_an_offset_where_no_chunk_can_stand(offset: int, sound: bytes, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(sound)
    with pytest.raises(Failure, match=f"offset: expected a multiple of 64 from 64 to 192, found {offset}"):
        WeightFile(tmp_path / "w.bin").chunk(offset)


def test_a_file_that_changed_is_noticed(sound: bytes, tmp_path: Path) -> None:
    path = tmp_path / "w.bin"
    path.write_bytes(sound)
    file = WeightFile(path)
    data = file.data(file.chunk(64))
    path.write_bytes(sound + bytes(64))
    with pytest.raises(Failure, match="ANE0416"):
        data.load()


@settings(max_examples=500, deadline=None, derandomize=True)
@given(edits=st.lists(st.tuples(st.integers(0, 319), st.integers(0, 255)), max_size=4), size=st.integers(0, 320))
def test_no_damage_gives_a_traceback(
    edits: list[tuple[int, int]], size: int, sound: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    damaged = bytearray(sound)
    for at, byte in edits:
        damaged[at % len(damaged)] = byte
    path = tmp_path_factory.getbasetemp() / "damaged.bin"
    path.write_bytes(damaged[:size])
    try:
        file = WeightFile(path)
        arrays = [file.data(chunk).load() for chunk in file.chunks()]
    except Failure as failure:
        codes = {diagnostic.code for diagnostic in failure.diagnostics}
        assert codes == {"ANE0480"}
    else:
        assert sum(array.nbytes for array in arrays) <= size
