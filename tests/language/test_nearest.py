"""What is suggested for a name that is not known: a slip of the pen, and nothing else."""

from __future__ import annotations

import random

import pytest

from anedsl.diagnostics import nearest
from anedsl.diagnostics.base import _slips
from anedsl.elaborate import builtins
from anedsl.elaborate.modules import library
from anedsl.ops import OPS

KNOWN = OPS.keys() | builtins.NAMES.keys() | library().keys()


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("sofmax", "softmax"),
        ("trasnpose", "transpose"),
        ("rsqrtt", "rsqrt"),
        ("Conv", "conv"),
        ("rms_norm", "rmsnorm"),
        ("RMSNorm", "rmsnorm"),
        ("group_norm", "groupnorm"),
        ("log_softmaxes", "log_softmax"),
        ("expand_dim", "expand_dims"),
        ("reduce_su", "reduce_sum"),
        ("batchnorm", "batch_norm"),
    ],
)
def test_a_slip_is_seen(name: str, meant: str) -> None:
    assert nearest(name, KNOWN) == meant


@pytest.mark.parametrize("name", ["scale", "missing", "later", "rearrange", "foo", "tmp", "q", "ln", "hidden", "weight"])
def test_a_word_of_its_own_is_left_alone(name: str) -> None:
    assert nearest(name, KNOWN) is None


@pytest.mark.parametrize(
    ("name", "candidates", "meant"),
    [
        ("kk", ["k"], "k"),
        ("w", ["w1", "bias"], "w1"),
        ("up_w", ["up_weight", "down_weight"], "up_weight"),
        ("memory", ["inmemory", "coreml"], "inmemory"),
        ("int9", ["int4", "int8", "sparse"], "int8"),
        ("a.ane", ["a.ane"], None),
        ("x", [], None),
        ("", ["a", "ab"], None),
        ("layers.3.gate.weight", ["model.layers.3.mlp.gate.weight", "lm_head.weight"], "model.layers.3.mlp.gate.weight"),
    ],
)
def test_names_of_the_author(name: str, candidates: list[str], meant: str | None) -> None:
    assert nearest(name, candidates) == meant


def test_slips_are_counted_as_by_the_definition() -> None:
    """Against the recursion that defines the distance of optimal string alignment."""

    def distance(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        best = min(distance(a[1:], b) + 1, distance(a, b[1:]) + 1, distance(a[1:], b[1:]) + (a[0] != b[0]))
        if a[:2] == b[1::-1] and len(a) > 1 and len(b) > 1:
            best = min(best, distance(a[2:], b[2:]) + 1)
        return best

    choose = random.Random(0)
    for _ in range(300):
        a, b = ("".join(choose.choices("abc", k=choose.randrange(6))) for _ in range(2))
        assert _slips(a, b, 10) == distance(a, b), (a, b)
        assert (_slips(a, b, 1) <= 1) == (distance(a, b) <= 1), (a, b)
