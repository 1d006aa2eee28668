"""The artifact as a whole: its files, its determinism, and that it is written entirely or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from anedsl.codegen import folder as swapping
from anedsl.codegen.artifact import Options, write
from anedsl.codegen.exchange import exchange
from anedsl.codegen.folder import replaced_folder
from anedsl.codegen.version import VERSION
from anedsl.diagnostics import Failure
from anedsl.graph import Graph, Weight, make_const
from anedsl.types import FP16, TensorType
from tests.codegen.kernels import Builder, everything, fp16, rmsnorm_bwd, span_of
from tests.golden import Golden

ALL = frozenset({"mil", "mlpackage", "header"})
ROOT = Path(__file__).parents[2]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_the_files(tmp_path: Path) -> None:
    artifact = write(everything(), "ab" * 32, Options(emit=ALL), tmp_path)
    assert artifact.path == tmp_path / "everything"
    assert list(tree(artifact.path)) == [
        "everything.h",
        "everything.mlpackage/Data/com.apple.CoreML/model.mlmodel",
        "everything.mlpackage/Data/com.apple.CoreML/weights/weight.bin",
        "everything.mlpackage/Manifest.json",
        "kernel.json",
        "model.mil",
        "weights/W_0.bin",
        "weights/b.bin",
        "weights/table.bin",
    ]
    assert os.listdir(tmp_path) == ["everything"]
    assert artifact.warnings == []


@pytest.mark.parametrize(
    ("emit", "files"),
    [
        ({"mil"}, {"kernel.json", "model.mil", "weights"}),
        ({"mlpackage"}, {"kernel.json", "rmsnorm_bwd.mlpackage"}),
        ({"header"}, {"kernel.json", "rmsnorm_bwd.h"}),
        (set(), {"kernel.json"}),
    ],
)
def test_only_what_is_asked_for_is_written(emit: set[str], files: set[str], tmp_path: Path) -> None:
    artifact = write(rmsnorm_bwd(), "", Options(emit=frozenset(emit)), tmp_path)
    assert set(os.listdir(artifact.path)) == files
    named = artifact.manifest["files"]
    assert {value for value in named.values() if value} == files - {"kernel.json", "weights"}


def test_one_weight_file(tmp_path: Path) -> None:
    separate = write(everything(), "", Options(), tmp_path / "a")
    single = write(everything(), "", Options(single_weight_file=True), tmp_path / "b")
    assert os.listdir(single.path / "weights") == ["weight.bin"]
    shared = (single.path / "weights" / "weight.bin").read_bytes()
    package = single.path / "everything.mlpackage" / "Data" / "com.apple.CoreML" / "weights" / "weight.bin"
    assert package.read_bytes() == shared
    assert len(single.manifest["weights"]) == 3
    for one, many in zip(separate.manifest["weights"], single.manifest["weights"], strict=True):
        assert one["offset"] == 64
        assert many["offset"] == many["package_offset"] == one["package_offset"]
        assert many["sha256"] == one["sha256"]
        own = (separate.path / one["file"]).read_bytes()[128:]
        assert shared[many["offset"] + 64 :][: many["bytes"]] == own
        assert hashlib.sha256(own).hexdigest() == one["sha256"]


@pytest.mark.parametrize("make", [rmsnorm_bwd, everything], ids=["rmsnorm_bwd", "everything"])
def test_the_whole_manifest(make: Any, tmp_path: Path, golden: Golden) -> None:
    options = Options(chip="m4", emit=ALL)
    artifact = write(make(), hashlib.sha256(b"source").hexdigest(), options, tmp_path)
    text = (artifact.path / "kernel.json").read_text(encoding="utf-8")
    assert json.loads(text) == artifact.manifest
    golden.check(f"{artifact.path.name}.kernel.json", text.replace(f'"version": "{VERSION}"', '"version": "VERSION"'))


def test_surfaces_bind_in_alphabetical_order_and_have_one_allocation(tmp_path: Path) -> None:
    b = Builder()
    sizes = {"w": 8, "A": 64 * 1024, "b": 4}
    total = None
    for name, size in sizes.items():
        part = b.op("reduce_sum", x=b.input(name, fp16(1, size)), axes=(1,), keep_dims=True)
        total = part if total is None else b.op("add", x=total, y=part)
    assert total
    b.output("y", total)
    surfaces = write(b.graph(), "", Options(), tmp_path / "a").manifest["surfaces"]
    assert {s["name"]: s["binding"] for s in surfaces["inputs"]} == {"A": 0, "b": 1, "w": 2}
    assert [s["allocation"] for s in surfaces["inputs"]] == [128 * 1024] * 3
    assert [s["allocation"] for s in surfaces["outputs"]] == [49152]
    coreml = write(b.graph(), "", Options(route="coreml"), tmp_path / "b").manifest["surfaces"]["inputs"]
    assert [(s["binding"], s["allocation"]) for s in coreml] == [(None, 16), (None, 128 * 1024), (None, 8)]


def test_parameters_and_ranges_without_a_json_form_are_text(tmp_path: Path) -> None:
    b = Builder()
    b.output("y", b.op("relu", x=b.input("x", fp16(4), range=(0.0, float("inf")))))
    graph = b.graph(LOW=float("-inf"), SHAPE=(1, 2), NAME="größe", FLAG=True)
    manifest = write(graph, "", Options(), tmp_path).manifest
    assert manifest["inputs"][0]["range"] == [0.0, "inf"]
    assert manifest["parameters"] == {"LOW": "-inf", "SHAPE": [1, 2], "NAME": "größe", "FLAG": True}
    assert write(graph, "", Options(params={"D": 3}), tmp_path).manifest["parameters"] == {"D": 3}


def test_overflowing_weights_give_a_warning(tmp_path: Path) -> None:
    span = span_of("weight g: fp16[1, 4]", "g")
    b = Builder()
    g = b.weight("g", np.array([[1.0, 7e4, -1e5, 2.0]], np.float32), span=span)
    b.output("y", b.op("mul", x=b.input("x", fp16(1, 4)), y=g))
    [warning] = write(b.graph(), "", Options(), tmp_path).warnings
    assert (warning.severity, warning.code, warning.span) == ("warning", "ANE0420", span)
    assert warning.label_text == "values that become infinite: 2; largest magnitude: 100000.0"


MANY = """
import sys
from pathlib import Path
from anedsl.codegen.artifact import Options, write
from tests.codegen.kernels import rmsnorm_bwd
for _ in range(30):
    write(rmsnorm_bwd(), "", Options(), Path(sys.argv[1]))
