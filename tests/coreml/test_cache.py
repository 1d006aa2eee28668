"""Compiled models are kept by content, within a limit, and never in part."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

import anedsl
from anedsl.codegen.coreml import cache
from anedsl.codegen.coreml.runner import execute
from anedsl.diagnostics import Failure
from tests.coreml.conftest import COMPUTE, Compiled
from tests.coreml.scenario import MAC, Mac

INPUTS = {name: np.ones((1, 4, 1, 32)) for name in "abc"}


def test_a_package_is_compiled_once(mac: Mac, pair: Compiled) -> None:
    execute(pair.artifact, INPUTS)
    execute(pair.package, INPUTS)
    assert mac.stages.count("compile") == 1
    assert mac.stages.count("load") == 2
    paths = {call["path"] for call in mac.calls if call["stage"] == "load"}
    assert paths == {str(path) for path in mac.cache.iterdir()}


def test_the_same_bytes_elsewhere_are_the_same_entry(mac: Mac, pair: Compiled, tmp_path: Path) -> None:
    again = anedsl.load(pair.source).compile(tmp_path / "elsewhere").path / "pair.mlpackage"
    assert cache.key(again, MAC) == cache.key(pair.package, MAC)


def test_other_bytes_or_another_system_are_another_entry(pair: Compiled) -> None:
    keys = [cache.key(pair.package, MAC)]
    keys.append(cache.key(pair.package, MAC._replace(macos=(15, 2))))
    keys.append(cache.key(pair.package, MAC._replace(coremltools="9.1")))
    model = pair.package / "Data" / "com.apple.CoreML" / "model.mlmodel"
    changed = bytearray(model.read_bytes())
    changed[-1] ^= 1
    model.write_bytes(changed)
    keys.append(cache.key(pair.package, MAC))
    (pair.package / "more").write_bytes(b"")
    keys.append(cache.key(pair.package, MAC))
    assert len(set(keys)) == 5


def test_an_entry_that_does_not_load_is_made_anew(mac: Mac, pair: Compiled) -> None:
    execute(pair.artifact, INPUTS)
    (entry,) = mac.cache.iterdir()
    (entry / "model.mil").unlink()
    with pytest.raises(Failure, match="no compiled model there"):
        execute(pair.artifact, INPUTS)
    execute(pair.artifact, INPUTS)
    assert mac.stages.count("compile") == 2


def test_without_a_cache_nothing_is_kept(mac: Mac, pair: Compiled, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ANEDSL_CACHE", "")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    execute(pair.artifact, INPUTS)
    execute(pair.artifact, INPUTS)
    assert mac.stages.count("compile") == 2
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not mac.cache.exists()


def make_entry(place: Path, name: str, size: int, age: float) -> Path:
    found = cache.entry(place, name)
    found.mkdir(parents=True)
    (found / "weights").write_bytes(b"\0" * size)
    os.utime(found, (time.time() - age, time.time() - age))
    return found


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    old, middle, new = (make_entry(tmp_path, name, 100, age) for name, age in (("a", 300), ("b", 200), ("c", 100)))
    cache.trim(tmp_path, new, limit=250)
    assert (old.exists(), middle.exists(), new.exists()) == (False, True, True)
    cache.mark_used(middle)
    cache.trim(tmp_path, middle, limit=150)
    assert sorted(tmp_path.iterdir()) == [middle]


def test_the_entry_in_use_stays_even_if_it_is_too_large(tmp_path: Path) -> None:
    used, other = make_entry(tmp_path, "a", 1000, 300), make_entry(tmp_path, "b", 1, 0)
    cache.trim(tmp_path, used, limit=500)
    assert (used.exists(), other.exists()) == (True, False)


def test_a_run_keeps_the_limit(mac: Mac, pair: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    old = make_entry(mac.cache, "old", 5000, 300)
    monkeypatch.setattr(cache.trim, "__defaults__", (3000,))
    execute(pair.artifact, INPUTS)
    assert not old.exists()
    assert len(list(mac.cache.iterdir())) == 1


def test_of_two_processes_the_first_entry_stays(tmp_path: Path) -> None:
    first, second = tmp_path / "first.mlmodelc", tmp_path / "second.mlmodelc"
    for path in (first, second):
        path.mkdir()
        (path / "model.mil").write_text(path.name)
    found = cache.entry(tmp_path, "key")
    cache.keep(first, found)
    cache.keep(second, found)
    assert (found / "model.mil").read_text() == "first.mlmodelc"
    assert sorted(tmp_path.iterdir()) == [found]


def test_what_a_killed_process_left_is_removed_after_a_day(tmp_path: Path) -> None:
    old, young = tmp_path / ".job-old", tmp_path / ".job-young"
    old.mkdir()
    young.mkdir()
    os.utime(old, (0, 0))
    with cache.job_folder(tmp_path) as job:
        assert job.stat().st_mode & 0o077 == 0
        assert sorted(tmp_path.iterdir()) == sorted([young, job])
    assert sorted(tmp_path.iterdir()) == [young]


def test_a_fallback_is_reported_from_the_cache_as_well(mac: Mac, pair: Compiled) -> None:
    mac.will(COMPUTE, stderr={"load": "E5RT: MILCompilerForANE error: failed\n"})
    warnings = [execute(pair.artifact, INPUTS).diagnostics.diagnostics for _ in range(2)]
    assert [[warning.code for warning in each] for each in warnings] == [["ANE0524"], ["ANE0524"]]
