"""The command line. Commands load what they need when they run, so that `--help` is instant."""

from __future__ import annotations

import gc
import os
import signal
import sys
from errno import EDQUOT, EFBIG, EIO, ENOSPC
from typing import NoReturn

SERIAL = frozenset(("compile", "check", "ops", "explain", "doctor", "--help", "-h", "--version"))
"""Commands that multiply no matrices."""


class Terminated(BaseException):
    """SIGTERM: what is being written is removed, and processes that were started are ended."""


def main() -> None:
    """Runs the command line and exits: 0 done, 1 the input is at fault, 2 usage, 3 an internal error, 130 Ctrl-C, 143 SIGTERM."""
    # A compile makes many objects and few cycles: looking for them at every 700th object costs a tenth of its time.
    gc.set_threshold(100_000, 50, 50)
    if len(sys.argv) > 1 and sys.argv[1] in SERIAL:
        # Starting the threads of a BLAS that does nothing takes 10 ms.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGTERM, _on_terminate)
    try:
        from anedsl.cli.app import register

        try:
            register(sys.argv[1] if len(sys.argv) > 1 else None)(prog_name="anedsl")
        finally:
            # Here a full disk can still be reported; at the interpreter's end it cannot.
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has enough of it.
        _close_output()
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
    except Terminated:
        sys.exit(143)
    except Exception as error:
        sys.exit(_report(error))


def _on_terminate(*_: object) -> NoReturn:
    # A second one ends the process at once.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise Terminated


def _close_output() -> None:
    """Nothing more is written at the end, where it would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: Exception) -> int:
    """A failure the user can mend, or an internal error."""
    # Files that commands write have names, and diagnostics of their own.
    if isinstance(error, OSError) and error.filename is None and error.errno in (ENOSPC, EDQUOT, EIO, EFBIG):
        _close_output()
        sys.stderr.write(f"anedsl: cannot write to the standard output: {(error.strerror or str(error)).lower()}\n")
        return 1
    from anedsl.cli.output import report_failure, report_internal_error
    from anedsl.diagnostics import Failure

    if isinstance(error, Failure):
        report_failure(error.diagnostics)
        return 1
    report_internal_error(error)
    return 3
