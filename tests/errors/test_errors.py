"""Every diagnostic as its reader gets it: the pages of this folder, run through the command line.

`pytest --update-goldens` writes what is printed into the pages; read the difference before it is committed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from anedsl.cli.explaining import diagnostic_classes
from tests.errors.page import Page, read

PAGES = [read(path) for path in sorted(Path(__file__).parent.glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.stem)
def test_page(page: Page, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    result = page.result(tmp_path)
    printed = result.out + result.err
    if request.config.getoption("--update-goldens"):
        page.write(printed)
    else:
        assert printed == page.expected
    failed = "error[" in printed or '"severity": "error"' in printed or "--strict" in page.run
    assert result.code == (1 if failed else 0)
    assert str(tmp_path) not in printed


@pytest.mark.parametrize("page", [page for page in PAGES if page.code.startswith("ANE")], ids=lambda page: page.path.stem)
def test_page_shows_its_code(page: Page) -> None:
    assert f"[{page.code}]" in page.expected


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.stem)
def test_headlines_follow_the_style(page: Page) -> None:
    for code, headline in re.findall(r"^(?:error|warning)\[(\w+)\]: (.*)$", page.expected, re.MULTILINE):
        # The author writes the headline of an assertion.
        if code != "ANE0221":
            assert headline[0].islower() or headline[0] in "`-0123456789" or headline.startswith(("Core ML", "MIL")), headline
            assert not headline.endswith("."), headline


EXCEPTIONS = {
    "no graph of the language breaks the rule, because a type rule (0227, 0251, 0254) or `state` (0230) is refused first, and "
    "`check` reads no other graphs: tests/rules": "0303 0306 0312",
    "the option parser refuses the word first, so that only Python reaches them": "0330 0507 0512 0531",
    "the command line takes all kernels of a file: `anedsl.load`": "0513",
    "a file that changes while it is read, and arrays of 8 GiB: tests/weights": "0416 0417",
    "numbers that 0232 refuses when they meet a tensor; only graphs made in Python have them: tests/codegen/test_text.py": (
        "0431 0437"
    ),
    "an installation without coremltools: tests/codegen/test_package.py": "0436",
    "only Python writes a program again that was read: tests/reader/test_foreign.py": "0439",
    "a process that the system ends: tests/variants/test_processes.py": "0452",
    "the reader of MIL text, which has pages of its own: tests/reader/goldens/errors.md": (
        "0460 0461 0462 0464 0465 0466 0467 0468 0469 0470 0471 0472 0473 0474 0475 0476 0477 0478 0487 0488 0489 0490 0491 0492"
    ),
    "Core ML, on a Mac or a feigned one: tests/coreml": "0520 0521 0522 0523 0524 0525 0526 0527 0528 0529 0530",
}
"""Diagnostics without a page, by the reason."""


def test_every_diagnostic_has_a_page_or_a_reason() -> None:
    excepted = {f"ANE{code}" for codes in EXCEPTIONS.values() for code in codes.split()}
    shown = {page.code for page in PAGES if page.code.startswith("ANE")}
    classes = set(diagnostic_classes())
    assert classes - shown - excepted == set(), "write a page for each of these"
    assert shown & excepted == set(), "these have a page now"
    assert (shown | excepted) - classes == set(), "no such diagnostic any more"
