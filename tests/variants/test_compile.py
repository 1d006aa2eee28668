"""What a compile of variants writes and says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from anedsl.cli.linking import Links
from anedsl.codegen.artifact import Artifact
from tests.variants.command import command, contents, manifest


def inodes(folder: Path) -> dict[str, set[int]]:
    """By the bytes of each weight file below a folder, the files that hold them."""
    found: dict[str, set[int]] = {}
    for path in folder.rglob("*.bin"):
        found.setdefault(path.read_bytes().hex(), set()).add(path.stat().st_ino)
    return found


def test_each_variant_is_an_artifact(folder: Path) -> None:
    done = command(folder, "compile", "k.ane", "lin", "-D", "SEQ=64,128", "-D", "MODE=b")
    assert sorted(os.listdir(folder / "build")) == ["lin-SEQ128", "lin-SEQ64"]
    for seq in (64, 128):
        made = manifest(folder / f"build/lin-SEQ{seq}")
        assert (made["kernel"], made["variant"], made["files"]["mlpackage"]) == ("lin", {"SEQ": seq}, "lin.mlpackage")
        assert made["parameters"] == {"SEQ": seq, "DIM": 16, "MODE": "b", "SIZES": [1, 2]}
        assert made["inputs"][0]["shape"] == [1, 16, 1, seq]
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["build/lin-SEQ64", "build/lin-SEQ128"]
    assert done.stderr == ""


def test_a_variant_differs_from_a_single_compile_in_one_key(folder: Path) -> None:
    command(folder, "compile", "k.ane", "lin", "-D", "SEQ=64,128", "-o", "many")
    command(folder, "compile", "k.ane", "lin", "-D", "SEQ=128", "-o", "one")
    many, one = contents(folder / "many/lin-SEQ128"), contents(folder / "one/lin")
    said = json.loads(many.pop("kernel.json"))
    assert said.pop("variant") == {"SEQ": 128}
    assert said == json.loads(one.pop("kernel.json"))
    assert many == one


def test_equal_weight_files_are_one_file(folder: Path) -> None:
    command(folder, "compile", "k.ane", "-D", "SEQ=64,128", "-D", "DIM=16,32", "-j", "2")
    found = inodes(folder / "build")
    assert len(found) == 2
    assert {len(same) for same in found.values()} == {1}
    assert len(list((folder / "build").rglob("*.bin"))) == 12
    assert not [name for name in contents(folder / "build") if "/." in name]


def test_a_new_compile_leaves_linked_files_of_others_alone(folder: Path) -> None:
    command(folder, "compile", "k.ane", "lin", "-D", "SEQ=64,128")
    before = contents(folder / "build/lin-SEQ128")
    np.savez(folder / "w.npz", w=np.ones((16, 16)))
    command(folder, "compile", "k.ane", "lin", "-D", "SEQ=64,32", "--weights", "w.npz")
    assert contents(folder / "build/lin-SEQ128") == before
    assert len(inodes(folder / "build")) == 2


@pytest.mark.parametrize("error", [PermissionError(1, "no links here"), OSError(31, "too many links")])
def test_without_links_there_are_copies(folder: Path, error: OSError, monkeypatch: pytest.MonkeyPatch) -> None:
    command(folder, "compile", "k.ane", "lin", "-D", "SEQ=64", "-o", "a")
    command(folder, "compile", "k.ane", "lin", "-D", "SEQ=128", "-o", "b")
    before = contents(folder)

    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, "link", refuse)
    links = Links()
    for name in "ab":
        links.add(Artifact(folder / name / "lin", manifest(folder / name / "lin"), []))
    assert contents(folder) == before
    assert all(path.stat().st_nlink == 1 for path in folder.rglob("*.bin"))
    monkeypatch.undo()
    links = Links()
    for name in "ab":
        links.add(Artifact(folder / name / "lin", manifest(folder / name / "lin"), []))
    assert contents(folder) == before
    assert {path.stat().st_nlink for path in folder.rglob("*.bin")} == {4}


FAILED = """\
error[ANE0221]: SEQ is at most 128
 --> k.ane:5:12
  |
5 |     assert SEQ <= 128, "SEQ is at most 128"
  |            ^^^^^^^^^^ is false
  |
  = note: here `SEQ` is 256
  = note: in `lin-SEQ256-DIM8`, `lin-SEQ256-DIM16`

