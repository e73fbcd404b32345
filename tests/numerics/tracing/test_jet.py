"""First and second derivatives of NumPy functions, against formulas and differences of the gradient."""

import numpy as np
import pytest

from attention_limits.numerics.differences import FIRST, OFFSETS
from attention_limits.numerics.tracing.elementary import LANES
from attention_limits.numerics.tracing.jet import compiled_jet

SLOPES = np.array([[0.3, -1.0, 0.7], [0.5, 0.2, -0.4]])


def attention(y, z):
    """Two softmax layers that read two tokens."""
    h = z[:4].reshape(2, 2)
    out = np.eye(2)
    for row in h:
        scores = np.outer(out @ row, out @ row)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        out = weights / weights.sum(axis=-1, keepdims=True) @ out + out
    return out


FUNCTIONS = {
    "attention": (lambda y, z: np.sum(np.array([[0.3, 1.0], [-0.7, 0.2]]) * attention(y, z)), 4),
    "polynomial": (lambda y, z: y[0] * z[0] ** 3 * z[1] - z[2] ** 2, 3),
    "tanh network": (lambda y, z: np.tanh(SLOPES @ z) @ y, 3),
    "logistic": (lambda y, z: np.logaddexp(0.0, -y[0] * (z[0] + z[1] * z[2])), 3),
    "ratio": (lambda y, z: (z / np.sqrt(1.0 + z @ z))[1], 3),
    "pieces": (lambda y, z: np.where(z[0] > 0.1, z[0] * z[1], np.abs(z[1]) ** 1.5) + np.maximum(z[2], 0.0) ** 2, 3),
    "erf by its series": (lambda y, z: np.sin(z[0]) * np.cos(z[1]) + np.log1p(z[2] ** 2) + np.cosh(z[0]), 3),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    """The value is that of NumPy, the gradient the difference of values, the Hessian that of gradients (order four)."""
    function, n = FUNCTIONS[name]
    jet = compiled_jet(function, 2, n)
    rng, y, step = np.random.default_rng(3), np.array([0.7, -1.2]), 1e-3
    # One point on each lane; the last ones are left alone.
    size = LANES - 8
    points = rng.standard_normal((n, LANES))

    def at(z):
        found = np.full((1 + n + n * (n + 1) // 2, LANES), np.nan)
        jet(np.repeat(y[:, None], LANES, axis=1), z, np.zeros(1), found, np.zeros((1, 8)), size)
        assert np.all(np.isnan(found[:, size:]))
        return found[0, :size], found[1 : 1 + n, :size], found[1 + n :, :size]

    value, gradient, triangle = at(points)
    expected = [function(y, z) for z in points.T[:size]]
    np.testing.assert_allclose(value, expected, rtol=1e-11, atol=1e-11)
    hessian = np.empty((n, n, size))
    for place, (i, j) in enumerate(zip(*np.tril_indices(n), strict=True)):
        hessian[i, j] = hessian[j, i] = triangle[place]
    for i, unit in enumerate(np.eye(n)):
        moved = [at(points + step * offset * unit[:, None]) for offset in OFFSETS]
        slope = sum(weight * one[0] for weight, one in zip(FIRST, moved, strict=True)) / step
        column = sum(weight * one[1] for weight, one in zip(FIRST, moved, strict=True)) / step
        # A difference over the border between two pieces is no derivative.
        near = np.abs(points[0] - 0.1)[:size] < 4 * step if name == "pieces" else np.zeros(size, bool)
        np.testing.assert_allclose(gradient[i, ~near], slope[~near], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(hessian[:, i, ~near], column[:, ~near], rtol=1e-6, atol=1e-7)


def test_derivatives_of_zero_times_a_variable_need_no_lines():
    from attention_limits.numerics.tracing.straight_line import straight_line

    lines, _, (value, rest) = straight_line(lambda z: (0.0 * z + 1.0 * z, z - 0.0), (2,))
    assert lines == []
    assert list(value) == list(rest)
