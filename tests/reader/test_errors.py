"""Every error in a text is shown with its line; the golden file holds them all as a reader sees them."""

from __future__ import annotations

import pytest

from anedsl.codegen.reader import read_text
from anedsl.diagnostics import Failure
from anedsl.diagnostics.render import concise, render
from tests.golden import Golden
from tests.reader.texts import EVERYTHING, program

EDITS = {
    "no equals sign": ("x=x,begin", "x x,begin"),
    "an argument without a name": ("mul(y = half", "mul(half"),
    "no semicolon": ('"c")];', '"c")]'),
    "no semicolon and no attributes": ("y = m);", "y = m)"),
    "a size that is none": ("[1, 4]> h", "[1, -]> h"),
    "a size that is too large": ("[1, 4]> h", "[1, 99999999999]> h"),
    "an axis of size 0": ("[1, 8]> x,", "[0, 8]> x,"),
    "an unknown element type": ("fp16, [1, 4]> r", "fp61, [1, 4]> r"),
    "an unclosed string": ('string("other")', 'string("other)'),
    "a comment": ("  fp16 half", "  // c\n  fp16 half"),
    "a name that begins with a digit": ("fp16 half", "fp16 1half"),
    "a hex float without exponent": ("0x1p-1", "0x1.8"),
    "another header": ("program(1.3)", "program 1.3"),
    "no end": ("(y, p);\n}\n", "(y, p)"),
    "an undefined name": ("(values = (h", "(values = (hh"),
    "an undefined output": ("(y, p)", "(y, pp)"),
    "a name twice": ("[1, 4]> r", "[1, 4]> h"),
    "an unknown parameter": ("begin=b0", "begn=b0"),
    "a parameter twice": ("y = half,", "x = half,"),
    "a missing parameter": ("axis = axis, ", ""),
    "a float for an integer": ("val = int32(1)", "val = int32(1.5)"),
    "a list for a scalar": ("val = int32(1)", "val = int32([1])"),
    "a scalar for a list": ("([0,0])", "(0)"),
    "a text for a number": ("([0,0])", '(["a","b"])'),
    "a number for a text": ('string("@', 'string(7, "@'),
    "too many elements": ("[0,0]", "[0,0,0]"),
    "uneven lists": ("[0x1.8p+1, 65504]", "[0x1.8p+1], [65504]"),
    "a number that overflows": ("65504]]]", "65520]]]"),
    "an integer that overflows": ("[0,0]", "[0,2147483648]"),
    "a value for an attribute": ("axis = axis", "axis = h"),
    "a scalar for an attribute list": ("shape = to", "shape = half"),
    "a float for an attribute list": ("shape = to", "shape = t"),
    "several values for one": ("reshape(x = t", "reshape(x = (t, t)"),
    "a declared shape that is wrong": ("[1, 5]> q", "[1, 4]> q"),
    "a declared element type that is wrong": ("tensor<fp16, [1, 4]> h", "tensor<fp32, [1, 4]> h"),
    "a const of another type": ("fp16 half", "fp32 half"),
    "too few results": ("tensor<fp16, [1, 3]> p, ", ""),
    "no value of a const": ("val = int32(1)", "value = int32(1)"),
    "a weight outside of the folder": ("@model_path/w.bin", "@model_path/../w.bin"),
    "an absolute weight": ("@model_path/w.bin", "/etc/w.bin"),
    "no file in the folder": ("@model_path/w.bin", "@model_path/."),
    "a folder without a name": ("@model_path/w.bin", "@model_path/a//w.bin"),
    "a path of another system": ("@model_path/w.bin", "@model_path/C:w.bin"),
    "an offset that is none": ("offset = uint64(64)", "offset = true"),
    "an offset before the file": ("offset = uint64(64)", "offset = uint64(-64)"),
    "an offset behind every file": ("offset = uint64(64)", "offset = uint64(9223372036854775808)"),
    "a literal that is nested too deep": ("[0x1.8p+1, 65504]]]", "[[" + "[1], " * 3 + "[" * 70 + "7" + "]" * 70 + "]]]]"),
    "a literal of nothing that is nested too deep": ("[0x1.8p+1, 65504]]]", '["[", ' + "[" * 70 + "]" * 70 + "]]]"),
    "a type that is nested too deep": ("tensor<int32, [?]>", "list<" * 70 + "fp16" + ", 1>" * 70),
    "a text as an operand": ("x = c, y = z", 'x = c, y = "a"'),
    "shapes that do not fit": ("add(x = c, y = w)", "add(x = c, y = to)"),
    "an attribute that does not fit": ("split(axis = 1", "split(axis = 7"),
}


