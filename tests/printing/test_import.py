"""`anedsl import`: what is compiled from the imported text is the program that was imported."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import anedsl
from anedsl import frontend
from anedsl.cli.importing import import_model, imported
from anedsl.codegen.artifact import prepare, write
from anedsl.codegen.comparison import Comparison, compare
from anedsl.codegen.options import Options
from anedsl.codegen.reader import read
from anedsl.diagnostics import Failure, Sink
from anedsl.elaborate.modules import load_text
from anedsl.graph import Graph
from anedsl.passes import optimize
from tests.passes.graphs import kernels
from tests.printing.printing import built
from tests.reader.test_round_trip import EXAMPLES, kernels_of, small

DIALECTS = ("1.0", "1.3")


def compiled(kernel: anedsl.Kernel, out: Path, **options: Any) -> Path:
    numbers = np.random.default_rng(0)
    weights = {name: numbers.standard_normal(type.shape).astype(np.float16) for name, type in kernel.weights.items()}
    return kernel.compile(out, weights=weights or None, **options).path


def weight_hashes(folder: Path) -> list[str]:
    return sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("weights/*"))


def imported_again(target: Path, out: Path, dialect: str = "1.3", route: str = "inmemory") -> tuple[anedsl.Kernel, Path]:
    """The kernel of the imported text, and the artifact that is compiled from it."""
    text, numbers = out / "again.ane", out / "again.npz"
    import_model(target, text, numbers, "text")
    kernel = anedsl.load(text)
    weights = numbers if kernel.weights else None
    return kernel, kernel.compile(out / "again", weights=weights, dialect=dialect, route=route).path


def compiled_if_there(kernel: anedsl.Kernel, out: Path, dialect: str) -> Path | None:
    """The artifact; None where the old dialect does not have the kernel's ops."""
    try:
        return compiled(kernel, out, dialect=dialect)
    except Failure as failure:
        if dialect == "1.0" and {found.code for found in failure.diagnostics} == {"ANE0430"}:
            return None
        raise


@pytest.mark.parametrize(("path", "kernel"), [(path, kernel) for path in EXAMPLES for kernel in kernels_of(path)], ids=str)
def test_every_example(path: Path, kernel: str, tmp_path: Path) -> None:
    original = small(path, kernel)
    for dialect in DIALECTS:
        folder = compiled_if_there(original, tmp_path / dialect, dialect)
        if folder is None:
            continue
        for target in (folder, folder / "model.mil"):
            again, copy = imported_again(target, tmp_path, dialect)
            assert again.name == kernel
            assert compare(read(folder).main, read(copy).main).difference is None
            assert weight_hashes(copy) == weight_hashes(folder)
            if target is folder:
                assert again.inputs == original.inputs
                assert again.outputs == original.outputs


def test_the_text_of_rmsnorm_bwd_is_what_its_author_wrote(tmp_path: Path) -> None:
    folder = compiled(anedsl.load(EXAMPLES[0].parent / "rmsnorm_bwd.ane"), tmp_path)
    # Without the manifest: the pack is recognised by its slices.
    assert (
        imported(folder / "model.mil").text
        == """# From model.mil, in dialect 1.3.

kernel rmsnorm_bwd {
    input  dy, x: fp16[1, 768, 1, 256]
    weight rms_w: fp16[1, 768, 1, 1]
    output dx:    fp16[1, 768, 1, 256]
    pack   inp = (dy, x) along 1

    rrms = (mean(x * x, axis = 1) + 1e-5) ** -0.5
    dyw = dy * rms_w
    coeff = mean(dyw * x, axis = 1) * rrms * rrms
    dx = (dyw - x * coeff) * rrms
}
"""
    )


def kernel_of(text: str, tmp_path: Path) -> anedsl.Kernel:
    path = tmp_path / "kernel.ane"
    path.write_text(text)
    return anedsl.load(path)


PACKED = """kernel packed {
    input  a, b, c: fp16[1, 8, 1, 4]
    output s, d:    fp16[1, 8, 1, 4]
    pack   inp = (a, b, c) along 1
    pack   out = (s, d) along 3
    s = a * c
    d = a - c
}
"""


