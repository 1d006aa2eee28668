"""Every diagnostic of weights: one code each, in this module's range, explained, and complete."""

from __future__ import annotations

import inspect

import pytest

from anedsl.diagnostics import Diagnostic, Error
from anedsl.diagnostics import weights as module
from anedsl.diagnostics.weights import WeightOverflow, WeightUnderflow
from tests.weights.build import text

CLASSES = [
    each
    for _, each in inspect.getmembers(module, inspect.isclass)
    if issubclass(each, Diagnostic) and each.__module__ == module.__name__ and each.code
]


def test_codes_are_unique_and_in_range() -> None:
    codes = [each.code for each in CLASSES]
    assert len(set(codes)) == len(codes) >= 18
    assert all("ANE0401" <= code <= "ANE0429" or code == "ANE0438" for code in codes)


@pytest.mark.parametrize("each", CLASSES)
def test_headlines_follow_the_style(each: type[Diagnostic]) -> None:
    assert each.__doc__
    assert len(each.__doc__) > 60
    assert not each.title.endswith(".")
    assert each.title[0].islower() or each.title[0] == "`"
    assert each.severity == ("error" if issubclass(each, Error) else "warning")


@pytest.mark.parametrize("each", CLASSES)
def test_texts_use_only_fields_that_can_be_given(each: type[Diagnostic]) -> None:
    fields = {name for kind in each.__mro__ if kind.__module__ == module.__name__ for name in inspect.get_annotations(kind)}
    said = text(each(**{name: f"<{name}>" for name in fields}))
    for name in fields:
        assert f"<{name}>" in said, name
    assert "{" not in said


def test_overflow() -> None:
    assert text(WeightOverflow(name="w", count=3, largest=70000.0)) == (
        "warning[ANE0420]: weight `w` does not fit fp16\n"
        "^ values that become infinite: 3; largest magnitude: 70000.0\n"
        "help: scale the weight down and multiply the result, or declare it fp32 if the target allows it"
    )


def test_underflow() -> None:
    assert text(WeightUnderflow(name="w", count=3, share="1.50%", largest=1e-9)) == (
        "warning[ANE0421]: weight `w` loses small values in fp16\n"
        "^ values that become zero: 3, 1.50% of those that were not; largest magnitude: 1e-09\n"
        "help: scale the weight up and divide the result, or declare it fp32 if the target allows it"
    )
