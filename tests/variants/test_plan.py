"""Which variants there are, with which parameters and names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from anedsl import frontend
from anedsl.cli.common import top_level
from anedsl.cli.compiling import Request
from anedsl.cli.variants import MAX_NAME, Variant, folder_name, planned
from tests.weights.build import failure, text

FILE = """\
[variants.short]
SEQ = 64

[variants.long]
SEQ = 128
MODE = "b"

[variants.product]
SEQ = [32, 96]
DIM = [8, 24]
"""


def plan(
    folder: Path, *define: str, kernels: tuple[str, ...] = ("lin",), file: str | bytes | None = None
) -> list[Variant] | None:
    path = None
    if file is not None:
        path = folder / "v.toml"
        path.write_bytes(file.encode() if isinstance(file, str) else file)
    request = Request(
        folder / "k.ane", list(kernels), list(define), folder, [], [], "mil", "1.3", False, None, "inmemory", "text", path
    )
    return planned(request.define, request.variants, frontend.load_file(request.file), kernels)


def folders(*arguments: Any, **options: Any) -> list[str]:
    found = plan(*arguments, **options)
    assert found is not None
    return [variant.folder for variant in found]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("64", ["64"]),
        ("64, 128", ["64", "128"]),
        ("[1,2],[3,4]", ["[1,2]", "[3,4]"]),
        ("(1,2)", ["(1,2)"]),
        ('"a,b",c', ['"a,b"', "c"]),
        ('"a\\",b",c', ['"a\\",b"', "c"]),
        ("64,", ["64", ""]),
        ("]),1", ["])", "1"]),
    ],
)
def test_commas_between_values(text: str, parts: list[str]) -> None:
    assert top_level(text) == parts


def test_lists_give_every_combination(folder: Path) -> None:
    assert plan(folder, "SEQ=64,128", "MODE=b", "DIM=8,16") == [
        Variant("lin", f"lin-SEQ{seq}-DIM{dim}", {"MODE": "b", "SEQ": seq, "DIM": dim}, {"SEQ": seq, "DIM": dim})
        for seq in (64, 128)
        for dim in (8, 16)
    ]


def test_no_list_is_no_plan(folder: Path) -> None:
    assert plan(folder, "SEQ=64") is None
    assert plan(folder, "SIZES=[3,4]") is None
    assert plan(folder, 'MODE="a,b"') is None


def test_a_parameter_that_is_a_list(folder: Path) -> None:
    assert folders(folder, "SIZES=[3,4],[5]") == ["lin-SIZES3x4", "lin-SIZES5"]
    assert failure(plan, folder, "SIZES=3,4").code == "ANE0101"


def test_a_kernel_without_the_parameter_has_no_variants_by_it(folder: Path) -> None:
    assert folders(folder, "SEQ=64,128", kernels=("lin", "plain")) == ["lin-SEQ64", "lin-SEQ128", "plain"]
    both = folders(folder, "SEQ=64,128", "DIM=8,16", kernels=("lin", "plain"))
    assert both[4:] == ["plain-DIM8", "plain-DIM16"]
    assert folders(folder, kernels=("plain", "lin"), file=FILE)[:3] == ["plain", "plain-DIM8", "plain-DIM24"]


def test_a_file(folder: Path) -> None:
    found = plan(folder, "MODE=c", file="[variants.short]\nSEQ = 64\n[variants.long]\nSEQ = 128\nSIZES = [3, 4]\n")
    assert found == [
        Variant("lin", "lin-short", {"MODE": "c", "SEQ": 64}, {"SEQ": 64}),
        Variant("lin", "lin-long", {"MODE": "c", "SEQ": 128, "SIZES": (3, 4)}, {"SEQ": 128, "SIZES": (3, 4)}),
    ]


def test_named_variants_and_a_product(folder: Path) -> None:
    assert folders(folder, file=FILE) == [
        "lin-short", "lin-long", "lin-SEQ32-DIM8", "lin-SEQ32-DIM24", "lin-SEQ96-DIM8", "lin-SEQ96-DIM24",
    ]  # fmt: skip


def test_a_file_and_lists(folder: Path) -> None:
    assert folders(folder, "MODE=x,y", file="[variants.a]\nSEQ = 64\n[variants.b]\n") == [
        "lin-a-MODEx", "lin-a-MODEy", "lin-b-MODEx", "lin-b-MODEy",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ("SEQ=-1,2", ["lin-SEQ-1", "lin-SEQ2"]),
        ("SEQ=0.5,1e-5", ["lin-SEQ0.5", "lin-SEQ1e-05"]),
        ("SEQ=true,false", ["lin-SEQtrue", "lin-SEQfalse"]),
        ("SEQ=[1,2],[3]", ["lin-SEQ1x2", "lin-SEQ3"]),
        ('MODE="a/../b","größe"', ["lin-MODEa_.._b", "lin-MODEgr__e"]),
        ('MODE="a b","a/b"', ["lin-MODEa_b", "lin-MODEa_b-2"]),
        ("MODE=A,a", ["lin-MODEA", "lin-MODEa-2"]),
        ('MODE=".","..."', ["lin-MODE", "lin-MODE-2"]),
    ],
)
def test_names_of_folders_are_legal_and_different(folder: Path, values: str, names: list[str]) -> None:
    assert folders(folder, values) == names


@given(st.lists(st.text(max_size=200), max_size=20))
def test_any_label_becomes_a_legal_name(labels: list[str]) -> None:
    taken: set[str] = set()
    names = [folder_name(f"k-{label}", taken) for label in labels]
    assert len({name.lower() for name in names}) == len(names)
    for name in names:
        assert len(name) <= MAX_NAME + 4
        assert name.isascii()
        assert not set(name) & set('/\\:*?"<>|\0 ')
        assert name[-1] != "."


@pytest.mark.parametrize(
    ("define", "file", "said"),
    [
        (["SEQ=64,"], None, "a value is missing in SEQ=64,"),
        (["SEQ=64,64"], None, "a value is given twice in SEQ=64,64"),
        (["SEQ=64,64.0"], None, "a value is given twice in SEQ=64,64.0"),
        (["SIZES=[1,2],[1.0,2]"], None, "a value is given twice in"),
        (["SEQ=64"], FILE, "SEQ is given by -D and by the variants"),
        (["DIM=1,2"], FILE, "DIM is given by -D and by the variants"),
    ],
)
def test_mistakes_of_the_command_line(folder: Path, define: list[str], file: str | None, said: str) -> None:
    with pytest.raises(typer.BadParameter, match=said):
        plan(folder, *define, file=file)


def test_a_thousand_and_no_more(folder: Path) -> None:
    lists = ["SEQ=" + ",".join(map(str, range(1, 11))), "DIM=" + ",".join(map(str, range(1, 11)))]
    assert len(plan(folder, *lists, "MODE=" + ",".join(f"m{i}" for i in range(10))) or []) == 1000
    found = failure(plan, folder, *lists, "MODE=" + ",".join(f"m{i}" for i in range(11)))
    assert text(found) == (
        "error[ANE0451]: there are 1100 variants to compile, more than 1000\nhelp: compile them in several runs"
    )
    huge = "[variants.product]\n" + "\n".join(f"P{i} = {list(range(1000))}" for i in range(20))
    assert failure(plan, folder, file=huge).code == "ANE0451"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "it has no table `[variants]` with variants in it"),
        ("variants = 3", "it has no table `[variants]` with variants in it"),
        ("[variants]", "it has no table `[variants]` with variants in it"),
        ("[variants", "it is no valid TOML"),
        (b"\xff", "it is no valid TOML"),
        ("x = " + "[" * 20_000, "it is nested too deeply"),
        ("[variants.a]\nSEQ = 1\n[variant.b]\nSEQ = 2", "it has `variant` beside `[variants]`"),
        ("[variants]\nSEQ = 64", "`SEQ` is no table of parameters"),
        ("[variants.a]\nSEQ = 2020-01-01", "`SEQ` is no value of a parameter"),
        ("[variants.a.SEQ]\nx = 1", "`SEQ` is no value of a parameter"),
        ("[variants]\nproduct = 1", "`product` is no table of lists"),
        ("[variants.product]", "`product` is no table of lists"),
        ("[variants.product]\nSEQ = 64", "`SEQ` of `product` is no list of values"),
        ("[variants.product]\nSEQ = []", "`SEQ` of `product` is no list of values"),
        ("[variants.product]\nSEQ = [1, 1]", "`SEQ` of `product` has a value twice"),
        ("[variants.product]\nSEQ = [1, 1.0]", "`SEQ` of `product` has a value twice"),
        ("#" * (1 << 20) + "\n", f"it has {(1 << 20) + 1} bytes"),
    ],
)
def test_files_that_describe_no_variants(folder: Path, content: str | bytes, problem: str) -> None:
    found = failure(plan, folder, file=content)
    assert (found.code, found.headline) == ("ANE0450", f"`{folder}/v.toml` describes no variants: {problem}")
