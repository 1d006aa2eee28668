"""Runs the command line in this process, as a shell would."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from anedsl.cli import main


class Result(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


def anedsl(*args: str, folder: Path | None = None) -> Result:
    """Runs `anedsl ARGS` in a folder, through the same `main` as the installed program."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.object(sys, "argv", ["anedsl", *args]))
        stack.enter_context(mock.patch.dict("os.environ", {"NO_COLOR": "1"}))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        if folder is not None:
            stack.enter_context(contextlib.chdir(folder))
        try:
            main()
        except SystemExit as end:
            code = end.code
        else:
            code = 0
    return Result(code if isinstance(code, int) else 0 if code is None else 1, out.getvalue(), err.getvalue())


def words(line: str) -> list[str]:
    """A command line as a shell splits it."""
    return shlex.split(line)
