"""State evolution of exchangeable layers: the reduced matrices, and the full state evolution at three and four layers."""

import itertools

import numpy as np
import pytest
from smi_tools import channel_of, node_sets, search_settings

from agreement import FALSE_ALARM, t_threshold
from attention_limits.sequence_multi_index.channels.sampling.importance import fibre_moments
from attention_limits.sequence_multi_index.links.attention.deep import DeepAttention
from attention_limits.sequence_multi_index.links.attention.large_depth import CommitteeDepth
from attention_limits.sequence_multi_index.priors.gaussian import GaussianRows
from attention_limits.sequence_multi_index.priors.mixture import binary
from attention_limits.sequence_multi_index.state_evolution import fixed_point
from attention_limits.sequence_multi_index.state_evolution.exchangeable import reduced as exchangeable
from attention_limits.sequence_multi_index.state_evolution.exchangeable.matrices import Exchangeable, outer

pytestmark = pytest.mark.slow

RNG = np.random.default_rng(0)
SETTINGS = search_settings(tolerance=3e-3, max_iterations=100)


def averaged(matrix):
    """The mean of a matrix over the permutations of all rows but the last, one by one."""
    last = len(matrix) - 1
    orders = [[*order, last] for order in itertools.permutations(range(last))]
    return np.mean([matrix[np.ix_(order, order)] for order in orders], axis=0)


def symmetric(size):
    root = RNG.standard_normal((size, size))
    return root @ root.T + 0.1 * np.eye(size)


@pytest.mark.parametrize("count", [2, 4])
def test_matrices_are_means_over_permutations(count):
    matrix, other = symmetric(count + 1), symmetric(count + 1)
    X, Y = Exchangeable.of(matrix), Exchangeable.of(other)
    dense, second = averaged(matrix), averaged(other)
    np.testing.assert_allclose(X.matrix, dense, atol=1e-12)
    np.testing.assert_allclose(Exchangeable.from_entries(count, *X.entries).matrix, dense, atol=1e-12)
    np.testing.assert_allclose(Exchangeable.from_numbers(count, X.numbers).matrix, dense, atol=1e-12)
    np.testing.assert_allclose((X - Y * 2.0).matrix, dense - 2.0 * second, atol=1e-12)
    np.testing.assert_allclose(X.mapped(np.linalg.inv).matrix, np.linalg.inv(dense), atol=1e-12)
    np.testing.assert_allclose(X.between(Y).matrix, dense @ second @ dense, atol=1e-11)
    x, y = RNG.standard_normal((2, 3, count + 1, 2))
    np.testing.assert_allclose(X @ x, np.einsum("pq,nqa->npa", dense, x), atol=1e-12)
    for k in range(3):
        both = x[k] @ y[k].T
        np.testing.assert_allclose(
            Exchangeable.from_numbers(count, outer(x, y).numbers[k]).matrix, averaged(0.5 * (both + both.T)), atol=1e-12
        )


@pytest.mark.parametrize("tokens", [2, 3])
def test_posterior_is_that_of_the_full_channel_on_the_same_nodes(tokens):
    """Where the free rows are drawn independently of omega (overlap below 0.1) both draw the same fields."""
    link = CommitteeDepth(4, 1.0, 1.0, tokens)
    overlap = Exchangeable.from_entries(3, 0.05, 0.01, 0.02, 0.3)
    unit = Exchangeable.of(np.eye(4))
    V = unit - overlap
    rng = np.random.default_rng(1)
    omega = 0.2 * rng.standard_normal((5, 4, tokens))
    observed = link.observe(rng.standard_normal((5, 4, tokens)))
    nodes = rng.standard_normal((300, 3 * tokens))
    mean, second, effective = exchangeable._moments(link, observed, omega, V, unit, nodes)
    _, full_mean, full_second, full_effective = fibre_moments(link, observed, omega, V.matrix, nodes)
    np.testing.assert_allclose(effective, full_effective, rtol=1e-9)
    np.testing.assert_allclose(mean, full_mean.reshape(5, 4, tokens), atol=1e-10)
    same_token = np.einsum("npaqa->npq", full_second.reshape(5, 4, tokens, 4, tokens))
    for k in range(5):
        found = Exchangeable.from_numbers(3, second[k]).matrix
        np.testing.assert_allclose(found, averaged(same_token[k]), atol=1e-10)


CORRELATED = GaussianRows([[1.0, 0.5, 0.3], [0.5, 1.0, 0.3], [0.3, 0.3, 1.0]])


