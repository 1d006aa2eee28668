"""docs/running-on-a-mac.md: its commands are understood, and its codes exist."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from anedsl.cli.explaining import diagnostic_classes
from anedsl.codegen.coreml import cache
from anedsl.codegen.coreml.runner import TIMEOUT
from tests.errors.command import anedsl

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "running-on-a-mac.md").read_text(encoding="utf-8")

COMMANDS = sorted(set(re.findall(r"(?:^|`)anedsl ([^`#|$\n]+)", PAGE, flags=re.MULTILINE)))


def test_the_page_has_commands() -> None:
    assert len(COMMANDS) >= 8


@pytest.mark.skipif(sys.platform == "darwin", reason="there they would be run")
@pytest.mark.parametrize("command", [command for command in COMMANDS if "coreml" in command])
def test_each_command_is_understood(command: str) -> None:
    done = anedsl(*shlex.split(command), folder=ROOT)
    assert done.code == 1, done.err
    assert "error[ANE0520]" in done.err or '"ANE0520"' in done.out


@pytest.mark.parametrize("command", [command for command in COMMANDS if "coreml" not in command and "CODE" not in command])
def test_each_command_for_any_machine_works(command: str) -> None:
    assert anedsl(*shlex.split(command), folder=ROOT).code == 0


def test_each_code_exists() -> None:
    codes = set(re.findall(r"ANE05\d\d", PAGE))
    assert len(codes) > 8
    assert codes <= set(diagnostic_classes())


def test_the_limits_are_those_of_the_code() -> None:
    assert f"{cache.LIMIT >> 30} GiB" in PAGE
    assert f"({TIMEOUT:g} s)" in PAGE


def test_the_page_says_that_it_was_not_tried() -> None:
    assert "None of this has been run on hardware" in PAGE