"""


def test_compiles_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    command = [sys.executable, "-c", MANY, str(tmp_path)]
    processes = [subprocess.Popen(command, cwd=ROOT) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert os.listdir(tmp_path) == ["rmsnorm_bwd"]
    alone = write(rmsnorm_bwd(), "", Options(), tmp_path / "alone")
    assert tree(tmp_path / "rmsnorm_bwd") == tree(alone.path)


HASH_SEEDS = """
import sys
from pathlib import Path
from anedsl.codegen.artifact import Options, write
from tests.codegen.kernels import everything
write(everything(), "", Options(dialect=sys.argv[2], emit=frozenset({"mil", "mlpackage", "header"})), Path(sys.argv[1]))
"""


@pytest.mark.parametrize("dialect", ["1.0", "1.3"])
def test_the_same_input_gives_the_same_bytes(dialect: str, tmp_path: Path) -> None:
    trees = []
    for seed in ("0", "1", "4711"):
        folder = tmp_path / f"deeper{seed}" / seed
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", HASH_SEEDS, str(folder), dialect], check=True, cwd=ROOT, env=environment)
        trees.append(tree(folder))
    assert len(trees[0]) == 9
    assert trees[0] == trees[1] == trees[2]


def test_nothing_names_the_place_or_the_time(tmp_path: Path) -> None:
    artifact = write(everything(), "", Options(emit=ALL), tmp_path / "somewhere")
    year = str(time.localtime().tm_year).encode()
    for name, content in tree(artifact.path).items():
        assert b"somewhere" not in content, name
        assert os.fsencode(Path.home()) + b"/" not in content, name
        assert year not in content, name


class Failing:
    """Data that ends with an error, or waits to be killed, after some of it was written."""

    def __init__(self, wait: bool = False) -> None:
        self.shape = (1, 1 << 22)
        self.wait = wait

    def load(self) -> Any:
        raise AssertionError

    def chunks(self) -> Iterator[Any]:
        yield np.zeros(1 << 21, np.float32)
        if not self.wait:
            raise RuntimeError("the data went away")
        print("half way", flush=True)
        time.sleep(60)


def broken(wait: bool = False) -> Graph:
    """Of the same name as the intact kernel."""
    b = Builder("rmsnorm_bwd")
    node = make_const(Failing(wait), TensorType(FP16, (1, 1 << 22)), name="w", weight=Weight("w"))
    b.nodes.append(node)
    b.output("y", b.op("add", x=b.input("x", fp16(1, 1)), y=node.result))
    return b.graph()


@pytest.fixture
def before(tmp_path: Path) -> dict[str, bytes]:
    """An intact artifact in `tmp_path`."""
    return tree(write(rmsnorm_bwd(), "", Options(), tmp_path).path)


def test_a_new_compile_replaces_the_old_one(tmp_path: Path, before: dict[str, bytes]) -> None:
    assert "model.mil" in before
    artifact = write(rmsnorm_bwd(128), "", Options(emit=frozenset({"mlpackage"})), tmp_path)
    assert set(os.listdir(artifact.path)) == {"kernel.json", "rmsnorm_bwd.mlpackage"}
    assert os.listdir(tmp_path) == ["rmsnorm_bwd"]


def test_a_failed_compile_leaves_the_old_artifact(tmp_path: Path, before: dict[str, bytes]) -> None:
    with pytest.raises(RuntimeError, match="went away"):
        write(broken(), "", Options(), tmp_path)
    assert os.listdir(tmp_path) == ["rmsnorm_bwd"]
    assert tree(tmp_path / "rmsnorm_bwd") == before


KILLED = """
import sys
from pathlib import Path
from anedsl.codegen.artifact import Options, write
from tests.codegen.test_artifact import broken
write(broken(wait=True), "", Options(), Path(sys.argv[1]))
"""


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_compile_leaves_the_old_artifact(kill: int, tmp_path: Path, before: dict[str, bytes]) -> None:
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT) as process:
        assert process.stdout
        assert process.stdout.readline() == "half way\n"
        assert (tmp_path / f".rmsnorm_bwd.tmp-{process.pid}" / "model.mil").exists()
        process.send_signal(kill)
        assert process.wait(timeout=20) != 0
    assert tree(tmp_path / "rmsnorm_bwd") == before
    # The next compile clears away what the killed one left.
    write(rmsnorm_bwd(), "", Options(), tmp_path)
    assert os.listdir(tmp_path) == ["rmsnorm_bwd"]
    assert tree(tmp_path / "rmsnorm_bwd") == before


def dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


def test_an_artifact_that_a_killed_compile_moved_aside_comes_back(tmp_path: Path, before: dict[str, bytes]) -> None:
    aside = tmp_path / f".rmsnorm_bwd.old-{dead_process()}"
    (tmp_path / "rmsnorm_bwd").rename(aside)
    with pytest.raises(RuntimeError):
        write(broken(), "", Options(), tmp_path)
    assert tree(tmp_path / "rmsnorm_bwd") == before


def test_what_living_compiles_and_other_kernels_have_is_left_alone(tmp_path: Path) -> None:
    keep = [f".rmsnorm_bwd.tmp-{os.getppid()}", f".rmsnorm.tmp-{dead_process()}", ".rmsnorm_bwd.tmp-notes", "rmsnorm"]
    for name in keep:
        (tmp_path / name).mkdir()
    write(rmsnorm_bwd(), "", Options(), tmp_path)
    assert set(os.listdir(tmp_path)) == {*keep, "rmsnorm_bwd"}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ({"notes.txt": "mine"}, "it has no `kernel.json` of anedsl"),
        ({"kernel.json": "{}"}, "it has no `kernel.json` of anedsl"),
        ({"kernel.json": "[]"}, "it has no `kernel.json` of anedsl"),
        ({"kernel.json": "not json"}, "it has no `kernel.json` of anedsl"),
        (None, "it is not a folder"),
    ],
)
def test_what_is_not_an_artifact_is_not_replaced(content: dict[str, str] | None, found: str, tmp_path: Path) -> None:
    target = tmp_path / "rmsnorm_bwd"
    if content is None:
        target.write_text("mine")
    else:
        target.mkdir()
        for name, text in content.items():
            (target / name).write_text(text)
    earlier = tree(tmp_path)
    with pytest.raises(Failure) as failure:
        write(rmsnorm_bwd(), "", Options(), tmp_path)
    [diagnostic] = failure.value.diagnostics
    assert diagnostic.code == "ANE0435"
    assert diagnostic.headline == f"`{target}` exists and is not an artifact of anedsl"
    assert diagnostic.note_texts == [found]
    assert diagnostic.help_texts == ["remove it yourself, or give another folder with `-o DIR`"]
    assert tree(tmp_path) == earlier


def test_a_link_is_not_followed(tmp_path: Path, before: dict[str, bytes]) -> None:
    (tmp_path / "rmsnorm_bwd").rename(tmp_path / "elsewhere")
    (tmp_path / "rmsnorm_bwd").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Failure) as failure:
        write(rmsnorm_bwd(), "", Options(), tmp_path)
    assert failure.value.diagnostics[0].code == "ANE0435"
    assert tree(tmp_path / "elsewhere") == before


def test_an_empty_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "rmsnorm_bwd").mkdir()
    assert (write(rmsnorm_bwd(), "", Options(), tmp_path).path / "model.mil").exists()


def test_a_folder_that_cannot_be_written_has_a_diagnostic(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Failure) as failure:
        write(rmsnorm_bwd(), "", Options(), tmp_path / "file" / "out")
    [found] = failure.value.diagnostics
    assert found.code == "ANE0434"
    assert found.headline == f"cannot write `{tmp_path / 'file' / 'out' / 'rmsnorm_bwd'}`: not a directory"


def test_a_full_disk_has_a_diagnostic_and_leaves_the_old_artifact(tmp_path: Path, before: dict[str, bytes]) -> None:
    def fill() -> None:
        with replaced_folder(tmp_path, "rmsnorm_bwd") as folder:
            (folder / "model.mil").write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(Failure) as failure:
        fill()
    assert failure.value.diagnostics[0].headline.endswith("no space left on device")
    assert os.listdir(tmp_path) == ["rmsnorm_bwd"]
    assert tree(tmp_path / "rmsnorm_bwd") == before


@pytest.fixture
def two_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that cannot exchange two folders at once."""
    monkeypatch.setattr(swapping, "exchange", lambda one, other: False)