@pytest.mark.parametrize(
    ("depth", "alpha", "count", "prior"), [(3, 0.6, 64, None), (4, 0.6, 64, None), (3, 0.4, 128, CORRELATED)],
    ids=["three layers", "four layers", "correlated"],
)  # fmt: skip
def test_reduced_state_evolution_is_the_full_one(depth, alpha, count, prior):
    """Mean over permutations of the full fixed point, on other nodes and other samples; false-alarm rate 1e-4."""
    link, replicas = CommitteeDepth(depth, 2.0), 6
    found = {"reduced": [], "full": []}
    for k, nodes in enumerate(node_sets(link, count, 2 * replicas, seed=5)):
        channel = channel_of(link, 0.35, seed=k)
        if k < replicas:
            point = exchangeable.solve(channel, alpha, nodes, 1e-3, SETTINGS, prior)
            found["reduced"].append(point.value)
        else:
            point = fixed_point.solve(channel, alpha, nodes, 1e-3, SETTINGS, prior=prior)
            found["full"].append(Exchangeable.of(point.value).entries)
        assert point.converged
    reduced, full = (np.array(found[name]) for name in ("reduced", "full"))
    error = np.hypot(*(values.std(axis=0, ddof=1) / np.sqrt(replicas) for values in (reduced, full)))
    limit = t_threshold(4, 2 * replicas - 2, FALSE_ALARM)
    assert np.all(np.abs(reduced.mean(axis=0) - full.mean(axis=0)) <= limit * error + 1e-8)
    # The comparison is between numbers that are learned, and sharp.
    assert reduced[:, 3].mean() > 0.3
    assert np.all(limit * error < 0.25)


@pytest.mark.parametrize("depth", [3, 4])
def test_learned_shallow_layers_follow_the_full_state_evolution(depth):
    """Side information 0.4 keeps an overlap of all layers: fixed points on the same nodes and samples; false-alarm rate 1e-4.

    The two programs draw other fields for the outputs that few samples explain, so they differ by noise alone; on common nodes
    this noise is smaller than that of either fixed point. Tolerance 3e-3 of the precision, at most 1e-3 of an overlap.
    """
    link, replicas = CommitteeDepth(depth, 2.0), 6
    settings = search_settings(tolerance=3e-3, max_iterations=40, side_information=0.4)
    reduced, full = np.empty((2, replicas, 4))
    for k, nodes in enumerate(node_sets(link, 64, replicas, seed=6)):
        channel = channel_of(link, 0.35, seed=k)
        points = [solve(channel, 0.6, nodes, 0.4, settings) for solve in (exchangeable.solve, fixed_point.solve)]
        assert all(point.converged for point in points)
        reduced[k], full[k] = points[0].value, Exchangeable.of(points[1].value).entries
    difference = reduced - full
    error = difference.std(axis=0, ddof=1) / np.sqrt(replicas)
    limit = t_threshold(4, replicas - 1, FALSE_ALARM)
    assert np.all(np.abs(difference.mean(axis=0)) <= limit * error + 1e-3)
    # The layers before the last one know more than the side information, and the comparison is sharp.
    assert reduced[:, 0].mean() > 0.41
    assert np.all(limit * error < 0.1)


def test_overlaps_of_free_signs_are_diagonal():
    link = CommitteeDepth(4, 1.0)
    (nodes,) = node_sets(link, 64, 1, seed=2)
    found = exchangeable.solve(channel_of(link, 0.35), 0.5, nodes, 1e-3, SETTINGS)
    assert found.value[1] == found.value[2] == 0.0
    assert found.converged


def test_a_fixed_point_of_unresolved_outputs_is_flagged(monkeypatch):
    """One sample per output resolves nothing: the iteration ends as before, and the flag of the outputs marks the point."""
    link = CommitteeDepth(4, 1.0)
    (nodes,) = node_sets(link, 64, 1, seed=2)
    monkeypatch.setattr(exchangeable, "SMALLEST_SAMPLE", np.inf)
    found = exchangeable.solve(channel_of(link, 0.35), 0.5, nodes, 1e-3, SETTINGS)
    assert found.resolved == 0.0
    assert found.converged


@pytest.mark.parametrize(
    ("link", "prior", "text"),
    [
        (DeepAttention(1.0, depth=3), None, "no exchangeable rows"),
        (CommitteeDepth(2), None, "no exchangeable rows"),
        (CommitteeDepth(3), binary(3), "must be Gaussian"),
        (CommitteeDepth(3), GaussianRows([[1.0, 0.5, 0.3], [0.5, 1.0, 0.2], [0.3, 0.2, 1.0]]), "permutation"),
    ],
)
def test_other_models_are_refused(link, prior, text):
    (nodes,) = node_sets(link, 64, 1, seed=2)
    with pytest.raises(ValueError, match=text):
        exchangeable.solve(channel_of(link, 0.35), 0.5, nodes, 1e-3, SETTINGS, prior)
