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

ONE = "chunk at 64, "

DAMAGE: list[tuple[str, int, str, list[str]]] = [
    ("no chunks", HEADER, "<I:0", [f"{COUNT}: expected 1 to 2, found 0"]),
    ("too many chunks", HEADER, "<I:9", [f"{COUNT}: expected 1 to 2, found 9"]),
    ("one chunk too few", HEADER, "<I:1", [f"{COUNT}: the file holds 2, the header says 1"]),
    ("old version", HEADER + 4, "<I:1", [f"{LAYOUT}: expected 2, found 1"]),
    ("other bytes in the header", HEADER + 8, "<I:7", [f"{RESERVED}: expected zeros, found other bytes"]),
    ("no sentinel", FIRST, "<I:0", [f"{ONE}{SIGN}: expected 0xdeadbeef, found 0x0"]),
    ("no element type", FIRST + 4, "<I:0", [f"{ONE}{KIND}: expected 1 to 15, found 0"]),
    ("unknown element type", FIRST + 4, "<I:16", [f"{ONE}{KIND}: expected 1 to 15, found 16"]),
    ("size too large", FIRST + 8, "<Q:1000", [f"{ONE}{SIZE}: expected 1 to 160, which is left in the file, found 1000"]),
    ("half a number", FIRST + 8, "<Q:39", [f"{ONE}{SIZE}: expected a multiple of 2 for fp16, found 39"]),
    ("no position", FIRST + 16, "<Q:0", [f"{ONE}{POSITION}: expected 128, behind the metadata, found 0"]),
    ("unaligned", FIRST + 16, "<Q:130", [f"{ONE}{POSITION}: expected 128, behind the metadata, found 130"]),
    ("behind the end", FIRST + 16, "<Q:1280", [f"{ONE}{POSITION}: expected 128, behind the metadata, found 1280"]),
    ("padding", FIRST + 24, "<Q:4", [f"{ONE}{PADDING}: expected 0 for fp16, found 4"]),
    ("other bytes", FIRST + 40, "<Q:4", [f"{ONE}{REST}: expected zeros, found other bytes"]),
    (
        "no size and no position", FIRST + 8, "<QQ:0:0",
        [
            f"{ONE}{SIZE}: expected 1 to 160, which is left in the file, found 0",
            f"{ONE}{POSITION}: expected 128, behind the metadata, found 0",
        ],
    ),
    ("second chunk", TWO, "<I:5", [f"chunk at 192, {SIGN}: expected 0xdeadbeef, found 0x5"]),
]  # fmt: skip


def fields_of(path: Path) -> list[str]:
    """What the one diagnostic says that reading all chunks gives: the first field in its headline, others in its notes."""
    with pytest.raises(Failure) as failure:
        WeightFile(path).chunks()
    [diagnostic] = failure.value.diagnostics
    assert diagnostic.code == "ANE0480"
    _, malformed, first = diagnostic.headline.partition(f"`{path}` is malformed: ")
    assert malformed
    return [first, *diagnostic.note_texts]


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
    assert f"{ONE}{SIZE}: expected 1 or more, but nothing is left in the file, found 40" in fields_of(tmp_path / "w.bin")


