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
    "files that no text block can hold: tests/test_hostile_sources.py": "0106 0108",
    "forms that come and go with the compiler's versions": "0230",
    "type rules with tables of mistakes of their own: tests/ops": "0261",
    "rules that type rules or the option parser come before: tests/rules": "0303 0306 0310 0312 0319 0330",
    "files of weights: tests/weights": "0407 0413 0414 0415 0416 0417 0418 0419 0420 0421 0422 0423 0424 0425 0426 0427",
    "code generation: tests/codegen": "0430 0431 0436 0437",
    "the reader of MIL text and packages": (
        "0460 0461 0462 0463 0464 0465 0466 0467 0468 0469 0470 0471 0472 0473 0474 0475 0476 0477 0478 0479 0480 0481 0482 "
        "0483 0484 0485 0486 0487 0488 0489 0490 0491"
    ),
    "numbers that no array of zeros has, and a name that the option parser refuses first": "0506 0507",
    "added while this list was written, and not looked at yet": "0280 0281 0282 0440 0450 0451 0452 0492",
    "Core ML, on a Mac only": "0520 0521 0522 0523 0524 0525 0526 0527 0528 0529 0530 0531",
}
"""Diagnostics without a page, by the reason."""


def test_every_diagnostic_has_a_page_or_a_reason() -> None:
    excepted = {f"ANE{code}" for codes in EXCEPTIONS.values() for code in codes.split()}
    shown = {page.code for page in PAGES if page.code.startswith("ANE")}
    classes = set(diagnostic_classes())
    assert classes - shown - excepted == set(), "write a page for each of these"
    assert shown & excepted == set(), "these have a page now"
    assert (shown | excepted) - classes == set(), "no such diagnostic any more"
