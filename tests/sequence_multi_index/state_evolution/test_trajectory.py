"""State evolution by iteration: quadrature for phase retrieval, the fixed point as its limit; GAMP with a layer held."""

import numpy as np
import pytest
from smi_tools import channel_of, gamp_settings, node_sets, path_settings, search_settings

from agreement import assert_mean
from attention_limits.sequence_multi_index.gamp import gamp
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.one_token import phase_retrieval, product
from attention_limits.sequence_multi_index.state_evolution.fixed_point import solve
from attention_limits.sequence_multi_index.state_evolution.trajectory import trajectory

pytestmark = pytest.mark.slow

TWO_LAYERS = DeepAttention(1.0)


def phase_retrieval_path(alpha, start, steps):
    """Q_t of y = h^2 by Gauss-Hermite quadrature: E[h | y, omega] = |h| tanh(omega |h| / V)."""
    x, w = np.polynomial.hermite_e.hermegauss(160)
    w = np.outer(w, w) / w.sum() ** 2
    q, path = start, []
    for _ in range(steps):
        omega, h = np.sqrt(q) * x[:, None], np.sqrt(q) * x[:, None] + np.sqrt(1.0 - q) * x[None, :]
        g = (np.abs(h) * np.tanh(omega * np.abs(h) / (1.0 - q)) - omega) / (1.0 - q)
        q_hat = alpha * np.sum(w * g**2)
        q = q_hat / (1.0 + q_hat)
        path.append(q)
    return np.array(path)


def test_trajectory_of_phase_retrieval_is_that_of_gauss_hermite():
    """alpha = 0.9 from Q = 0.2, eight iterations, sixteen scramblings; false-alarm rate 1e-4. The kink of |h| limits the
    quadrature to 1e-3."""
    channel = channel_of(phase_retrieval())
    paths = [
        trajectory(channel, 0.9, nodes, path_settings(0.2, 8)).overlap[:, 0, 0]
        for nodes in node_sets(channel.link, 1024, 16, seed=5)
    ]
    assert_mean(np.array(paths), phase_retrieval_path(0.9, 0.2, 8), 1e-3)


def test_trajectory_ends_at_the_fixed_point():
    """On the same nodes and with the same smallest overlap, at alpha = 0.5: layer 1 falls to zero, and layer 2 converges by a
    factor of 0.87 per iteration."""
    channel = channel_of(TWO_LAYERS, 0.75)
    (nodes,) = node_sets(TWO_LAYERS, 128, 1, seed=6)
    path = trajectory(channel, 0.5, nodes, path_settings(0.3, 120, floor=1e-4))
    fixed = solve(channel, 0.5, nodes, 0.3, search_settings(tolerance=1e-8)).value
    assert path.resolved == 1.0
    np.testing.assert_allclose(path.overlap[-1, 1, 1], fixed[1, 1], atol=1e-5)
    np.testing.assert_allclose(path.overlap[-1, 0, 0], 1e-4, rtol=1e-9)
    assert fixed[0, 0] == 0.0


def test_trajectory_refuses_a_negative_alpha():
    channel = channel_of(phase_retrieval())
    (nodes,) = node_sets(channel.link, 64, 1, seed=6)
    with pytest.raises(ValueError, match="need alpha >= 0"):
        trajectory(channel, -0.1, nodes, path_settings(0.1, 2))


@pytest.fixture(scope="module")
def held_runs():
    """GAMP at alpha = 0.6 with layer 1 held at 0.5, and the state evolution of the same."""
    channel = channel_of(TWO_LAYERS, 0.75)
    runs = []
    settings = gamp_settings(max_iterations=40, tolerance=1e-4, start_overlap=0.1)
    for generator in np.random.default_rng(7).spawn(12):
        data = gamp.gaussian_dataset(TWO_LAYERS, 400, 240, generator)
        runs.append(
            (gamp.run(channel, data, generator, settings, held=(0.5, np.nan)), np.mean(data.teacher**2, axis=1))
        )
    theory = [
        np.diag(solve(channel, 0.6, nodes, 1e-3, search_settings(), held=[0.5, np.nan]).value)
        for nodes in node_sets(TWO_LAYERS, 256, 4, seed=8)
    ]
    return runs, np.mean(theory, axis=0), np.std(theory, axis=0, ddof=1) / 2.0


def test_gamp_with_a_layer_held_follows_the_state_evolution(held_runs):
    """|W_hat_2 . W_2| / |W_2|^2 after 40 iterations; false-alarm rate 1e-4, finite size 10 / D."""
    runs, predicted, error = held_runs
    overlap = np.array([abs(run.overlap[-1, 1, 1]) / norm[1] for run, norm in runs])
    assert_mean(overlap, predicted[1], 10 / 400, error[1])


def test_held_layer_keeps_estimate_and_variance(held_runs):
    """The overlap of the held layer is 0.5 |W_1|^2 / D up to the noise sqrt(q (1 - q) / D), 6 standard errors of one of 12."""
    for run, norm in held_runs[0]:
        assert np.all(run.overlap[:, 0, 0] == run.overlap[0, 0, 0])
        assert abs(run.overlap[-1, 0, 0] / norm[0] - 0.5) < 6 * 0.5 / np.sqrt(400 * norm[0])
        np.testing.assert_allclose(run.variance[:, 0, 0], 0.5)
        np.testing.assert_array_equal(run.variance[:, 0, 1], 0.0)


@pytest.mark.parametrize(
    ("link", "held", "message"),
    [
        (TWO_LAYERS, (1.5, np.nan), "held must be an overlap in"),
        (TWO_LAYERS, (0.5,), "for each of 2 rows"),
        (product(2), (0.5, np.nan), "sign symmetry"),
    ],
)
def test_held_overlaps_are_checked(link, held, message):
    data = gamp.gaussian_dataset(TWO_LAYERS, 20, 10, np.random.default_rng(1))
    with pytest.raises(ValueError, match=message):
        gamp.run(channel_of(link), data, np.random.default_rng(1), gamp_settings(), held=held)
