"""The independent numbers on the pages of other papers' models: scalar equations by quadrature, without this library."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from scipy.special import expit, ndtr, ndtri
from scipy.stats import qmc

PAGES = Path(__file__).parents[2] / "docs" / "models"
# A trapezoid rule for a standard normal variable.
X = np.linspace(-9.0, 9.0, 2001)
W = np.exp(-0.5 * X**2) / np.exp(-0.5 * X**2).sum()
DENSITY, STRIP = {"sparse": 0.2, "sensing": 0.4}, 0.67449


def written(page, quantity, place=0):
    """The published or independent number of a row."""
    text = (PAGES / page).read_text(encoding="utf-8")
    found = re.findall(rf"^\| {re.escape(quantity)} \| [^|]+ \| ([\d.]+) ± ", text, flags=re.MULTILINE)
    return float(found[place])


def largest(function, low, high, count=60):
    """Supremum of a function on a range of scales."""
    grid = np.linspace(np.log(low), np.log(high), count)
    best = int(np.argmax([function(np.exp(t)) for t in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, count - 1)]
    found = minimize_scalar(lambda t: -function(np.exp(t)), bounds=bounds, method="bounded", options={"xatol": 1e-7})
    return -found.fun


def sparse_error(noise, density):
    """Least mean squared error of w from w + sqrt(noise) z; w is zero, or normal of variance 1 / density with this density."""
    large, total = 1.0 / density, 0.0
    for share, variance in ((1.0 - density, noise), (density, large + noise)):
        b = np.sqrt(variance) * X
        here = np.log(density) - 0.5 * b**2 / (large + noise) - 0.5 * np.log(large + noise)
        zero = np.log(1.0 - density) - 0.5 * b**2 / noise - 0.5 * np.log(noise)
        known, mean = expit(here - zero), b * large / (large + noise)
        total += share * W @ (known * (large * noise / (large + noise) + mean**2) - (known * mean) ** 2)
    return total


def test_compressed_sensing():
    """V = mmse(V / alpha) has no solution but zero for alpha above sup mmse(D) / D."""
    threshold = largest(lambda D: sparse_error(D, DENSITY["sensing"]) / D, 1e-4, 10.0)
    assert written("phase_retrieval.md", "exact recovery, AMP", 3) == pytest.approx(threshold, abs=1e-5)


def phase_alpha(precision, error):
    """alpha = Q_hat / E g^2 at the overlap 1 - error(1 / Q_hat) of a precision Q_hat, with h = +-sqrt(y)."""
    x, w = X[::8], W[::8] / W[::8].sum()
    q = 1.0 - error(1.0 / precision)
    omega, V = np.sqrt(q) * x[:, None], 1.0 - q
    size = abs(omega + np.sqrt(V) * x)
    g = (size * np.tanh(size * omega / V) - omega) / V
    return precision / (w @ g**2 @ w)


def test_real_phase_retrieval():
    threshold = largest(lambda precision: phase_alpha(precision, lambda noise: noise / (1.0 + noise)), 0.05, 50.0)
    assert threshold == pytest.approx(1.12847, abs=1e-5)
    assert written("phase_retrieval.md", "exact recovery, AMP", 0) == pytest.approx(threshold, abs=5e-4)


def test_sparse_phase_retrieval():
    threshold = largest(
        lambda precision: phase_alpha(precision, lambda noise: sparse_error(noise, DENSITY["sparse"])), 0.05, 50.0
    )
    assert written("phase_retrieval.md", "exact recovery, AMP", 2) == pytest.approx(threshold, abs=5e-5)


def test_symmetric_perceptron():
    """alpha = Q_hat / E g^2 for binary weights and both outputs of the strip."""

    def alpha(precision):
        q = W @ np.tanh(precision + np.sqrt(precision) * X)
        omega, width = np.sqrt(q) * X, np.sqrt(1.0 - q)
        up, down = (STRIP - omega) / width, (-STRIP - omega) / width
        inside = ndtr(up) - ndtr(down)
        slope = (np.exp(-0.5 * down**2) - np.exp(-0.5 * up**2)) / np.sqrt(2 * np.pi) / width
        return precision / (W @ (slope**2 * (1.0 / np.maximum(inside, 1e-300) + 1.0 / np.maximum(1 - inside, 1e-300))))

    assert largest(alpha, 0.01, 30.0) == pytest.approx(1.56643, abs=1e-5)
    assert written("perceptrons.md", "exact recovery, AMP") == pytest.approx(1.56643, abs=5e-4)


def sparse_overlap(precision, density):
    """E[E[w given b]^2] at a precision: 1 - `sparse_error` of the noise 1 / precision."""
    return 1.0 - sparse_error(1.0 / precision, density)


def test_one_bit_compressed_sensing():
    """Q_hat = alpha E g^2 of signs that are flipped with the probability 0.1, and Q = E[E[w given b]^2]."""
    alpha, flip, q = 2.0, 0.1, 0.5
    for _ in range(200):
        V = 1.0 - q
        omega = np.sqrt(q) * X
        up = flip + (1.0 - 2.0 * flip) * ndtr(omega / np.sqrt(V))
        slope = (1.0 - 2.0 * flip) * np.exp(-0.5 * omega**2 / V) / np.sqrt(2.0 * np.pi * V)
        q = sparse_overlap(alpha * W @ (slope**2 * (1.0 / up + 1.0 / (1.0 - up))), 0.3)
    assert written("perceptrons.md", "overlap, α = 2") == pytest.approx(q, abs=2e-5)


def test_mixture_of_two_regressions():
    """1 / E (E[h^2 given y] - 1)^2 of y = s h + sqrt(noise) xi, by quadrature over y."""
    noise = 0.25
    y = np.sqrt(1.0 + noise) * X
    variance, mean = noise / (1.0 + noise), y / (1.0 + noise)
    threshold = 1.0 / (W @ (variance + mean**2 - 1.0) ** 2)
    assert threshold == pytest.approx(0.5 * (1.0 + noise) ** 2, rel=1e-9)
    assert written("phase_retrieval.md", "weak recovery, Δ = 0.25") == pytest.approx(threshold, abs=1e-5)


def test_first_step_of_the_staircase():
    """1 / E m(y)^2 with m = E[h^2 - 1 | y], where y = h^2 + 1 or h^2 - 1 with equal probability."""

    def density(square):
        return np.exp(-0.5 * square) / np.sqrt(2 * np.pi * square) if square > 0 else 0.0

    def term(root, shift):  # y = root^2 + shift: the singularity of the density is at the begin
        y = root**2 + shift
        parts = [(density(y - s), y - s - 1.0) for s in (1.0, -1.0)]
        total = sum(p for p, _ in parts)
        return root * sum(p * m for p, m in parts) ** 2 / total if total > 0 else 0.0

    found = quad(term, 1e-9, np.sqrt(2.0), args=(-1.0,))[0] + quad(term, 1e-9, 8.0, args=(1.0,))[0]
    assert 1.0 / found == pytest.approx(0.57517, abs=1e-5)
    assert written("perceptrons.md", "first step") == pytest.approx(1.0 / found, abs=5e-4)


def test_single_location_regression():
    """Q_hat = alpha E g g^T of keys and values; the posterior of the place is a softmax over the tokens."""
    alpha, tokens, spike, noise = 2.0, 3, 2.0, 0.1
    z = ndtri(qmc.Sobol(2 * tokens + 1, seed=0).random_base2(15))
    keys = values = 0.8
    for _ in range(60):
        first = np.sqrt(keys) * z[:, :tokens]
        first[:, 0] += spike * keys  # the place is token 0
        second, total = np.sqrt(values) * z[:, tokens:-1], 1.0 - values + noise
        y = second[:, 0] + np.sqrt(total) * z[:, -1]
        rest = y[:, None] - second
        weight = np.exp(spike * first - 0.5 * rest**2 / total)
        place = weight / weight.sum(axis=1, keepdims=True)
        seen = alpha * spike**2 * (place**2).sum(1).mean(), alpha * ((place * rest / total) ** 2).sum(1).mean()
        keys, values = (x / (1.0 + x) for x in seen)
    # Scramblings of 2^15 points scatter by 6e-5 and 3e-4.
    assert written("attention.md", "overlap of the keys") == pytest.approx(keys, abs=2.4e-4)
    assert written("attention.md", "overlap of the values") == pytest.approx(values, abs=1.2e-3)


def test_robust_regression():
    """The proximal operator of Huber sees y - omega alone: normal of variance 1 - 2 m + q + Delta."""
    alpha, ridge, parts = 2.0, 1.0, ((0.7, 1.0), (0.3, 5.0))
    m, q, V = 0.3, 0.3, 0.5
    for _ in range(300):
        squares = slope = 0.0
        for share, noise in parts:
            spread = np.sqrt(1.0 - 2.0 * m + q + noise)
            squares += share * W @ np.clip(spread * X / (1.0 + V), -1.0, 1.0) ** 2
            slope += share * (2.0 * ndtr((1.0 + V) / spread) - 1.0) / (1.0 + V)
        V = 1.0 / (ridge + alpha * slope)
        m, q = alpha * slope * V, ((alpha * slope) ** 2 + alpha * squares) * V**2
    assert written("training.md", "overlap with the target") == pytest.approx(m, abs=2e-5)
    assert written("training.md", "squared norm") == pytest.approx(q, abs=2e-5)


def test_random_labels():
    """One field omega ~ N(0, q): the fixed point of q and V, and the mean loss, at a ridge near zero."""
    alpha, ridge = 3.0, 1e-6
    q, V = 5.0, 3.0
    for _ in range(400):
        z = np.sqrt(q) * X
        omega = z.copy()
        for _ in range(60):
            z -= (z - omega - V * expit(-z)) / (1.0 + V * expit(z) * expit(-z))
        curvature = expit(z) * expit(-z)
        V = 1.0 / (ridge + alpha * W @ (curvature / (1.0 + V * curvature)))
        q = alpha * V**2 * (W @ expit(-z) ** 2)
    assert written("training.md", "logistic loss, α = 3") == pytest.approx(W @ np.logaddexp(0.0, -z), abs=2e-5)
    assert written("training.md", "square loss, α = 3") == pytest.approx(0.5 * (1 - 1 / alpha), abs=1e-5)


def test_classification_of_a_mixture():
    bayes = ndtr(-np.sqrt(2.0) / np.sqrt(2.0 + 1.0))
    assert written("training.md", "misclassification, ridge 1000") == pytest.approx(bayes, abs=1e-5)


def test_gaussian_covariates():
    """Ridge regression: v = <s / (1 + s alpha / (Delta + v))>."""
    v, eigenvalues = 1.0, np.array([0.25, 1.75])
    for _ in range(500):
        v = np.mean(eigenvalues / (1.0 + eigenvalues * 1.5 / (0.1 + v)))
    assert written("training.md", "overlap of the fields") == pytest.approx(1.0 - v, abs=1e-5)