def test_what_no_op_reads_is_still_a_part_of_its_pack(tmp_path: Path) -> None:
    folder = compiled(kernel_of(PACKED, tmp_path), tmp_path)
    text = imported(folder / "model.mil").text
    assert "    pack   inp = (a, inp_1, c) along 1\n    pack   out = (s, d) along 3\n" in text
    assert "pack   inp = (a, b, c) along 1" in imported(folder).text
    _, copy = imported_again(folder / "model.mil", tmp_path)
    assert compare(read(folder).main, read(copy).main).difference is None


@pytest.mark.parametrize("storage", ["int8(axis = 0)", "uint8", "int4(axis = 1)", "palette(bits = 2)", "sparse(prune = 0.5)",
                                     "blockwise(bits = 4, block = 8)"])  # fmt: skip
def test_compressed_weights_keep_their_bytes(storage: str, tmp_path: Path) -> None:
    text = f"kernel k {{ input x: fp16[1, 16, 1, 8]; weight W: fp16[16, 16, 1, 1] stored {storage}; output y; y = conv(x, W) }}"
    folder = compiled(kernel_of(text, tmp_path), tmp_path, route="coreml")
    _, copy = imported_again(folder, tmp_path, route="coreml")
    assert compare(read(folder).main, read(copy).main).difference is None
    # A zero point of uint8 is no literal of the language, whose numbers here are int8: it gets a file of its own.
    assert set(weight_hashes(copy)) >= set(weight_hashes(folder))
    assert (len(weight_hashes(copy)) > len(weight_hashes(folder))) == (storage == "uint8")


def test_a_bias_of_the_convolution(tmp_path: Path) -> None:
    weights = "weight W: fp16[8, 8, 1, 1]; weight b: fp16[8]"
    text = f"kernel k {{ input x: fp16[1, 8, 1, 8]; {weights}; output y; y = conv(x, W, bias = b) }}"
    for route in ("inmemory", "coreml"):
        folder = compiled(kernel_of(text, tmp_path), tmp_path / route, route=route)
        _, copy = imported_again(folder / "model.mil", tmp_path, route=route)
        assert compare(read(folder).main, read(copy).main).difference is None


FUNCTION = """    func {name}<ios18>(tensor<fp16, [4]> x) {{
        tensor<fp16, [4]> w = const()[name = string("w"), val = tensor<fp16, [4]>(BLOBFILE(path = string("@model_path/{file}"),
            offset = uint64(64)))];
        tensor<fp16, [4]> y = {op}(x = x, y = w)[name = string("y")];
    }} -> (y);
"""
TWO = (
    "program(1.3)\n{\n"
    + FUNCTION.format(name="main", file="a.bin", op="add")
    + FUNCTION.format(name="second", file="b.bin", op="mul")
    + "}\n"
)


def test_several_functions_become_several_kernels(tmp_path: Path) -> None:
    from anedsl.codegen.blob import BlobFile, write_blob
    from anedsl.data import ArrayData
    from anedsl.types import FP16, TensorType

    for name, numbers in (("a", [1, 2, 3, 4]), ("b", [5, 6, 7, 8])):
        with BlobFile(tmp_path / f"{name}.bin", 1) as file:
            write_blob(TensorType(FP16, (4,)), ArrayData(np.array(numbers, np.float16)), [file])
    path = tmp_path / "two.mil"
    path.write_text(TWO)
    found = imported(path)
    assert found.kernels == ("two", "second")
    assert "kernel two {" in found.text
    assert "kernel second {" in found.text
    # Two weights of one name, with other numbers.
    assert {name: weight.data.load().tolist() for name, weight in found.weights.items()} == {
        "w": [1, 2, 3, 4],
        "w_1": [5, 6, 7, 8],
    }
    assert "y = x * w_1" in found.text
    path.write_text(TWO.replace("b.bin", "a.bin"))
    assert list(imported(path).weights) == ["w"]


