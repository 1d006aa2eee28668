"""MIL texts in every form that is known."""

from __future__ import annotations


def program(
    body: str, inputs: str = "tensor<fp16, [1, 4]> x", outputs: str = "y", dialect: str = "1.3", opset: str = "ios18"
) -> str:
    return f"program({dialect})\n{{\n func main<{opset}>({inputs}) {{\n{body}\n }} -> ({outputs});\n}}\n"


EVERYTHING = """program(1.3)
[buildInfo = dict<string, string>({{"component", "by hand"}, {"versions", "1"}})]
{
 func main<ios18>(tensor<fp16, [1, 8]> x, tensor<fp16,[1,8]> z)
 [shapes = tuple<tuple<string, dict<string, tensor<int32, [?]>>>>((("DefaultShapes", {{"x", [1, 8]}})))] {
  tensor<int32, [2]> b0 = const()[name=string("b0"), val=tensor<int32, [2]>([0,0])];
  tensor<int32, [2]> sz = const()[name=string("sz"), val=tensor<int32, [2]>([1,4])];
  tensor<fp16, [1,4]> a = slice_by_size(x=x,begin=b0,size=sz)[name=string("other")];
  fp16 half = const()[val=fp16(0x1p-1)];
  tensor<fp16, [1, 4]> h = mul(y = half, x = a);
  tensor<fp16, [1,2,2]> t = const()[val=tensor<fp16, [1,2,2]>([[[0.5, -1], [0x1.8p+1, 65504]]])];
  tensor<int32, [2]> to = const()[val=tensor<int32, [2]>([1, 4])];
  tensor<fp16, [1, 4]> r = reshape(x = t, shape = to);
  int32 axis = const()[name = string("axis"), val = int32(1)];
  tensor<fp16, [1, 8]> c = concat(values = (h, r), axis = axis, interleave = false)[name = string("c")];
  tensor<fp16, [1, 3]> p, tensor<fp16, [1, 5]> q = split(axis = 1, split_sizes = tensor<int32, [2]>([3, 5]), x = c);
  tensor<fp16, [1, 1]> m = matmul(x = c, y = z, transpose_x = false, transpose_y = bool(true));
  tensor<fp16, [8]> w = const()[val = tensor<fp16, [8]>(BLOBFILE(offset = uint64(64), path = string("@model_path/w.bin")))];
  tensor<fp16, [1, 8]> s = add(x = c, y = w)[name = string("s"), note = true];
  tensor<fp16, [1, 8]> y = sub(x = s, y = m);
 } -> (y, p);
}
"""

FOREIGN = program(
    """
  tensor<fp16, [1, 4]> v = read_state(input = kv);
  tensor<fp16, [1, 4]> s = add(x = v, y = x);
  write_state(data = s, input = kv)[name = string("w")];
  tensor<fp16, [1, 4]> after = read_state(input = kv);
  string label, dict<string, fp64> p = classify(probabilities = s, classes = list<string, 4>(["cat", "dog", "", "x y"]));
  int64 number, dict<int64, fp32> q = classify(probabilities = s, classes = list<tensor<int64, []>, 2>([1, -2]));
  list<tensor<fp16, [1, 4]>, ?> l0 = make_list(init_length = 1, dtype = string("fp16"), elem_shape = (1, 4));
  list<tensor<fp16, [1, 4]>, ?> l1 = list_write(ls = l0, index = int32(0), value = after);
  tensor<int32, [?, 2]> nz = non_zero(x = s);
  tensor<fp16, [1, ?]> rl = relu(x = wide);
  dict<string, fp32> scores = const()[val = dict<string, fp32>({{"a", 1}, {"b", 0.5}})];
  tensor<fp16, [4]> odd = fancy(x = s, mode = string("m"), many = tensor<string, [2]>(["p", "q"]), d = scores,
    t = tuple<int32, tensor<fp16, [2]>>((3, [1, 2])), k = tensor<int32, [?]>([1, 2]), b = tensor<bf16, [2]>([1, 0.5]))
    [alpha = fp16(0.5), exact = true, words = list<string, 1>(["z"]), name = string("odd")];
  tensor<fp16, [4]> old = constexpr_odd(data = tensor<int8, [4]>([1, 2, 3, 4]));
  tensor<fp16, [1, 4]> y = reshape(x = odd, shape = tensor<int32, [2]>([1, 4]));
""",
    inputs="tensor<fp16, [1, 4]> x, state<tensor<fp16, [1, 4]>> kv, tensor<fp16, [1, ?]> wide",
    outputs="y, label, p, number, l1, nz, rl, old",
)
"""Ops without a record, in every form that is known: states, lists, dicts, tuples, texts, unknown sizes."""
