"""docs/std.md says what the library's own comments say, and every function has one."""

from __future__ import annotations

from pathlib import Path

import pytest

from anedsl.elaborate.modules import STD, load
from tests.golden import Golden
from tests.std.reference import reference

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"


def test_the_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    Golden(DOCS, request.config.getoption("--update-goldens")).check("std.md", reference())


@pytest.mark.parametrize("path", sorted(STD.glob("*.ane")), ids=lambda path: path.stem)
def test_every_function_has_a_comment(path: Path) -> None:
    module = load(path)
    assert module.source.text.startswith("# ")
    public = {name: function for name, function in module.functions.items() if not name.startswith("_")}
    assert public or path.stem == "nn"
    for name, function in public.items():
        assert len(function.tree.doc) > 15, name
        assert function.tree.doc.endswith("."), name
