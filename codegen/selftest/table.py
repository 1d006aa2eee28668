"""What the self-test compiles and runs: small, and with numbers that every op takes."""

from __future__ import annotations

SIZES = {
    "DIM": 64, "SEQ": 32, "HIDDEN": 128, "HEADS": 4, "VOCAB": 512, "DEPTH": 3, "C": 32, "H": 16, "IC": 64, "OC": 96,
}  # fmt: skip
"""The sizes of examples, by the names of their parameters."""

INPUTS = "input x, z, u: fp16[1, 8, 4, 4] in [0.1, 0.9]"

KERNELS: dict[str, str] = {
    "pointwise": """kernel pointwise {
    input  a, b: fp16[1, 64, 1, 64]
    output y
    y = tanh(a * b + 0.5) - a
}
""",
    "packed": """kernel packed {
    input  a, b:  fp16[1, 64, 1, 64]
    output s, d:  fp16[1, 64, 1, 64]
    pack   inp = (a, b) along 1
    pack   out = (s, d) along 1
    s = a + b
    d = a - b
}
""",
    "norm": """kernel norm {
    input  x: fp16[1, 64, 1, 64]
    weight g: fp16[1, 64, 1, 1] = ones
    output y
    y = x * (mean(x * x, axis = 1) + 1e-5) ** -0.5 * g
}
""",
    "attention": """kernel attention {
    input  q, k, v: fp16[1, 4, 64, 32]
    output y
    y = softmax(matmul(q * 0.176, k, transpose_y = true) + causal_mask(64)) @ v
}
""",
    "convolutions": """kernel convolutions {
    input  x: fp16[1, 32, 8, 8]
    weight W[2]: fp16[32, 32, 3, 3]
    output y
    y = conv(relu(conv(x, W[0], pad_type = "same")), W[1], pad_type = "same", strides = [2, 2])
}
""",
    "float32": """kernel float32 {
    input  x: fp32[1, 64, 1, 64]
    output y: fp32[1, 64, 1, 64]
    y = cast(sqrt(abs(cast(x, fp16)) + 1), fp32)
}
""",
    "compressed": """kernel compressed {
    input  x: fp16[1, 64, 1, 64]
    weight a: fp16[64, 64, 1, 1] stored int8(axis = 0)
    weight b: fp16[64, 64, 1, 1] stored palette(bits = 4)
    output y
    y = conv(conv(x, a), b)
}
""",
}
"""Kernels that show how parts play together."""

_POOLED = '(x, kernel_sizes = [2, 2], strides = [2, 2], pad_type = "valid")'
_INDICES = "tensor([2, 0, 1])"
_WEIGHT = "weight w: fp16[8, 8, 1, 1]"

FOLDED = frozenset(("fill", "range_1d"))
"""Ops of nothing but consts: they are computed at compile time, and stand in no program."""

