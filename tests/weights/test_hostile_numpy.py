"""`.npy` and `.npz` data that is broken, dangerous or of no use ends with a diagnostic, and no code from it runs."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anedsl.weights import open_source, opening, read_arrays
from tests.weights.build import attempt, failure, npy, npz, text

BIG = "9" * 4000
NPY: dict[str, tuple[bytes, str, str]] = {
    "empty": (b"", "ANE0412", "no `.npy` header stands at the start of `w`"),
    "zip": (b"PK\x03\x04" + bytes(100), "ANE0412", "no `.npy` header stands at the start of `w`"),
    "pickle": (pickle.dumps([1, 2]) + bytes(100), "ANE0412", "no `.npy` header stands at the start of `w`"),
    "version": (npy(version=4), "ANE0412", "version 4.0 is unknown in the header of `w`"),
    "long header": (
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + bytes(50),
        "ANE0412",
        "4294967295 bytes are claimed for the header of `w`",
    ),
    "short header": (npy()[:30], "ANE0412", "the data ends within the header of `w`"),
    "no length": (npy()[:9], "ANE0412", "the data ends within the header of `w`"),
    "no literal": (npy(shape="__import__('os')"), "ANE0412", "numpy cannot read the header of `w`"),
    "deep": (npy(shape="(" * 4000 + ")" * 4000), "ANE0412", "numpy cannot read the header of `w`"),
    "many minus": (npy(shape="(" + "-" * 9000 + "1,)"), "ANE0412", "numpy cannot read the header of `w`"),
    "open string": (npy(shape="'''"), "ANE0412", "numpy cannot read the header of `w`"),
    "nan dim": (npy(shape="(nan, 2)"), "ANE0412", "numpy cannot read the header of `w`"),
    "float dim": (npy(shape="(2.0, 2)"), "ANE0412", "numpy cannot read the header of `w`"),
    "huge digits": (npy(shape=f"({BIG},)"), "ANE0412", "the shape is invalid in the header of `w`"),
    "negative": (npy(shape="(-2, -2)"), "ANE0412", "the shape is invalid in the header of `w`"),
    "bool dim": (npy(shape="(True, 4)"), "ANE0412", "the shape is invalid in the header of `w`"),
    "rank": (npy(shape=f"({'1,' * 33})", data=bytes(4)), "ANE0412", "the shape is invalid in the header of `w`"),
    "overflow": (npy(shape="(0, 2**62, 4)".replace("2**62", str(2**62))), "ANE0412", "the shape is invalid in the header of `w`"),
    "no dtype": (npy(descr="'nope'"), "ANE0412", "numpy cannot read the header of `w`"),
    "too short": (npy(data=bytes(15)), "ANE0412", "the size is not the one in the header of `w`"),
    "too long": (npy(data=bytes(17)), "ANE0412", "the size is not the one in the header of `w`"),
    "lying shape": (npy(shape="(1000000, 1000000)"), "ANE0412", "the size is not the one in the header of `w`"),
    "objects": (npy(descr="'|O'"), "ANE0413", "Python objects"),
    "fields": (npy(descr="[('a', '<f4')]"), "ANE0413", "records of several fields"),
    "object field": (npy(descr="[('a', '|O')]"), "ANE0413", "Python objects"),
    "subarray": (npy(descr="('<f4', (2,))"), "ANE0413", "records of several fields"),
    "bfloat16": (npy(descr="'|V2'"), "ANE0413", "elements of 2 unnamed bytes"),
    "complex": (npy(descr="'<c8'"), "ANE0413", "elements of type complex64"),
    "text": (npy(descr="'<U3'"), "ANE0413", "elements of type <U3"),
    "dates": (npy(descr="'<M8[s]'"), "ANE0413", "elements of type datetime64[s]"),
    "long double": (npy(descr=f"'{np.dtype(np.longdouble).str}'"), "ANE0413", "elements of type "),
}


@pytest.mark.parametrize("name", NPY)
@pytest.mark.parametrize("kind", ["npy", "folder", "npz", "npz deflated"])
def test_npy_data(tmp_path: Path, name: str, kind: str) -> None:
    data, code, problem = NPY[name]
    if name == "long double" and np.dtype(np.longdouble).itemsize == 8:
        pytest.skip("long double is float64 here")
    path = tmp_path if kind == "folder" else tmp_path / f"w.{kind[:3]}"
    if kind.startswith("npz"):
        npz(path, {"w.npy": data}, zipfile.ZIP_DEFLATED if "deflated" in kind else zipfile.ZIP_STORED)
    else:
        (tmp_path / "w.npy").write_bytes(data)
    found = failure(read_arrays, path)
    shown = tmp_path / "w.npy" if kind == "folder" else path
    prefix = f"`{shown}` is damaged: " if code == "ANE0412" else f"the array `w` in `{shown}` holds "
    assert found.code == code
    assert found.headline.startswith(prefix + problem)


class Bomb:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (open, (str(self.path), "w"))


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    array = np.array([Bomb(tmp_path / "ran")], dtype=object)
    np.save(tmp_path / "w.npy", array, allow_pickle=True)
    np.savez(tmp_path / "w.npz", w=array)
    for path in (tmp_path / "w.npy", tmp_path / "w.npz", tmp_path):
        assert failure(read_arrays, path).code == "ANE0413"
    assert not (tmp_path / "ran").exists()
    assert text(failure(read_arrays, tmp_path / "w.npz"), tmp_path) == (
        "error[ANE0413]: the array `w` in `w.npz` holds Python objects\n"
        "note: they are never unpickled: that would run code from the file\n"
        "help: give a plain array: `numpy.asarray(x, dtype = numpy.float32)`"
    )


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_cut_at_every_byte(tmp_path: Path, save: object) -> None:
    path = tmp_path / "w.npz"
    save(path, a=np.arange(3.0), b=np.arange(2))  # type: ignore[operator]
    whole = path.read_bytes()
    assert len(read_arrays(path)) == 2
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert failure(read_arrays, path).code == "ANE0412", length


def test_npy_cut_at_every_byte(tmp_path: Path) -> None:
    path = tmp_path / "w.npy"
    for length in range(len(npy())):
        path.write_bytes(npy()[:length])
        assert failure(open_source, path).code == "ANE0412", length


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), deflated=st.booleans(), put=st.binary(min_size=1, max_size=4))
def test_any_other_bytes_in_npz_are_read_or_refused(tmp_path: Path, data: st.DataObject, deflated: bool, put: bytes) -> None:
    path = npz(tmp_path / "w.npz", {"a.npy": npy(), "b.npy": npy()}, zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:at] + put + whole[at + len(put) :])
    found, codes = attempt(path)
    assert codes <= {"ANE0412", "ANE0413", "ANE0414", "ANE0415", "ANE0416"}
    assert codes or all(array.shape == (2, 2) for array in found.values())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 70), put=st.binary(min_size=1, max_size=4))
def test_any_other_header_of_npy_is_read_or_refused(tmp_path: Path, at: int, put: bytes) -> None:
    path = tmp_path / "w.npy"
    path.write_bytes(npy()[:at] + put + npy()[at + len(put) :])
    found, codes = attempt(path)
    assert codes <= {"ANE0412", "ANE0413"}
    assert codes or found["w"].nbytes == 16


def patched(path: Path, local: int, central: int, value: bytes) -> None:
    """Writes over a field of the first member, in its local header and in the central directory."""
    raw = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        at = raw.index(signature) + offset
        raw[at : at + len(value)] = value
    path.write_bytes(bytes(raw))


@pytest.mark.parametrize(
    ("field", "value", "code", "headline"),
    [
        ((6, 8), b"\x01\x00", "ANE0414", "the member `w.npy` of `w.npz` is encrypted"),
        ((8, 10), b"\x0c\x00", "ANE0414", "the member `w.npy` of `w.npz` is compressed with method 12, which is not read"),
        ((8, 10), b"\x0e\x00", "ANE0414", "the member `w.npy` of `w.npz` is compressed with method 14, which is not read"),
        ((8, 10), b"\x63\x00", "ANE0414", "the member `w.npy` of `w.npz` is compressed with method 99, which is not read"),
        ((22, 24), b"\xff\xff\xff\x7f", "ANE0412", "`w.npz` is damaged: its member `w.npy` cannot have the size it claims"),
        ((22, 24), b"\x00\x10\x00\x00", "ANE0412", "`w.npz` is damaged: the size is not the one in the header of `w`"),
        ((18, 20), b"\xff\xff\xff\x7f", "ANE0412", "`w.npz` is damaged: its member `w.npy` reaches beyond the end of the file"),
        ((14, 16), b"\x00\x00\x00\x00", "ANE0412", "`w.npz` is damaged: its member `w.npy` cannot be unpacked"),
    ],
)
def test_lying_zip_headers(tmp_path: Path, field: tuple[int, int], value: bytes, code: str, headline: str) -> None:
    path = npz(tmp_path / "w.npz", {"w.npy": npy()}, zipfile.ZIP_DEFLATED)
    patched(path, *field, value)
    found = failure(read_arrays, path)
    assert (found.code, found.headline.replace(f"{tmp_path}/", "")) == (code, headline)


def test_a_member_that_unpacks_to_less_than_all_headers_claim(tmp_path: Path) -> None:
    claimed = npy(shape="(1000,)", data=b"")
    path = npz(tmp_path / "w.npz", {"w.npy": claimed}, zipfile.ZIP_DEFLATED)
    patched(path, 22, 24, (len(claimed) + 4000).to_bytes(4, "little"))
    assert failure(read_arrays, path).headline == f"`{path}` is damaged: its member `w.npy` cannot be unpacked"


def test_two_members_of_one_name(tmp_path: Path) -> None:
    path = tmp_path / "w.npz"
    npz(path, {"v.npy": npy(), "w.npy": npy()})
    path.write_bytes(path.read_bytes().replace(b"v.npy", b"w.npy"))
    assert failure(open_source, path).headline == f"`{path}` is damaged: it has two members `w.npy`"


@pytest.mark.parametrize("name", ["../w", "/w", "a/../../w", "..\\w", "C:/w", "a/.."])
def test_names_that_lead_out(tmp_path: Path, name: str) -> None:
    path = npz(tmp_path / "w.npz", {f"{name}.npy" if not name.endswith("..") else f"{name}/x.npy": npy()})
    found = failure(open_source, path)
    assert found.code == "ANE0415"
    if name == "../w":
        assert text(found, tmp_path) == (
            "error[ANE0415]: the name `../w.npy` leads out of `w.npz`\nhelp: write the file again with a plain name"
        )


def test_names_with_dots_are_fine(tmp_path: Path) -> None:
    path = npz(tmp_path / "w.npz", {"layers.0..w.npy": npy(), "a/b.npy": npy(), "readme.txt": b"no array"})
    assert open_source(path).keys() == ["layers.0..w", "a/b"]


def test_broken_members_hurt_only_themselves(tmp_path: Path) -> None:
    source = open_source(npz(tmp_path / "w.npz", {"good.npy": npy(), "bad.npy": b"nothing"}))
    assert source.data("good").load().shape == (2, 2)
    assert failure(source.entry, "bad").code == "ANE0412"


def test_arrays_that_are_loaded_whole_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = npz(tmp_path / "w.npz", {"a.npy": npy(), "b.npy": npy()})
    monkeypatch.setattr(opening, "MAX_LOADED", 31)
    assert text(failure(read_arrays, path), tmp_path) == (
        "error[ANE0417]: the arrays in `w.npz` need 32 bytes of memory\nnote: at most 31 bytes are loaded at once"
    )


def test_more_than_eight_gib_are_refused_before_they_are_read(tmp_path: Path) -> None:
    size = (8 << 30) + 4
    header = npy(shape=f"({size // 4},)", data=b"")
    with open(tmp_path / "w.npy", "wb") as file:
        file.write(header)
        file.truncate(len(header) + size)
    assert failure(read_arrays, tmp_path / "w.npy").headline == f"the arrays in `{tmp_path}/w.npy` need {size} bytes of memory"
