"""Uses of ops that order elements, and of those that address them one by one."""

import torch

from tests.ops.case import Case, T

X = T((3, 7))
INT = T((4, 6), "int32", -50, 50)


def indices(*shape, data=None, below=1, dtype="int32"):
    return T(shape, dtype, 0, below - 1, data=data)


def topk(k, axis=-1, largest=True):
    def formula(x):
        values, at = torch.topk(x, k, axis, largest)
        return values, at.to(torch.int32)

    return formula


def sorted_positions(axis=-1, descending=True):
    return lambda x: torch.argsort(x, dim=axis, descending=descending, stable=True).to(torch.int32)


SORTING = [
    Case("topk", {"x": X}, {}, topk(1)),
    Case("topk", {"x": X}, {"k": 5, "axis": 1, "sort": True}, topk(5)),
    Case("topk", {"x": T((4, 5, 2))}, {"k": 2, "axis": -2, "ascending": True}, topk(2, 1, largest=False)),
    Case("topk", {"x": X}, {"k": 3, "return_indices": False, "sort": False}, lambda x: torch.topk(x, 3).values),
    Case("topk", {"x": X}, {"k": 2, "axis": 0}, topk(2, 0)),
    Case("topk", {"x": X}, {"k": 7}, topk(7)),
    Case("topk", {"x": T((6,), "int32", data=(3, -8, 5, 0, 9, -1))}, {"k": 4}, topk(4)),
    Case(
        "topk",
        {"x": T((6,), "int8", data=(3, 1, 3, 2, 3, 1))},
        {"k": 4, "ascending": True},
        lambda x: (torch.tensor([1, 1, 2, 3], dtype=torch.int32), torch.tensor([1, 5, 3, 0], dtype=torch.int32)),
    ),
    Case("argsort", {"x": X}, {}, sorted_positions()),
    Case("argsort", {"x": T((4, 3, 2))}, {"axis": 0, "ascending": True}, sorted_positions(0, descending=False)),
    Case("argsort", {"x": T((5, 2))}, {"axis": -2}, sorted_positions(0)),
    Case("argsort", {"x": T((6,), "int32", data=(3, 1, 3, 2, 3, 1))}, {}, sorted_positions()),
]

A = T((4, 3, 5))
PAIRS = indices(6, 2, data=[(0, 1), (3, 2), (0, 1), (1, 0), (2, 2), (0, 1)])


def at(places, dims=2):
    return tuple(places[..., k].long() for k in range(dims))


def changed(mode, dims=2):
    """Each update in its turn."""

    def formula(data, places, updates):
        step = {
            "add": lambda a, b: a + b,
            "sub": lambda a, b: a - b,
            "mul": lambda a, b: a * b,
            "div": lambda a, b: a / b,
            "max": torch.maximum,
            "min": torch.minimum,
            "update": lambda a, b: b,
        }[mode]
        y = data.clone()
        for place, update in zip(places.reshape(-1, dims), updates.reshape(-1, *data.shape[dims:]), strict=True):
            y[tuple(place.tolist())] = step(y[tuple(place.tolist())], update)
        return y

    return formula


def along(mode, axis):
    """`changed`, with the other axes spelled out."""

    def formula(data, places, updates):
        y = data.clone()
        for place in torch.cartesian_prod(*map(torch.arange, places.shape)).reshape(-1, data.ndim):
            target = place.clone()
            target[axis] = places[tuple(place)]
            y[tuple(target)] = y[tuple(target)] + updates[tuple(place)] if mode == "add" else updates[tuple(place)]
        return y

    return formula


def added(axis):
    return lambda data, places, updates: data.index_add(axis, places.long(), updates)


ADDRESSING = [
    Case("gather_nd", {"x": A, "indices": PAIRS}, {}, lambda x, i: x[at(i)]),
    Case("gather_nd", {"x": A, "indices": indices(2, 2, 1, below=4)}, {}, lambda x, i: x[i[..., 0].long()]),
    Case("gather_nd", {"x": T((2, 3)), "indices": indices(4, 2, below=2, dtype="uint8")}, {}, lambda x, i: x[at(i)]),
    Case("gather_nd", {"x": INT, "indices": indices(2, below=4)}, {}, lambda x, i: x[at(i)]),
    Case(
        "gather_nd",
        {"x": A, "indices": indices(4, 6, 1, below=3)},
        {"batch_dims": 1},
        lambda x, i: torch.stack([one[i[k, :, 0].long()] for k, one in enumerate(x)]),
    ),
    Case(
        "gather_nd",
        {"x": T((2, 3, 4, 5)), "indices": indices(2, 3, 2, below=4)},
        {"batch_dims": 2},
        lambda x, i: torch.stack([torch.stack([x[a, b][at(i[a, b])] for b in range(3)]) for a in range(2)]),
    ),
    Case("scatter", {"data": A, "indices": indices(3, data=(2, 0, 2)), "updates": T((3, 3, 5))}, {}, added(0)),
    Case("scatter", {"data": A, "indices": indices(2, data=(4, 4)), "updates": T((4, 3, 2))}, {"axis": -1}, added(2)),
    *(
        Case(
            "scatter_nd",
            {"data": T((4, 3), low=0.5), "indices": PAIRS, "updates": T((6,), low=0.5)},
            {"mode": mode},
            changed(mode),
        )
        for mode in ("div", "max", "min", "mul", "sub", "update")
    ),
    Case("scatter_nd", {"data": A, "indices": PAIRS, "updates": T((6, 5))}, {}, changed("add")),
    Case(
        "scatter_nd",
        {"data": INT, "indices": indices(3, 1, data=(1, 1, 3)), "updates": T((3, 6), "int32", -9, 9)},
        {"mode": "sub"},
        changed("sub", 1),
    ),
    Case(
        "scatter_along_axis",
        {"data": T((4, 3)), "indices": indices(2, 3, data=[(0, 3, 1), (0, 2, 1)]), "updates": T((2, 3))},
        {},
        along("add", 0),
    ),
    Case(
        "scatter_along_axis",
        {"data": A, "indices": indices(4, 3, 7, below=5), "updates": T((4, 3, 7))},
        {"axis": -1, "mode": "update"},
        along("update", 2),
    ),
    Case(
        "scatter",
        {"data": T((5, 2)), "indices": indices(2, data=(3, 1)), "updates": T((2, 2))},
        {"mode": "update"},
        lambda data, places, updates: data.index_copy(0, places.long(), updates),
    ),
    Case(
        "one_hot",
        {"indices": indices(2, 3, below=4)},
        {"one_hot_vector_size": 4},
        lambda i: torch.nn.functional.one_hot(i.long(), 4).to(torch.int32),
    ),
    Case(
        "one_hot",
        {
            "indices": indices(4, data=(2, 0, -1, 3)),
            "on_value": T((), const=True),
            "off_value": T((), const=True),
        },
        {"one_hot_vector_size": 3, "axis": 0},
        lambda i, on, off: torch.where(torch.arange(3)[:, None] == i, on, off),
    ),
    Case("shape", {"x": T((2, 3, 5))}),
    Case("shape", {"x": T((4,), "bool")}),
]

CASES = [*SORTING, *ADDRESSING]