USES: dict[str, str] = {
    "identity": "output y\ny = identity(x)",
    "cast": "output y\ny = cast(x, fp32)",
    "clip": "output y\ny = clip(x, alpha = 0.3, beta = 0.6)",
    "threshold": "output y\ny = threshold(x, alpha = 0.5)",
    "select": "output y\ny = select(x > 0.5, x, z)",
    "leaky_relu": "output y\ny = leaky_relu(x - 0.5, alpha = 0.1)",
    "clamped_relu": "output y\ny = clamped_relu(x, alpha = 0.1, beta = 0.5)",
    "thresholded_relu": "output y\ny = thresholded_relu(x, alpha = 0.5)",
    "prelu": "weight w: fp16[8] = 0.25\noutput y\ny = prelu(x - 0.5, alpha = w)",
    "elu": "output y\ny = elu(x - 0.5, alpha = 1)",
    "sigmoid_hard": "output y\ny = sigmoid_hard(x, alpha = 0.2, beta = 0.5)",
    "scaled_tanh": "output y\ny = scaled_tanh(x, alpha = 1.5, beta = 0.5)",
    "softplus_parametric": "weight a, b: fp16[8] = 0.5\noutput y\ny = softplus_parametric(x, alpha = a, beta = b)",
    "linear_activation": "output y\ny = linear_activation(x, alpha = 2, beta = 1)",
    "reshape": "output y\ny = reshape(x, [1, 4, 8, 4])",
    "transpose": "output y\ny = transpose(x, [0, 2, 1, 3])",
    "expand_dims": "output y\ny = expand_dims(x, axes = [0])",
    "squeeze": "output y\ny = squeeze(x, axes = [0])",
    "tile": "output y\ny = tile(x, reps = [1, 2, 1, 1])",
    "reverse": "output y\ny = reverse(x, axes = [3])",
    "fill_like": "output y\ny = fill_like(x, value = 0.5)",
    "concat": "output y\ny = concat(x, z, axis = 1)",
    "stack": "output y\ny = stack(x, z, axis = 0)",
    "split": "output a, b\na, b = split(x, [2, 6], axis = 1)",
    "depth_to_space": "output y\ny = depth_to_space(x, block_size = 2)",
    "space_to_depth": "output y\ny = space_to_depth(x, block_size = 2)",
    "pixel_shuffle": "output y\ny = pixel_shuffle(x, upscale_factor = 2)",
    "pixel_unshuffle": "output y\ny = pixel_unshuffle(x, downscale_factor = 2)",
    "space_to_batch": "output y\ny = space_to_batch(x, block_shape = [2, 2], paddings = [0, 0, 0, 0])",
    "batch_to_space": ("input  b: fp16[4, 8, 4, 4]\noutput y\ny = batch_to_space(b, block_shape = [2, 2], crops = [0, 0, 0, 0])"),
    "sliding_windows": "output y\ny = sliding_windows(x, axis = 3, size = 2)",
    "reverse_sequence": (
        "weight n: int32[8] = [1, 2, 3, 4, 4, 3, 2, 1]\noutput y\ny = reverse_sequence(x, n, seq_axis = 2, batch_axis = 1)"
    ),
    "slice_by_size": "output y\ny = x[:, 2:6]",
    "slice_by_index": "output y\ny = x[:, ::2]",
    "pad": "output y\ny = pad(x, pad = [1, 1, 2, 2])",
    "crop": "output y\ny = crop(x, crop_height = [1, 1], crop_width = [1, 0])",
    "gather": f"output y\ny = gather(x, {_INDICES}, axis = 1)",
    "gather_along_axis": "input  i: int32[1, 2, 4, 4] in [0, 7]\noutput y\ny = gather_along_axis(x, i, axis = 1)",
    "gather_nd": "output y\ny = gather_nd(x, tensor([[0, 1], [0, 7]]))",
    "scatter": f'input  n: fp16[1, 3, 4, 4]\noutput y\ny = scatter(x, {_INDICES}, n, axis = 1, mode = "update")',
    "scatter_along_axis": (
        "weight i: int32[1, 1, 4, 4] = 3\ninput  n: fp16[1, 1, 4, 4]\noutput y\n"
        'y = scatter_along_axis(x, i, n, axis = 1, mode = "update")'
    ),
    "scatter_nd": ('input  n: fp16[2, 4, 4]\noutput y\ny = scatter_nd(x, tensor([[0, 1], [0, 7]]), n, mode = "update")'),
    "one_hot": "input  i: int32[4] in [0, 9]\noutput y\ny = one_hot(i, on_value = 1, off_value = 0, one_hot_vector_size = 10)",
    "topk": "output values, places\nvalues, places = topk(x, k = 2, axis = 1)",
    "non_maximum_suppression": (
        "input  b: fp16[1, 4, 8] in [1, 3]\noutput picked, points, places\npicked, points, places = "
        "non_maximum_suppression(b, reshape(x[:, :2, :2], [1, 2, 8]), iou_threshold = 0.5, max_boxes = 8)"
    ),
    "matmul": "output y\ny = matmul(x, z, transpose_y = true)",
    "linear": "weight w: fp16[6, 4]\noutput y\ny = linear(reshape(x, [8, 4, 4]), w)",
    "einsum": 'input  b: fp16[1, 4, 8, 3]\noutput y\ny = einsum("nchw,nwhu->nchu", reshape(x, [1, 4, 8, 4]), b)',
    "conv": f"{_WEIGHT}\noutput y\ny = conv(x, w)",
    "conv_transpose": "weight w: fp16[8, 6, 2, 2]\noutput y\ny = conv_transpose(x, weight = w, strides = [2, 2])",
    "max_pool": f"output y\ny = max_pool{_POOLED}",
    "avg_pool": f"output y\ny = avg_pool{_POOLED}",
    "l2_pool": f"output y\ny = l2_pool{_POOLED}",
    "resize_nearest_neighbor": "output y\ny = resize_nearest_neighbor(x, target_size_height = 8, target_size_width = 8)",
    "resize_bilinear": "output y\ny = resize_bilinear(x, target_size_height = 8, target_size_width = 8)",
    "upsample_nearest_neighbor": "output y\ny = upsample_nearest_neighbor(x, scale_factor_height = 2, scale_factor_width = 2)",
    "upsample_bilinear": "output y\ny = upsample_bilinear(x, scale_factor_height = 2, scale_factor_width = 2)",
    "resize": "output y\ny = resize(x, shape = [8, 8], resized_dims = 2)",
    "resample": (
        "input  c: fp16[1, 4, 4, 2] in [0.25, 2.75]\noutput y\n"
        'y = resample(x, c, sampling_mode = "bilinear", padding_mode = "border", padding_value = 0, '
        'coordinates_mode = "unnormalized", align_corners = true)'
    ),
    "affine": (
        "input  m: fp16[1, 6] in [0.1, 0.5]\noutput y\n"
        'y = affine(x, m, output_height = 4, output_width = 4, sampling_mode = "bilinear", padding_mode = "constant", '
        'padding_value = 0, coordinates_mode = "normalized_minus_one_to_one", align_corners = true)'
    ),
    "batch_norm": "weight m, v: fp16[8] = 0.5\noutput y\ny = batch_norm(x, mean = m, variance = v)",
    "local_response_norm": "output y\ny = local_response_norm(x, size = 3)",
    "layer_norm": "output y\ny = layer_norm(x, axes = [1, 2, 3])",
    "quantize": "output y\ny = dequantize(quantize(x, scale = 0.01, output_dtype = int8), scale = 0.01)",
    "dequantize": "output y\ny = dequantize(quantize(x, scale = 0.01, output_dtype = uint8), scale = 0.01)",
    "constexpr_affine_dequantize": (
        "weight q: int8[8, 8, 1, 1] = 3\nweight s: fp16[8] = 0.05\noutput y\n"
        "y = conv(x, constexpr_affine_dequantize(q, 0, s, axis = 0))"
    ),
    "constexpr_blockwise_shift_scale": (
        "weight q: int4[8, 8, 1, 1] = 3\nweight s: fp16[8, 2, 1, 1] = 0.05\noutput y\n"
        "y = conv(x, constexpr_blockwise_shift_scale(q, s))"
    ),
    "constexpr_lut_to_dense": (
        "weight i: uint2[8, 8, 1, 1] = 3\n"
        "weight t: fp16[1, 1, 1, 1, 4, 1] = reshape(tensor([-1, 0, 0.5, 1]), [1, 1, 1, 1, 4, 1])\noutput y\n"
        "y = conv(x, constexpr_lut_to_dense(i, t))"
    ),
    "constexpr_sparse_to_dense": (
        "weight m: uint1[8, 8, 1, 1] = 1\nweight v: fp16[64] = 0.05\noutput y\ny = conv(x, constexpr_sparse_to_dense(v, m))"
    ),
    "constexpr_lut_to_sparse": (
        "weight m: uint1[8, 8, 1, 1] = 1\nweight i: uint2[64] = 1\nweight t: fp16[1, 1, 1, 1, 4, 1] = 0.05\noutput y\n"
        "k, v = constexpr_lut_to_sparse(m, i, t)\ny = conv(x, constexpr_sparse_to_dense(v, k))"
    ),
    "constexpr_sparse_blockwise_shift_scale": (
        "weight m: uint1[8, 8, 1, 1] = 1\nweight q: int4[64] = 3\nweight s: fp16[8, 1, 1, 1] = 0.05\noutput y\n"
        "k, v = constexpr_sparse_blockwise_shift_scale(m, q, s)\ny = conv(x, constexpr_sparse_to_dense(v, k))"
    ),
    "constexpr_cast": "weight h: fp16[1, 8, 1, 1] = 0.5\noutput y\ny = cast(x, fp32) + constexpr_cast(h, fp32)",
}
"""A use of each op that the record alone does not give."""