def test_the_command_prints_and_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = compiled(anedsl.load(EXAMPLES[0].parent / "rmsnorm_bwd.ane", DIM=8, SEQ=4), tmp_path)
    capsys.readouterr()
    import_model(folder, None, None, "text")
    shown = capsys.readouterr()
    assert shown.out.startswith("# From rmsnorm_bwd, in dialect 1.3.\n\nkernel rmsnorm_bwd {\n")
    assert shown.err == "note: the numbers of a weight are not in the text: `--weights-out FILE.npz` saves them\n"
    import_model(folder, tmp_path / "new" / "k.ane", tmp_path / "w.npz", "json")
    content = json.loads(capsys.readouterr().out)
    assert content["kernels"] == ["rmsnorm_bwd"]
    assert content["weights"] == {"rms_w": "fp16[1, 8, 1, 1]"}
    assert (tmp_path / "new" / "k.ane").read_text().startswith("# From")
    assert np.load(tmp_path / "w.npz")["rms_w"].dtype == np.float16


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    folder = compiled(anedsl.load(EXAMPLES[0].parent / "rmsnorm_bwd.ane", DIM=8, SEQ=4), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(Failure) as caught:
        import_model(folder, tmp_path / "file" / "k.ane", None, "text")
    assert caught.value.diagnostics[0].code == "ANE0509"


def recognized_inputs(body: str) -> list[str]:
    from anedsl.codegen.logical import logical, recognized, tidied

    graph: Graph = built(f"kernel k() {{ input p: fp16[1, 8, 1, 4]; output y; {body} }}")
    return [port.name for port in tidied(logical(graph, recognized(graph))).inputs]


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("a = p[:, 0:4]; b = p[:, 4:]; y = a * b + a", ["a", "b"]),
        ("a = p[:, 0:2]; b = p[:, 6:]; y = a * b + a", ["a", "p_1", "b"]),
        ("a = p[:, 0:5]; b = p[:, 3:]; y = a * b + a", ["p"]),
        ("a = p[:, 0:4]; b = p[..., 2:]; y = concat(a * a, concat(b, b, axis = 3)[:, 0:4], axis = 1)", ["p"]),
        ("a = p[:, 0:4]; b = p[:, 4:]; y = concat(a * b, tanh(p), axis = 1)", ["p"]),
        ("a = p[:, ::2]; y = a * a", ["p"]),
        ("y = tanh(p)", ["p"]),
    ],
)
def test_packs_are_recognised_by_slices_along_one_axis(body: str, inputs: list[str]) -> None:
    assert recognized_inputs(body) == inputs


HAND_WRITTEN = sorted((Path(__file__).parents[1] / "reader" / "data").glob("*.mil"))


def physical(graph: Graph) -> Graph:
    options = Options(dialect="1.3", route="coreml", emit=frozenset({"mil"}))
    return prepare(optimize(graph), options).graph


@pytest.mark.parametrize("path", HAND_WRITTEN, ids=lambda path: path.stem)
def test_programs_that_others_wrote(path: Path) -> None:
    text = imported(path).text
    assert compare(physical(read(path).main), physical(built(text))).difference is None


@settings(max_examples=40, deadline=None)
@given(text=kernels())
def test_random_kernels(text: str) -> None:
    graph = built(text)
    options = Options(route="coreml", emit=frozenset({"mil"}))
    with TemporaryDirectory() as folder:
        path = write(graph, "", options, Path(folder)).path / "model.mil"
        original = read(path).main
        assert same_results(compare(original, physical(again_of(path))))


def same_results(found: Comparison) -> bool:
    """Whether two programs are the same but for an op that both need once, and one computes twice.

    A program may hold equal consts once that the compiler computed one by one: what is made of them is then equal, too.
    """
    return found.difference is None or found.difference.kind == "count"


def again_of(path: Path) -> Graph:
    """The imported kernel with its weights."""
    found = imported(path)
    module = load_text(found.text)
    program = frontend.build(module, found.kernels[0], {}, Sink())
    for weight in program.weights:
        weight.data.bound = found.weights[weight.data.name].data
    return program.graph
