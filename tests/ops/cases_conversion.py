"""Uses of cast, select, and of ops that keep numbers within bounds."""

from __future__ import annotations

import torch

from anedsl.types import BOOL, FP16, FP32, INT8, INT16, INT32, UINT8, UINT16
from tests.ops.case import Case, T

A = T((1, 6, 1, 5))
COND = T((1, 6, 1, 5), "bool")
INT = T((4, 5), "int32", -300, 300)
UNSIGNED = T((4, 5), "fp16", 0, 100)

CASTS = [
    Case("cast", {"x": A}, {"dtype": FP32}, lambda x: x),
    Case("cast", {"x": T((2, 3), "fp32", -50, 50)}, {"dtype": FP16}, lambda x: x),
    Case("cast", {"x": T((), "fp32", 5, 9)}, {"dtype": INT32}, lambda x: x.to(torch.int32)),
    Case("cast", {"x": T((4, 5), "fp16", -100, 100)}, {"dtype": INT32}, lambda x: x.to(torch.int32)),
    Case("cast", {"x": T((4, 5), "fp16", -100, 100)}, {"dtype": INT8}, lambda x: x.to(torch.int32)),
    Case("cast", {"x": T((4, 5), "fp16", -100, 100)}, {"dtype": INT16}, lambda x: x.to(torch.int32)),
    Case("cast", {"x": UNSIGNED}, {"dtype": UINT8}, lambda x: x.to(torch.int32)),
    Case("cast", {"x": UNSIGNED}, {"dtype": UINT16}, lambda x: x.to(torch.int32)),
    Case("cast", {"x": INT}, {"dtype": FP16}, lambda x: x.double()),
    Case("cast", {"x": INT}, {"dtype": FP32}, lambda x: x.double()),
    Case("cast", {"x": INT}, {"dtype": INT8}, lambda x: x.to(torch.int8).to(torch.int32)),
    Case("cast", {"x": INT}, {"dtype": UINT8}, lambda x: x.to(torch.uint8).to(torch.int32)),
    Case("cast", {"x": T((4, 5), "int32", -1, 1)}, {"dtype": BOOL}, lambda x: x.bool()),
    Case("cast", {"x": A}, {"dtype": BOOL}, lambda x: x.bool()),
    Case("cast", {"x": COND}, {"dtype": FP16}, lambda x: x.double()),
    Case("cast", {"x": COND}, {"dtype": INT32}, lambda x: x.to(torch.int32)),
]

CASES = [
    *CASTS,
    Case("select", {"cond": COND, "a": A, "b": A}, torch=torch.where),
    Case("select", {"cond": T((5,), "bool"), "a": A, "b": T((6, 1, 1))}, torch=torch.where),
    Case("select", {"cond": T((), "bool"), "a": A, "b": A}, torch=torch.where),
    Case("select", {"cond": COND, "a": COND, "b": COND}, torch=torch.where),
    Case("select", {"cond": T((4, 5), "bool"), "a": INT, "b": T((5,), "int32")}, torch=torch.where),
    Case("identity", {"x": A}, torch=torch.clone),
    Case("identity", {"x": INT}, torch=torch.clone),
    Case("identity", {"x": COND}, torch=torch.clone),
    Case("clip", {"x": A}, {"alpha": -0.5, "beta": 1.25}, lambda x: x.clamp(-0.5, 1.25)),
    Case("clip", {"x": T((3, 4), "fp32")}, {"alpha": 0.0, "beta": 1.0}, lambda x: x.clamp(0, 1)),
    Case("threshold", {"x": A}, {"alpha": -0.5}, lambda x: x.clamp(min=-0.5)),
    Case("threshold", {"x": INT}, {"alpha": 3}, lambda x: x.clamp(min=3)),
]
