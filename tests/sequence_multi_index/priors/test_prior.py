"""Priors of the weights: log-normalisers, averages and bases against other computations (`check_prior` has the identities)."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp

from attention_limits.sequence_multi_index.priors.gaussian import GaussianRows, standard_normal
from attention_limits.sequence_multi_index.priors.loading import load_prior
from attention_limits.sequence_multi_index.priors.mixture import MixtureRows, bernoulli_gauss, binary

C = np.array([[1.0, 0.6], [0.6, 1.0]])
PRIORS = {
    "gaussian": standard_normal(2),
    "correlated": GaussianRows(C),
    "binary": binary(2),
    "binary with a mean": binary(2, 0.4),
    "sparse": bernoulli_gauss(2, 0.2),
}
PRECISION = np.array([[1.3, 0.5], [0.5, 0.8]])
B = np.array([[0.3, -0.7], [2.0, 1.0], [-1.5, 0.2]])


def test_log_normaliser_of_binary_weights_is_a_sum_over_signs():
    """Three rows of mean 0.4, the eight states one by one."""
    rng = np.random.default_rng(1)
    b, A = rng.standard_normal((4, 3)), rng.standard_normal((3, 3))
    precision = A @ A.T
    terms = []
    for signs in itertools.product((1.0, -1.0), repeat=3):
        w = np.array(signs)
        terms.append(b @ w - 0.5 * w @ precision @ w + np.sum(np.log(0.5 * (1.0 + 0.4 * w))))
    np.testing.assert_allclose(
        binary(3, 0.4).posterior(b, precision).log_normaliser, logsumexp(terms, axis=0), rtol=1e-12
    )


def test_log_normaliser_of_a_sparse_weight_is_an_integral():
    density, precision, b = 0.2, 1.7, 1.1
    normal = quad(
        lambda w: np.exp(b * w - 0.5 * precision * w**2 - 0.5 * density * w**2) * np.sqrt(density / (2 * np.pi)),
        -30,
        30,
    )[0]
    found = bernoulli_gauss(1, density).posterior(np.array([[b]]), np.array([[precision]]))
    assert found.log_normaliser[0] == pytest.approx(np.log(1 - density + density * normal), abs=1e-10)


@pytest.mark.parametrize("value", [0.01, 1.0, 20.0])
def test_overlap_of_binary_weights_is_the_integral_of_tanh(value):
    """1 - Q = E[1 - tanh(L + sqrt(L) z)] with z normal, for one row."""
    missing = quad(
        lambda z: np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi) * 2.0 / (1.0 + np.exp(2 * (value + np.sqrt(value) * z))),
        -12, 12, points=[-np.sqrt(value)], epsabs=1e-14,
    )[0]  # fmt: skip
    found = binary(1).averages(np.array([[value]]))
    assert found.missing[0, 0] == pytest.approx(missing, rel=1e-9)
    assert found.error < 1e-12


@pytest.mark.parametrize("value", [0.3, 30.0, 1e4])
def test_overlap_of_sparse_weights_is_an_integral(value):
    """E Var(w | b) over b of the density (1 - r) N(0, L) + r N(0, L + L^2 / r), in x = b / sqrt(L), by adaptive quadrature."""
    density = 0.1
    wide = np.sqrt(1.0 + value / density)

    def integrand(x):
        spike = (1 - density) * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
        slab = density * np.exp(-0.5 * (x / wide) ** 2) / wide / np.sqrt(2 * np.pi)
        share = slab / (spike + slab)
        mean, variance = np.sqrt(value) * x / (value + density), 1.0 / (value + density)
        return (spike + slab) * (share * variance + share * (1 - share) * mean**2)

    edges = [0.0, 2.0, 4.0, 8.0, 20.0, 60.0, 12.0 * wide]
    parts = [quad(integrand, a, b, epsabs=1e-15, epsrel=1e-11)[0] for a, b in itertools.pairwise(edges) if a < b]
    found = bernoulli_gauss(1, density).averages(np.array([[value]]))
    assert found.missing[0, 0] == pytest.approx(2.0 * sum(parts), rel=1e-6)


@pytest.mark.parametrize("prior", [binary(2, 0.4), bernoulli_gauss(2, 0.2)], ids=["binary", "sparse"])
def test_rows_together_agree_with_rows_one_by_one(prior):
    """A diagonal precision turned by 1e-9 takes the rule in the plane; the error that the rule states bounds the difference."""
    diagonal = np.diag([2.0, 9.0])
    turned = diagonal + 1e-9 * np.array([[0.0, 1.0], [1.0, 0.0]])
    one, together = prior.averages(diagonal), prior.averages(turned)
    assert np.max(np.abs(one.missing - together.missing)) <= together.error + 1e-8
    assert together.error < 1e-4
    assert together.log_normaliser == pytest.approx(one.log_normaliser, abs=1e-6)


@pytest.mark.parametrize("scale", [0.3, 2.0, 8.0])
def test_nodes_agree_with_lines(scale):
    """We write one part of the law as seven equal parts: the law stays, but has too many terms for the rule along lines."""
    shares, means, deviations = [0.3, 0.7], [1.2, -0.4], [0.5, 0.0]
    means, deviations = (np.array(values) / np.sqrt(0.3 * (1.44 + 0.25) + 0.7 * 0.16) for values in (means, deviations))
    plain = MixtureRows(2, shares, means, deviations)
    many = MixtureRows(2, [0.3, *[0.1] * 7], [means[0], *[means[1]] * 7], [deviations[0], *[0.0] * 7])
    lines, nodes = (prior.averages(scale * PRECISION) for prior in (plain, many))
    np.testing.assert_allclose(nodes.missing, lines.missing, atol=5e-4)
    # The difference of the halves is an error, twice as large on average.
    assert np.max(np.abs(nodes.missing - lines.missing)) <= 3.0 * nodes.error
    assert nodes.log_normaliser == pytest.approx(lines.log_normaliser, abs=2e-3)


@pytest.mark.parametrize("density", [0.3, None], ids=["sparse", "binary"])
def test_three_coupled_rows_by_monte_carlo(density):
    """E Cov(w | b) = E (w - m)(w - m)^T, m = E[w | b], over 200 000 draws of w and b.

    The posterior is a sum over the supports, or over the signs. Seeded. Five standard errors beside 5e-4 for the nodes: a
    false alarm in 10^5.
    """
    rng, n = np.random.default_rng(3), 200_000
    precision = 1.5 * np.ones((3, 3)) + np.diag([0.6, 0.4, 0.5])
    w = np.sign(rng.standard_normal((n, 3)))
    if density:
        w = np.where(rng.random((n, 3)) < density, rng.standard_normal((n, 3)) / np.sqrt(density), 0.0)
    b = w @ precision + rng.standard_normal((n, 3)) @ np.linalg.cholesky(precision).T
    logs, means = [], []
    for state in itertools.product([0, 1], repeat=3):
        mean, there = np.zeros((n, 3)), np.flatnonzero(state)
        if density:
            part = precision[np.ix_(there, there)] + density * np.eye(len(there))
            mean[:, there] = b[:, there] @ np.linalg.inv(part)
            volume = np.linalg.slogdet(part / density)[1]
            share = len(there) * np.log(density) + (3 - len(there)) * np.log(1.0 - density)
            logs.append(share + 0.5 * np.sum(b * mean, axis=1) - 0.5 * volume)
        else:
            mean += 2.0 * np.array(state) - 1.0
            logs.append(b @ mean[0] - 0.5 * mean[0] @ precision @ mean[0])
        means.append(mean)
    posterior = np.einsum("kn,knp->np", np.exp(logs - logsumexp(logs, axis=0)), means)
    products = (w - posterior)[:, :, None] * (w - posterior)[:, None, :]
    prior = bernoulli_gauss(3, density) if density else binary(3)
    found = prior.averages(precision).missing
    error = products.std(axis=0) / np.sqrt(n)
    assert np.all(np.abs(products.mean(axis=0) - found) < 5.0 * error + 5e-4)
    assert np.all(error < 4e-3)


def test_correlated_rows_are_a_change_of_basis():
    """Q = C - (C^-1 + Lambda)^-1, and the free entropy of the whitened rows."""
    prior = GaussianRows(C)
    overlap = prior.overlap(PRECISION)
    np.testing.assert_allclose(overlap, C - np.linalg.inv(np.linalg.inv(C) + PRECISION), atol=1e-12)
    inverse = np.linalg.inv(np.linalg.cholesky(C))
    whitened = standard_normal(2).free_entropy(inverse @ overlap @ inverse.T, None)
    assert prior.free_entropy(overlap, None) == pytest.approx(whitened, abs=1e-12)


def test_entropy_of_discrete_weights():
    """Per dimension: two binary rows 2 log 2; continuous weights have none."""
    assert binary(2).entropy == pytest.approx(2 * np.log(2))
    assert binary(1, 0.5).entropy == pytest.approx(-0.75 * np.log(0.75) - 0.25 * np.log(0.25))
    assert bernoulli_gauss(1, 0.5).entropy == np.inf
    assert standard_normal(1).entropy == np.inf


def test_a_few_rows_of_a_prior_are_a_prior():
    np.testing.assert_array_equal(GaussianRows(C).subset([1]).second_moment, [[1.0]])
    assert binary(3, 0.2).subset([0, 2]).rows == 2
    assert standard_normal(2).subset(np.array([], dtype=int)).rows == 0


@pytest.mark.parametrize(
    ("section", "rows", "text"),
    [
        ({"name": "correlated", "covariance": [[1.0]]}, 2, "allowed: 2 rows of 2 numbers"),
        ({"name": "correlated", "covariance": [[1.0, 0.2], [0.3, 1.0]]}, 2, "symmetric"),
        ({"name": "correlated", "covariance": [[2.0, 0.2], [0.2, 1.0]]}, 2, "diagonal of ones"),
        ({"name": "correlated", "covariance": [[1.0, 1.0], [1.0, 1.0]]}, 2, "smallest eigenvalue"),
        ({"name": "binary", "mean": 0.0}, 9, "at most 8 rows"),
        (
            {"name": "mixture", "shares": [0.5, 0.5], "means": [1.0], "deviations": [0.0, 0.0]},
            1,
            "one number for each part",
        ),
        (
            {"name": "mixture", "shares": [0.5, 0.4], "means": [1.0, -1.0], "deviations": [0.0, 0.0]},
            1,
            "whose sum is 0.9",
        ),
        ({"name": "mixture", "shares": [1.0], "means": [0.0], "deviations": [2.0]}, 1, "is 4; allowed: 1; .* by 2$"),
        ({"name": "mixture", "shares": [0.125] * 8, "means": [1.0] * 8, "deviations": [0.0] * 8}, 5, "at most 4096"),
    ],
)
def test_wrong_priors_are_refused(section, rows, text):
    with pytest.raises(ValueError, match=text):
        load_prior({"prior": section}, rows, Path())


def test_a_symmetric_mixture_has_the_mean_zero_exactly():
    """Rounding of the mean would count as known: the first threshold of a link without signs would be zero."""
    prior = MixtureRows(1, [0.1, 0.8, 0.1], [2.2360679775, 0.0, -2.2360679775], [0.0, 0.0, 0.0])
    assert prior.mean[0] == 0.0
    assert prior.sign_symmetry == "rows"