def shown(text: str) -> str:
    with pytest.raises(Failure) as failure:
        read_text(text)
    return "\n".join(render(diagnostic) for diagnostic in failure.value.diagnostics)


def test_every_error_as_it_is_shown(golden: Golden) -> None:
    parts = ["What is shown for an error in a MIL text: what was done to it, and what is said.\n"]
    for title, (old, new) in EDITS.items():
        assert old in EVERYTHING
        parts.append(f"## {title}\n\n```\n{shown(EVERYTHING.replace(old, new, 1))}```\n")
    golden.check("errors.md", "\n".join(parts))


def test_an_empty_text_has_a_first_line() -> None:
    with pytest.raises(Failure) as failure:
        read_text("", "empty.mil")
    [problem] = failure.value.diagnostics
    assert concise(problem) == "empty.mil:1:1: error[ANE0460]: unexpected end of text: expected `program(1.3)`"


def test_several_errors_are_reported_together() -> None:
    body = """
        tensor<fp16, [1, 4]> a = mul(x = x, y = unknown);
        tensor<fp16, [1, 4]> b = mul(x = a, z = x);
        tensor<fp16, [1, 5]> c = relu(x = b);
        tensor<fp16, [1, 4]> y = relu(x = c);
    """
    with pytest.raises(Failure) as failure:
        read_text(program(body))
    found = [(problem.code, problem.span.source.position(problem.span.start)[0]) for problem in failure.value.diagnostics]
    # An error is not repeated for what is computed from its result.
    assert found == [("ANE0465", 5), ("ANE0467", 6), ("ANE0476", 7)]


def test_users_of_a_broken_const_are_not_reported() -> None:
    body = "fp16 c = const()[val = fp16(1e9)]; tensor<fp16, [1, 4]> a = mul(x = x, y = c); tensor<fp16, [1, 4]> y = relu(x = a);"
    with pytest.raises(Failure) as failure:
        read_text(program(body))
    assert [problem.code for problem in failure.value.diagnostics] == ["ANE0472"]


def test_syntax_errors_are_reported_together() -> None:
    text = EVERYTHING.replace("x=x,begin", "x x,begin").replace("fp16, [1, 4]> r", "fp61, [1, 4]> r").replace("y = m);", "y = m)")
    with pytest.raises(Failure) as failure:
        read_text(text)
    assert [problem.code for problem in failure.value.diagnostics] == ["ANE0460", "ANE0487", "ANE0492"]


def test_too_large_a_text_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    from anedsl.codegen.reader import module

    monkeypatch.setattr(module, "MAX_TEXT", 100)
    with pytest.raises(Failure, match="ANE0483"):
        read_text(EVERYTHING)


def test_not_more_than_a_hundred_errors() -> None:
    body = "\n".join(f"tensor<fp16, [1, 4]> v{index} = relu(x = nothing);" for index in range(1000))
    with pytest.raises(Failure) as failure:
        read_text(program(body))
    assert len(failure.value.diagnostics) == 100


def test_functions_of_one_name() -> None:
    text = EVERYTHING.rstrip().removesuffix("}") + " func main<ios18>(tensor<fp16, [1, 4]> x) {} -> (x);\n}\n"
    with pytest.raises(Failure, match="`main` is defined twice"):
        read_text(text)
