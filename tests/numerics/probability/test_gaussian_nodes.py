import numpy as np
import pytest

from attention_limits.numerics.probability.gaussian_nodes import gaussian_nodes


@pytest.mark.parametrize("count", [0, -4, 3, 1000])
def test_number_of_nodes_must_be_a_power_of_two(count):
    with pytest.raises(ValueError, match="power of two"):
        gaussian_nodes(4, count, np.random.default_rng(0))


@pytest.mark.parametrize("widening", [1.0, 1.15, 1.3])
@pytest.mark.parametrize("dimension", [1, 8, 12])
def test_moments_are_those_of_independent_standard_normals(dimension, widening):
    """Weights of mean 1 and moments 0, I, and E x^4 = 3, over 16 independent scramblings of 1024 nodes; per case at most
    12 + 144 + 13 comparisons at |t_15| < 8.5: false-alarm rate below 1e-4 (two-sided tail 4e-7 each)."""
    found = []
    for generator in np.random.default_rng(5).spawn(16):
        nodes = gaussian_nodes(dimension, 1024, generator, widening)
        x = nodes.points
        assert x.shape == (1024, dimension)
        assert len(nodes) == 1024
        second = nodes.mean(x[:, :, None] * x[:, None, :]) - np.eye(dimension)
        found.append([nodes.mean(np.ones(1024)) - 1.0, *nodes.mean(x), *second.ravel(), *(nodes.mean(x**4) - 3.0)])
    found = np.array(found)
    error = found.std(axis=0, ddof=1) / 4.0
    assert np.all(np.abs(found.mean(axis=0)) <= 8.5 * error + 1e-14)
    assert error.max() < 0.1


def test_nodes_are_finite_and_weights_positive_at_any_count():
    for generator in np.random.default_rng(6).spawn(20):
        for count in (1, 2, 4096):
            nodes = gaussian_nodes(8, count, generator)
            assert np.all(np.isfinite(nodes.points))
            assert np.all(nodes.weights > 0)


def test_weights_are_the_ratio_of_the_densities():
    nodes = gaussian_nodes(3, 64, np.random.default_rng(7), 1.4)
    squares = np.sum(nodes.points**2, axis=1)
    expected = 1.4**3 * np.exp(-0.5 * squares + 0.5 * squares / 1.4**2)
    np.testing.assert_allclose(nodes.weights, expected, rtol=1e-12)


def test_mean_is_weighted_and_keeps_trailing_axes():
    nodes = gaussian_nodes(2, 8, np.random.default_rng(8))
    values = np.random.default_rng(9).standard_normal((8, 3, 4))
    np.testing.assert_allclose(nodes.mean(values), np.mean(nodes.weights[:, None, None] * values, axis=0))


def test_balanced_nodes_beat_independent_ones():
    """The error of a smooth mean is several times below the 1/sqrt(n) of plain sampling."""
    estimates = []
    for generator in np.random.default_rng(10).spawn(32):
        nodes = gaussian_nodes(8, 512, generator, 1.0)
        estimates.append(nodes.mean(np.cos(nodes.points.sum(axis=1) / 4)))
    plain = np.cos(np.random.default_rng(11).standard_normal((4096, 8)).sum(axis=1) / 4).std() / np.sqrt(512)
    assert np.std(estimates) < plain / 4


def test_seed_fixes_the_nodes():
    first, same, other = (gaussian_nodes(4, 16, np.random.default_rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.points, same.points)
    assert not np.array_equal(first.points, other.points)
