"""Uses of softmax and of attention."""

from torch.nn import functional

from tests.ops.case import Case, T


def attention(query, key, value, mask=None):
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


HEADS = {"query": T((1, 2, 5, 4)), "key": T((1, 2, 6, 4)), "value": T((1, 2, 6, 3))}

CASES = [
    Case("softmax", {"x": T((2, 5))}, {}, lambda x: x.softmax(-1)),
    Case("softmax", {"x": T((1, 8, 1, 4))}, {"axis": 1}, lambda x: x.softmax(1)),
    Case("softmax", {"x": T((2, 2, 3, 2, 4))}, {"axis": -3}, lambda x: x.softmax(2)),
    Case("softmax", {"x": T((6,))}, {"axis": 0}, lambda x: x.softmax(0)),
    # Without the maximum subtracted, these overflow.
    Case("softmax", {"x": T((3, 4), "fp32", 600.0, 900.0)}, {}, lambda x: x.softmax(-1)),
    Case("scaled_dot_product_attention", HEADS, {}, attention),
    Case("scaled_dot_product_attention", {"query": T((2, 3, 4)), "key": T((2, 5, 4)), "value": T((2, 5, 4))}, {}, attention),
    Case("scaled_dot_product_attention", {**HEADS, "attn_mask": T((1, 1, 5, 6))}, {}, attention),
    Case("scaled_dot_product_attention", {**HEADS, "attn_mask": T((5, 6))}, {}, attention),
    Case(
        "scaled_dot_product_attention",
        {**HEADS, "attn_mask": T((6,))},
        {},
        lambda q, k, v, mask: attention(q, k, v, mask.expand(5, 6)),
    ),
    Case("scaled_dot_product_attention", {**HEADS, "attn_mask": T((1, 2, 5, 6), "bool")}, {}, attention),
]
