"""`anedsl diff`: sources, artifacts, texts and packages against each other."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer

import anedsl
from anedsl.cli.diffing import DiffRequest, diff_targets
from anedsl.diagnostics import Failure

SOURCE = """kernel pair(SCALE = 2) {
    input  a, b: fp16[1, 64, 1, 64] in [-2, 2]
    weight w:    fp16[1, 64, 1, 1] = 0.5
    output s, d
    pack   inp = (a, b) along 1
    s = a * SCALE + b * w
    d = a - b
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "pair.ane"
    path.write_text(SOURCE)
    return path


def artifact(source: Path, name: str = "build", **options: Any) -> Path:
    return anedsl.load(source).compile(source.parent / name, **options).path


def request(left: Path, right: Path, **options: Any) -> DiffRequest:
    plain = DiffRequest(left, right, None, [], [], [], None, None, None, "json")
    return plain._replace(**options)


def diff(capsys: pytest.CaptureFixture[str], left: Path, right: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    """The exit code and the report."""
    capsys.readouterr()
    code = 0
    try:
        diff_targets(request(left, right, **options))
    except typer.Exit as ending:
        code = ending.exit_code
    return code, json.loads(capsys.readouterr().out)


def text(capsys: pytest.CaptureFixture[str], left: Path, right: Path, **options: Any) -> str:
    capsys.readouterr()
    with suppress(typer.Exit):
        diff_targets(request(left, right, format="text", **options))
    return capsys.readouterr().out.replace(str(left.parent), "DIR")


@pytest.mark.parametrize("dialect", ["1.0", "1.3"])
@pytest.mark.parametrize("route", ["inmemory", "coreml"])
def test_every_form_of_a_kernel_is_the_same(source: Path, dialect: str, route: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = artifact(source, dialect=dialect, route=route)
    forms = (source, folder, folder / "model.mil", folder / "pair.mlpackage")
    for left in forms:
        code, found = diff(capsys, left, forms[1])
        assert (code, found["same"], found["kernels"][0]["difference"]) == (0, True, None)
        assert diff(capsys, forms[2], left)[0] == 0


def test_another_parameter_is_a_difference(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, found = diff(capsys, source, artifact(source), define=["SCALE=3"])
    assert code == 1
    assert not found["same"]
    difference = found["kernels"][0]["difference"]
    assert difference["kind"] == "const"
    assert difference["text"] == "1 of 1 values differ, the first at []: 3.0 and 2.0"
    assert difference["left"]["place"] == f"{source}:6:13"
    assert difference["right"]["place"].startswith(f"{source.parent}/build/pair/model.mil:")


def test_the_text_names_op_and_places(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = source.with_name("other.ane")
    other.write_text(SOURCE.replace("d = a - b", "d = maximum(a, b)"))
    assert (
        text(capsys, source, other)
        == """pair: different, first in an op: `sub` and `maximum`
  A: `d`, the result of `sub`, at DIR/pair.ane:7:9
  B: `d`, the result of `maximum`, at DIR/other.ane:7:9
"""
    )


def test_the_text_of_the_same(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert text(capsys, source, artifact(source)) == "pair: the same program, 6 ops\n"


def test_numbers_on_random_inputs(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = artifact(source)
    code, found = diff(capsys, source, folder, random=0)
    errors = found["kernels"][0]["errors"]
    assert code == 0
    assert list(errors) == ["s", "d"]
    assert errors["s"]["fp64"]["max_abs"] == errors["s"]["fp16"]["max_ulp"] == 0
    code, found = diff(capsys, source, folder, random=0, define=["SCALE=3"])
    errors = found["kernels"][0]["errors"]
    assert code == 1
    # Inputs are drawn in the range that the source declares.
    assert 1.5 < errors["s"]["fp64"]["max_abs"] <= 2
    assert errors["d"]["fp16"]["max_abs"] == 0
    assert "errors are of B against A" in text(capsys, source, folder, random=0)


def test_numbers_are_not_compared_where_the_ports_differ(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = source.with_name("other.ane")
    other.write_text(SOURCE.replace("    pack   inp = (a, b) along 1\n", ""))
    code, found = diff(capsys, source, other, random=0)
    assert code == 1
    assert found["kernels"][0]["errors"] is None
    assert found["kernels"][0]["not_run"] == "their inputs or outputs differ"
    assert found["kernels"][0]["difference"]["kind"] == "ports"
    assert "not run: their inputs or outputs differ" in text(capsys, source, other, random=0)


def test_weights_are_compared_where_they_are_given(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    source.write_text(SOURCE.replace(" = 0.5", ""))
    numbers = source.with_name("w.npz")
    np.savez(numbers, w=np.full((1, 64, 1, 1), 2, np.float16))
    folder = artifact(source, weights=numbers)
    code, found = diff(capsys, source, folder)
    assert (code, found["kernels"][0]["weights_not_compared"]) == (0, ["w"])
    code, found = diff(capsys, source, folder, weights=[numbers])
    assert (code, found["kernels"][0]["weights_not_compared"]) == (0, [])
    np.savez(numbers, w=np.full((1, 64, 1, 1), 3, np.float16))
    code, found = diff(capsys, source, folder, weights=[numbers])
    assert (code, found["kernels"][0]["difference"]["kind"]) == (1, "const")


def test_files_of_weights_that_neither_side_uses_are_named(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    used, unused, similar = (source.with_name(f"{name}.npz") for name in ("used", "unused", "similar"))
    np.savez(used, w=np.full((1, 64, 1, 1), 2, np.float16))
    np.savez(unused, scale=np.ones(4, np.float16))
    np.savez(similar, W=np.ones((1, 64, 1, 1), np.float16), v=np.ones((1, 64, 1, 1), np.float16))
    folder = artifact(source)
    assert said(diff(capsys, source, folder, weights=[used])) == []
    assert said(diff(capsys, source, folder, weights=[used, unused])) == [("ANE0428", f"no array of `{unused}` is used")]
    # A file is unused only if no side used it.
    other = source.with_name("other.ane")
    other.write_text(SOURCE.replace("weight w:", "weight v:").replace("* w", "* v"))
    assert said(diff(capsys, other, source, weights=[used])) == []
    headline = f"weight `w` is not in `{similar}`, which has a similar key"
    assert said(diff(capsys, source, other, weights=[similar])) == [("ANE0429", headline)]
    diff_targets(request(source, folder, weights=[unused], format="text"))
    assert capsys.readouterr().err.startswith(f"warning[ANE0428]: no array of `{unused}` is used\n")


def said(found: tuple[int, dict[str, Any]]) -> list[tuple[str, str]]:
    """The codes and headlines of a report's diagnostics."""
    return [(diagnostic["code"], diagnostic["message"]) for diagnostic in found[1]["diagnostics"]]


STATE = """program(1.3)
{
    func main<ios18>(tensor<fp16, [1, 4]> x, state<tensor<fp16, [1, 4]>> kv) {
        tensor<fp16, [1, 4]> y = read_state(input = kv);
        write_state(data = x, input = kv);
    } -> (y);
}
"""


def test_the_text_of_a_state_that_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left, right = tmp_path / "left.mil", tmp_path / "right.mil"
    left.write_text(STATE)
    right.write_text(STATE.replace("write_state(data = x, input = kv);", ""))
    assert text(capsys, left, left) == "left: the same program, 2 ops\n"
    assert (
        text(capsys, left, right)
        == """left and right: different, first in an op that uses a state: only one has this `write_state`
  A: `write_state`, at DIR/left.mil:5:9
"""
    )


def test_ops_without_a_record_are_compared_and_not_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "state.mil"
    path.write_text(STATE)
    found = diff(capsys, path, path, random=0)[1]["kernels"][0]
    reason = "there are ops without a record (`read_state`, `write_state`)"
    assert (found["same"], found["errors"], found["not_run"]) == (True, None, reason)


def test_several_kernels(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = source.with_name("other.ane")
    other.write_text(SOURCE + SOURCE.replace("kernel pair", "kernel second"))
    code, found = diff(capsys, source, other)
    assert (code, found["same"], found["alone"]) == (0, True, {})
    source.write_text(SOURCE + SOURCE.replace("kernel pair", "kernel third"))
    code, found = diff(capsys, source, other)
    assert (code, found["same"]) == (1, False)
    assert found["alone"] == {"third": str(source), "second": str(other)}
    assert diff(capsys, source, other, kernel="pair")[0] == 0
    with pytest.raises(Failure) as caught:
        diff_targets(request(source, other, kernel="thrid"))
    assert caught.value.diagnostics[0].code == "ANE0235"


def test_ports_of_other_names(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = source.with_name("other.ane")
    other.write_text(SOURCE.replace("pack   inp", "pack   in_").replace(" d", " e"))
    found = diff(capsys, source, other)[1]["kernels"][0]
    assert found["same"]
    assert {pair["left"]: pair["by"] for pair in (*found["inputs"], *found["outputs"])} == {
        "inp": "position", "s": "name", "d": "position",
    }  # fmt: skip
    assert "  input `inp` is compared with `in_`, by position\n" in text(capsys, source, other)


def test_a_text_without_its_weight_files(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = artifact(source)
    alone = source.with_name("alone.mil")
    alone.write_text((folder / "model.mil").read_text())
    code, found = diff(capsys, source, alone)
    assert (code, found["kernels"][0]["weights_not_compared"]) == (0, ["w"])


def test_numbers_of_weights_are_drawn_for_two_sources_only(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    source.write_text(SOURCE.replace(" = 0.5", ""))
    found = diff(capsys, source, source, random=0)[1]["kernels"][0]
    assert found["errors"]["s"]["fp64"]["max_abs"] == 0
    folder = artifact(source, weights={"w": np.ones((1, 64, 1, 1), np.float16)})
    found = diff(capsys, source, folder, random=0)[1]["kernels"][0]
    assert (found["errors"], found["not_run"]) == (None, "there are weights without numbers")


ONE = """program({version})
{{
    func main<{opset}>(tensor<fp16, [1, 4]> x) {{
        tensor<fp16, [1, 4]> y = {op};
    }} -> (y);
}}
"""


def written(path: Path, op: str, version: str = "1.3", opset: str = "ios18") -> Path:
    path.write_text(ONE.format(version=version, opset=opset, op=op))
    return path


@pytest.mark.parametrize(
    ("version", "opset", "nearest"),
    [
        ("1.0", "ios16", "1.0"), ("1.2", "ios15", "1.0"), ("1.2", "ios16", "1.0"), ("0.9", "ios16", "1.0"),
        ("1.2", "ios17", "1.3"), ("1.0", "ios18", "1.3"), ("1.3", "ios16", "1.3"), ("1.3", "ios17", "1.3"),
        ("1.10", "ios16", "1.3"), ("2.0", "ios18", "1.3"), ("1.3", "ios26", "1.3"),
    ],
)  # fmt: skip
def test_a_text_of_any_version_is_compared_in_the_nearest_dialect(
    version: str, opset: str, nearest: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from anedsl.cli.importing import import_model, imported

    path, again = written(tmp_path / "k.mil", "relu(x = x)", version, opset), tmp_path / "k.ane"
    assert imported(path).dialect == nearest
    import_model(path, again, None, "text")
    # What the import advises is what `compile` takes.
    anedsl.load(again).compile(tmp_path / "build", dialect=nearest)
    code, found = diff(capsys, path, again)
    assert (code, found["kernels"][0]["opsets"]) == (0, [opset, {"1.0": "ios16", "1.3": "ios18"}[nearest]])


def test_other_opsets_are_no_difference_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left, right = written(tmp_path / "a.mil", "relu(x = x)"), written(tmp_path / "b.mil", "relu(x = x)", opset="ios17")
    assert text(capsys, left, right) == ("a and b: the same program, 1 op\n  note: A is written for opset ios18, B for ios17\n")


def test_an_author_s_decimal_counts_as_the_number_that_the_program_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, source = written(tmp_path / "k.mil", "mul(x = x, y = fp16(0x1p-10))"), tmp_path / "k.ane"
    source.write_text("kernel k {\n    input x: fp16[1, 4]\n    output y\n    y = x * 0.000977\n}\n")
    for pair in ((path, source), (source, path), (source, source)):
        code, found = diff(capsys, *pair, random=0)
        errors = found["kernels"][0]["errors"]["y"]
        assert (code, errors["fp64"]["max_abs"], errors["fp16"]["max_abs"]) == (0, 0, 0)
    # So do attributes.
    path = written(path, "leaky_relu(x = x, alpha = fp16(0x1p-10))")
    source.write_text(source.read_text().replace("x * 0.000977", "leaky_relu(x, alpha = 0.000977)"))
    assert diff(capsys, path, source, random=0)[1]["kernels"][0]["errors"]["y"]["fp64"]["max_abs"] == 0


def test_values_that_are_not_finite_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, relu = written(tmp_path / "log.mil", "log(x = x)"), written(tmp_path / "relu.mil", "relu(x = x)")
    # log is NaN for the negative ones of the inputs that are drawn.
    import numpy as np

    from anedsl.codegen.reader import read
    from anedsl.running import random_inputs

    count = int((random_inputs(read(log).main, 0)["x"] < 0).sum())
    assert count
    code, found = diff(capsys, log, log, random=0)
    kernel = found["kernels"][0]
    assert (code, found["same"]) == (0, True)
    assert kernel["errors"]["y"]["fp16"]["not_finite"] == {"left": count, "right": count, "same": True}
    code, found = diff(capsys, log, relu, random=0)
    errors = found["kernels"][0]["errors"]["y"]
    assert (code, errors["fp64"]["not_finite"]) == (1, {"left": count, "right": 0, "same": False})
    assert np.isfinite(errors["fp64"]["max_abs"])
    last = "are infinite or NaN, not the same ones: the outputs differ"
    assert text(capsys, log, relu, random=0).splitlines()[-2:] == [
        f"`y` in {numerics}: {count} value{'s' if count > 1 else ''} of A and 0 of B {last}" for numerics in ("fp64", "fp16")
    ]


def test_not_finite_alike_is_by_place_and_kind() -> None:
    import numpy as np

    from anedsl.codegen.comparison.numerics import finite_alike, not_finite

    nan, inf = np.nan, np.inf
    for a, b, same in (
        ([nan, 1, inf], [nan, 2, inf], True),
        ([nan, 1, 0], [1, nan, 0], False),
        ([inf, 1, 0], [-inf, 1, 0], False),
        ([nan, 1, 0], [inf, 1, 0], False),
    ):
        found = not_finite(np.array(a), np.array(b))
        assert found["same"] is same
        assert finite_alike({"y": {"fp16": {"not_finite": found}}}) is same
    assert not_finite(np.array([1, 2]), np.array([3, 2])) == {"left": 0, "right": 0, "same": True}


OLDER = [
    ("gather", "tensor<fp16, [1, 2]> y = gather(x = x, indices = tensor<int32, [2]>([0, 3]), axis = int32(1));", "gather"),
    ("reduce_argmax", "tensor<int32, [1, 1]> y = reduce_argmax(x = x, axis = int32(1), keep_dims = bool(true));", "argmax"),
    ("reduce_argmin", "tensor<int32, [1, 1]> y = reduce_argmin(x = x, axis = int32(1), keep_dims = bool(true));", "argmin"),
]


@pytest.mark.parametrize(("op", "statement", "call"), OLDER, ids=[op for op, _, _ in OLDER])
def test_an_op_runs_without_the_attributes_that_its_opset_has_not(
    op: str, statement: str, call: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from anedsl.cli.importing import import_model

    path, again = tmp_path / "k.mil", tmp_path / "k.ane"
    written(path, "relu(x = x)", "1.0", "ios16")
    path.write_text(path.read_text().replace("tensor<fp16, [1, 4]> y = relu(x = x);", statement))
    import_model(path, again, None, "text")
    code, found = diff(capsys, path, again, random=0)
    assert (code, found["kernels"][0]["errors"]["y"]["fp64"]["max_abs"]) == (0, 0)


def test_kernels_are_compared_without_the_weights_of_the_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "k.ane"
    source.write_text(
        "kernel k() { input x: fp16[1, 32, 1, 32]; weight w: fp16[32, 32, 1, 1] stored int8(axis = 0); weight v: fp16[1]\n"
        "output y; y = conv(x, w) * reshape(v, [1, 1]) }"
    )
    folder = artifact(source, weights={"w": np.ones((32, 32, 1, 1)), "v": np.ones(1)})
    code, report = diff(capsys, source, folder)
    assert (code, report["same"]) == (0, True)
    assert "want of numbers (give --weights): `w`, `w_scale`, `v_reshape`" in text(capsys, source, folder)
