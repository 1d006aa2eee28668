"""Uses of the normalisations."""

from torch.nn import functional

from tests.ops.case import Case, T


def channels(count, low=-2.0):
    return T((count,), low=low, const=True)


def layer_norm(axes, epsilon=1e-5):
    def formula(x, gamma=None, beta=None):
        at = [axis % x.ndim for axis in axes]
        shape = [size if axis in at else 1 for axis, size in enumerate(x.shape)]
        y = (x - x.mean(at, keepdim=True)) / (x.var(at, keepdim=True, correction=0) + epsilon).sqrt()
        y = y if gamma is None else y * gamma.reshape(shape)
        return y if beta is None else y + beta.reshape(shape)

    return formula


def l2_norm(x, epsilon=1e-6):
    return x / ((x * x).sum((-3, -2, -1), keepdim=True) + epsilon).sqrt()


def batch_norm(epsilon=1e-5):
    return lambda x, mean, variance, gamma=None, beta=None: functional.batch_norm(x, mean, variance, gamma, beta, eps=epsilon)


def instance_norm(epsilon=1e-5):
    return lambda x, gamma=None, beta=None: functional.instance_norm(x, weight=gamma, bias=beta, eps=epsilon)


STATISTICS = {"mean": channels(4), "variance": channels(4, low=0.1)}
SCALE = {"gamma": channels(4), "beta": channels(4)}

CASES = [
    Case("batch_norm", {"x": T((2, 4, 5)), **STATISTICS}, {}, batch_norm()),
    Case("batch_norm", {"x": T((1, 4, 3, 5)), **STATISTICS, **SCALE}, {}, batch_norm()),
    Case("batch_norm", {"x": T((1, 4, 2, 2, 3)), **STATISTICS, "gamma": channels(4)}, {"epsilon": 0.5}, batch_norm(0.5)),
    Case(
        "batch_norm",
        {"x": T((1, 4, 2, 3)), **STATISTICS, "beta": channels(4)},
        {},
        lambda x, mean, variance, beta: functional.batch_norm(x, mean, variance, None, beta),
    ),
    Case("instance_norm", {"x": T((2, 4, 7))}, {}, instance_norm()),
    Case("instance_norm", {"x": T((2, 4, 3, 5)), **SCALE}, {"epsilon": 0.25}, instance_norm(0.25)),
    Case("layer_norm", {"x": T((2, 3, 4))}, {"axes": (0, 1, 2)}, layer_norm((0, 1, 2))),
    Case("layer_norm", {"x": T((2, 3, 8))}, {"axes": (-1,)}, layer_norm((-1,))),
    Case(
        "layer_norm",
        {"x": T((2, 3, 4, 5)), "gamma": T((4, 5), const=True), "beta": T((4, 5), const=True)},
        {"axes": (-1, 2), "epsilon": 0.5},
        layer_norm((2, 3), 0.5),
    ),
    Case("layer_norm", {"x": T((1, 6, 1, 4)), "gamma": T((6,), const=True)}, {"axes": (1,)}, layer_norm((1,))),
    Case("layer_norm", {"x": T((2, 3, 4, 2, 2)), "gamma": T((2, 2), const=True)}, {"axes": (0, 3)}, layer_norm((0, 3))),
    Case("l2_norm", {"x": T((2, 3, 4))}, {}, l2_norm),
    Case("l2_norm", {"x": T((2, 3, 4, 5))}, {"epsilon": 0.5}, lambda x: l2_norm(x, 0.5)),
    Case("l2_norm", {"x": T((2, 2, 3, 2, 2))}, {}, l2_norm),
    Case("local_response_norm", {"x": T((1, 7, 4))}, {"size": 3}, lambda x: functional.local_response_norm(x, 3)),
    Case(
        "local_response_norm",
        {"x": T((2, 5, 3, 2))},
        {"size": 4, "alpha": 0.5, "beta": 0.25, "k": 2.0},
        lambda x: functional.local_response_norm(x, 4, 0.5, 0.25, 2.0),
    ),
    Case("local_response_norm", {"x": T((1, 2, 3))}, {"size": 1}, lambda x: functional.local_response_norm(x, 1)),
]
