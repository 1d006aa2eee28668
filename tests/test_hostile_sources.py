"""Sources that mean harm, or come from an accident: each ends in a diagnostic, soon, and harms no earlier artifact."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.errors.command import Result, anedsl

SECONDS = 2
"""Of the processor, which other programs on a busy machine do not use up; most take a hundredth of a second."""
N = 5000


def kernel(equations: str, more: str = "", parameters: str = "") -> str:
    return f"kernel k{parameters} {{\n    input x: fp16[1, 64, 1, 64]\n    output y\n{more}    {equations}\n}}\n"


def functions(text: str, equations: str = "y = f(x)") -> str:
    return text + "\n" + kernel(equations)


def shares(levels: int) -> str:
    """A list in a list, each twice: 2 ** levels numbers in a few lines."""
    lines = ["a0 = (1, 2)", *(f"a{i} = (a{i - 1}, a{i - 1})" for i in range(1, levels))]
    return "\n    ".join([*lines, f"y = x * tensor(a{levels - 1})"])


def nested(levels: int) -> str:
    lines = ["a0 = (1, 2)", *(f"a{i} = (a{i - 1},)" for i in range(1, levels))]
    return "\n    ".join([*lines, f"y = x if a{levels - 1} == a{levels - 2} else x"])


HOSTILE = {
    # numbers
    "parameter of 2 ** 70": ("ANE0218", kernel("y = x * N", parameters="(N = 2 ** 70)")),
    "tower of powers": ("ANE0218", kernel("y = x * 9 ** 9 ** 9 ** 9")),
    "ten thousand digits": ("ANE0218", kernel("y = x * " + "9" * 10_000)),
    "integer that grows in a loop": ("ANE0218", kernel("for i in range(1000) { n = n * n }\n    y = x", "    n = 3\n")),
    "float that is infinite": ("ANE0217", kernel("y = x * 1e999")),
    "range of an input that is infinite": ("ANE0217", "kernel k { input x: fp16[1, 64] in [-1e999, 1]; output y; y = x }"),
    "integer of an infinity": ("ANE0217", kernel("y = x * int(1e308 * 10)")),
    # sizes
    "range(10**12)": ("ANE0219", kernel("for i in range(10**12) { h = x }\n    y = x")),
    "shape from range(10**12)": ("ANE0219", kernel("y = full(range(1, 10**12), 1)")),
    "axes from range(10**12)": ("ANE0219", kernel("y = sum(x, axes = range(10**12))")),
    "10**10 turns in two loops": ("ANE0220", kernel("for i in range(10**5) { for j in range(10**5) { h = 1 } }\n    y = x")),
    "10**12 turns of nothing": ("ANE0220", kernel(
        "for i in range(10**5) { for j in range(10**5) { for l in range(100) { } } }\n    y = x")),
    "input of 10**12": ("ANE0248", "kernel k { input x: fp16[1, 10**12]; output y; y = x }"),
    "input of 10**27": ("ANE0248", "kernel k { input x: fp16[10**9, 10**9, 10**9]; output y; y = x }"),
    "weight of 10**12": ("ANE0248", kernel("y = x * w", "    weight w: fp16[1, 10**12]\n")),
    "family of 10**12": ("ANE0227", kernel("y = x * w[0]", "    weight w[10**12]: fp16[1, 1]\n")),
    "full(10**12)": ("ANE0248", kernel("y = x * full([10**12], 1)")),
    "arange(10**12)": ("ANE0248", kernel("y = x * arange(10**12)")),
    "mask of 10**12": ("ANE0248", kernel("y = x * causal_mask(10**6)")),
    "broadcasting to 10**12": ("ANE0248", "kernel k { input a: fp16[10**6, 1]; input b: fp16[1, 10**6]; output y; y = a + b }"),
    "compile-time broadcasting": ("ANE0248", kernel("y = x * sum(full([60000, 1], 1) + full([1, 60000], 1))")),
    "compile-time product": ("ANE0248", kernel("y = x * sum(full([60000, 1], 1) @ full([1, 60000], 1))")),
    "tile to 10**12": ("ANE0248", kernel("y = tile(x, [10**6, 10**6, 1, 1])")),
    "compile-time tile": ("ANE0248", kernel("y = x * sum(tile(full([2], 1), [10**9]))")),
    "a hundred axes": ("ANE0227", kernel("y = x * sum(full([" + "1, " * 100 + "1], 2))")),
    "an input of a hundred axes": ("ANE0227", "kernel k { input x: fp16[" + "1, " * 100 + "1]; output y; y = x }"),
    "compile-time matrix product": ("ANE0220", kernel("y = x * sum(full([10000, 10000], 1) @ full([10000, 10000], 1))")),
    "compile-time arithmetic in a loop": ("ANE0220", kernel(
        "for i in range(1000) { a = a * 0.5 + 1 }\n    y = x * sum(a)", "    a = full([1000, 1000], 1)\n")),
    "a list that doubles in a loop": ("ANE0220", kernel("for i in range(60) { s = s + s }\n    y = x", "    s = [1]\n")),
    "a string that doubles in a loop": ("ANE0220", kernel('for i in range(60) { s = s + s }\n    y = x', '    s = "a"\n')),
    "a list that doubles": ("ANE0220", kernel(shares(40))),
    "a list in a list in a list": ("ANE0104", kernel(nested(3000))),
    # recursion
    "recursion": ("ANE0207", functions("fn f(x) = f(x)")),
    "mutual recursion": ("ANE0207", functions("fn f(x) = g(x)\nfn g(x) = f(x)")),
    "recursion in a default": ("ANE0207", functions("fn f(x, y = f(1)) = x")),
    "functions that double": ("ANE0220", functions(
        "fn f0(x) = x + 1\n" + "\n".join(f"fn f{i}(x) = f{i - 1}(f{i - 1}(x))" for i in range(1, 40)), "y = f39(x)")),
    "a chain of functions": ("ANE0104", functions(
        "\n".join(f"fn f{i}(x) = f{i + 1}(x)" for i in range(1000)) + "\nfn f1000(x) = x", "y = f0(x)")),
    # nesting
    "parentheses": ("ANE0104", kernel("y = " + "(" * N + "x" + ")" * N)),
    "brackets": ("ANE0104", kernel("y = " + "[" * N + "x" + "]" * N)),
    "braces": ("ANE0101", kernel("{" * N + "}" * N)),
    "blocks": ("ANE0104", kernel("if true {" * N + "}" * N)),
    "calls": ("ANE0104", functions("fn f(x) = x", "y = " + "f(" * N + "x" + ")" * N)),
    "subscripts": ("ANE0104", kernel("y = x" + "[0:1]" * N)),
    "attributes": ("ANE0104", kernel("y = x" + ".shape" * N)),
    "unary minus": ("ANE0104", kernel("y = " + "-" * N + "x")),
    "not": ("ANE0104", kernel("y = x if " + "not " * N + "true else x")),
    "conditions": ("ANE0104", kernel("y = " + "x if false else " * N + "x")),
    "powers": ("ANE0104", kernel("y = " + "x ** " * N + "x")),
    # text
    "10 MB on one line": ("ANE0108", kernel("y = x * (" + "1 + " * 2_500_000 + "1)")),
    "a name of 1 MB": ("ANE0201", kernel("y = x * " + "a" * 1_000_000)),
    "a string of 1 MB that is open": ("ANE0103", kernel('y = "' + "\\a" * 500_000)),
    "NUL": ("ANE0102", kernel("y = x\0")),
    "NUL in an import": ("ANE0209", 'import "a\0b.ane"\n' + kernel("y = x")),
    "a comma a hundred thousand times": ("ANE0101", kernel("y = f(" + "," * 100_000 + ")")),
    "carriage returns": ("ANE0201", kernel("y = x * q").replace("\n", "\r\n")),
    "tabs": ("ANE0201", kernel("y\t=\tx\t*\tq")),
    "wide characters": ("ANE0102", kernel("y = x * 変数")),
    "a control sequence for the terminal": ("ANE0221", kernel('assert false, "\x1b[31mred"')),
    "an empty file": ("ANE0105", ""),
    "only comments": ("ANE0105", "# nothing\n"),
    # imports
    "import of itself": ("ANE0208", 'import "k.ane"\n' + kernel("y = x")),
    "import from above": ("ANE0209", 'import "../k.ane"\n' + kernel("y = x")),
    "import by an absolute path": ("ANE0209", 'import "/etc/hostname"\n' + kernel("y = x")),
    "import of a folder": ("ANE0107", 'import "."\n' + kernel("y = x")),
    "import of a very long name": ("ANE0107", f'import "{"a" * 5000}.ane"\n' + kernel("y = x")),
}  # fmt: skip

WITHOUT_PLACE = {"an empty file"}
"""An empty text has no place to point at."""


def quickly(*args: str, folder: Path) -> Result:
    begin = time.process_time()
    result = anedsl(*args, folder=folder)
    assert time.process_time() - begin < SECONDS
    assert "Traceback" not in result.err
    assert "internal error" not in result.err
    return result


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("name", HOSTILE)
def test_ends_in_a_diagnostic(name: str, tmp_path: Path) -> None:
    code, text = HOSTILE[name]
    earlier = tmp_path / "build" / "k" / "kernel.json"
    earlier.parent.mkdir(parents=True)
    earlier.write_text("{}")
    (tmp_path / "k.ane").write_bytes(text.encode())
    result = quickly("compile", "k.ane", folder=tmp_path)
    assert result.code == 1
    assert f"error[{code}]" in result.err
    assert len(result.err) < 20_000, "a diagnostic is for people"
    assert "\x1b" not in result.err
    assert "\0" not in result.err
    assert (" --> k.ane:" in result.err) == (name not in WITHOUT_PLACE)
    assert tree(tmp_path / "build") == {"k/kernel.json": b"{}"}


@pytest.mark.parametrize("term", ["x", "1"])
def test_a_long_sum_is_no_nesting(term: str, tmp_path: Path) -> None:
    (tmp_path / "k.ane").write_text(kernel("y = x * 2 + " + " + ".join([term] * N)))
    assert quickly("check", "k.ane", folder=tmp_path).code == 0


def test_a_long_else_if_chain_is_no_nesting(tmp_path: Path) -> None:
    (tmp_path / "k.ane").write_text(
        kernel("if N == 0 { y = x } else " + "if N == 2 { y = x } else " * N + "{ y = x * 2 }", "", "(N = 1)")
    )
    assert quickly("check", "k.ane", folder=tmp_path).code == 0


@pytest.mark.parametrize(
    "value", ["99999999999999999999", "9" * 5000, "2 ** 70", "1e999", "range(10**12)", "[" * N, "(", "", "\0"]
)
def test_values_on_the_command_line(value: str, tmp_path: Path) -> None:
    (tmp_path / "k.ane").write_text(kernel("y = x * (N % 7)", parameters="(N = 1)"))
    result = quickly("check", "k.ane", "-D", f"N={value}", folder=tmp_path)
    assert result.code == (1 if value else 2)


@pytest.mark.parametrize("mark", ["\N{BYTE ORDER MARK}", ""])
def test_a_byte_order_mark_is_no_character(mark: str, tmp_path: Path) -> None:
    (tmp_path / "k.ane").write_bytes((mark + kernel("y = x * q")).encode())
    assert "k.ane:4:13" in quickly("check", "k.ane", folder=tmp_path).out


def test_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "k.ane").write_bytes(kernel("y = x # caf\N{LATIN SMALL LETTER E WITH ACUTE}").encode("latin-1"))
    result = quickly("check", "k.ane", folder=tmp_path)
    assert result.code == 1
    assert "error[ANE0106]: `k.ane` is not UTF-8 text\n --> k.ane:4:16\n" in result.out
    assert "byte 0xe9" in result.out


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no such device")
def test_a_source_without_an_end(tmp_path: Path) -> None:
    result = quickly("check", "/dev/zero", folder=tmp_path)
    assert result.code == 1
    assert result.out.startswith("error[ANE0108]: `/dev/zero` is too large: more than 2097152 bytes\n")


@pytest.mark.parametrize("target", ["nowhere.ane", ".", "folder/k.ane", "k.ane/k.ane", "a" * 5000])
def test_no_such_file(target: str, tmp_path: Path) -> None:
    (tmp_path / "k.ane").write_text(kernel("y = x"))
    result = quickly("check", target, folder=tmp_path)
    assert result.code == 1
    assert "error[ANE0107]" in result.out


def test_an_import_through_a_link_stays_inside(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.ane").write_text("fn f(x) = x\n")
    (inside / "link.ane").symlink_to(tmp_path / "secret.ane")
    (inside / "k.ane").write_text('import "link.ane"\n' + kernel("y = f(x)"))
    result = quickly("check", "k.ane", folder=inside)
    assert result.code == 1
    assert "error[ANE0209]" in result.out


@pytest.mark.parametrize("key", ["../secret", "/etc/hostname", "a/../../secret", "a\0b", "link"])
def test_a_key_of_a_weight_stays_inside(key: str, tmp_path: Path) -> None:
    import numpy as np

    (tmp_path / "inside").mkdir()
    np.save(tmp_path / "secret.npy", np.zeros((1, 64, 1, 64), np.float32))
    (tmp_path / "inside" / "link.npy").symlink_to(tmp_path / "secret.npy")
    (tmp_path / "k.ane").write_text(kernel("y = x * w", "    weight w: fp16[1, 64, 1, 64]\n"))
    result = quickly("compile", "k.ane", "--weights", "inside", "--map", f"w={key}", folder=tmp_path)
    assert result.code == 1
    assert "error[ANE04" in result.err
    assert not (tmp_path / "build").exists()
