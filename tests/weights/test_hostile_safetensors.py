"""A `.safetensors` file that breaks the format ends with ANE0412, whatever it breaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from safetensors import numpy as safetensors_numpy

from anedsl.weights import open_source, read_arrays
from tests.weights.build import attempt, failure, safetensors, tensor, text

F4 = bytes(4)
HEADERS: dict[str, tuple[Any, bytes, str]] = {
    "list": (b"[]", b"", "its header does not begin with `{`"),
    "empty": (b"", b"", "its header does not begin with `{`"),
    "space first": (b" {}", b"", "its header does not begin with `{`"),
    "not json": (b"{nope}", b"", "its header is no valid JSON"),
    "two objects": (b"{}{}", b"", "its header is no valid JSON"),
    "not utf-8": (b'{"\xff": 1}', b"", "its header is no valid JSON"),
    "deep lists": (b'{"a": ' + b"[" * 200_000, b"", "its header is nested too deeply"),
    "deep objects": (b'{"a": ' * 100_000, b"", "its header is nested too deeply"),
    "too much": (b'{"a": [' + b"[]," * 3_000_000 + b"[]]}", b"", "its header describes too much"),
    "huge number": (b'{"a": ' + b"9" * 5000 + b"}", b"", "its header is no valid JSON"),
    "nan": (b'{"a": {"dtype": "F32", "shape": [NaN], "data_offsets": [0, 4]}}', F4, "its header has the number NaN"),
    "infinity": (
        b'{"a": {"dtype": "F32", "shape": [Infinity], "data_offsets": [0, 4]}}',
        F4,
        "its header has the number Infinity",
    ),
    "float": (b'{"a": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}}', F4, "its header has the number 1.0"),
    "duplicate tensor": (
        b'{"a": %(t)b, "a": %(t)b}' % {b"t": json.dumps(tensor(0, 4)).encode()},
        F4,
        "its header names `a` twice",
    ),
    "duplicate field": (
        b'{"a": {"dtype": "F32", "dtype": "F16", "shape": [1], "data_offsets": [0, 4]}}',
        F4,
        "its header names `dtype` twice",
    ),
    "metadata list": ({"__metadata__": []}, b"", "its `__metadata__` is no object of texts"),
    "metadata number": ({"__metadata__": {"a": 1}}, b"", "its `__metadata__` is no object of texts"),
    "tensor list": ({"a": []}, b"", "tensor `a` is not described by `dtype`, `shape` and `data_offsets`"),
    "field missing": (
        {"a": {"dtype": "F32", "shape": []}},
        b"",
        "tensor `a` is not described by `dtype`, `shape` and `data_offsets`",
    ),
    "field added": ({"a": tensor(0, 4) | {"x": 1}}, F4, "tensor `a` is not described by `dtype`, `shape` and `data_offsets`"),
    "dtype number": ({"a": tensor(0, 4, dtype=3)}, F4, "tensor `a` has an invalid dtype"),
    "dtype null": ({"a": tensor(0, 4, dtype=None)}, F4, "tensor `a` has an invalid dtype"),
    "shape text": ({"a": tensor(0, 4, shape="1")}, F4, "tensor `a` has an invalid shape"),
    "shape negative": ({"a": tensor(0, 4, shape=(-1, -1))}, F4, "tensor `a` has an invalid shape"),
    "shape bool": ({"a": tensor(0, 4, shape=(True,))}, F4, "tensor `a` has an invalid shape"),
    "shape long": ({"a": tensor(0, 4, shape=(1,) * 33)}, F4, "tensor `a` has an invalid shape"),
    "shape huge": ({"a": tensor(0, 4, shape=(1 << 40, 1 << 40))}, F4, "tensor `a` has an invalid shape"),
    "shape huge but empty": ({"a": tensor(0, 0, shape=(0, 1 << 40, 1 << 40))}, b"", "tensor `a` has an invalid shape"),
    "offsets one": ({"a": tensor(0, 4) | {"data_offsets": [0]}}, F4, "tensor `a` has invalid data offsets"),
    "offsets bool": ({"a": tensor(False, 4)}, F4, "tensor `a` has invalid data offsets"),
    "offsets text": ({"a": tensor("0", "4")}, F4, "tensor `a` has invalid data offsets"),
    "offsets negative": ({"a": tensor(-4, 0)}, F4, "tensor `a` has the byte range -4 to 0"),
    "offsets reversed": ({"a": tensor(4, 0)}, F4, "tensor `a` has the byte range 4 to 0"),
    "size too small": ({"a": tensor(0, 4, shape=(2,))}, F4, "tensor `a` needs 8 bytes and has 4"),
    "size too large": ({"a": tensor(0, 8)}, bytes(8), "tensor `a` needs 4 bytes and has 8"),
    "overlap": ({"a": tensor(0, 4), "b": tensor(2, 6)}, bytes(6), "tensor `b` overlaps the one before it"),
    "same place": ({"a": tensor(0, 4), "b": tensor(0, 4)}, F4, "tensor `b` overlaps the one before it"),
    "gap": ({"a": tensor(0, 4), "b": tensor(8, 12)}, bytes(12), "tensor `b` does not begin where the one before it ends"),
    "beyond the end": ({"a": tensor(0, 4)}, bytes(3), "its tensors need 4 bytes and 3 follow the header"),
    "trailing": ({"a": tensor(0, 4)}, bytes(5), "its tensors need 4 bytes and 5 follow the header"),
    "long name": ({"a" * 1001: tensor(0, 4)}, F4, "a tensor has a name of 1001 characters"),
    "escapes": ({"\x1b[31m\ud800": []}, b"", "tensor `\\x1b[31m\\ud800` is not described by `dtype`, `shape` and `data_offsets`"),
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers(tmp_path: Path, name: str) -> None:
    header, data, problem = HEADERS[name]
    path = safetensors(tmp_path / "w.safetensors", header, data)
    found = failure(open_source, path)
    assert (found.code, found.headline) == ("ANE0412", f"`{path}` is damaged: {problem}")


@pytest.mark.parametrize(
    ("length", "problem"),
    [
        (3, "its header is no valid JSON"),
        (1000, "it ends within its header"),
        (100_000_001, "its header claims 100000001 bytes"),
        (2**64 - 1, "its header claims 18446744073709551615 bytes"),
    ],
)
def test_lying_header_length(tmp_path: Path, length: int, problem: str) -> None:
    path = safetensors(tmp_path / "w.safetensors", {"a": tensor(0, 4)}, F4, length)
    assert failure(open_source, path).headline == f"`{path}` is damaged: {problem}"


def test_cut_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    safetensors_numpy.save_file({"a": np.ones((2, 3), np.float32), "b": np.ones(5, np.float16)}, path)
    whole = path.read_bytes()
    assert len(read_arrays(path)) == 2
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert failure(open_source, path).code == "ANE0412", length


WHOLE = safetensors_numpy.save({"a": np.ones((2, 3), np.float32), "b": np.ones(5, np.float16)})


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, len(WHOLE) - 1), put=st.binary(min_size=1, max_size=4))
@example(at=0, put=b"\xff")
def test_any_other_bytes_are_read_or_refused(tmp_path: Path, at: int, put: bytes) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(WHOLE[:at] + put + WHOLE[at + len(put) :])
    found, codes = attempt(path)
    assert codes <= {"ANE0412", "ANE0413"}
    assert codes or sum(array.nbytes for array in found.values()) == 6 * 4 + 5 * 2


def test_unknown_element_type_hurts_only_that_tensor(tmp_path: Path) -> None:
    path = safetensors(tmp_path / "w.safetensors", {"a": tensor(0, 4), "b": tensor(4, 5, "F8_E4M3")}, bytes(5))
    source = open_source(path)
    assert source.keys() == ["a", "b"]
    assert source.data("a").load().tolist() == [0]
    expected = (
        "error[ANE0413]: the array `b` in `w.safetensors` holds elements of type F8_E4M3\n"
        "help: convert it to F16, BF16 or F32 before it is saved"
    )
    assert text(failure(source.entry, "b"), tmp_path) == expected
    assert text(failure(source.data, "b"), tmp_path) == expected


def test_no_tensors(tmp_path: Path) -> None:
    assert open_source(safetensors(tmp_path / "w.safetensors", {})).keys() == []
