"""Files and folders: what is opened, what is refused, and how much memory reading takes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

from anedsl.weights import open_source, read_arrays
from tests.weights.build import failure, text


@pytest.mark.parametrize("name", ["w.npz", "w.npy", "w.safetensors", "w", "w\0.npz", "n" * 5000])
def test_no_such_file(tmp_path: Path, name: str) -> None:
    found = failure(open_source, tmp_path / name)
    assert found.code == "ANE0410"
    if name == "w.npz":
        assert text(found, tmp_path) == "error[ANE0410]: cannot read `w.npz`: there is no such file or folder"


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("w.pt", "\nhelp: save the tensors with `safetensors.torch.save_file`"),
        ("index.json", "\nhelp: the index of a checkpoint is called `NAME.safetensors.index.json`"),
        ("w.txt", ""),
        ("w", ""),
    ],
)
def test_other_kinds_of_files(tmp_path: Path, name: str, help: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    assert text(failure(open_source, tmp_path / name), tmp_path) == (
        f"error[ANE0411]: `{name}` is no kind of file that arrays are read from\n"
        "note: arrays are read from `.npz`, `.safetensors` and `.npy` files, "
        f"and from folders of `.npy` or `.safetensors` files{help}"
    )


@pytest.mark.parametrize("suffix", ["npz", "npy", "safetensors"])
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, suffix: str) -> None:
    os.mkfifo(tmp_path / f"w.{suffix}")
    assert (
        failure(open_source, tmp_path / f"w.{suffix}").headline == f"cannot read `{tmp_path}/w.{suffix}`: it is no regular file"
    )


def test_a_pipe_in_a_folder(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "w.npy")
    assert failure(read_arrays, tmp_path).headline == f"cannot read `{tmp_path}/w.npy`: it is no regular file"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    np.save(tmp_path / "w.npy", np.ones(3))
    (tmp_path / "w.npy").chmod(0)
    assert failure(open_source, tmp_path / "w.npy").headline == f"cannot read `{tmp_path}/w.npy`: permission denied"


def written(path: Path, size: int) -> None:
    array = np.ones(size, np.float32)
    {
        ".npy": lambda: np.save(path, array),
        ".npz": lambda: np.savez(path, w=array),
        ".safetensors": lambda: safetensors_numpy.save_file({"w": array}, path),
    }[path.suffix]()


@pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors"])
@pytest.mark.parametrize("change", ["size", "time", "gone"])
def test_a_file_that_changes_in_between(tmp_path: Path, suffix: str, change: str) -> None:
    path = tmp_path / f"w.{suffix}"
    written(path, 1000)
    data = open_source(path).data("w")
    assert data.load().sum() == 1000
    if change == "size":
        written(path, 2000)
    elif change == "time":
        os.utime(path, (1, 1))
    else:
        path.unlink()
    found = failure(data.load)
    if change == "gone":
        assert text(found, tmp_path) == f"error[ANE0410]: cannot read `w.{suffix}`: no such file or directory"
    else:
        assert text(found, tmp_path) == (
            f"error[ANE0416]: `w.{suffix}` changed while it was being read\n"
            "help: run the command again when nothing writes to the file"
        )


def test_a_file_that_is_cut_while_it_is_read(tmp_path: Path) -> None:
    written(tmp_path / "w.npy", 3 << 20)
    chunks = open_source(tmp_path / "w.npy").data("w").chunks()
    assert next(chunks).size == 1 << 20
    os.truncate(tmp_path / "w.npy", 5 << 20)
    assert failure(list, chunks).code == "ANE0416"


def test_a_folder_without_arrays(tmp_path: Path) -> None:
    nothing = "error[ANE0410]: cannot read `DIR`: the folder holds no `.npy` and no `.safetensors` file"
    assert text(failure(open_source, tmp_path), tmp_path) == nothing
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    assert text(failure(open_source, tmp_path), tmp_path) == nothing
    (tmp_path / "model.npz").write_bytes(b"")
    assert text(failure(open_source, tmp_path)).replace(str(tmp_path), "DIR") == (
        f"{nothing}\nhelp: give the file itself: `DIR/model.npz` (the option may be repeated)"
    )


def test_a_folder_of_compiled_weights(tmp_path: Path) -> None:
    (tmp_path / "k/weights").mkdir(parents=True)
    (tmp_path / "k/kernel.json").write_text("{}")
    (tmp_path / "k/weights/w.bin").write_bytes(b"")
    for folder in ("k", "k/weights"):
        assert text(failure(open_source, tmp_path / folder)).replace(str(tmp_path), "DIR") == (
            f"error[ANE0410]: cannot read `DIR/{folder}`: the folder holds no `.npy` and no `.safetensors` file\n"
            "help: the weights of an artifact are compiled: `anedsl inspect DIR/k` and `anedsl run DIR/k` read them"
        )


def test_links_inside_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    np.save(tmp_path / "real/w.npy", np.arange(3))
    (tmp_path / "alias.npy").symlink_to("real/w.npy")
    (tmp_path / "again").symlink_to("real")
    (tmp_path / "real/loop").symlink_to("..")
    assert {key: array.tolist() for key, array in read_arrays(tmp_path).items()} == {"alias": [0, 1, 2], "real/w": [0, 1, 2]}


@pytest.mark.parametrize("name", ["w.npy", "folder", "deep/w.npy"])
def test_links_that_lead_out_of_a_folder(tmp_path: Path, name: str) -> None:
    outside, inside = tmp_path / "folder2", tmp_path / "folder"
    (inside / "deep").mkdir(parents=True)
    outside.mkdir()
    np.save(outside / "w.npy", np.arange(3))
    (inside / name).symlink_to(outside if name == "folder" else outside / "w.npy")
    assert text(failure(open_source, inside)).replace(str(tmp_path), "DIR") == (
        f"error[ANE0415]: the name `{name}` leads out of `DIR/folder`\n"
        "note: it is a symbolic link to a place outside of the folder\n"
        "help: copy the file into the folder"
    )


def test_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "w.npy").symlink_to("nowhere.npy")
    assert failure(read_arrays, tmp_path).code == "ANE0410"


def test_folders_that_are_too_deep(tmp_path: Path) -> None:
    (tmp_path / "/".join("abcdefghi")).mkdir(parents=True)
    assert failure(open_source, tmp_path).headline == f"cannot read `{tmp_path}`: its folders are more than 8 deep"


SIZE = 256 << 20
CHILD = """
import resource, sys
from pathlib import Path
import numpy as np
from anedsl.weights import open_source
from anedsl.weights.stored import window
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
data = open_source(Path(sys.argv[1])).data(sys.argv[2])
total = sum(chunk.nbytes for chunk in data.chunks())
part = window(data, data.shape[0] // 2, (3,)).load()
print(peak() - before, total, float(part.sum()))
"""


@pytest.mark.parametrize("form", ["npy", "npz", "npz deflated", "safetensors", "bf16"])
def test_streaming_takes_little_memory(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"w.{form.split()[0].replace('bf16', 'safetensors')}"
    if form == "npz deflated":
        np.savez_compressed(path, w=np.zeros(SIZE // 4, np.float32))
    elif form == "npz":
        np.savez(path, w=np.zeros(SIZE // 4, np.float32))
    else:
        header = {
            "npy": b"\x93NUMPY\x01\x00\x76\x00"
            + b"{'descr': '<f4', 'fortran_order': False, 'shape': (67108864,), }".ljust(117)
            + b"\n",
            "safetensors": b'{"w":{"dtype":"F32","shape":[67108864],"data_offsets":[0,268435456]}}',
            "bf16": b'{"w":{"dtype":"BF16","shape":[134217728],"data_offsets":[0,268435456]}}',
        }[form]
        with open(path, "wb") as file:
            file.write(header if form == "npy" else len(header).to_bytes(8, "little") + header)
            file.truncate(file.tell() + SIZE)
    child = subprocess.run([sys.executable, "-c", CHILD, path, "w"], capture_output=True, text=True, check=True, timeout=120)
    grown, total, part = child.stdout.split()
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(grown) * unit < 80 << 20
    assert int(total) == SIZE * (2 if form == "bf16" else 1)
    assert float(part) == 0