def test_a_file_without_header_is_recognised(sound: bytes, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(sound[64:])
    expected = "header: expected 64 bytes before the first chunk, found a chunk at the beginning of the file"
    assert expected in fields_of(tmp_path / "w.bin")


def test_raw_numbers_are_explained_with_header_and_chunk(tmp_path: Path) -> None:
    np.arange(1, 200, dtype=np.float32).tofile(tmp_path / "w.bin")
    assert fields_of(tmp_path / "w.bin")[1:4] == [
        f"{LAYOUT}: expected 2, found 1073741824",
        f"{RESERVED}: expected zeros, found other bytes",
        f"{ONE}{SIGN}: expected 0xdeadbeef, found 0x41880000",
    ]


@pytest.mark.parametrize(
    ("size", "found"), [(0, "0 bytes"), (1, "1 byte"), (63, "63 bytes"), (64, "64 bytes"), (127, "127 bytes")]
)
def test_a_short_file(size: int, found: str, sound: bytes, tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes((struct.pack("<I", 1) + sound[4:])[:size])
    assert fields_of(tmp_path / "w.bin") == [f"size of the file: expected at least 128 bytes, found {found}"]


def chunk(data: bytes, at: int, size: int | None = None) -> bytes:
    """Metadata that stands at a position, with data of fp16 behind it; `size` is what is said of its bytes."""
    return struct.pack("<IIQQQ", SENTINEL, 1, len(data) if size is None else size, at + 64, 0).ljust(64, b"\0") + data


def weight_file(path: Path, count: int, *content: bytes) -> Path:
    path.write_bytes(struct.pack("<II", count, 2).ljust(64, b"\0") + b"".join(content))
    return path


DATA = bytes(64)
COUNTS: list[tuple[str, int, list[bytes], list[str]]] = [
    ("one of two", 1, [chunk(DATA, 64), chunk(DATA, 192)], [f"{COUNT}: the file holds 2, the header says 1"]),
    ("one of three", 1, [chunk(DATA, at) for at in (64, 192, 320)], [f"{COUNT}: the file holds 3, the header says 1"]),
    ("three of two", 3, [chunk(DATA, 64), chunk(DATA * 4, 192)], [f"{COUNT}: the file holds 2, the header says 3"]),
    ("bytes at the end", 1, [chunk(DATA, 64), b"xx"], ["end of the file: 2 bytes follow the last chunk, which ends at 192"]),
    ("a byte at the end", 1, [chunk(DATA, 64), b"x"], ["end of the file: 1 byte follows the last chunk, which ends at 192"]),
    (
        "a count and bytes at the end", 1, [chunk(DATA, 64), chunk(DATA, 192), b"xx"],
        [f"{COUNT}: the file holds 2, the header says 1", "end of the file: 2 bytes follow the last chunk, which ends at 320"],
    ),
    ("no size", 1, [chunk(DATA * 64, 64, 0)], [f"{ONE}{SIZE}: 0, but 4096 bytes follow that are no chunk"]),
    (
        "no size of the first", 2, [chunk(DATA, 64, 0), chunk(DATA, 192)],
        [f"{ONE}{SIZE}: 0, but 192 bytes follow that are no chunk"],
    ),
    ("no second chunk", 2, [chunk(DATA, 64), DATA * 2], [f"chunk at 192, {SIGN}: expected 0xdeadbeef, found 0x0"]),
    (
        "half a second chunk", 2, [chunk(DATA * 2, 64), chunk(DATA, 256)[:63]],
        ["chunk at 256, metadata: expected 64 bytes, found 63"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("count", "content", "expected"), [c[1:] for c in COUNTS], ids=[c[0] for c in COUNTS])
def test_what_does_not_fit_together_is_named(count: int, content: list[bytes], expected: list[str], tmp_path: Path) -> None:
    found = fields_of(weight_file(tmp_path / "w.bin", count, *content))
    # Where no chunk is, every field of it is wrong.
    assert (found[:1] if "sentinel" in found[0] else found) == expected


def test_a_tensor_of_no_elements_is_a_chunk(tmp_path: Path) -> None:
    path = weight_file(tmp_path / "w.bin", 2, chunk(b"", 64), chunk(DATA, 128))
    assert [found.elements for found in WeightFile(path).chunks()] == [0, 32]


def test_more_chunks_than_are_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(blob_reader, "MAX_CHUNKS", 2)
    chunks = [chunk(DATA, at) for at in (64, 192, 320)]
    path = weight_file(tmp_path / "w.bin", 3, *chunks)
    assert fields_of(path) == [f"{COUNT}: expected at most 2 in a file of which all are shown, found 3"]
    path = weight_file(tmp_path / "w.bin", 1, *chunks)
    assert fields_of(path) == [f"{COUNT}: the file holds 2 or more, the header says 1"]


def test_a_const_needs_its_own_chunk_only(tmp_path: Path) -> None:
    path = weight_file(tmp_path / "w.bin", 1, chunk(DATA, 64), chunk(DATA, 192), b"xx")
    assert WeightFile(path).chunk(192).elements == 32


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