1 error
2 of 4 variants failed: `lin-SEQ256-DIM8`, `lin-SEQ256-DIM16`
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_failures_are_gathered_and_the_rest_is_written(folder: Path, jobs: int) -> None:
    done = command(folder, "compile", "k.ane", "lin", "-D", "SEQ=64,256", "-D", "DIM=8,16", "-j", jobs, code=1)
    assert done.stderr == FAILED
    assert sorted(os.listdir(folder / "build")) == ["lin-SEQ64-DIM16", "lin-SEQ64-DIM8"]


def test_what_holds_for_every_variant(folder: Path) -> None:
    done = command(folder, "compile", "k.ane", "lin", "-D", "SEQ=1024,512", "--format", "concise", code=1)
    assert done.stderr == (
        "k.ane:5:12: error[ANE0221]: SEQ is at most 128: is false (in every variant)\n"
        "2 of 2 variants failed: `lin-SEQ1024`, `lin-SEQ512`\n"
    )
    assert not (folder / "build").exists()


def test_a_value_of_one_variant_is_not_told_of_all(folder: Path) -> None:
    done = command(folder, "compile", "k.ane", "lin", "-D", "SEQ=1024,512", code=1)
    assert [line for line in done.stderr.splitlines() if "note" in line] == ["  = note: in every variant"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_wrong_value_in_a_file_is_shown_with_its_file(folder: Path, jobs: int) -> None:
    (folder / "v.toml").write_text('[variants.a]\nSEQ = "long"\n[variants.b]\nSEQ = 64\n')
    options = ("-D", "DIM=0.5", "-j", jobs, "--format", "concise")
    done = command(folder, "compile", "k.ane", "lin", "--variants", "v.toml", *options, code=1)
    kind = 'k.ane:1:12: error[ANE0216]: expected a value like the number 64, found the string "long": `SEQ` of `v.toml`'
    assert kind in done.stderr
    assert "`-D DIM=...`" in done.stderr


def test_json(folder: Path) -> None:
    done = command(folder, "compile", "k.ane", "-D", "SEQ=64,256", "--format", "json", code=1)
    said = json.loads(done.stdout)
    assert done.stderr == ""
    assert [(item["path"], item["same_as"], item["manifest"].get("variant")) for item in said["artifacts"]] == [
        ("build/lin-SEQ64", None, {"SEQ": 64}),
        ("build/plain", "build/lin-SEQ64", None),
    ]
    assert said["failed"] == ["lin-SEQ256"]
    assert [(item["code"], item["variants"]) for item in said["diagnostics"]] == [("ANE0221", ["lin-SEQ256"])]


def test_equal_programs_of_one_compile_are_pointed_out(folder: Path) -> None:
    done = command(folder, "compile", "k.ane")
    assert done.stderr == "note: `build/plain` holds the same program as `build/lin`\n"
    np.savez(folder / "w.npz", w=np.ones((16, 16)))
    done = command(folder, "compile", "k.ane", "--weights", "w.npz", "--format", "json")
    assert [item["same_as"] for item in json.loads(done.stdout)["artifacts"]] == [None, None]


def test_the_order_of_binding_makes_programs_different(folder: Path) -> None:
    kernel = "kernel {0} {{\n input {1}, {2}: fp16[1, 64]\n output y\n y = {1} - {2}\n}}\n"
    text = kernel.format("one", "a", "b") + kernel.format("two", "b", "a") + kernel.format("three", "c", "d")
    (folder / "d.ane").write_text(text)
    done = command(folder, "compile", "d.ane")
    notes = [line for line in done.stderr.splitlines() if line.startswith("note")]
    assert notes == ["note: `build/three` holds the same program as `build/one`"]


def test_maps_that_no_kernel_knows(folder: Path) -> None:
    np.savez(folder / "w.npz", w=np.ones((16, 16)))
    options = ["-D", "SEQ=64,128", "--weights", "w.npz", "--map", "q=w"]
    done = command(folder, "compile", "k.ane", *options, "--map", "r*=w*", code=1)
    assert [line for line in done.stderr.splitlines() if line.startswith("error")] == [
        "error[ANE0404]: `--map q=w` names no weight of the kernel",
        "error[ANE0426]: `--map 'r*=w*'` finds no weight",
    ]
    done = command(folder, "compile", "k.ane", *options, "--map", "r*=w", code=1)
    assert done.stderr.splitlines()[0] == "error[ANE0425]: `--map 'r*=w'` has 1 `*` on the left and 0 on the right"
    assert "1 error\n" in done.stderr


def test_a_file_of_weights_is_mapped_for_every_variant(folder: Path) -> None:
    np.savez(folder / "w.npz", **{"layers.w": np.full((16, 16), 2.0), "layers.v": np.full((16, 16), 3.0)})
    command(folder, "compile", "k.ane", "-D", "SEQ=64,128", "--weights", "w.npz", "--map", "*=layers.*", "-j", "2")
    files = {path.parent.parent.name: path.read_bytes()[128:] for path in (folder / "build").glob("*/weights/*.bin")}
    two, three = np.full(256, 2, "<f2").tobytes(), np.full(256, 3, "<f2").tobytes()
    assert files == {"lin-SEQ64": two, "lin-SEQ128": two, "plain": three}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_file_of_weights_is_unused_if_no_variant_uses_it(jobs: str, folder: Path) -> None:
    np.savez(folder / "w.npz", w=np.ones((16, 16)))
    np.savez(folder / "v.npz", v=np.ones((16, 16)))
    np.savez(folder / "other.npz", q=np.ones(4))
    options = ["-D", "SEQ=64,128", "-j", jobs, "--format", "json", "--weights", "w.npz"]
    done = command(folder, "compile", "k.ane", *options, "--weights", "v.npz")
    assert json.loads(done.stdout)["diagnostics"] == []
    done = command(folder, "compile", "k.ane", *options, "--weights", "other.npz")
    [found] = json.loads(done.stdout)["diagnostics"]
    assert (found["code"], found["message"], found["variants"]) == ("ANE0428", "no array of `other.npz` is used", [])
    assert found["notes"] == ["it has `q`", "no data was found for `v`: it is given by its initialiser"]
    # A variant that fails may be the one that would have used it.
    done = command(folder, "compile", "k.ane", "-D", "SEQ=64,256", "-j", jobs, "--weights", "other.npz", code=1)
    assert "ANE0428" not in done.stderr


def test_a_key_that_is_nearly_a_name_is_pointed_out_once(folder: Path) -> None:
    np.savez(folder / "w.npz", W=np.ones((16, 16)), v=np.ones((16, 16)))
    done = command(folder, "compile", "k.ane", "-D", "SEQ=64,128", "-j", "2", "--weights", "w.npz")
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning")]
    assert warnings == ["warning[ANE0429]: weight `w` is not in `w.npz`, which has a similar key"]


IMPORTS = """
import sys
from anedsl.cli import main
sys.argv = ["anedsl", "compile", "k.ane", "lin", "-D", "SIZES=[1,2]"]
try:
    main()
except SystemExit as end:
    assert not end.code
loaded = ("anedsl.cli.parallel", "anedsl.cli.linking", "anedsl.cli.gathering", "concurrent.futures.process", "tomllib")
assert not [name for name in loaded if name in sys.modules]
sys.argv[-1] = "SEQ=64,32"
try:
    main()
except SystemExit as end:
    assert not end.code
assert "anedsl.cli.parallel" in sys.modules
"""


def test_a_single_compile_loads_nothing_of_this(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_names_are_in_the_order_of_the_options(folder: Path) -> None:
    done = command(folder, "compile", "k.ane", "lin", "-D", "DIM=32,8,16", "-j", "2")
    sizes = [int(line.split("DIM")[1].partition(":")[0]) for line in done.stdout.splitlines()]
    assert sizes == [32, 8, 16]
    assert any(first > second for first, second in pairwise(sizes))


def test_check_looks_at_every_variant(folder: Path) -> None:
    done = command(folder, "check", "k.ane", "lin", "-D", "SEQ=64,128", "--format", "json")
    found = json.loads(done.stdout)
    assert found["variants"] == 2
    assert all(item["variants"] for item in found["diagnostics"])
    text = 'kernel k(N = 1) { input x: fp16[1, 64, 1, 64]; output y; assert N < 3, "too large"; y = tanh(x) }'
    (folder / "bad.ane").write_text(text)
    done = command(folder, "check", "bad.ane", "-D", "N=1,2,3", code=1)
    assert done.stdout.count("error[") == 1
    assert "= note: in `k-N3`" in done.stdout
    assert command(folder, "check", "bad.ane", "-D", "N=1,2").stdout == "bad.ane: 2 variants, no problems found\n"
    (folder / "sizes.toml").write_text("[variants.one]\nN = 1\n[variants.three]\nN = 3\n")
    assert "in `k-three`" in command(folder, "check", "bad.ane", "--variants", "sizes.toml", code=1).stdout
    assert not (folder / "build").exists()
