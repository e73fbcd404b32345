"""One pass of stochastic gradient descent: its recursion, its growth from small weights, and its limit of small steps."""

import numpy as np
import pytest

from attention_limits.sequence_multi_index.erm.losses import make_loss
from attention_limits.sequence_multi_index.erm.minimisation import objective_and_gradient, one_pass
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.positional import PositionalAttention
from attention_limits.sequence_multi_index.links.linear import Linear

pytestmark = pytest.mark.slow
STUDENT, SIGMA, POSITIONS, RIDGE = DeepAttention(depth=1), 0.5, np.array([1.0, -1.0]), 0.04


def data_set(omega, dimension, samples, seed):
    """Tokens with positions, outputs, and the target's weights of norm sqrt(D), orthogonal to the positions."""
    rng = np.random.default_rng(seed)
    centred = SIGMA * rng.standard_normal((samples, 2, dimension))
    teacher = rng.standard_normal((1, dimension))
    teacher -= teacher.mean()
    teacher *= np.sqrt(dimension) / np.linalg.norm(teacher)
    fields = (centred @ teacher.T / np.sqrt(dimension)).transpose(0, 2, 1)
    outputs = PositionalAttention(omega).forward(fields).reshape(samples, -1)
    return centred + POSITIONS[:, None] / np.sqrt(dimension), outputs, teacher


def softmax_pair(first, second):
    return 1.0 / (1.0 + np.exp(second - first))


def test_every_step_is_a_step_of_gradient_descent_on_one_sample():
    tokens, outputs, teacher = data_set(0.3, 30, 40, 0)
    start = 0.3 * np.random.default_rng(1).standard_normal((1, 30)) + teacher
    w = start[0].copy()
    for (x, other), y in zip(tokens, outputs, strict=True):

        def risk(weights, x=x, other=other, y=y):
            z, z_2 = weights @ x / np.sqrt(30), weights @ other / np.sqrt(30)
            return (softmax_pair(z * z, z * z_2) - y[0]) ** 2 + (softmax_pair(z_2 * z_2, z * z_2) - y[3]) ** 2

        slope = [(risk(w + step) - risk(w - step)) / 2e-6 for step in 1e-6 * np.eye(30)]
        w = (1.0 - 2.0 * RIDGE / 40) * w - 2.0 * np.array(slope)
    found = one_pass(make_loss("square", STUDENT), outputs, tokens, RIDGE, start, 2.0)
    assert found.converged
    assert found.iterations == 40
    assert np.allclose(found.weights[0], w, atol=1e-6)


def test_small_steps_follow_the_gradient_of_the_objective():
    tokens, outputs, teacher = data_set(0.3, 20, 60, 2)
    loss, rate = make_loss("square", STUDENT), 1e-6
    found = one_pass(loss, outputs, tokens, RIDGE, teacher, rate)
    gradient = objective_and_gradient(loss, outputs, tokens.reshape(-1, 20), RIDGE, teacher)[1] * 20
    assert np.allclose((found.weights - teacher) / rate, -gradient, atol=1e-4)


def growth(omega, direction):
    """Rate K of d(w . e) / d(eta alpha) = K w . e near w = 0, e along the target or the positions, from 10^6 fields.

    At w = 0 the Hessian of the loss in the fields is 1/2 sum_i (1/2 - t_ii) d^2 (z_i^2 - z_1 z_2).
    """
    h = SIGMA * np.random.default_rng(0).standard_normal((1_000_000, 2))
    along = h if direction == "target" else POSITIONS + SIGMA * np.random.default_rng(1).standard_normal(h.shape)
    total = 0.0
    for i in (0, 1):
        t = (1.0 - omega) * softmax_pair(h[:, i] ** 2, h[:, 0] * h[:, 1]) + omega * 0.6
        total += np.mean((t - 0.5) * (along[:, i] ** 2 - along[:, 0] * along[:, 1]))
    return total


@pytest.mark.parametrize("direction", ["positions", "target"])
def test_small_weights_grow_at_the_rate_of_the_population(direction):
    """The mean of (1 + eta K / D - eta lambda / N)^N over data sets, within four standard errors: one false alarm in 10^4."""
    rate, dimension, samples = growth(0.3, direction), 60, 240
    found = []
    for seed in range(100):
        tokens, outputs, teacher = data_set(0.3, dimension, samples, seed)
        start = 1e-3 * (teacher if direction == "target" else np.ones((1, dimension)))
        end = one_pass(make_loss("square", STUDENT), outputs, tokens, RIDGE, start, 1.0).weights
        found.append(np.sum(end * start) / np.sum(start**2))
    expected = (1.0 + rate / dimension - RIDGE / samples) ** samples
    assert abs(np.mean(found) - expected) < 4.0 * np.std(found, ddof=1) / 10.0
    assert expected > 1.3


def test_small_weights_grow_faster_along_the_positions():
    assert growth(0.3, "positions") > 3.0 * growth(0.3, "target")


def test_a_pass_that_diverges_stops_and_says_so():
    rng = np.random.default_rng(0)
    tokens, outputs = rng.standard_normal((200, 1, 5)), rng.standard_normal((200, 1))
    found = one_pass(make_loss("square", Linear()), outputs, tokens, 0.1, np.ones((1, 5)), 1000.0)
    assert not found.converged
    assert found.iterations < 200
    assert np.all(np.isfinite(found.weights))