@pytest.mark.usefixtures("two_steps")
def test_an_error_while_swapping_puts_the_old_artifact_back(
    tmp_path: Path, before: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def refuse(self: Path, target: Path) -> Path:
        if ".tmp-" in self.name:
            raise PermissionError(13, "Permission denied")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(Failure):
        write(rmsnorm_bwd(128), "", Options(), tmp_path)
    assert os.listdir(tmp_path) == ["rmsnorm_bwd"]
    assert tree(tmp_path / "rmsnorm_bwd") == before


@pytest.mark.usefixtures("two_steps")
def test_without_an_exchange_the_old_artifact_is_moved_aside(tmp_path: Path, before: dict[str, bytes]) -> None:
    write(rmsnorm_bwd(128), "", Options(), tmp_path)
    assert os.listdir(tmp_path) == ["rmsnorm_bwd"]
    assert tree(tmp_path / "rmsnorm_bwd") != before


def test_a_process_that_ends_while_writing_leaves_the_old_artifact(tmp_path: Path, before: dict[str, bytes]) -> None:
    with replaced_folder(tmp_path, "rmsnorm_bwd") as folder:
        (folder / "model.mil").write_text("half")
        swapping.abandon()
        assert os.listdir(tmp_path) == ["rmsnorm_bwd"]
        assert tree(tmp_path / "rmsnorm_bwd") == before
        folder.mkdir()
    # What is finished is not touched.
    swapping.abandon()
    assert os.listdir(tmp_path / "rmsnorm_bwd") == []


@pytest.mark.usefixtures("two_steps")
def test_a_process_that_ends_while_swapping_puts_the_old_artifact_back(
    tmp_path: Path, before: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename
    seen = []

    def end(self: Path, target: Path) -> Path:
        if ".tmp-" in self.name:
            assert not target.exists()
            swapping.abandon()
            seen.append(tree(target))
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", end)
    with pytest.raises(KeyboardInterrupt):
        write(rmsnorm_bwd(128), "", Options(), tmp_path)
    assert seen == [before]
    assert tree(tmp_path / "rmsnorm_bwd") == before


def test_an_exchange_that_is_refused_leaves_the_old_artifact(
    tmp_path: Path, before: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(one: Path, other: Path) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(swapping, "exchange", refuse)
    with pytest.raises(Failure) as failure:
        write(rmsnorm_bwd(128), "", Options(), tmp_path)
    assert failure.value.diagnostics[0].headline.endswith("permission denied")
    assert os.listdir(tmp_path) == ["rmsnorm_bwd"]
    assert tree(tmp_path / "rmsnorm_bwd") == before


def test_two_folders_change_places_at_once(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.txt").touch()
    if not exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this system has no exchange")
    assert os.listdir(tmp_path / "one") == ["other.txt"]
    assert os.listdir(tmp_path / "other") == ["one.txt"]
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "one", tmp_path / "missing")


def test_at_every_moment_there_is_a_whole_artifact(tmp_path: Path, before: dict[str, bytes]) -> None:
    probe = [tmp_path / "a", tmp_path / "b"]
    for path in probe:
        path.mkdir()
    if not exchange(*probe):
        pytest.skip("this system has no exchange")
    done = threading.Event()
    seen: list[int] = []

    def look() -> None:
        while not done.is_set():
            with (tmp_path / "rmsnorm_bwd" / "kernel.json").open() as file:
                seen.append(json.load(file)["parameters"]["DIM"])

    reader = threading.Thread(target=look)
    reader.start()
    try:
        for number in range(30):
            write(rmsnorm_bwd(128 if number % 2 else 64), "", Options(), tmp_path)
    finally:
        done.set()
        reader.join()
    assert {64, 128} <= set(seen)
