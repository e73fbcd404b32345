"""Loops over nodes against the NumPy functions that they come from."""

import numpy as np
import pytest

from attention_limits.numerics import compiled
from attention_limits.numerics.tracing.elementary import NODES
from attention_limits.numerics.tracing.node_loop import node_loop
from attention_limits.numerics.tracing.straight_line import MAX_LINES, straight_line

TABLE = np.array([[0.3, -1.2, 0.5], [2.0, 0.1, -0.7]])
PLACES = np.array([2, 0])


def assigned(y, h):
    out = np.zeros_like(h)
    out[..., 0] = h[..., 1] * y[0]
    out[..., 1] += 3.0
    return out


# Of the shared numbers (3,) and fields (1, 2, 3): what links of users write.
FUNCTIONS = {
    "arithmetic": lambda y, h: (h + 2.0) * h / (1.0 + h * h) - y + (-h) ** 2 + 1.0 / (2.0 + h**4) + h**-2,
    "softmax": lambda y, h: np.exp(h - h.max(axis=-1, keepdims=True))
    / np.exp(h - h.max(axis=-1, keepdims=True)).sum(axis=-1, keepdims=True),
    "products": lambda y, h: (np.swapaxes(h, -1, -2) @ h)[..., :2, :] + (h @ TABLE.T) @ TABLE * y,
    "einsum": lambda y, h: np.einsum("...ij,...kj,k->...i", h, h, np.array([1.0, -2.0])),
    "functions": lambda y, h: np.log(np.abs(h)) + np.tanh(h) + np.log1p(h * h) + np.expm1(h) + np.sqrt(np.abs(h)) + np.sinh(h)
    + np.cosh(h) + np.sin(h) * np.cos(h) - np.arctan(h) + np.abs(h) ** 1.5 + np.floor(h) + np.ceil(h) + np.square(h),
    "softplus": lambda y, h: np.logaddexp(0.0, 30.0 * h),
    "choices": lambda y, h: np.where(h > 0.0, h, 0.1 * h) + np.maximum(h, 0.0) + np.minimum(y, h) + np.sign(h)
    + np.clip(h, -0.5, 0.5),
    "truth": lambda y, h: 1.0 * ((h > 0.2) & (h < 1.0) | ~(h >= -1.0)) + (h > 0).sum(axis=-1, keepdims=True) + (h == h) * 2.0,
    "all and any": lambda y, h: 1.0 * np.all(h > -0.5, axis=-1) + 2.0 * np.any(h > 1.0, axis=-1),
    "impossible": lambda y, h: np.where(np.sign(h).sum(axis=-1) == y[0], 0.0, -np.inf),
    "places": lambda y, h: h[..., PLACES] + h[..., ::-1][..., :2] + h[:, :, [1, 2]],
    "stacks": lambda y, h: np.concatenate([h, np.stack([h[..., 0], h[..., 2]], axis=-1)], axis=-1),
    "pieces": lambda y, h: np.split(h, 3, axis=-1)[1] + np.repeat(h[..., :1], 2, axis=-1)[..., 1:],
    "sums": lambda y, h: np.cumsum(h, axis=-1) + np.prod(h, axis=-1, keepdims=True) + h.mean(axis=-1, keepdims=True),
    "largest": lambda y, h: np.argmax(h, axis=-1) + 10.0 * np.argmin(h, axis=-2)[..., :1] + (np.argmax(h, axis=-1) == 1) * 0.5,
    "assigned": assigned,
    "numbers of the link": lambda y, h: np.einsum("ij,...ij->...", TABLE, h) + float(np.linalg.det(TABLE @ TABLE.T)),
    "order": lambda y, h: np.sort(h, axis=-1) + np.argsort(-h, axis=-2)[..., :1] + 2.0 * np.median(h, axis=-1, keepdims=True),
    "places that numbers decide": lambda y, h: np.take_along_axis(h, np.argmax(h, axis=-1)[..., None], axis=-1)
    + np.take_along_axis(h, (h[..., :1, :] > y[1]) * 1, axis=1),
    "solutions": lambda y, h: np.linalg.solve(h @ np.swapaxes(h, -1, -2), h) + (np.linalg.inv(h[..., :2]) @ h)[..., ::-1],
    "solution of one vector": lambda y, h: np.linalg.solve(TABLE.T @ TABLE + np.eye(3), h[0, 1]),
    "determinants": lambda y, h: np.linalg.det(h[..., 1:]) * np.stack(np.linalg.slogdet(h[..., :2])),
    "nothing of the fields": lambda y, h: np.array([[1.0, -np.inf, np.inf, 2.0]]),
}  # fmt: skip


def loop_and_numpy(function, y, x):
    loop, (shape,) = node_loop(lambda *given: (function(*given),), (3,), (1, 2, 3))
    found = np.empty((int(np.prod(shape)), x.shape[1]))
    loop(y, x, found)
    expected = [np.broadcast_to(function(y, x[:, s].reshape(1, 2, 3)), shape) for s in range(x.shape[1])]
    return found, np.stack(expected, axis=-1).reshape(found.shape)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_loop_gives_the_numbers_of_numpy(name):
    rng = np.random.default_rng(1)
    found, expected = loop_and_numpy(FUNCTIONS[name], rng.standard_normal(3), rng.standard_normal((6, NODES)))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_a_second_call_reads_the_code_from_the_disk():
    function = FUNCTIONS["softmax"]
    first, _ = node_loop(lambda *given: (function(*given),), (3,), (1, 2, 3))
    second, _ = node_loop(lambda *given: (function(*given),), (3,), (1, 2, 3))
    assert sum(second.stats.cache_hits.values()) == 1 or second is first


def test_a_folder_that_cannot_be_written_is_no_obstacle(monkeypatch):
    monkeypatch.setattr(compiled, "FOLDER", None)
    rng = np.random.default_rng(2)
    found, expected = loop_and_numpy(FUNCTIONS["arithmetic"], rng.standard_normal(3), rng.standard_normal((6, NODES)))
    np.testing.assert_allclose(found, expected, rtol=1e-11)


def test_an_operation_is_written_once():
    lines, _, _ = straight_line(lambda y, h: (np.exp(h) + np.exp(h), np.exp(h)), (1,), (1, 2))
    assert sum("exp(" in line for line in lines) == 2


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda y, h: np.lexsort((h[0, 0], h[0, 1])), "array|several|lexsort"),
        (lambda y, h: h if h.sum() > 0 else -h, "bool"),
        (lambda y, h: np.linalg.eigvalsh(h @ np.swapaxes(h, -1, -2)), "no code|place"),
        (lambda y, h: np.asarray(h) * 2.0, "array"),
        (lambda y, h: sum(np.sin(k * h) for k in range(MAX_LINES // 6)), "operations"),
    ],
)  # fmt: skip
def test_what_cannot_be_recorded_is_refused(function, reason):
    with pytest.raises(Exception, match=reason):
        straight_line(lambda *given: (function(*given),), (3,), (1, 2, 3))
