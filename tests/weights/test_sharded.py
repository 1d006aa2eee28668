"""Checkpoints in several `.safetensors` files: with an index, without one, and with one that lies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import numpy as safetensors_numpy

from anedsl.weights import bind, open_source
from tests.weights.build import everything, failure, failures, text
from tests.weights.test_binding import family, weight

INDEX = "model.safetensors.index.json"


def shard(path: Path, **tensors: Any) -> None:
    safetensors_numpy.save_file({name: np.asarray(value, np.float32) for name, value in tensors.items()}, path)


def index(folder: Path, weight_map: object, name: str = INDEX) -> Path:
    (folder / name).write_text(json.dumps({"metadata": {"total_size": 0}, "weight_map": weight_map}))
    return folder / name


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """Two files and their index."""
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    shard(folder / "m-1.safetensors", a=[1, 2], b=[3])
    shard(folder / "m-2.safetensors", c=[4, 5, 6])
    index(folder, {"a": "m-1.safetensors", "b": "m-1.safetensors", "c": "m-2.safetensors"})
    (folder / "config.json").write_text("{}")
    return folder


def told(action: Any, path: Path, folder: Path) -> list[str]:
    return [text(each).replace(str(folder), "DIR") for each in failures(action, path)]


ALL = {"a": [1, 2], "b": [3], "c": [4, 5, 6]}


@pytest.mark.parametrize("name", ["", INDEX])
def test_the_folder_or_the_index(checkpoint: Path, name: str) -> None:
    assert {key: array.tolist() for key, array in everything(checkpoint / name).items()} == ALL


def test_a_folder_without_an_index(checkpoint: Path) -> None:
    (checkpoint / INDEX).unlink()
    assert {key: array.tolist() for key, array in everything(checkpoint).items()} == ALL


def test_shards_may_be_links_and_stand_in_folders(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / "m-2.safetensors").rename(tmp_path / "blob")
    (checkpoint / "deep").mkdir()
    (checkpoint / "deep/m-2.safetensors").symlink_to(tmp_path / "blob")
    index(checkpoint, {"c": "deep/m-2.safetensors", "a": "m-1.safetensors"})
    assert {key: array.tolist() for key, array in everything(checkpoint).items()} == {"c": [4, 5, 6], "a": [1, 2]}


def test_what_the_index_does_not_name_is_not_seen(checkpoint: Path) -> None:
    shard(checkpoint / "consolidated.safetensors", a=[7])
    index(checkpoint, {"b": "m-1.safetensors"})
    assert open_source(checkpoint).keys() == ["b"]


def test_a_missing_file(checkpoint: Path) -> None:
    """Another file of the checkpoint, which differs in its number, is not what is meant."""
    (checkpoint / "m-1.safetensors").rename(checkpoint / "m-10.safetensors")
    assert told(open_source, checkpoint, checkpoint) == [
        (
            f"error[ANE0422]: the file `m-1.safetensors` of `DIR/{INDEX}` is missing\n"
            "note: `a` and 1 more are to be read from it\n"
            "help: copy or download it to the folder of the index"
        )
    ]


def test_one_file_of_a_checkpoint_whose_index_knows_another(checkpoint: Path) -> None:
    source = open_source(checkpoint / "m-1.safetensors")
    (found,) = failures(bind, [weight("w", 3)], [source], {"w": "c"})
    assert text(found).replace(str(checkpoint), "DIR") == (
        "error[ANE0405]: no file has the key `c`\n"
        "^ `w` is to be read from it\n"
        f"note: `DIR/{INDEX}` says that `m-2.safetensors` has it\n"
        "help: give the folder, or the index, instead of one of its files"
    )


def test_missing_tensors(checkpoint: Path) -> None:
    index(checkpoint, {"aa": "m-1.safetensors", "c": "m-1.safetensors", "b": "m-1.safetensors"})
    assert told(open_source, checkpoint, checkpoint) == [
        (
            "error[ANE0423]: `DIR/m-1.safetensors` has no tensor `aa`\n"
            f"note: `DIR/{INDEX}` says that it is there\n"
            "note: `c` is missing there as well\n"
            "help: did you mean `a`?\n"
            "help: take index and files from the same checkpoint"
        )
    ]


def test_all_problems_of_a_checkpoint_are_told(checkpoint: Path) -> None:
    (checkpoint / "m-2.safetensors").write_bytes(b"damaged!")
    index(checkpoint, {"x": "m-1.safetensors", "c": "m-2.safetensors", "d": "m-3.safetensors"})
    assert {each.code for each in failures(open_source, checkpoint)} == {"ANE0412", "ANE0422", "ANE0423"}


def test_a_tensor_in_two_files(checkpoint: Path) -> None:
    (checkpoint / INDEX).unlink()
    shard(checkpoint / "m-3.safetensors", c=[1], b=[1], d=[1])
    assert told(open_source, checkpoint, checkpoint) == [
        (
            "error[ANE0424]: the tensor `b` is in two files of `DIR`\n"
            "note: they are `m-1.safetensors` and `m-3.safetensors`\n"
            "note: `c` is in both as well\n"
            "help: give the file that is meant, instead of the folder"
        )
    ]


def test_a_mixed_folder(checkpoint: Path) -> None:
    np.save(checkpoint / "w.npy", np.ones(2))
    assert told(open_source, checkpoint, checkpoint) == [
        "error[ANE0419]: `DIR` holds both `.npy` and `.safetensors` files\nhelp: move one kind into another folder"
    ]


def test_two_indexes(checkpoint: Path) -> None:
    index(checkpoint, {"a": "m-1.safetensors"}, "model.fp16.safetensors.index.json")
    assert told(open_source, checkpoint, checkpoint) == [
        (
            "error[ANE0419]: `DIR` holds 2 indexes\n"
            "help: give the one that is meant: `--weights DIR/model.fp16.safetensors.index.json`"
        )
    ]
    assert open_source(checkpoint / "model.fp16.safetensors.index.json").keys() == ["a"]


@pytest.mark.parametrize(
    "name", ["../m-1.safetensors", "/m-1.safetensors", "C:\\m.safetensors", "a/../../m.safetensors", "a\0.safetensors"]
)
def test_a_shard_outside_by_name(checkpoint: Path, name: str) -> None:
    index(checkpoint, {"a": name})
    assert failure(open_source, checkpoint).code == "ANE0415"


def test_a_shard_outside_by_a_linked_folder(checkpoint: Path, tmp_path: Path) -> None:
    (checkpoint / "away").symlink_to(tmp_path)
    shard(tmp_path / "m.safetensors", a=[1])
    index(checkpoint, {"a": "away/m.safetensors"})
    found = failure(open_source, checkpoint)
    assert (found.code, found.headline.partition(" leads")[0]) == ("ANE0415", "the name `away/m.safetensors`")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it is no valid JSON"),
        (b"\xff\xfe", "it is no valid JSON"),
        (b"[]", "it has no `weight_map`"),
        (b"{}", "it has no `weight_map`"),
        (b'{"weight_map": []}', "it has no `weight_map`"),
        (b'{"weight_map": {"a": 1}}', "`a` is mapped to no name of a file"),
        (b'{"weight_map": {"a": null}}', "`a` is mapped to no name of a file"),
        (b'{"weight_map": {"a": "pytorch_model.bin"}}', "it names `pytorch_model.bin`"),
        (b'{"weight_map": {"a": "m-1.safetensors", "a": "m-2.safetensors"}}', "it names `a` twice"),
        (b'{"weight_map": {}, "weight_map": {}}', "it names `weight_map` twice"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b"[" + b"{}," * 4_000_000, "it describes too much"),
    ],
)
def test_hostile_indexes(checkpoint: Path, content: bytes, problem: str) -> None:
    (checkpoint / INDEX).write_bytes(content)
    found = failure(open_source, checkpoint)
    assert (found.code, found.headline) == ("ANE0418", f"`{checkpoint / INDEX}` is no index of a checkpoint: {problem}")


def test_an_index_that_is_too_large(checkpoint: Path) -> None:
    with (checkpoint / INDEX).open("wb") as file:
        file.truncate((64 << 20) + 1)
    assert failure(open_source, checkpoint).headline.endswith(f"it has {(64 << 20) + 1} bytes")


def test_names_of_an_index_are_fit_for_a_terminal(checkpoint: Path) -> None:
    index(checkpoint, {"\x1b[31m": "m-\x1b.safetensors"})
    [said] = told(open_source, checkpoint, checkpoint)
    assert "\x1b" not in said
    assert "`m-\\x1b.safetensors`" in said


def test_a_shard_that_is_no_file(checkpoint: Path) -> None:
    (checkpoint / "m-2.safetensors").unlink()
    (checkpoint / "m-2.safetensors").mkdir()
    assert failure(open_source, checkpoint).code == "ANE0410"


def hundred(folder: Path, count: int = 100, each: int = 8) -> Path:
    """A checkpoint of a hundred files with eight tensors each."""
    folder.mkdir()
    weight_map = {}
    for number in range(count):
        name = f"model-{number:05}-of-{count:05}.safetensors"
        tensors = {f"layers.{number * each + i}.w": np.full((4, 3), number * each + i) for i in range(each)}
        shard(folder / name, **tensors)
        weight_map |= dict.fromkeys(tensors, name)
    index(folder, weight_map)
    return folder


def test_a_hundred_files(tmp_path: Path) -> None:
    source = open_source(hundred(tmp_path / "model"))
    found = bind(family("W", 800, 4, 3), [source], {"W": "layers.{i}.w"})
    assert [data.load().mean() for data in found.values()] == list(range(800))


CHILD = """
import os, resource, sys
from pathlib import Path
import anedsl.weights.files as files
from anedsl.weights import open_source
opened = []
real = files.os.open
files.os.open = lambda path, *rest: (opened.append(str(path)), real(path, *rest))[1]
source = open_source(Path(sys.argv[1]))
headers = len(opened)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for key in source.keys():
    source.entry(key)
assert len(opened) == headers
total = sum(chunk.nbytes for key in source.keys() for chunk in source.data(key).chunks())
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, total, headers, len(os.listdir("/dev/fd")))
"""


def test_headers_are_read_once_and_numbers_in_bounded_memory(tmp_path: Path) -> None:
    count, size = 20, 16 << 20
    header = json.dumps({"w": {"dtype": "F32", "shape": [size // 4], "data_offsets": [0, size]}})
    for number in range(count):
        with (tmp_path / f"{number}.safetensors").open("wb") as file:
            own = header.replace('"w"', f'"w{number}"').encode()
            file.write(len(own).to_bytes(8, "little") + own)
            file.truncate(file.tell() + size)
    child = subprocess.run([sys.executable, "-c", CHILD, tmp_path], capture_output=True, text=True, check=True, timeout=120)
    grown, total, headers, handles = map(int, child.stdout.split())
    assert grown * (1 if sys.platform == "darwin" else 1024) < 80 << 20
    assert (total, headers) == (count * size, count)
    assert handles < 10
