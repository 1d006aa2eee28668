"""How the library is put together: imports, names, the number of ops, what it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from anedsl.diagnostics import Failure
from anedsl.elaborate.modules import STD, load
from tests.std.case import kernel, ops

PARTS = sorted(path.stem for path in STD.glob("*.ane") if path.stem != "nn")


def of(call: str, folder: Path, *shapes: list[int], imports: str = "std.nn", dtype: str = "fp16") -> list[str]:
    """The ops of a call on inputs a, b, c of these shapes."""
    inputs = "".join(f"    input {name}: {dtype}{shape}\n" for name, shape in zip("abc", shapes, strict=False))
    return ops(kernel(f"import {imports}\nkernel k {{\n{inputs}    output y\n    y = {call}\n}}\n", folder))


def refused(text: str, folder: Path) -> str:
    with pytest.raises(Failure) as failure:
        kernel(text, folder)
    return str(failure.value)


def test_nn_brings_every_part(tmp_path: Path) -> None:
    path = tmp_path / "all.ane"
    path.write_text("import std.nn\n", encoding="utf-8")
    everything = {name for part in PARTS for name in load(STD / f"{part}.ane").functions}
    assert len(everything) > 40
    assert load(path).imported.keys() == everything


def test_no_two_parts_define_one_name() -> None:
    functions = [name for part in PARTS for name in load(STD / f"{part}.ane").functions]
    assert len(functions) == len(set(functions))


def test_nn_and_a_part_may_both_be_imported(tmp_path: Path) -> None:
    assert of("mish(a)", tmp_path, [2, 3], imports="std.nn\nimport std.activations") == of("mish(a)", tmp_path, [2, 3])


def test_a_file_does_not_pass_on_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "own.ane").write_text("import std.nn\nfn f(x) = mish(x)\n", encoding="utf-8")
    text = 'import "own.ane"\nkernel k {\n input x: fp16[8]\n output y\n y = f(x)\n}\n'
    kernel(text, tmp_path)
    assert "unknown name `mish`" in refused(text.replace("f(x)", "mish(x)"), tmp_path)


def test_a_files_own_function_comes_first(tmp_path: Path) -> None:
    text = "import std.nn\nfn mish(x) = relu(x)\nkernel k {\n input x: fp16[8]\n output y\n y = mish(x)\n}\n"
    assert ops(kernel(text, tmp_path)) == ["relu"]


def test_inside_a_function_its_name_means_what_it_hides(tmp_path: Path) -> None:
    """An op, a short name, a function of the library."""
    functions = "fn relu(x) = relu(x) * 2\nfn max(x) = max(x, axis = 0)\nfn mish(x) = mish(x) - 1\n"
    text = "kernel k {\n input x: fp16[8]\n output y\n y = max(relu(x))\n}\n"
    assert ops(kernel(functions + text, tmp_path)) == ["relu", "mul", "reduce_max"]
    found = ops(kernel("import std.nn\n" + functions + text.replace("max(relu(x))", "mish(x)"), tmp_path))
    assert found == [*of("mish(a)", tmp_path, [8]), "sub"]


def test_recursion_is_still_refused(tmp_path: Path) -> None:
    assert "calls itself" in refused("fn f(x) = f(x)\nkernel k {\n input x: fp16[8]\n output y\n y = f(x)\n}\n", tmp_path)
    text = "fn relu(x) = f(x)\nfn f(x) = relu(x)\nkernel k {\n input x: fp16[8]\n output y\n y = f(x)\n}\n"
    assert "calls itself" in refused(text, tmp_path)


X, G = [1, 768, 1, 256], [1, 768, 1, 1]
Q, K = [1, 12, 256, 64], [1, 4, 256, 64]
P, PK = [1, 768, 1, 256], [1, 256, 1, 256]
COUNTS = [
    ("rmsnorm(a, b)", (X, G), 12),
    ("rmsnorm(a, b, wide = false)", (X, G), 6),
    ("layernorm(a, b, b)", (X, G), 3),
    ("layernorm(a)", (X,), 1),
    ("softplus(a)", (X,), 6),
    ("swiglu(a, b)", (X, X), 2),
    ("hard_sigmoid(a)", (X,), 1),
    ("logsumexp(a)", (X,), 6),
    ("attention(a, b, c)", (Q, Q, Q), 4),
    ("causal_attention(a, b, c)", (Q, Q, Q), 5),
    ("causal_attention(a, b, c)", (Q, K, K), 9),
    ("attention_channels(a, b, c, 12, mask = causal_mask(256))", (P, P, P), 9),
    ("attention_channels(a, b, c, 12, 4, mask = causal_mask(256))", (P, PK, PK), 13),
    ("rope(a, rope_tables(256, 64))", (Q,), 4),
    ("rope_channels(a, rope_tables(256, 64, axis = 2), 12)", (P,), 6),
]


@pytest.mark.parametrize(("call", "shapes", "count"), COUNTS, ids=[f"{call}-{count}" for call, _, count in COUNTS])
def test_number_of_ops(call: str, shapes: tuple[list[int], ...], count: int, tmp_path: Path) -> None:
    """What the documentation promises."""
    assert len(of(call, tmp_path, *shapes)) == count


def test_fp32_needs_no_rescaling(tmp_path: Path) -> None:
    assert len(of("rmsnorm(a, b)", tmp_path, X, G, dtype="fp32")) == 6


def test_rope_leaves_no_trigonometry_to_the_program(tmp_path: Path) -> None:
    assert of("rope(a, rope_tables(256, 64))", tmp_path, Q) == ["matmul", "mul", "mul", "add"]


OTHERS = "".join(
    f"    input {name}: fp16{shape}\n" for name, shape in {"p": [1, 1, 1, 8], "s": [1, 1, 8, 8], "h": [1, 2, 1, 8]}.items()
)
MISTAKES = {
    "groupnorm(x, 5)": "`groupnorm` needs a number of groups that divides the channels",
    "rope_tables(8, 7)[0] * x": "`rope` needs heads of even size",
    'rope_tables(8, 8, pairs = "both")[0] * x': '`pairs` is "interleaved" or "halves"',
    "rope_tables(8, 8, axis = 1)[0] * x": "`axis` is 3 for [B, H, S, D], or 2 for [B, H, D, S]",
    "split_heads(x, 5)": "the number of heads must divide the channels",
    "rope_channels(x, rope_tables(8, 4, axis = 2), 5)": "the number of heads must divide the channels",
    "attention(x[:, :3], x[:, :2], x[:, :2])": "grouped queries need a number of key heads",
    "cross_entropy(x, x, smoothing = 2)": "`smoothing` is at least 0 and below 1",
    "cross_entropy_each(x, x, smoothing = 1)": "`smoothing` is at least 0 and below 1",
    "cross_entropy_bwd(x, x, smoothing = -0.1)": "`smoothing` is at least 0 and below 1",
    "attention_channels(x, x, x, 4, 3)": "grouped queries need a number of key heads",
    "cross_entropy(x, p)": "`targets` needs the shape of `logits`",
    "cross_entropy(x, s, smoothing = 0.1)": "`targets` needs the shape of `logits`",
    "cross_entropy_bwd(x, p)": "`targets` needs the shape of `logits`",
    "cross_entropy(s, s)": "the axis of the classes has size 1",
    "cross_entropy_bwd(x, x, axis = 2)": "the axis of the classes has size 1",
    "cross_entropy(x, cast(p, int32))": "made of class numbers with `one_hot`",
    "bce_with_logits(x, p)": "the target has one number for all of axis 1, as class numbers do",
    "mse(x, p)": "the target has one number for all of axis 1, as class numbers do",
    "mse(x, p[0, 0, 0])": "the target has one number for all of axis 1, as class numbers do",
    "bce_with_logits(p, x)": "the target broadcasts with `x`, and may not enlarge it",
    "mse(p, x)": "the target broadcasts with `x`, and may not enlarge it",
    "embedding(p, reshape(x, [8, 8, 1, 1]))": "one-hot, made of token numbers with `one_hot`",
    "sgd(x, p, 0.1)": "`g` is the gradient of `w` and needs its shape",
    "sgd(p, x, 0.1)": "`g` is the gradient of `w` and needs its shape",
    "sgd(p, p, x)": "`lr` and the corrections broadcast with `w`, and may not enlarge it",
    "sgd(h[0, 0], h[0, 0], s[:, :, 0:1, 0:1])": "`lr` and the corrections broadcast with `w`, and may not enlarge it",
    "adam(x, x, x, x, 0.1, 1, p)[0]": "the corrections have one element each",
    "adamw(x, x, x, x, 0.1, p, 1)[0]": "the corrections have one element each",
    "sgd_momentum(x, x, p, 0.1)[0]": "`velocity` needs the shape of `w`",
    "adam(x, p, x, x, 0.1, 1, 1)[0]": "`g` is the gradient of `w` and needs its shape",
    "adamw(x, p, x, x, 0.1, 1, 1)[0]": "`g` is the gradient of `w` and needs its shape",
    "adamw(x, x, p, x, 0.1, 1, 1)[0]": "`m` needs the shape of `w`",
    "adam(x, x, x, p, 0.1, 1, 1)[0]": "`v` needs the shape of `w`",
    "swiglu(x, p)": "`gate` and `up` need one shape",
    "geglu(p, x)": "`gate` and `up` need one shape",
    "swiglu_bwd(p, x, x)[0]": "`dy`, `gate` and `up` need one shape",
    "softmax_bwd(p, x)": "`dprobs` needs the shape of `probs`",
    "rmsnorm(p, x)": "the gain broadcasts with `x`, and may not enlarge it",
    "rmsnorm_bwd(p, x, 1)": "`dy` needs the shape of `x`",
    "rmsnorm_bwd_gain(p, x)": "`dy` needs the shape of `x`",
    "layernorm(p, x)": "the gain broadcasts with `x`, and may not enlarge it",
    "groupnorm(p, 1, beta = x)": "`beta` broadcasts with `x`, and may not enlarge it",
    "attention(h, h, h, causal_mask(8))": "`mask` broadcasts with the scores [B, H, queries, keys]",
    "rope(h, rope_tables(8, 8))": "`tables` are for another number of positions",
    "rope(x, rope_tables(1, 8, axis = 2))": "`tables` are for another number of positions",
    "rope(x, [s, p, rope_turn(8), 3])": "cos and sin need one shape",
    "rope(x, [reshape(p, [1, 1, 1, 1, 8]), reshape(p, [1, 1, 1, 1, 8]), rope_turn(8), 3])": "cos and sin have more axes than `x`",
    "rope(h[0], rope_tables(1, 8))": "`x` needs rank 4",
}


@pytest.mark.parametrize(("call", "message"), MISTAKES.items(), ids=MISTAKES)
def test_mistakes_are_named(call: str, message: str, tmp_path: Path) -> None:
    text = f"import std.nn\nkernel k {{\n    input x: fp16[1, 8, 1, 8]\n{OTHERS}    output y\n    y = {call}\n}}\n"
    shown = refused(text, tmp_path)
    assert message in shown
    assert f"    y = {call}" in shown, "the place in the author's file is shown"
    assert shown.index(f"    y = {call}") < shown.index("assert "), "and before that in the library"


@pytest.mark.parametrize("call", ["mse(x, 0)", "bce_with_logits(x, 1)", "sgd(x, x, 0.1)", "sgd(x, x, s)", "rmsnorm(x, 1)"])
def test_numbers_may_stand_for_tensors(call: str, tmp_path: Path) -> None:
    text = f"import std.nn\nkernel k {{\n input x: fp16[1, 8, 1, 8]\n input s: fp16[1, 1, 1, 1]\n output y\n y = {call}\n}}\n"
    assert ops(kernel(text, tmp_path))
