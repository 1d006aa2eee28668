"""What a file may be called, and how its text may begin."""

from __future__ import annotations

from pathlib import Path

import pytest

from anedsl.codegen.reader import read
from anedsl.diagnostics import Failure
from tests.errors.command import anedsl
from tests.reader.texts import program

TEXT = program("tensor<fp16, [1, 4]> y = relu(x = x);")


@pytest.mark.parametrize("name", ["k.mil", "K.MIL", "k.Mil"])
def test_the_ending_in_any_case(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(TEXT)
    (tmp_path / "k.ane").write_text("kernel k { input x: fp16[1, 4]; output y; y = relu(x) }\n")
    assert read(tmp_path / name).main.name == name.partition(".")[0]
    for command in (("inspect", name), ("run", name, "--random", "0"), ("import", name), ("diff", name, "k.ane")):
        assert anedsl(*command, folder=tmp_path).code == 0


def test_a_text_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "k.mil"
    path.write_text(TEXT, encoding="utf-8-sig")
    assert [port.name for port in read(path).main.outputs] == ["y"]
    path.write_text(TEXT.replace("program", "programm"), encoding="utf-8-sig")
    with pytest.raises(Failure) as caught:
        read(path)
    span = caught.value.diagnostics[0].span
    assert span is not None
    assert span.source.position(span.start) == (1, 1)


def test_places_of_bytes_count_the_mark(tmp_path: Path) -> None:
    path = tmp_path / "k.mil"
    path.write_bytes(b"\xef\xbb\xbfprogram\xff")
    with pytest.raises(Failure, match="it is not UTF-8 text \\(byte 0xff at 10\\)"):
        read(path)
