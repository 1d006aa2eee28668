"""The process that runs programs, one after the other: a line of JSON for each comes in, and one with its row goes out.

python -m anedsl.codegen.selftest.worker reference PARENT
"""

from __future__ import annotations

import json
import os
import sys


def main() -> None:
    """Answers until its input ends. Its parent may have gone: then there is nobody to write to."""
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    from anedsl.codegen.parent import follow_parent

    follow_parent(int(sys.argv[2]))
    from anedsl.codegen.selftest.job import run_program
    from anedsl.codegen.selftest.programs import Program

    backend = sys.argv[1]
    for line in sys.stdin:
        given = json.loads(line)
        given["parameters"] = tuple((key, value) for key, value in given["parameters"])
        row = run_program(Program(**given), backend)
        try:
            answers.write(json.dumps(row) + "\n")
            answers.flush()
        except BrokenPipeError:
            return


if __name__ == "__main__":
    main()
