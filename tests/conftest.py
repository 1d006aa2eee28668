"""What all tests share: the golden files' option, and coremltools imported once."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import pytest

from tests.golden import Golden


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-goldens", action="store_true", help="write the golden files instead of comparing with them")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The golden files in `goldens/` beside the test."""
    return Golden(Path(request.path).parent / "goldens", request.config.getoption("--update-goldens"))


@pytest.fixture(scope="session")
def coremltools() -> Any:
    """coremltools, without its remarks on what this machine lacks."""
    logging.getLogger("coremltools").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import coremltools

    return coremltools
