"""Random kernels, as hypothesis draws them: small, valid by construction, with much for the passes to find."""

from __future__ import annotations

from hypothesis import strategies as st

UNARY = ("{0} * {0}", "-{0}", "{0} ** 2", "{0} ** 1", "tanh({0})", "relu({0})", "{0} * 1", "{0} + 0", "{0} - 0", "1 * {0}",
         "0 + {0}", "2 * {0}", "-(-{0})", "{0}[:, 1:3]", "{0}[:, :]", "reshape({0}, {0}.shape)", "cast({0}, fp16)",
         "mean({0}, axis = 1)", "transpose({0}, [0, 1, 2, 3])", "transpose({0}, [0, 3, 2, 1])", "concat({0}, axis = 1)",
         "{0}[:, 0:3][:, ::2]", "{0} / 1", "{0} / 4", "{0} * 3 / 2", "identity({0})",
         "{0} * w", "reshape({0}, [4, 2])", "concat(reshape({0}, [4, 2]), reshape({0} * 3, [4, 2]), axis = 0)",
         "reshape({0}[:, 0:1], [1, 2]) * reshape({0}[:, 1:4], [3, 2])", "{0} + tensor([0.5, 0.25])",
         "abs({0}) ** 0.5")  # fmt: skip
BINARY = ("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} + -{1}", "{0} - -{1}", "maximum({0}, {1})", "maximum({1}, {0})",
          "{1} * {0}", "where({0} < {1}, {0}, {1})")  # fmt: skip
WEIGHT = (
    "w * w",
    "w * 0.3 + w",
    "transpose(w, [0, 3, 2, 1])",
    "w + tensor([1, 2])",
    "reshape(w, [1, 2, 1, 1]) ** 2",
    "-w",
    "w[..., 0:1]",
)


@st.composite
def kernels(draw: st.DrawFn) -> str:
    """The text of a kernel with inputs x and z of [1, 4, 1, 2], and a weight w of [1, 1, 1, 2]."""
    lines = ["input x, z: fp16[1, 4, 1, 2] in [-2, 2]", "weight w: fp16[1, 1, 1, 2] = [0.3, -1.7]", "output y"]
    names = ["x", "z"]
    for index in range(draw(st.integers(1, 8))):
        name = f"v{index}"
        kind = draw(st.sampled_from(("unary", "binary", "weight")))
        if kind == "weight":
            lines.append(f"{name} = x + mean({draw(st.sampled_from(WEIGHT))}, axes = [1, 3])")
        elif kind == "unary":
            lines.append(f"{name} = {draw(st.sampled_from(UNARY)).format(draw(st.sampled_from(names)))}")
        else:
            operands = (f"mean({draw(st.sampled_from(names))}, axes = [1, 3])", f"({draw(st.sampled_from(names))})")
            lines.append(f"{name} = {draw(st.sampled_from(BINARY)).format(*operands)}")
        if not any(changed in lines[-1] for changed in ("[:, 1:3]", "[:, ::2]", "= mean(", "transpose", "[4, 2]", "[3, 2]")):
            names.append(name)
    lines.append("y = " + " + ".join(f"mean({name}, axes = [1, 3])" for name in draw(st.permutations(names))))
    return "kernel k() {\n    " + "\n    ".join(lines) + "\n}"
