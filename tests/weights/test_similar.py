"""Which key is proposed for a name that no file has: a help that binds another matrix is worse than none."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

from anedsl.types import DTYPES, TensorType
from anedsl.weights import Declared, bind
from anedsl.weights import similar as similar_module
from anedsl.weights.arrays import ArraySource
from anedsl.weights.similar import MAX_COMPARISONS, Keys, alike, nearest_key
from anedsl.weights.unused import Use, remarks, watched
from tests.weights.build import failure, failures, text


def weight(name: str) -> Declared:
    return Declared(name, TensorType(DTYPES["fp16"], (2,)))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("q_proj", "k_proj"),
        ("qproj", "kproj"),
        ("model.layers.0.self_attn.q_proj.weight", "model.layers.0.self_attn.k_proj.weight"),
        ("wq", "wk"),
        ("attnQ", "attnK"),
        ("gate", "late"),
        ("encoder_weight", "decoder_weight"),
        ("mlp.gate_proj.weight", "mlp.up_proj.weight"),
        ("mlp.down_proj.weight", "mlp.up_proj.weight"),
        ("attention_in_proj", "attention_out_proj"),
        ("self_attn_inner_norm_weight", "self_attn_outer_norm_weight"),
        ("left_scale", "right_scale"),
        ("key_proj", "query_proj"),
        ("norm_x", "norm_y"),
        ("normx", "normy"),
    ],
)
def test_another_word_is_another_weight(name: str, key: str) -> None:
    assert nearest_key(name, [key]) is None
    assert nearest_key(key, [name]) is None
    assert Keys([key]).similar(name) == []


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("model.norm", "model.norms"),
        ("up_w", "up_weight"),
        ("rms_w", "RmsW"),
        ("wgates", "wgate"),
        ("o_proj", "out_proj"),
        ("sclae", "scale"),
        ("layers.3.gaet.weight", "layers.3.gate.weight"),
        ("model.layers.3.up_proj.weight", "model.layers.3.mlp.up_proj.weight"),
        ("q_proj", "qProj"),
    ],
)
def test_a_slip_or_a_shorter_word_is_the_same_weight(name: str, key: str) -> None:
    assert alike(name, key)
    assert nearest_key(name, ["x", key, "layers.7.other"]) == key


def test_a_key_of_another_weight_is_listed_and_not_proposed() -> None:
    found = failure(bind, [weight("q_proj"), weight("up")], [ArraySource({"k_proj": np.ones(2), "up": np.ones(2)}, "w.npz")])
    assert text(found).splitlines()[2:4] == [
        "note: `w.npz` has `k_proj`, `up`",
        "help: if a file has it under another name: `--map NAME=KEY`",
    ]


def test_the_last_part_alone_is_listed_and_not_proposed() -> None:
    found = failure(bind, [weight("q_norm")], [ArraySource({"k.norm": np.ones(2)}, "w.npz")])
    assert "--map q_norm" not in text(found)


@pytest.mark.parametrize(("name", "key"), [("q_proj", "k_proj"), ("encoder_weight", "decoder_weight")])
def test_nothing_is_said_of_another_weights_key_that_is_unused(name: str, key: str) -> None:
    (source,) = watched([ArraySource({key: np.ones(2), "up": np.ones(2)}, "w.npz")])
    source.data("up")
    assert remarks([source], [Use(name, weight(name).span, "given by its initialiser")]) == []


def test_the_keys_are_compared_once_for_all_members_of_a_family() -> None:
    keys = {f"model.layers.{layer}.self_attn.{part}_proj.weight": np.ones(2) for layer in range(1000) for part in "qkvo"}
    declared = [Declared(f"wproj[{index}]", weight("w").type) for index in range(200)]
    with patch.object(Keys, "_similar", autospec=True, return_value=[]) as asked:
        (found,) = failures(bind, declared, [ArraySource(keys, "w.npz")])
    assert found.code == "ANE0401"
    assert asked.call_count == 1


def test_many_names_are_compared_only_so_often() -> None:
    keys = Keys(f"layer_{'abcdefgh'[number % 8]}_{'x' * (number % 90)}_norm" for number in range(4000))
    compared = 0

    def counted(name: str, key: str) -> bool:
        nonlocal compared
        compared += 1
        return alike(name, key)

    with patch.object(similar_module, "alike", counted):
        for number in range(100):
            keys.similar(f"layre_{'y' * number}_norm")
    assert 0 < compared <= MAX_COMPARISONS


def test_an_equal_spelling_is_found_after_that() -> None:
    keys = Keys(["model.gate.weight"] + [f"unlike_{'z' * (n % 90)}" for n in range(4000)])
    for number in range(100):
        keys.nearest(f"other_{'y' * number}")
    assert keys.similar("gate") == ["model.gate.weight"]
