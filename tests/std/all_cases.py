"""Every case of the library."""

from __future__ import annotations

from tests.std import cases_activations, cases_attention, cases_norms, cases_training

ALL = [*cases_norms.CASES, *cases_activations.CASES, *cases_attention.CASES, *cases_training.CASES]
